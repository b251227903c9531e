"""NumPy programs that are right in the step that is verified first, and wrong later or elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from benchmarker.api.optimizer import Optimizer
from benchmarker.errors import UnsupportedError
from benchmarker.plugins.numpy.framework import NumpyFramework
from benchmarker.plugins.numpy.operators import NumpyOperators
from benchmarker.plugins.numpy.optimizers import make_update, start_state
from benchmarker.plugins.numpy.program import NumpyProgram

Array = npt.NDArray[Any]


class Counting(NumpyProgram):
    """Knows how many steps it has made."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.made = 0

    def train_step(self, batch: dict[str, Array]) -> Array:
        self.made += 1
        loss, gradients = self.half_step(batch)
        self.follow(gradients)
        return np.asarray(loss)

    def follow(self, gradients: dict[str, Array]) -> None:
        assert self._update is not None
        self._update(gradients)

    def gradient_step(self, batch: dict[str, Array]) -> tuple[Any, dict[str, Array]]:
        self.made += 1
        return super().gradient_step(batch)


class FixedWeights(Counting):
    """Has made its weights part of the program."""

    def assign(self, values: Mapping[str, Array]) -> None:
        raise UnsupportedError("weights are part of the program")


def stopping(after: int) -> type[NumpyProgram]:
    """Updates that stop."""

    class Stopping(Counting):
        def follow(self, gradients: dict[str, Array]) -> None:
            if self.made <= after:
                super().follow(gradients)

    return Stopping


class EverySecond(Counting):
    """Skips every second update."""

    def follow(self, gradients: dict[str, Array]) -> None:
        if self.made % 2 == 1:
            super().follow(gradients)


class EveryFifthSkipped(Counting):
    """Skips one update of five."""

    def follow(self, gradients: dict[str, Array]) -> None:
        if self.made % 5 != 4:
            super().follow(gradients)


class EveryTenthSkipped(Counting):
    """Skips one update of ten."""

    def follow(self, gradients: dict[str, Array]) -> None:
        if self.made % 10 != 4:
            super().follow(gradients)


class LosesVelocity(Counting):
    """Forgets the state of its optimizer in each tenth step."""

    def follow(self, gradients: dict[str, Array]) -> None:
        if self.made % 10 == 0:
            for of_parameter in self._state.values():
                for array in of_parameter.values():
                    array[...] = 0.0
        super().follow(gradients)


