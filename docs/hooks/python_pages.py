"""Pages of what Python code imports: the calls of ``benchmarker``, and what authors of plug-ins import."""

from __future__ import annotations

import inspect
from typing import Any

from markdown_text import block, docstring, prose

import benchmarker
import benchmarker.api
import benchmarker.testing
from benchmarker.analysis.calls.compare import ComparisonResult, SelfComparisonResult
from benchmarker.analysis.calls.run import RunResults
from benchmarker.analysis.results.collection import Results


def calls_page() -> str:
    """Return the page of the calls, and of what they return."""
    names = [name for name in benchmarker.__all__ if not name.startswith("_") and name != "blueprint"]
    parts = ["# Python calls", prose(inspect.getdoc(benchmarker) or "")]
    parts += [_described(f"benchmarker.{name}", getattr(benchmarker, name)) for name in names]
    returned = (Results, RunResults, ComparisonResult, SelfComparisonResult)
    parts += [_class(kind.__name__, kind) for kind in returned]
    parts.append("## benchmarker.blueprint\n\n" + prose(inspect.getdoc(benchmarker.blueprint) or ""))
    parts += [
        _described(name, getattr(benchmarker.blueprint, name), "###")
        for name in benchmarker.blueprint.__all__
    ]
    return "\n\n".join(parts) + "\n"


def api_page() -> str:
    """Return the page of what plug-ins import."""
    parts = ["# For authors of plug-ins", "## benchmarker.api", prose(inspect.getdoc(benchmarker.api) or "")]
    parts += [_described(name, getattr(benchmarker.api, name), "###") for name in benchmarker.api.__all__]
    parts += ["## benchmarker.testing", docstring(inspect.getdoc(benchmarker.testing) or "")]
    parts += [
        _described(name, getattr(benchmarker.testing, name), "###") for name in benchmarker.testing.__all__
    ]
    return "\n\n".join(parts) + "\n"


def _described(name: str, found: Any, level: str = "##") -> str:
    if inspect.isclass(found):
        return _class(name, found, level)
    if not callable(found) or not hasattr(found, "__qualname__"):
        return f"{level} {name}\n\n{block(_short(found), 'python')}"
    text = docstring(inspect.getdoc(found) or "")
    return f"{level} {name}\n\n{block(name.rpartition('.')[2] + _signature(found), 'python')}\n\n{text}"


def _class(name: str, found: type, level: str = "##") -> str:
    head = f"{level} {name}\n\n{block(f'class {found.__name__}{_signature(found)}', 'python')}"
    text = docstring(inspect.getdoc(found) or "") if found.__doc__ else ""
    members = [
        f"- `{member}{_signature(value)}`: {_summary(value)}"
        for member, value in vars(found).items()
        if not member.startswith("_") and inspect.getdoc(value) and _own(value)
    ]
    return "\n\n".join(filter(None, [head, text, "\n".join(members)]))


def _own(value: Any) -> bool:
    return inspect.isfunction(value) or isinstance(value, (property, classmethod, staticmethod))


def _summary(value: Any) -> str:
    return prose((inspect.getdoc(value) or "").split("\n\n")[0].replace("\n", " "))


def _signature(found: Any) -> str:
    if isinstance(found, (classmethod, staticmethod)):
        found = found.__func__
    if isinstance(found, property):
        return ""
    try:
        signature = inspect.signature(found)
    except (TypeError, ValueError):
        return ""
    plain = [
        p.replace(annotation=p.empty) for p in signature.parameters.values() if p.name not in ("self", "cls")
    ]
    if len(plain) > 12:  # all options of a run: the table below lists them
        kept = [p.name for p in plain if p.kind is not p.KEYWORD_ONLY]
        return f"({', '.join([*kept, '**options'])})"
    return str(signature.replace(parameters=plain, return_annotation=signature.empty))


def _short(found: Any) -> str:
    text = repr(found)
    return text if len(text) < 200 else f"{text[:200]}…"
