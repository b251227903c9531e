"""The suite contract: a name for many problems with their parameters, as somebody has published them."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarker.experiment import Request


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
