"""NumPy frameworks with one fault each, for the conformance suite to find."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarker.api.program import Program
from benchmarker.api.training_state import TrainingState
from benchmarker.graph.attributes import Gemm, Recurrent
from benchmarker.graph.graph import Graph
from benchmarker.graph.windows import AveragePooling, MaxPooling, Window
from benchmarker.plugins.numpy.framework import NumpyFramework
from benchmarker.plugins.numpy.operators import NumpyOperators
from benchmarker.plugins.numpy.program import NumpyProgram
from benchmarker.plugins.numpy.tape import Tape

Array = npt.NDArray[Any]


def with_operators(meaning: type[NumpyOperators]) -> NumpyFramework:
    """Return a framework that computes with another meaning."""
    framework = NumpyFramework()
    framework.operators = meaning  # type: ignore[misc]
    return framework


class SymmetricPads(NumpyOperators):
    """Takes the begins of the pads for the ends too."""

    def conv(self, x: Array, w: Array, b: Array | None = None, *, window: Window) -> Array:
        return super().conv(x, w, b, window=replace(window, pads=window.begins * 2))


class NoBias(NumpyOperators):
    """Forgets the bias of a convolution."""

    def conv(self, x: Array, w: Array, b: Array | None = None, **attributes: Any) -> Array:
        return super().conv(x, w, None, **attributes)


class KeptOperand(NumpyOperators):
    """Keeps the second operand of the first product that it makes."""

    kept: Array | None = None

    def gemm(self, a: Array, b: Array, c: Array | None = None, *, product: Gemm) -> Array:
        self.kept = b if self.kept is None else self.kept
        return super().gemm(a, self.kept, c, product=product)


class ZeroPaddedMaximum(NumpyOperators):
    """Pads a maximum pooling with 0 instead of minus infinity."""

    def max_pool(self, x: Array, *, window: MaxPooling) -> Array:
        y = super().max_pool(x, window=window)
        return np.maximum(y, 0) if window.is_padded else y


class PadsCounted(NumpyOperators):
    """Always counts the padding of an average pooling."""

    def average_pool(self, x: Array, *, window: AveragePooling) -> Array:
        return super().average_pool(x, window=replace(window, count_include_pad=True))


class UnscaledDropout(NumpyOperators):
    """Does not divide what dropout keeps."""

    def dropout_mask(self, x: Array, ratio: float) -> Array | None:
        mask = super().dropout_mask(x, ratio)
        return None if mask is None else (mask > 0).astype(x.dtype)


class SameDropout(NumpyOperators):
    """Draws the same mask each step."""

    def dropout_mask(self, x: Array, ratio: float) -> Array | None:
        self.generator = None if self.generator is None else np.random.default_rng(0)
        return super().dropout_mask(x, ratio)


class SwappedMomentum(NumpyOperators):
    """Takes the momentum of the running statistics as the weight of the new value."""

    def batch_normalization(self, *tensors: Array, momentum: float = 0.9, **attributes: Any) -> Array:
        return super().batch_normalization(*tensors, momentum=1.0 - momentum, **attributes)


class KerasGates(NumpyOperators):
    """Takes the gates in the order i, f, c, o."""

    def lstm(self, x: Array, w: Array, r: Array, b: Array, *, layer: Recurrent) -> Any:
        def reorder(array: Array) -> Array:
            blocks = np.split(array, array.shape[1] // layer.hidden_size, axis=1)
            order = [4 * (i // 4) + (0, 3, 1, 2)[i % 4] for i in range(len(blocks))]
            return np.concatenate([blocks[i] for i in order], axis=1)

        return super().lstm(x, reorder(w), reorder(r), reorder(b), layer=layer)


class LastAxisSoftmax(NumpyOperators):
    """Ignores softmax's axis."""

    def softmax(self, x: Array, *, axis: int = -1) -> Array:
        return super().softmax(x)


