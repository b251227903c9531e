"""A Python file as a problem, an optimizer or a scheme: it defines the hook that describes one, as a plugin does."""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import sys
from dataclasses import replace
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Any, Tuple

from benchmarker.api.containment import contained
from benchmarker.api.given_values import expanded
from benchmarker.api.problem_scheme import ProblemReference, ProblemScheme, ResolvedProblem
from benchmarker.errors import UsageError, nearest
from benchmarker.problems.files import UndescribedError, made_value

if TYPE_CHECKING:
    from benchmarker.api.problem import Problem
    from benchmarker.api.scheme import Scheme
    from benchmarker.api.update_rule import UpdateRule

MAX_BYTES = 16 << 20
_MAKER = f"{__name__}:python_problem"


class PythonFiles(ProblemScheme):
    """Resolves ``FILE.py``."""

    def resolve(self, problem: ProblemReference, path: Path) -> ResolvedProblem:
        """Return the problem of a file and the digest of its content."""
        if not path.is_file():
            raise UsageError(
                f"a problem that ends in .py must be a file that is there, got '{problem.commanded_name}'"
            )
        digest = file_digest(path)
        return ResolvedProblem(_MAKER, (str(path), digest), "Python file", f"sha256:{digest}")


def benchmarker_problem_scheme() -> ProblemScheme:
    """Return the scheme."""
    return PythonFiles()


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file's content, in hexadecimal.

    Raises
    ------
    UsageError
        If it is too large to be a program's text.
    """
    if path.stat().st_size > MAX_BYTES:
        raise UsageError(f"a Python file has at most {MAX_BYTES >> 20} MiB, and '{path}' has more")
    return hashlib.sha256(path.read_bytes()).hexdigest()


class _FreshSource(SourceFileLoader):
    """Compiles a file each time: cached bytecode knows it by size and second, so a quick edit would not count."""

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)


def python_problem(file: str, digest: str) -> Problem:
    """Return the problem of a file.

    Raises
    ------
    UndescribedError
        If the file defines no ``benchmarker_problem()``, or one that returns something else.
    UsageError
        If its SHA-256, in hexadecimal, is not ``digest``: it has changed since its name was resolved.
    """
    from benchmarker.api.problem import Problem

    path = Path(file)
    problem: Problem = _described_by(path, digest, "problem", Problem)
    return replace(problem, name=path.name, semantics=int(digest[:12], 16))


def python_rule(file: str, digest: str) -> UpdateRule:
    """Return the optimizer's rule of a file, which has the file's name; as :func:`python_problem`."""
    from benchmarker.api.update_rule import UpdateRule

    rule: UpdateRule = _named_after_its_file(file, digest, "optimizer", UpdateRule)
    return rule


def python_scheme(file: str, digest: str) -> Scheme:
    """Return the scheme of a file, which has the file's name; as :func:`python_problem`."""
    from benchmarker.api.scheme import Scheme

    scheme: Scheme = _named_after_its_file(file, digest, "scheme", Scheme)
    return scheme


def _named_after_its_file(file: str, digest: str, what: str, kind: type[Any]) -> Any:
    """Return what a file describes, a frozen dataclass, under the file's name and with its digest."""
    path = Path(file)
    described = _described_by(path, digest, what, kind)
    own = type(described)
    named = type(own.__name__, (own,), {"name": path.name, "digest": f"sha256:{digest}"})
    return named(**vars(described))


def _described_by(path: Path, digest: str, what: str, kind: type[Any]) -> Any:
    """Return what a file describes: the value of its ``benchmarker_WHAT()``.

    Parameters
    ----------
    path : Path
        The file.
    digest : str
        Of its content, SHA-256 in hexadecimal.
    what : str
        ``"problem"``, ``"optimizer"`` or ``"scheme"``.
    kind : type
        Of the value.

    Raises
    ------
    UndescribedError
        If the file defines no such function, or one that returns something else.
    UsageError
        If the file has changed since its name was resolved.
    """
    module = _loaded(path, digest, what)
    maker = f"benchmarker_{what}"
    if not hasattr(module, maker):
        functions = [name for name, value in vars(module).items() if inspect.isfunction(value)]
        raise UndescribedError(f"defines no function '{maker}'{nearest(maker, functions)}")
    with contained(f"{what} '{path.name}'"):
        described = getattr(module, maker)()
    if not isinstance(described, kind):
        raise UndescribedError(f"returned {type(described).__name__} from {maker}(), not {kind.__name__}")
    return described


def file_entry(path: Path, what: str, maker: str) -> Tuple[str, str, str]:
    """Return value, origin and version of the entry of a file that is an optimizer or a scheme.

    Parameters
    ----------
    path : Path
        The file.
    what : str
        The kind of plugin, with its article.
    maker : str
        Which function of this module makes it.

    Raises
    ------
    UsageError
        If there is no such file.
    """
    path = expanded(path).absolute()
    if not path.is_file():
        raise UsageError(f"{what} that ends in .py must be a file that is there, got '{path.name}'")
    digest = file_digest(path)
    return made_value(f"{__name__}:{maker}", str(path), digest), "Python file", f"sha256:{digest}"


def _loaded(path: Path, digest: str, what: str) -> Any:
    """Return the module of a Python file, which has run once more."""
    if file_digest(path) != digest:
        raise UsageError(f"'{path.name}' must stay as it is while it runs, and it was changed; run it again")
    name = f"benchmarker_{what}_{digest[:16]}"
    spec = importlib.util.spec_from_file_location(name, path, loader=_FreshSource(name, str(path)))
    if spec is None or spec.loader is None:
        raise ImportError(f"'{path}' is no Python file")
    module: Any = importlib.util.module_from_spec(spec)
    # Annotations of its dataclasses are looked up there.
    sys.modules[spec.name] = module
    with contained(f"{what} '{path.name}'"):
        spec.loader.exec_module(module)
    return module
