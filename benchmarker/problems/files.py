"""What entries' values name, and how those of problems that are files of their own are written and made."""

from __future__ import annotations

import importlib
import inspect
import json
import os
from typing import TYPE_CHECKING, Any

from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    from benchmarker.api.problem import Problem

_MADE = "made:"


class UndescribedError(Exception):
    """A file does not describe what it is taken for; the text is to stand after the file's name."""


@dataclass(frozen=True)
class ProblemFile:
    """A plugin made from a file.

    Parameters
    ----------
    problem : Problem
        Named after the file; its semantics are the file's content, so that others are not compared with it.
    """

    problem: Problem

    def benchmarker_problem(self) -> Problem:
        return self.problem


def made_value(maker: str, *arguments: str) -> str:
    """Return the value of the entry of a problem that a function makes in the worker.

    Parameters
    ----------
    maker : str
        ``module:function`` of what takes the arguments and returns the problem; it needs NumPy alone.
    arguments : str
        Of which the first says to people what the problem is made from.
    """
    return f"{_MADE}{json.dumps([maker, *arguments])}"


def is_problem_file(value: str) -> bool:
    """Tell whether an entry's value is a file's, and not a module's."""
    return value.startswith(_MADE)


def described_value(value: str) -> str:
    """Return an entry's value for people: of a file its path or name."""
    return _members(value)[1] if is_problem_file(value) else value


def module_of(value: str) -> str:
    """Return the module that makes or is the plugin of an entry's value."""
    return (_members(value)[0] if is_problem_file(value) else value).partition(":")[0]


def _members(value: str) -> list[str]:
    members: list[str] = json.loads(value.removeprefix(_MADE))
    return members


def files_of(value: str) -> tuple[str, ...]:
    """Return the files and folders that the plugin of an entry's value is made from; none for a module's."""
    return tuple(filter(os.path.isabs, _members(value)[1:])) if is_problem_file(value) else ()


def load_object(value: str) -> Any:
    """Import ``module:attribute``."""
    module, _, attribute = value.partition(":")
    loaded: Any = importlib.import_module(module)
    for part in filter(None, attribute.split(".")):
        loaded = getattr(loaded, part)
    return loaded


def load_plugin(value: str) -> Any:
    """Return the plugin of an entry's value: a module, an instance of a class, or what is made from a file."""
    if is_problem_file(value):
        maker, *arguments = _members(value)
        made = load_object(maker)(*arguments)
        # Optimizers' rules and schemes are plugins themselves.
        is_plugin = any(hasattr(made, hook) for hook in ("benchmarker_optimizer", "benchmarker_scheme"))
        return made if is_plugin else ProblemFile(made)
    loaded = load_object(value)
    return loaded() if inspect.isclass(loaded) else loaded