class OtherProgram(NumpyFramework):
    """A framework whose programs are of the class ``program``."""

    program: type[NumpyProgram]

    def build(self, graph: Graph, parameters: Mapping[str, Array], **arguments: Any) -> NumpyProgram:
        built = super().build(graph, parameters, **arguments)
        built.__class__ = self.program
        return built


def framework_of(program: type[NumpyProgram]) -> type[NumpyFramework]:
    """Return NumPy as a framework whose programs are of another class."""
    return type("Changed", (OtherProgram,), {"program": program})


def with_program(program: type[NumpyProgram]) -> NumpyFramework:
    """Return such a framework."""
    return framework_of(program)()


class LossAfterUpdate(NumpyProgram):
    """Returns the loss that the next step starts from."""

    def train_step(self, batch: dict[str, Array]) -> Array:
        super().train_step(batch)
        return np.asarray(self.gradients(batch)[0])


class GradientsUpdate(NumpyProgram):
    """Moves the running statistics when only gradients are asked for."""

    def gradients(self, batch: dict[str, Array]) -> tuple[float, dict[str, Array]]:
        forward = NumpyOperators(training=True, update_statistics=True, dtype=self._dtype)
        loss, gradients = self._value_and_gradients(batch, Tape(forward, self.rounded))
        return float(loss), gradients


class TransposedParameters(NumpyProgram):
    """Returns matrices in its own layout."""

    def parameters(self) -> dict[str, Array]:
        found = super().parameters()
        return {name: p.T if p.ndim == 2 and p.shape[0] > 1 else p for name, p in found.items()}


class BorrowedParameters(NumpyProgram):
    """Returns its own arrays instead of copies."""

    def parameters(self) -> dict[str, Array]:
        return self._parameters


class ScaledState(NumpyProgram):
    """Tells momentum's buffer as some frameworks keep it, times minus the learning rate."""

    def optimizer_state(self) -> dict[str, dict[str, Array]]:
        found = super().optimizer_state()
        return {letter: {name: -0.05 * a for name, a in arrays.items()} for letter, arrays in found.items()}


class SumAsMean(NumpyProgram):
    """Tells AdaGrad's sum over the number of steps."""

    def optimizer_state(self) -> dict[str, dict[str, Array]]:
        found = super().optimizer_state()
        return {letter: {name: a / 3 for name, a in arrays.items()} for letter, arrays in found.items()}


class TransposedState(NumpyProgram):
    """Tells what it remembers of matrices in its own layout, in the shape of the graph's."""

    def optimizer_state(self) -> dict[str, dict[str, Array]]:
        found = super().optimizer_state()
        return {
            letter: {name: np.reshape(a.T, a.shape) for name, a in arrays.items()}
            for letter, arrays in found.items()
        }


class SwappedMoments(NumpyProgram):
    """Tells Adam's second moment as its first."""

    def optimizer_state(self) -> dict[str, dict[str, Array]]:
        found = super().optimizer_state()
        return {"m": found["v"], "v": found["m"]} if len(found) == 2 else found


class BorrowedState(NumpyProgram):
    """Returns its own arrays instead of copies."""

    def optimizer_state(self) -> dict[str, dict[str, Array]]:
        return {letter: dict(arrays) for letter, arrays in self._state.items()}


class DeafAssign(NumpyProgram):
    """Takes other values only as long as it has computed nothing."""

    _computed = False

    def infer(self, batch: dict[str, Array]) -> tuple[Array, ...]:
        self._computed = True
        return super().infer(batch)

    def train_step(self, batch: dict[str, Array]) -> Any:
        self._computed = True
        return super().train_step(batch)

    def assign(self, values: Mapping[str, Array]) -> None:
        if not self._computed:
            super().assign(values)


class UntoldState(NumpyProgram):
    """Does not tell the state of its optimizer."""

    def optimizer_state(self) -> dict[str, dict[str, Array]]:
        return Program.optimizer_state(self)


class ForgottenUpdates(NumpyProgram):
    """Counts updates from the start again after a state was put back."""

    def restore(self, state: TrainingState) -> None:
        super().restore(replace(state, steps=0, numbers={}))


