"""Every fault of :mod:`tests.support.late_faults` by a name, with what it is planted in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from benchmarker.api.framework import Framework
from benchmarker.plugins.numpy.program import NumpyProgram
from tests.support import late_faults as faults

INFERENCE, TRAINING, STATISTICS, GRADIENT, DROPOUT = (
    "inference",
    "training",
    "statistics",
    "gradient",
    "dropout",
)
BLOCKS = "blocks"
"""Where a fault shows: in a mode, in steps synchronised together, in running statistics, or in dropout's own masks."""


@dataclass(frozen=True)
class Planted:
    """A framework with a fault.

    Parameters
    ----------
    framework : callable
        Makes it.
    shows_in : str
        One of the constants of this module.
    optimizer : str
        That of the training in which it shows.
    """

    framework: Callable[[], Framework]
    shows_in: str
    optimizer: str = "sgd"


def _program(program: type[NumpyProgram], shows_in: str, optimizer: str = "sgd") -> Planted:
    return Planted(faults.with_program(program), shows_in, optimizer)


PLANTED: Mapping[str, Planted] = {
    "outputs are kept by content": _program(faults.KeepsByContent, INFERENCE),
    "outputs are kept after five calls": _program(faults.KeepsAfterFive, INFERENCE),
    "a layer is skipped after five calls": _program(faults.SkipsALayer, INFERENCE),
    "a layer is skipped in every second call": _program(faults.sometimes_wrong(2), INFERENCE),
    "a layer is skipped in every tenth call": _program(faults.sometimes_wrong(10), INFERENCE),
    "outputs are forgotten after five calls": _program(faults.ForgetsOutputs, INFERENCE),
    "a step changes its mini-batch": _program(faults.ChangesInput, INFERENCE),
    "the fourth mini-batch is kept": _program(faults.KeepsMiniBatch, INFERENCE),
    "the last sample is wrong": _program(faults.WrongLastSample, INFERENCE),
    "nothing is waited for": _program(faults.Late, INFERENCE),
    "what nobody looks at is not computed": _program(faults.Lazy, BLOCKS),
    "updates stop after 1 step": _program(faults.stopping(1), TRAINING),
    "updates stop after 3 steps": _program(faults.stopping(3), TRAINING),
    "updates stop after 8 steps": _program(faults.stopping(8), TRAINING),
    "every second update is skipped": _program(faults.EverySecond, TRAINING),
    "every fifth update is skipped": _program(faults.EveryFifthSkipped, TRAINING),
    "every tenth update is skipped": _program(faults.EveryTenthSkipped, TRAINING),
    "the rate decays": _program(faults.DecayingRate, TRAINING),
    "gradients are never zeroed": _program(faults.NeverZeroed, TRAINING),
    "a parameter stops after 3 steps": _program(faults.OneBiasStops, TRAINING),
    "half of the samples count after five steps": _program(faults.HalfOfItsSamples, TRAINING),
    "weights are rounded after five steps": _program(faults.RoundsWeights, TRAINING),
    "the loss is kept": _program(faults.KeptLoss, TRAINING),
    "gradients turn infinite": _program(faults.TurnsInfinite, TRAINING),
    "updates turn infinite": _program(faults.InfiniteUpdates, TRAINING),
    "momentum is dampened": _program(faults.dampened(0.1), TRAINING, "momentum"),
    "momentum is 1 % off": Planted(
        faults.with_optimizer(lambda o: faults.other(momentum=0.99 * o.momentum)(o)), TRAINING, "momentum"
    ),
    "momentum is lost every ten steps": _program(faults.LosesVelocity, TRAINING, "momentum"),
    "Adam is not corrected for its start": Planted(faults.UncorrectedAdam, TRAINING, "adam"),
    "running statistics stop": _program(faults.FrozenStatistics, STATISTICS),
    "running statistics move half as far": _program(faults.SlowStatistics, STATISTICS),
    "gradients are kept after five steps": _program(faults.KeptGradients, GRADIENT),
    "every second step goes backward": _program(faults.EverySecondBackward, GRADIENT),
    "gradients are one step behind": _program(faults.OneBehind, GRADIENT),
    "a step returns other gradients than it tells": _program(faults.OtherGradients, GRADIENT),
    "a step returns no gradients": _program(faults.NoGradients, GRADIENT),
    "a gradient is no longer reported": _program(faults.LosesAGradient, GRADIENT),
    "dropout scales twice": Planted(faults.with_operators(faults.ScaledTwice), DROPOUT),
    "dropout drops the same of all samples": Planted(
        faults.with_operators(faults.OneMaskForAllSamples), DROPOUT
    ),
    "dropout drops the same in every step": Planted(faults.with_operators(faults.OneMaskForEver), DROPOUT),
    "dropout drops half as often": Planted(faults.with_operators(faults.DropsLess), DROPOUT),
    "dropout is never applied": Planted(faults.with_operators(faults.NeverDropped), DROPOUT),
}
