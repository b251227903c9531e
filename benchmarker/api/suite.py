"""The suite contract: a name for many problems with their parameters, as somebody has published them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from benchmarker.quick_dataclass import dataclass


@dataclass(frozen=True)
class Suite:
    """A suite, one of those that ``benchmarker_suites()`` returns.

    Parameters
    ----------
    name : str
        As ``--suite`` takes it.
    description : str
        What it is, in a few words.
    source : str
        Where its sizes come from.
    requests : tuple of Request
        Problems with their parameters, in the order of the source; repeats are run once.
    """

    name: str
    description: str
    source: str
    requests: tuple[Request, ...]


@dataclass(frozen=True)
class Request:
    """A problem, framework or optimizer as asked for, with what is set of it.

    Parameters
    ----------
    name : str
        Of the problem, of the framework (``name`` or ``name==version``), or the optimizer's kind; an
        empty kind is the problem's own.
    settings : mapping
        Name of a parameter, option or constant to the values to try.
    """

    name: str
    settings: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    @staticmethod
    def of(requested: str | Request) -> Request:
        """Return a name as a request."""
        return Request(requested) if isinstance(requested, str) else requested
