"""What stands in the page beside its text: templates, data and scripts that nothing in a record can leave."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import math
from importlib import resources
from typing import TYPE_CHECKING, Any

from benchmarker.errors import BenchmarkerError, missing_package

if TYPE_CHECKING:
    import jinja2

_SCRIPTS = (
    "theme.js", "elements.js", "runs.js", "answers.js", "record.js", "swatches.js", "pictures.js", "printing.js"
)  # fmt: skip
_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def render(template: str, /, package: str = __package__, **values: Any) -> str:
    """Return a template of a package with values, each escaped unless the template says it is safe.

    Parameters
    ----------
    template : str
        Its name among the templates of the package.
    package : str
        Whose templates they are; those of the page can be extended.
    values
        What the template shows.

    Raises
    ------
    BenchmarkerError
        If Jinja is not installed.
    """
    try:
        import jinja2  # noqa: F401
    except ImportError:
        raise _missing("jinja2") from None
    return _environment(package).get_template(template).render(**values)


@functools.cache
def _environment(package: str) -> jinja2.Environment:
    """Return what compiles the templates of a package, each once: a folder of pages is made of few."""
    import jinja2

    return jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(package), jinja2.PackageLoader(__package__)]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def template_text(name: str, *, package: str = __package__) -> str:
    """Return a file of the templates of a package."""
    return (resources.files(package) / "templates" / name).read_text(encoding="utf-8")


@functools.cache
def page_script() -> str:
    """Return the page's own script: its parts in a function, so that they leave no globals."""
    return "(() => {\n'use strict';\n" + "\n".join(map(template_text, _SCRIPTS)) + "})();\n"


@functools.cache
def plotly_script() -> str:
    """Return the code of plotly.js as plotly's Python package brings it.

    Raises
    ------
    BenchmarkerError
        If plotly is not installed, or its code cannot stand in a page.
    """
    try:
        code = (resources.files("plotly") / "package_data" / "plotly.min.js").read_text(encoding="utf-8")
    except ModuleNotFoundError:
        raise _missing("plotly") from None
    lower = code.lower()
    if "</script" in lower or ("<!--" in lower and "<script" in lower):
        raise BenchmarkerError("the code of this release of plotly.js would end its own script element")
    return code


def json_text(value: Any) -> str:
    """Return JSON that can stand in a script element: it has no ``<``, ``>`` or ``&``."""
    text = json.dumps(_finite(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character, escape in _ESCAPES.items():
        text = text.replace(character, escape)
    return text


def _finite(value: Any) -> Any:
    """Return the value with null for numbers beyond what a double holds, which absurd records can give."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(member) for name, member in value.items()}
    return [_finite(item) for item in value] if isinstance(value, (list, tuple)) else value


def content_security_policy(*scripts: str) -> str:
    """Return the policy that allows these scripts, by their digest, and nothing from any network.

    Styles may be inline, since plotly.js adds its own; pictures are only what the page itself holds.
    """
    digests = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {digests}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


@functools.lru_cache(4)
def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")


def _missing(package: str) -> BenchmarkerError:
    return BenchmarkerError(missing_package("a page", package, "analysis"))
