"""From the names of suites to the problems that are run: each once, all of them or some, spread by cost."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarker import registry
from benchmarker.api.suite import Request
from benchmarker.errors import UsageError, did_you_mean


def requests(names: Sequence[str], sample: int | None = None) -> tuple[Request, ...]:
    """Return the problems of some suites, in their order, each once.

    Parameters
    ----------
    names : sequence of str
        As :func:`benchmarker.registry.suites` has them.
    sample : int, optional
        How many of each suite, instead of all.

    Raises
    ------
    UsageError
        On a suite that is not known, or a sample of none.
    """
    if sample is not None and sample < 1:
        raise UsageError(f"the sample of a suite must be at least 1 configuration, got {sample}")
    known, found = registry.suites(), list[Request]()
    for name in names:
        if name not in known:
            raise UsageError(f"unknown suite '{name}'{did_you_mean(name, known)}")
        every = _once(known[name].requests)
        found += every if sample is None else _spread(every, sample)
    return tuple(_once(found))


def _once(requests: Sequence[Request]) -> list[Request]:
    seen: dict[tuple[object, ...], Request] = {}
    for request in requests:
        seen.setdefault((request.name, *request.settings.items()), request)
    return list(seen.values())


def _spread(requests: Sequence[Request], count: int) -> list[Request]:
    """Return ``count`` of the requests, the cheapest first: the middle ones of equally large groups of similar cost."""
    cheapest = sorted(requests, key=_operations)
    chosen = {(2 * part + 1) * len(cheapest) // (2 * count) for part in range(count)}
    return [cheapest[place] for place in sorted(chosen)]


def _operations(request: Request) -> int:
    from benchmarker.graph.cost import graph_cost

    graph = registry.problem(request.name).graph(**{name: v[0] for name, v in request.settings.items()})
    return graph_cost(graph.without_loss()).forward_flops
