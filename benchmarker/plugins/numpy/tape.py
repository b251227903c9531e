"""The tape: runs operators forward, remembers the calls, and goes back through them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.errors import UnsupportedError
from benchmarker.graph.attributes import RECORDS
from benchmarker.graph.operators import OPERATORS, STOPS, Operators
from benchmarker.plugins.numpy.base import Call, InputGradients
from benchmarker.plugins.numpy.gradients import GRADIENTS
from benchmarker.plugins.numpy.operators import NumpyOperators

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


Rounding = Callable[["Array"], "Array"]
"""Makes of an array what a coarser format would hold of it."""


CHOOSING = ("max_pool", "reduce_max", "top_k")
"""Operators whose results are among their operands, where their gradients look for them."""


@dataclass(eq=False)
class Variable:
    """An array on the tape.

    Parameters
    ----------
    value : array
        What it holds.
    needs_gradient : bool
        Whether the loss's gradient for it is wanted, or needed on the way to one that is.
    gradient : array, optional
        What has been added up so far.
    """

    value: Array
    needs_gradient: bool = False
    gradient: Array | None = None

    def accumulate(self, gradient: Array) -> None:
        """Add to the gradient; never in place, because operators may share the array."""
        self.gradient = gradient if self.gradient is None else self.gradient + gradient

    def take_gradient(self) -> Array:
        """Return the gradient and forget it; zeros if nothing arrived."""
        gradient, self.gradient = self.gradient, None
        return np.zeros_like(self.value) if gradient is None else gradient


@dataclass(eq=False)  # not frozen: one is made for each operator of each step
class _Entry:
    operator: str
    inputs: tuple[Variable | None, ...]
    needed: tuple[bool, ...]
    outputs: tuple[Variable, ...]
    attributes: Mapping[str, Any]
    gradient: Callable[[Call], InputGradients]

    def backward(self, switched: float, rounded: Rounding | None = None) -> None:
        if all(output.gradient is None for output in self.outputs):
            return
        call = Call(
            inputs=tuple([None if i is None else i.value for i in self.inputs]),
            outputs=tuple([output.value for output in self.outputs]),
            gradients=tuple([output.take_gradient() for output in self.outputs]),
            attributes=self.attributes,
            needed=self.needed,
            switched=switched,
        )
        for variable, gradient in zip(self.inputs, self.gradient(call)):
            if variable is None or not variable.needs_gradient:
                continue
            if gradient is None:
                raise UnsupportedError(
                    f"no gradient flows to every input of '{self.operator}': one that is a class weight or a "
                    f"running statistic must not be trainable"
                )
            variable.accumulate(gradient if rounded is None else rounded(gradient))


class Tape(Operators):
    """Operators on :class:`Variable`; composites run through their bodies.

    Parameters
    ----------
    forward : NumpyOperators
        Computes the values, in training's meaning.
    rounded : callable, optional
        Rounds the results of each operator, and the gradients that it passes on.
    """

    def __init__(self, forward: NumpyOperators, rounded: Rounding | None = None) -> None:
        super().__init__(training=True)
        self.forward = forward
        self._rounded = rounded
        self._entries: list[_Entry] = []

    def record(self, operator: str, inputs: tuple[Variable | None, ...], attributes: dict[str, Any]) -> Any:
        """Apply an operator and remember the call if a gradient must come back through it."""
        arrays = [None if i is None else i.value for i in inputs]
        result = getattr(self.forward, operator)(*arrays, **attributes)
        return self._remembered(operator, inputs, attributes, result)

    def _remembered(
        self, operator: str, inputs: tuple[Variable | None, ...], attributes: dict[str, Any], result: Any
    ) -> Any:
        needed = tuple([i is not None and i.needs_gradient for i in inputs])
        needs_gradient = True in needed
        values = result if isinstance(result, tuple) else (result,)
        if self._rounded is not None and operator not in CHOOSING:
            values = tuple(map(self._rounded, values))
        outputs = tuple([Variable(value, needs_gradient) for value in values])
        if needs_gradient:
            gradient = self.forward.gradients[operator]
            self._entries.append(_Entry(operator, inputs, needed, outputs, attributes, gradient))
        return outputs if isinstance(result, tuple) else outputs[0]

    def dropout(self, x: Variable, *, ratio: float = 0.5) -> Variable:
        mask = self.forward.dropout_mask(x.value, ratio)
        if mask is None:
            return x
        dropped: Variable = self.mul(x, Variable(mask))
        return dropped

    def backward(self, seeds: Sequence[tuple[Variable, Array]], switched: float = 0.0) -> None:
        """Go back from variables with their gradients; the tape is empty then.

        The gradient of every leaf that needs one is left in it. ``switched`` is as in
        :class:`~benchmarker.plugins.numpy.base.Call`.
        """
        for variable, gradient in seeds:
            variable.accumulate(gradient)
        while self._entries:
            self._entries.pop().backward(switched, self._rounded)


def _recorded(operator: str) -> Callable[..., Any]:
    defaults = {} if operator in RECORDS else OPERATORS[operator].attributes

    def call(self: Tape, *inputs: Variable | None, **attributes: Any) -> Any:
        return self.record(operator, inputs, {**defaults, **attributes})

    call.__name__ = operator
    return call


def _custom(tape: Tape, *inputs: Variable, name: str) -> Any:
    """Remember a user's operator as a whole, unless its body runs."""
    kernel = tape.forward.kernel(name)
    if kernel is None:
        return Operators.custom(tape, *inputs, name=name)
    result = kernel.forward([variable.value for variable in inputs])
    return tape._remembered("custom", inputs, {"kernel": kernel}, result if len(result) > 1 else result[0])


def _forgotten(operator: str) -> Callable[..., Any]:
    def call(self: Tape, *inputs: Variable, **attributes: Any) -> Variable:
        return Variable(getattr(self.forward, operator)(*(i.value for i in inputs), **attributes))

    call.__name__ = operator
    return call


for _name in STOPS:
    setattr(Tape, _name, _forgotten(_name))
for _name in GRADIENTS:
    setattr(Tape, _name, _recorded(_name))
Tape.custom = _custom  # type: ignore[method-assign,assignment]