class ForgottenState(NumpyProgram):
    """Takes the weights of a state, and nothing that the optimizer remembers."""

    def restore(self, state: TrainingState) -> None:
        self.assign(state.parameters)


class ForgottenGenerator(NumpyProgram):
    """Goes on with the masks of dropout that it would have drawn anyway."""

    def restore(self, state: TrainingState) -> None:
        super().restore(replace(state, native={}))


class DetachedWeights(NumpyProgram):
    """Goes on in the arrays that it was given, which its updates do not move."""

    def restore(self, state: TrainingState) -> None:
        super().restore(state)
        self._parameters.update({name: np.asarray(array) for name, array in state.parameters.items()})


class FirstBatch(NumpyProgram):
    """Remembers the first mini-batch that it inferred from."""

    def infer(self, batch: dict[str, Array]) -> tuple[Array, ...]:
        if not hasattr(self, "_first"):
            self._first = batch
        return super().infer(self._first)


class Asynchronous(NumpyProgram):
    """Works in a thread of its own, and ``synchronize`` does not wait for it."""

    _working: threading.Thread | None = None

    def infer(self, batch: dict[str, Array]) -> Any:
        return self._start(lambda: NumpyProgram.infer(self, batch))

    def train_step(self, batch: dict[str, Array]) -> Any:
        return self._start(lambda: NumpyProgram.train_step(self, batch))

    def _start(self, work: Any) -> list[Any]:
        self.wait()
        result: list[Any] = []
        self._working = threading.Thread(target=lambda: result.append(work()))
        self._working.start()
        return result

    def wait(self) -> None:
        if self._working is not None:
            self._working.join()

    def parameters(self) -> dict[str, Array]:
        self.wait()
        return super().parameters()

    def fetch(self, output: Any) -> tuple[Array, ...]:
        self.wait()
        return super().fetch(output[0])


class PatientAsynchronous(Asynchronous):
    """Works in a thread of its own, and ``synchronize`` waits for it: right."""

    def synchronize(self, output: Any) -> None:
        self.wait()


class ForgetfulParts(NumpyProgram):
    """Leaves the update out where a step is taken in its parts."""

    def train_parts(self, batch: dict[str, Array]) -> Iterator[tuple[str, Any]]:
        loss, _ = self.half_step(batch)
        yield "forward and backward", loss
        yield "update", loss


class NearlyTheStep(NumpyProgram):
    """Rounds in its parts as it does not in the step."""

    def train_parts(self, batch: dict[str, Array]) -> Iterator[tuple[str, Any]]:
        yield "step", self.train_step(batch)
        for array in self._parameters.values():
            array *= 1 + 2.0**-23


class Recompiling(NumpyProgram):
    """Compiles for every step."""

    _compiled = 0

    def infer(self, batch: dict[str, Array]) -> tuple[Array, ...]:
        self._compiled += 1
        return super().infer(batch)

    def train_step(self, batch: dict[str, Array]) -> Any:
        self._compiled += 1
        return super().train_step(batch)

    def compilations(self) -> int:
        return self._compiled


class EpsilonInsideAdam(NumpyFramework):
    """Adds Adam's epsilon before the bias correction (the paper's epsilon-hat)."""

    def build(self, graph: Graph, parameters: Mapping[str, Array], **arguments: Any) -> NumpyProgram:
        optimizer = arguments["optimizer"]
        inside = optimizer
        if optimizer.kind in ("adam", "adamw"):
            inside = replace(optimizer, epsilon=optimizer.epsilon / np.sqrt(1 - optimizer.beta2))
        return super().build(graph, parameters, **{**arguments, "optimizer": inside})


class NesterovMomentum(NumpyFramework):
    """Has a momentum that is not the one asked for."""

    def build(self, graph: Graph, parameters: Mapping[str, Array], **arguments: Any) -> NumpyProgram:
        optimizer = arguments["optimizer"]
        other = optimizer
        if optimizer.kind == "momentum":
            other = replace(optimizer, momentum=0.95 * optimizer.momentum)
        return super().build(graph, parameters, **{**arguments, "optimizer": other})
