"""Which problem is meant, and the contract of schemes: names that no entry point can list, as each says where it is."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from pathlib import Path

from benchmarker.api.given_values import expanded
from benchmarker.quick_dataclass import dataclass

PYTHON = "py"
"""The scheme of names that end in ``.py``, which need no prefix."""
_PREFIX = re.compile(r"([a-z][a-z0-9_]+):")


@dataclass(frozen=True)
class ProblemReference:
    """A problem that is installed, or one that is a file.

    Parameters
    ----------
    name : str
        As records have it, which may leave the machine: of a file without its folder, such as ``onnx:mnist.onnx``.
    file : Path or None
        The file, by its absolute path.
    digest : str or None
        ``sha256:`` and the digest of the file's content, by which it is known again elsewhere; None where nobody
        has looked.
    """

    name: str
    file: Path | None = None
    digest: str | None = None

    @staticmethod
    def parse(text: str) -> ProblemReference:
        """Return what a name stands for, as of ``--problem``; no file is looked at."""
        prefix = _PREFIX.match(text)
        if prefix is None and not text.endswith(f".{PYTHON}"):
            return ProblemReference(text)
        path = expanded(text.removeprefix(prefix[0] if prefix else "")).absolute()
        return ProblemReference(f"{prefix[0] if prefix else ''}{path.name}", path)

    @property
    def is_file(self) -> bool:
        """Whether it is a file."""
        return self.file is not None

    @property
    def scheme(self) -> str | None:
        """Name of what makes a problem of the file, such as ``onnx``; None for a problem that is installed."""
        if self.file is None:
            return None
        prefix = _PREFIX.match(self.name)
        return prefix[1] if prefix else PYTHON

    @property
    def located_name(self) -> str:
        """The name with the file's absolute path."""
        return self._named(self.file)

    @property
    def commanded_name(self) -> str:
        """The name as a command has it: with the path of a file below the working directory from there."""
        here = Path.cwd()
        below = self.file is not None and here in self.file.parents
        return self._named(self.file.relative_to(here) if self.file and below else self.file)

    def at(self, path: Path) -> ProblemReference:
        """Return the same kind of file at another path."""
        return ProblemReference(self._named(path.name), path)

    def _named(self, path: Path | str | None) -> str:
        if path is None:
            return self.name
        return str(path) if self.scheme == PYTHON else f"{self.scheme}:{path}"


@dataclass(frozen=True)
class ResolvedProblem:
    """What a scheme makes of a file.

    Parameters
    ----------
    maker : str
        ``"module:function"`` that makes the :class:`~benchmarker.api.problem.Problem` from ``arguments``, in the
        worker too, where there is NumPy alone.
    arguments : tuple of str
        Of which the first says to people what the problem is made from.
    origin : str
        What kind of thing it is, for people.
    digest : str
        ``sha256:`` and the digest of the problem's content, by which it is known again elsewhere.
    """

    maker: str
    arguments: tuple[str, ...]
    origin: str
    digest: str


class ProblemScheme(ABC):
    """Makes problems of files: ``NAME:PATH``, where ``NAME`` is the entry point's; ``FILE.py`` needs no prefix."""

    @abstractmethod
    def resolve(self, problem: ProblemReference, path: Path) -> ResolvedProblem:
        """Return the problem of the file at ``path``.

        Raises
        ------
        UsageError
            If there is no such thing, or it is no problem.
        """
