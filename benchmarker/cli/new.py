"""Write the package of a new plug-in, which can be installed and whose tests pass at once; the rest is up to you."""

from __future__ import annotations

import argparse
import keyword
import re
from pathlib import Path
from string import Template

from benchmarker import registry
from benchmarker.errors import UsageError
from benchmarker.quick_dataclass import dataclass

TEMPLATES = Path(__file__).resolve().parent / "templates"
KINDS = {
    "framework": "benchmarker check {name}",
    "problem": "benchmarker --framework=numpy --problem={name}",
    "collector": "benchmarker --framework=numpy --problem=mnist_mlp --monitors={name}",
    "launcher": "benchmarker --framework=numpy --problem=mnist_mlp --launcher={name}",
    "dataset": "benchmarker --framework=numpy --problem=mnist_mlp --data={name} --epochs=1",
    "optimizer": "benchmarker --framework=numpy --problem=mnist_mlp --optimizer={name}",
    "chart": "benchmarker plot {name}",
    "scheme": "benchmarker --framework=numpy --problem=mnist_mlp --ranks=2 --scheme={name}",
    "recipe": "benchmarker train {name} --framework=numpy",
}
"""Of each kind of plug-in the command that uses one."""
_ITSELF = {"optimizer", "scheme"}
"""Kinds whose class is the plug-in itself."""
_DATA = {"recipe": "recipe.toml"}
"""Kinds that are written in a file beside their module."""
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``new``."""
    parser.usage = "benchmarker new plugin NAME --KIND"
    parser.add_argument("what", choices=("plugin",), metavar="plugin")
    parser.add_argument("name", metavar="NAME", help="its name on the command line")
    kinds = parser.add_mutually_exclusive_group(required=True)
    for kind in KINDS:
        article = "an" if kind[0] in "aeiou" else "a"
        description = f"{article} {_noun(kind)}"
        kinds.add_argument(f"--{kind}", dest="kind", action="store_const", const=kind, help=description)


def _noun(kind: str) -> str:
    return registry.noun(f"{kind}s")


@dataclass(frozen=True)
class Skeleton:
    """A plug-in that is about to be written.

    Parameters
    ----------
    name : str
        Of its entry point.
    kind : str
        Of :data:`KINDS`.
    """

    name: str
    kind: str

    @property
    def distribution(self) -> str:
        return f"benchmarker-{self.name.replace('_', '-')}"

    @property
    def package(self) -> str:
        return f"benchmarker_{self.name}"

    @property
    def class_name(self) -> str:
        return "".join(part.capitalize() for part in self.name.split("_"))

    @property
    def use(self) -> str:
        """The command that uses it."""
        return KINDS[self.kind].format(name=self.name)

    @property
    def file(self) -> str:
        """The one that its author goes on to write."""
        return f"{self.package}/{_DATA.get(self.kind, f'{self.kind}.py')}"

    def files(self) -> dict[str, str]:
        """Return the content of each file by its path in the folder."""
        module = f"{self.package}.{self.kind}"
        words = {
            "name": self.name,
            "Name": self.class_name,
            "kind": self.kind,
            "noun": _noun(self.kind),
            "group": f"{self.kind}s",
            "package": self.package,
            "distribution": self.distribution,
            "value": f"{module}:{self.class_name}" if self.kind in _ITSELF else module,
            "use": self.use,
            "file": self.file,
            "data": f'\n[tool.setuptools.package-data]\n{self.package} = ["*.toml"]\n'
            if self.kind in _DATA
            else "",
            # The tests of a framework import it, not in the environment that benchmarker makes.
            "test": '["pytest", "numpy"]' if self.kind == "framework" else '["pytest"]',
        }
        sources = {
            "pyproject.toml": "common/pyproject.toml",
            "README.md": "common/README.md",
            f"{self.package}/{self.kind}.py": f"{self.kind}/plugin.py",
            f"tests/test_{self.name}.py": f"{self.kind}/test.py",
        }
        if self.kind in _DATA:
            sources[self.file] = f"{self.kind}/{_DATA[self.kind]}"
        made = {path: _filled(source, words) for path, source in sources.items()}
        return {
            **made,
            f"{self.package}/__init__.py": f'"""The {words["noun"]} {self.name} for benchmarker."""\n',
        }


def _filled(source: str, words: dict[str, str]) -> str:
    return Template((TEMPLATES / f"{source}.template").read_text(encoding="utf-8")).substitute(words)


def _checked(name: str, kind: str) -> Skeleton:
    if not _NAME.fullmatch(name) or keyword.iskeyword(name):
        raise UsageError(
            f"the name of a plug-in must be lower-case letters, digits and underscores, a letter first and 40 at most, "
            f"got '{name}'"
        )
    taken = [entry for entry in registry.entries() if (entry.kind, entry.name) == (f"{kind}s", name)]
    if taken:
        raise UsageError(
            f"there is a {_noun(kind)} '{name}' already, from {taken[0].origin}; choose another name"
        )
    return Skeleton(name, kind)


def main(arguments: argparse.Namespace) -> int:
    """Write the package into a folder of its own."""
    skeleton = _checked(arguments.name, arguments.kind)
    folder = Path(skeleton.distribution)
    if folder.exists() or folder.is_symlink():
        raise UsageError(f"'{folder}' already exists; choose another name, or remove it")
    for path, content in skeleton.files().items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content, encoding="utf-8")
    print(f"{folder}: a package with the {_noun(skeleton.kind)} '{skeleton.name}' in {skeleton.file}")
    print(f"\n  cd {folder}\n  pip install -e '.[test]'\n  python -m pytest\n  {skeleton.use}")
    return 0
