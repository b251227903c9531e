"""Whether a run of a collective can be what it asks for."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarker.api.collective import Collective
from benchmarker.api.framework import FrameworkPlugin
from benchmarker.experiment.spec import RunSpec

PRECISIONS = ("fp32", "fp64")


def unsuited_collective(run: RunSpec, plugin: FrameworkPlugin, collective: Collective) -> str | None:
    """Return why ranks cannot exchange as a run asks, or None."""
    return next(_reasons(run, plugin, collective), None)


def _reasons(run: RunSpec, plugin: FrameworkPlugin, collective: Collective) -> Iterator[str]:
    fault = collective.fault(run.ranks)
    if fault is not None:
        yield fault
    own = plugin.collectives.means if plugin.collectives else {}
    if run.exchange == "native" and collective.kind not in own:
        has = f"it has {', '.join(own)}" if own else "it has none"
        yield f"framework '{plugin.name}' has no {collective.kind} of its own, {has}; use --exchange=mpi"
    if run.precision not in PRECISIONS:
        yield f"problem '{collective.kind}' is for {' and '.join(PRECISIONS)}, got {run.precision}"
    if run.window is not None:
        yield f"problem '{collective.kind}' is timed for a number of steps or seconds, got --window"
    if run.data is not None:
        yield f"problem '{collective.kind}' exchanges vectors of its own, got --data"
