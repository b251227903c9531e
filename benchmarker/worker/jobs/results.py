"""What every run that was timed tells at its end, of one process and of a rank, of steps and of a training."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarker.worker import facts
from benchmarker.worker.stages import Stages

if TYPE_CHECKING:
    from benchmarker.api.framework import Framework
    from benchmarker.worker.measurement.timing_protocol import Measured


def result_of(
    measured: Measured,
    framework: Framework,
    stages: Stages,
    *,
    losses: tuple[float | None, float | None],
    data: dict[str, Any],
    accuracy: float | None = None,
    breakdown: dict[str, Any] | None = None,
    profile: dict[str, Any] | None = None,
    operator: dict[str, Any] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """Return the members of the event ``result``.

    Parameters
    ----------
    measured : Measured
        The timed part.
    framework : Framework
        What computed it.
    stages : Stages
        Of the run, all but the last of which have ended.
    losses : tuple of float or None
        Of the first and of the last step of a training.
    data : dict
        Which mini-batches were taken.
    accuracy, breakdown, profile, operator : optional
        What only some runs have.
    **more
        What only this kind of run tells.
    """
    return {
        **measured.to_json(),
        "accuracy": accuracy,
        "breakdown": breakdown,
        "profile": profile,
        "operator": operator,
        "seconds": stages.seconds,
        "stage_compilations": None if stages.count_compilations() is None else stages.compilations,
        "loss_first": losses[0],
        "loss_last": losses[1],
        "data": data,
        "libraries": framework.libraries(),
        "packages": facts.packages(),
        "python": facts.python(),
        **facts.clock(),
        **more,
    }