class HalfOfItsSamples(Counting):
    """Takes the first half of each mini-batch for all of it from the sixth step on."""

    def half_step(self, batch: dict[str, Array]) -> tuple[Any, dict[str, Array]]:
        if self.made > 5:
            rows = np.arange(len(next(iter(batch.values()))))
            batch = {name: array[rows % (len(rows) // 2)] for name, array in batch.items()}
        return super().half_step(batch)


class RoundsWeights(Counting):
    """Keeps its weights in bfloat16 from the sixth step on."""

    def follow(self, gradients: dict[str, Array]) -> None:
        super().follow(gradients)
        if self.made > 5:
            for array in self._trainable.values():
                array.view(np.uint32)[...] &= np.uint32(0xFFFF0000)


class DecayingRate(Counting):
    """Shrinks what it follows by a hundredth each step."""

    def follow(self, gradients: dict[str, Array]) -> None:
        share = 0.99 ** (self.made - 1)
        super().follow({name: share * gradient for name, gradient in gradients.items()})


class NeverZeroed(Counting):
    """Adds each gradient to all before it."""

    total: Mapping[str, Array] | None = None

    def follow(self, gradients: dict[str, Array]) -> None:
        if self.total is not None:
            gradients = {name: gradient + self.total[name] for name, gradient in gradients.items()}
        self.total = gradients
        super().follow(gradients)


class OneBiasStops(Counting):
    """Leaves one parameter alone from the fourth step on."""

    def follow(self, gradients: dict[str, Array]) -> None:
        name = min(self._trainable)
        kept = self._trainable[name].copy()
        super().follow(gradients)
        if self.made > 3:
            self._trainable[name][...] = kept


class FrozenStatistics(Counting):
    """Updates running statistics in the first step only."""

    def train_step(self, batch: dict[str, Array]) -> Array:
        kept = {name: array.copy() for name, array in self._parameters.items() if name not in self._trainable}
        loss = super().train_step(batch)
        if self.made > 1:
            self.assign(kept)
        return loss


class KeptLoss(Counting):
    """Returns the loss of the first step for ever."""

    kept: Array | None = None

    def train_step(self, batch: dict[str, Array]) -> Array:
        loss = super().train_step(batch)
        self.kept = loss if self.kept is None else self.kept
        return self.kept


class KeepsByContent(NumpyProgram):
    """Returns what it kept for a mini-batch that it has seen."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._kept: dict[bytes, tuple[Array, ...]] = {}

    def infer(self, batch: dict[str, Array]) -> tuple[Array, ...]:
        key = b"".join(array.tobytes() for array in batch.values())
        if key not in self._kept:
            time.sleep(1e-3)
            self._kept[key] = super().infer(batch)
        return self._kept[key]


class KeepsAfterFive(Counting):
    """Returns the fifth output for ever."""

    def infer(self, batch: dict[str, Array]) -> tuple[Array, ...]:
        self.made += 1
        if self.made <= 5:
            self.kept = super().infer(batch)
        return self.kept


class SkipsALayer(Counting):
    """Leaves the last node of a long graph out after five calls."""

    def infer(self, batch: dict[str, Array]) -> tuple[Array, ...]:
        self.made += 1
        outputs = super().infer(batch)
        return outputs if self.made <= 5 else tuple(np.maximum(output, 0) for output in outputs)


def sometimes_wrong(period: int) -> type[NumpyProgram]:
    """Inference that leaves the last node out now and then, but not in its first calls."""

    class SometimesWrong(Counting):
        def infer(self, batch: dict[str, Array]) -> tuple[Array, ...]:
            self.made += 1
            outputs = super().infer(batch)
            wrong = self.made > 5 and self.made % period == 1
            return tuple(np.maximum(output, 0) for output in outputs) if wrong else outputs

    return SometimesWrong


class ForgetsOutputs(Counting):
    """Returns nothing after five calls."""

    def infer(self, batch: dict[str, Array]) -> tuple[Array, ...]:
        self.made += 1
        return super().infer(batch) if self.made <= 5 else ()


class ChangesInput(NumpyProgram):
    """Computes in the memory of its mini-batch, which the next step that takes it finds changed."""

    def infer(self, batch: dict[str, Array]) -> tuple[Array, ...]:
        outputs = super().infer(batch)
        for array in batch.values():
            np.negative(array, out=array)
        return outputs


class KeepsMiniBatch(Counting):
    """Takes the fourth mini-batch for all that are loaded after it."""

    loaded = 0
    kept: Mapping[str, Array]

    def load(self, batch: Mapping[str, Array]) -> dict[str, Array]:
        self.loaded += 1
        if self.loaded <= 4:
            self.kept = batch
        return super().load(self.kept)


class TurnsInfinite(Counting):
    """Divides by zero after five steps."""

    def _value_and_gradients(self, *arguments: Any) -> tuple[Any, dict[str, Array]]:
        loss, gradients = super()._value_and_gradients(*arguments)
        return loss, gradients if self.made <= 5 else {name: g * np.inf for name, g in gradients.items()}


class InfiniteUpdates(Counting):
    """Divides by zero in its sixth update and all others."""

    def follow(self, gradients: dict[str, Array]) -> None:
        share = np.inf if self.made > 5 else 1.0
        super().follow({name: share * gradient for name, gradient in gradients.items()})


class LosesAGradient(Counting):
    """Tells no more gradient of its first parameter once it has made five steps."""

    def gradients(self, batch: dict[str, Array]) -> tuple[float, dict[str, Array]]:
        loss, found = super().gradients(batch)
        return loss, found if self.made <= 5 else dict(list(found.items())[1:])


class SlowStatistics(Counting):
    """Moves running statistics half as far as it should after the first step."""

    def train_step(self, batch: dict[str, Array]) -> Array:
        kept = {name: array.copy() for name, array in self._parameters.items() if name not in self._trainable}
        loss = super().train_step(batch)
        if self.made > 1:
            self.assign({name: (array + self._parameters[name]) / 2 for name, array in kept.items()})
        return loss


class KeptGradients(Counting):
    """Goes backward in its first five steps only."""

    def gradient_step(self, batch: dict[str, Array]) -> tuple[Any, dict[str, Array]]:
        loss, found = super().gradient_step(batch)
        if self.made <= 5:
            self.kept = found
        return loss, self.kept


class OtherGradients(NumpyProgram):
    """Returns other gradients from a step than it tells beside one."""

    def gradient_step(self, batch: dict[str, Array]) -> tuple[Any, dict[str, Array]]:
        loss, found = super().gradient_step(batch)
        return loss, {name: 1.01 * gradient for name, gradient in found.items()}


class NoGradients(NumpyProgram):
    """Returns no gradients from a step."""

    def gradient_step(self, batch: dict[str, Array]) -> tuple[Any, dict[str, Array]]:
        return super().gradient_step(batch)[0], {}


class EverySecondBackward(Counting):
    """Goes backward in every second step only, from the sixth on."""

    def gradient_step(self, batch: dict[str, Array]) -> tuple[Any, dict[str, Array]]:
        loss, found = super().gradient_step(batch)
        if self.made <= 5 or self.made % 2:
            self.kept = found
        return loss, self.kept


class OneBehind(Counting):
    """Returns what the step before gave, from the sixth on."""

    kept: tuple[Any, dict[str, Array]]

    def gradient_step(self, batch: dict[str, Array]) -> tuple[Any, dict[str, Array]]:
        found = super().gradient_step(batch)
        returned, self.kept = (self.kept if self.made > 5 else found), found
        return returned


class WhenAskedFor:
    """A result that is computed when it is asked for."""

    def __init__(self, compute: Callable[[], Any]) -> None:
        self._compute = compute

    @cached_property
    def value(self) -> Any:
        time.sleep(1e-3)
        return self._compute()


class Lazy(NumpyProgram):
    """Computes what somebody waits for or looks at, and nothing else."""

    def infer(self, batch: dict[str, Array]) -> Any:
        return WhenAskedFor(partial(super().infer, batch))

    def synchronize(self, output: Any) -> None:
        if isinstance(output, WhenAskedFor):
            _ = output.value

    def fetch(self, output: Any) -> tuple[Array, ...]:
        return super().fetch(output.value if isinstance(output, WhenAskedFor) else output)


class WrongLastSample(NumpyProgram):
    """Computes the last sample of a mini-batch wrong."""

    def infer(self, batch: dict[str, Array]) -> tuple[Array, ...]:
        outputs = tuple(output.copy() for output in super().infer(batch))
        for output in outputs:
            output[-1] *= 1.01
        return outputs


class Late(NumpyProgram):
    """Computes in a thread, as a device would; ``synchronize`` does not wait for it."""

    pool: ClassVar = ThreadPoolExecutor(1)

    def infer(self, batch: dict[str, Array]) -> Any:
        return self.pool.submit(self._later, batch)

    def _later(self, batch: dict[str, Array]) -> tuple[Array, ...]:
        time.sleep(1e-3)
        return super().infer(batch)

    def fetch(self, output: Any) -> tuple[Array, ...]:
        return super().fetch(output.result() if isinstance(output, Future) else output)


class ScaledTwice(NumpyOperators):
    """Divides what dropout keeps twice."""

    def dropout_mask(self, x: Array, ratio: float) -> Array | None:
        mask = super().dropout_mask(x, ratio)
        return None if mask is None else mask / (1.0 - ratio)


class DropsLess(NumpyOperators):
    """Drops half as often as it should, and scales what it keeps accordingly."""

    def dropout_mask(self, x: Array, ratio: float) -> Array | None:
        return super().dropout_mask(x, ratio / 2)


class OneMaskForAllSamples(NumpyOperators):
    """Drops the same of each sample of a mini-batch."""

    def dropout_mask(self, x: Array, ratio: float) -> Array | None:
        mask = super().dropout_mask(x, ratio)
        return None if mask is None else np.broadcast_to(mask[:1], mask.shape).copy()


class OneMaskForEver(NumpyOperators):
    """Drops the same in every step."""

    masks: ClassVar[dict[tuple[int, ...], Array | None]] = {}

    def dropout_mask(self, x: Array, ratio: float) -> Array | None:
        if x.shape not in self.masks:
            self.masks[x.shape] = super().dropout_mask(x, ratio)
        return self.masks[x.shape]


class NeverDropped(NumpyOperators):
    """Drops nothing."""

    def dropout_mask(self, x: Array, ratio: float) -> Array | None:
        return None


def with_program(program: type[NumpyProgram]) -> Callable[[], NumpyFramework]:
    """Return what makes a NumPy framework of such programs."""

    class Faulty(NumpyFramework):
        def build(self, *arguments: Any, **options: Any) -> NumpyProgram:
            built = super().build(*arguments, **options)
            faulty = program.__new__(program)
            faulty.__dict__.update(built.__dict__)
            faulty.__dict__.update(made=0, _kept={})
            return faulty

    return Faulty


def silent(program: type[NumpyProgram]) -> type[NumpyProgram]:
    """Return such programs that do not tell the state of their optimizer."""

    class Silent(program):  # type: ignore[valid-type, misc]
        def optimizer_state(self) -> dict[str, dict[str, Array]]:
            raise UnsupportedError("the framework does not expose the state of its optimizer")

    return Silent


def with_operators(meaning: type[NumpyOperators]) -> Callable[[], NumpyFramework]:
    """Return what makes a NumPy framework that computes with another meaning."""

    class Faulty(NumpyFramework):
        operators = meaning

    return Faulty


def with_optimizer(change: Callable[[Optimizer], Optimizer]) -> Callable[[], NumpyFramework]:
    """Return what makes a NumPy framework that trains with other constants than it was asked for."""

    class Faulty(NumpyFramework):
        def build(self, *arguments: Any, optimizer: Optimizer, **options: Any) -> NumpyProgram:
            return super().build(*arguments, optimizer=change(optimizer), **options)

    return Faulty


def dampened(share: float) -> type[NumpyProgram]:
    """Momentum that takes less of each gradient from the second step on, as PyTorch's dampening does."""

    class Dampened(Counting):
        def follow(self, gradients: dict[str, Array]) -> None:
            factor = 1.0 if self.made == 1 else 1.0 - share
            super().follow({name: factor * gradient for name, gradient in gradients.items()})

    return Dampened


class UncorrectedAdam(NumpyFramework):
    """Adam without bias correction: as if it had made very many steps."""

    def build(self, *arguments: Any, optimizer: Optimizer, **options: Any) -> NumpyProgram:
        program = super().build(*arguments, optimizer=optimizer, **options)
        if program._update is not None:
            program._state = start_state(optimizer, program._trainable)
            program._update = make_update(optimizer, program._trainable, program._state, steps=10**7)
        return program


def other(**constants: Any) -> Callable[[Optimizer], Optimizer]:
    return lambda optimizer: replace(optimizer, **constants)
