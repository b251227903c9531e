"""A case of an operator: its arguments, and the graph that asks for its results and gradients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.graph.graph import Graph
from benchmarker.graph.initializers import ZEROS
from benchmarker.graph.network import Network
from benchmarker.graph.operators import OPERATORS, STOPS
from benchmarker.graph.recorder import Value
from benchmarker.graph.types import Distribution, TensorType
from benchmarker.quick_dataclass import dataclass
from benchmarker.worker.conformance.subject import draw

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Operand:
    """One tensor argument of a case.

    Parameters
    ----------
    shape : tuple of int
        Its shape.
    role : {"data", "weight", "state", "labels", "truth", "table"}
        Part of the mini-batch, a trainable parameter, one that is not, class indices, truth values, or
        class indices that are a parameter.
    values : {"normal", "negative", "positive", "wide", "shifted", "zeros", "halves"}
        Standard normal; below 0; between 0.5 and 1.5; evenly from -60 to 60; around 200, whose
        exponential overflows in float32; every third one 0; or halfway between two integers.
    classes : int
        Upper bound of labels.
    low : int
        Lower bound of labels.
    ignored : int or None
        What every third label is instead.
    """

    shape: tuple[int, ...]
    role: str = "data"
    values: str = "normal"
    classes: int = 0
    low: int = 0
    ignored: int | None = None

    def draw(self, name: str, seed: int) -> Array:
        """Return its values."""
        if self.role == "truth":
            return draw(name, TensorType(self.shape, "bool"), Distribution("integers", 2), seed)
        if self.role in ("labels", "table"):
            distribution = Distribution("integers", self.classes, self.low)
            labels = draw(name, TensorType(self.shape, "int64"), distribution, seed)
            if self.ignored is not None:
                labels.reshape(-1)[::3] = self.ignored
            return labels
        values = draw(name, TensorType(self.shape), Distribution("normal"), seed)
        return np.asarray(self._moved(values), np.float32)

    def _moved(self, values: Array) -> Array:
        if self.values == "negative":
            return -1.0 - np.abs(values)
        if self.values == "positive":
            return 0.5 + np.exp(-np.abs(values))
        if self.values == "wide":
            return np.linspace(-60.0, 60.0, values.size).reshape(values.shape)
        if self.values == "shifted":
            return values + 200.0
        if self.values == "zeros":
            values.reshape(-1)[::3] = 0.0
        if self.values == "halves":
            return np.floor(4.0 * values) + 0.5
        return values


@dataclass(frozen=True)
class OperatorCase:
    """An operator with arguments.

    Parameters
    ----------
    operator : str
        Name in the vocabulary.
    name : str
        Unique among the operator's cases.
    operands : tuple of Operand or None
        In the order of the operator's tensor arguments; None is an absent optional one.
    attributes : mapping
        Keyword arguments.
    then : str
        An operator that its result goes through before it is compared, where that is not finite.
    """

    operator: str
    name: str
    operands: tuple[Operand | None, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    then: str = ""

    @property
    def path(self) -> str:
        """``operator/name``."""
        return f"{self.operator}/{self.name}"

    def named_operands(self) -> dict[str, Operand]:
        """Return the operands that are there, by argument name."""
        names = OPERATORS[self.operator].argument_names(len(self.operands))
        return {name: operand for name, operand in zip(names, self.operands) if operand is not None}

    def graph(self, *, training: bool) -> Graph:
        """Return a graph of this one call.

        In training each data operand gets a trainable shift of 0, so that the gradient of the
        operand can be asked for, and the loss is ``mean(y * dy)`` summed over the outputs, with
        ``dy`` in the mini-batch; an output that is a scalar is the loss itself. Where nothing flows
        back through the operator, an operand or a parameter of the case's own takes part besides it.
        """
        net = Network(self.path, 1)
        arguments = dict(self._declare(net, training))
        names = OPERATORS[self.operator].argument_names(len(self.operands))
        result = getattr(net, self.operator)(*(arguments.get(name) for name in names), **self.attributes)
        if self.then:
            result = getattr(net, self.then)(result)
        outputs = result if isinstance(result, tuple) else (result,)
        for output in outputs:
            net.output(output)
        if training:
            outputs = tuple(y if y.type.dtype == "float32" else net.cast(y) for y in outputs)
            net.loss(_loss(net, self._loss_terms(net, arguments, outputs)))
        return net.graph()

    def _loss_terms(
        self, net: Network, arguments: Mapping[str, Value], outputs: tuple[Value, ...]
    ) -> tuple[Value, ...]:
        real = [value for value in arguments.values() if value.type.dtype == "float32"]
        if self.operator in STOPS and real:
            return (*outputs, *real)
        if any(operand.role in ("data", "weight") for operand in self.named_operands().values()):
            return outputs
        return tuple(net.mul(y, net.parameter("factor", y.shape, ZEROS)) for y in outputs)

    def _declare(self, net: Network, training: bool) -> list[tuple[str, Value]]:
        declared = []
        for name, operand in self.named_operands().items():
            if operand.role in ("weight", "state"):
                trainable = operand.role == "weight"
                declared.append((name, net.parameter(name, operand.shape, ZEROS, trainable)))
                continue
            if operand.role == "table":
                declared.append((name, net.constant(name, operand.shape, ZEROS, "int64")))
                continue
            kind = {"labels": "int64", "truth": "bool"}.get(operand.role, "float32")
            value = _input(net, name, operand.shape, kind)
            if training and operand.role == "data":
                value = net.add(value, net.parameter(f"{name}.shift", operand.shape, ZEROS))
            declared.append((name, value))
        return declared

    def values(self, graph: Graph, seed: int) -> tuple[dict[str, Array], dict[str, Array]]:
        """Return parameters and mini-batch for ``graph``."""
        operands = self.named_operands()

        def value(name: str, type_: TensorType) -> Array:
            if name in operands:
                return operands[name].draw(name, seed)
            kind = "constant" if name.endswith(".shift") else "normal"
            return draw(name, type_, Distribution(kind, 0.0 if kind == "constant" else 1.0), seed)

        return (
            {p.name: value(p.name, p.type) for p in graph.parameters},
            {i.name: value(i.name, i.type) for i in graph.inputs},
        )


def _input(net: Network, name: str, shape: tuple[int, ...], dtype: str = "float32") -> Value:
    net.batch_size = shape[0]  # operands of one operator need not agree in their first axis
    return net.input(name, shape[1:], dtype)


def _loss(net: Network, outputs: tuple[Value, ...]) -> Value:
    total: Value | None = None
    for position, output in enumerate(outputs):
        term = output
        if output.shape:
            term = net.reduce_mean(net.mul(output, _input(net, f"dy{position}", output.shape)))
        total = term if total is None else net.add(total, term)
    assert total is not None
    return total


def weights(*shapes: tuple[int, ...]) -> tuple[Operand, ...]:
    """Return a trainable parameter of each shape."""
    return tuple(Operand(shape, "weight") for shape in shapes)


def labels(shape: tuple[int, ...], classes: int, *, low: int = 0, ignored: int | None = None) -> Operand:
    """Return class indices or row numbers."""
    return Operand(shape, "labels", classes=classes, low=low, ignored=ignored)
