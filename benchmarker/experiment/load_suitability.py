"""Whether the scenario in which load comes suits the rest of a run."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarker.api.scenario import MIN_SERVER_STEPS, SERVER
from benchmarker.experiment.spec import RunSpec
from benchmarker.experiment.usual_sampling import usual_sampling


def unsuited_load(run: RunSpec) -> str | None:
    """Return why load cannot come as a run asks, or None."""
    return next(_reasons(run), None)


def _reasons(run: RunSpec) -> Iterator[str]:
    if run.scenario is None:
        return
    if run.window is not None:
        yield f"the scenario {run.scenario} is timed for a number of steps or seconds, got --window"
    usual = usual_sampling(run.mode, run.scenario)
    if run.sampling != usual:
        yield f"the scenario {run.scenario} has --sampling={usual}, got {run.sampling}"
    if run.scenario == SERVER and run.steps is not None and run.steps < MIN_SERVER_STEPS:
        yield (
            f"the scenario server needs at least {MIN_SERVER_STEPS} steps per trial; with fewer, a 99th percentile "
            f"is not known with 99 % confidence, got {run.steps}"
        )
