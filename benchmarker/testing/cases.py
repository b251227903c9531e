"""Cases of each operator: shapes, values and attributes that tell a right meaning from a wrong one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.graph.graph import Graph
from benchmarker.graph.network import ZEROS, Network, Value
from benchmarker.graph.operators import OPERATORS
from benchmarker.graph.types import Distribution, TensorType
from benchmarker.testing.subject import draw

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
    role : {"data", "weight", "state", "labels"}
        Part of the mini-batch, a trainable parameter, one that is not, or class indices.
    values : {"normal", "negative", "positive", "wide", "shifted", "zeros"}
        Standard normal; below 0; between 0.5 and 1.5; evenly from -60 to 60; around 200, whose
        exponential overflows in float32; or every third one 0.
    classes : int
        Upper bound of labels.
    """

    shape: tuple[int, ...]
    role: str = "data"
    values: str = "normal"
    classes: int = 0

    def draw(self, name: str, seed: int) -> Array:
        """Return its values."""
        if self.role == "labels":
            return draw(name, TensorType(self.shape, "int64"), Distribution("integers", self.classes), seed)
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
    """

    operator: str
    name: str
    operands: tuple[Operand | None, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def path(self) -> str:
        """``operator/name``."""
        return f"{self.operator}/{self.name}"

    def named_operands(self) -> dict[str, Operand]:
        """Return the operands that are there, by argument name."""
        names = OPERATORS[self.operator].tensors
        return {name: operand for name, operand in zip(names, self.operands) if operand is not None}

    def graph(self, *, training: bool) -> Graph:
        """Return a graph of this one call.

        In training each data operand gets a trainable shift of 0, so that the gradient of the
        operand can be asked for, and the loss is ``mean(y * dy)`` summed over the outputs, with
        ``dy`` in the mini-batch; an output that is a scalar is the loss itself.
        """
        net = Network(self.path, 1)
        arguments = dict(self._declare(net, training))
        names = OPERATORS[self.operator].tensors[: len(self.operands)]
        result = getattr(net, self.operator)(*(arguments.get(name) for name in names), **self.attributes)
        outputs = result if isinstance(result, tuple) else (result,)
        for output in outputs:
            net.output(output)
        if training:
            net.loss(_loss(net, outputs))
        return net.graph()

    def _declare(self, net: Network, training: bool) -> list[tuple[str, Value]]:
        declared = []
        for name, operand in self.named_operands().items():
            if operand.role in ("weight", "state"):
                trainable = operand.role == "weight"
                declared.append((name, net.parameter(name, operand.shape, ZEROS, trainable)))
                continue
            value = _input(net, name, operand.shape, "int64" if operand.role == "labels" else "float32")
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


def _weights(*shapes: tuple[int, ...]) -> tuple[Operand, ...]:
    return tuple(Operand(shape, "weight") for shape in shapes)


def _conv(
    name: str,
    x: tuple[int, ...],
    filters: int,
    kernel: tuple[int, ...],
    *,
    strides: tuple[int, ...] | None = None,
    pads: tuple[int, ...] | None = None,
    dilations: tuple[int, ...] | None = None,
    group: int = 1,
    bias: bool = True,
) -> OperatorCase:
    rank = len(kernel)
    w = (filters, x[1] // group, *kernel)
    attributes = {
        "strides": strides or (1,) * rank,
        "pads": pads or (0,) * 2 * rank,
        "dilations": dilations or (1,) * rank,
        "group": group,
    }
    return OperatorCase("conv", name, (Operand(x), *_weights(w, *([(filters,)] if bias else []))), attributes)


CONVOLUTIONS = (
    _conv("1d", (2, 3, 9), 4, (3,)),
    _conv("1d-stride-asymmetric", (2, 3, 10), 4, (4,), strides=(3,), pads=(2, 1)),
    _conv("1d-dilation-groups", (2, 4, 11), 6, (3,), dilations=(2,), group=2, bias=False),
    _conv("2d", (2, 3, 7, 6), 5, (3, 3)),
    _conv("2d-1x1", (2, 6, 5, 5), 4, (1, 1), bias=False),
    _conv("2d-1x1-stride", (2, 6, 7, 7), 4, (1, 1), strides=(2, 2), bias=False),
    _conv("2d-pad-stride", (2, 3, 8, 8), 4, (3, 3), strides=(2, 2), pads=(1, 1, 1, 1)),
    _conv("2d-strides-differ", (2, 3, 8, 9), 4, (3, 2), strides=(2, 1), pads=(1, 0, 1, 0)),
    _conv("2d-asymmetric-pads", (2, 3, 6, 7), 4, (3, 3), pads=(0, 2, 1, 0)),
    _conv("2d-dilation", (2, 3, 9, 9), 4, (3, 3), dilations=(2, 3), pads=(1, 1, 1, 1)),
    _conv("2d-dilation-stride", (2, 3, 11, 11), 4, (3, 3), dilations=(2, 2), strides=(2, 2)),
    _conv("2d-groups", (2, 6, 6, 6), 4, (3, 3), group=2, pads=(1, 1, 1, 1)),
    _conv("2d-groups-dilation", (2, 4, 8, 8), 6, (3, 3), group=2, dilations=(2, 2)),
    _conv("2d-depthwise", (2, 4, 6, 6), 4, (3, 3), group=4, pads=(1, 1, 1, 1)),
    _conv("2d-depthwise-multiplier", (2, 3, 7, 7), 6, (3, 3), group=3, strides=(2, 2), bias=False),
    _conv("2d-stem", (1, 3, 16, 16), 4, (7, 7), strides=(2, 2), pads=(3, 3, 3, 3), bias=False),
    _conv("3d", (1, 2, 5, 4, 6), 3, (2, 3, 3), pads=(0, 1, 1, 1, 1, 1)),
    _conv("3d-stride-groups", (1, 4, 6, 6, 6), 4, (3, 3, 3), strides=(2, 2, 2), group=2, bias=False),
)


def _pool(
    operator: str,
    name: str,
    x: tuple[int, ...],
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    pads: tuple[int, ...],
    values: str = "normal",
    **attributes: Any,
) -> OperatorCase:
    window = {"kernel_shape": kernel, "strides": strides, "pads": pads}
    return OperatorCase(operator, name, (Operand(x, values=values),), {**window, **attributes})


POOLINGS = (
    _pool("max_pool", "1d", (2, 3, 9), (2,), (2,), (0, 0)),
    _pool("max_pool", "2d-overlap-pad", (2, 3, 8, 8), (3, 3), (2, 2), (1, 1, 1, 1)),
    _pool("max_pool", "2d-asymmetric", (2, 3, 7, 6), (3, 2), (2, 1), (1, 0, 0, 1)),
    _pool("max_pool", "2d-all-negative", (2, 3, 6, 6), (3, 3), (2, 2), (1, 1, 1, 1), "negative"),
    _pool("max_pool", "2d-ceil", (2, 3, 6, 7), (3, 3), (2, 2), (0, 0, 0, 0), ceil_mode=True),
    _pool("max_pool", "2d-ceil-pad", (2, 3, 6, 8), (3, 3), (2, 2), (1, 1, 1, 1), "negative", ceil_mode=True),
    _pool("max_pool", "2d-ceil-drops-window", (1, 2, 5, 5), (1, 1), (3, 3), (0, 0, 0, 0), ceil_mode=True),
    _pool("max_pool", "3d", (1, 2, 4, 5, 6), (2, 2, 2), (2, 2, 2), (0, 0, 0, 0, 0, 0)),
    _pool("average_pool", "1d", (2, 3, 9), (3,), (2,), (0, 0)),
    _pool("average_pool", "2d", (2, 3, 6, 6), (2, 2), (2, 2), (0, 0, 0, 0)),
    _pool("average_pool", "2d-pad-not-counted", (2, 3, 7, 7), (3, 3), (2, 2), (1, 1, 1, 1)),
    _pool(
        "average_pool", "2d-pad-counted", (2, 3, 7, 7), (3, 3), (2, 2), (1, 1, 1, 1), count_include_pad=True
    ),
    _pool("average_pool", "2d-asymmetric", (2, 3, 6, 7), (3, 3), (1, 2), (0, 1, 1, 0)),
    _pool(
        "average_pool",
        "2d-asymmetric-counted",
        (2, 3, 6, 7),
        (3, 3),
        (1, 2),
        (0, 1, 1, 0),
        count_include_pad=True,
    ),
    _pool("average_pool", "3d", (1, 2, 4, 4, 5), (2, 2, 2), (2, 2, 1), (0, 0, 0, 0, 0, 0)),
    OperatorCase("global_average_pool", "1d", (Operand((2, 3, 7)),)),
    OperatorCase("global_average_pool", "2d", (Operand((2, 3, 5, 4)),)),
    OperatorCase("global_average_pool", "3d", (Operand((2, 3, 3, 4, 2)),)),
)

MATRICES = (
    OperatorCase("gemm", "plain", (Operand((4, 5)), *_weights((5, 3), (3,)))),
    OperatorCase("gemm", "without-c", (Operand((4, 5)), *_weights((5, 3)))),
    OperatorCase("gemm", "dense", (Operand((4, 5)), *_weights((3, 5), (3,))), {"trans_b": True}),
    OperatorCase("gemm", "dense-without-c", (Operand((4, 5)), *_weights((3, 5))), {"trans_b": True}),
    OperatorCase("gemm", "trans-a", (Operand((5, 4)), *_weights((5, 3), (4, 3))), {"trans_a": True}),
    OperatorCase(
        "gemm", "trans-both", (Operand((5, 4)), *_weights((3, 5), (3,))), {"trans_a": True, "trans_b": True}
    ),
    OperatorCase(
        "gemm", "alpha-beta", (Operand((4, 5)), *_weights((5, 3), (4, 1))), {"alpha": 0.5, "beta": -2.0}
    ),
    OperatorCase(
        "gemm",
        "dense-alpha-beta",
        (Operand((4, 5)), *_weights((3, 5), (1, 3))),
        {"trans_b": True, "alpha": 2.5, "beta": 0.25},
    ),
    OperatorCase("gemm", "both-data", (Operand((4, 5)), Operand((5, 3)))),
)


def _batch_norm(name: str, x: tuple[int, ...], **attributes: float) -> OperatorCase:
    channel = (x[1],)
    state = (Operand(channel, "state"), Operand(channel, "state", "positive"))
    return OperatorCase(
        "batch_normalization", name, (Operand(x), *_weights(channel, channel), *state), attributes
    )


NORMALIZATIONS = (
    _batch_norm("2d", (3, 4, 5, 5)),
    _batch_norm("2d-epsilon-momentum", (3, 4, 3, 5), epsilon=1e-2, momentum=0.7),
    _batch_norm("matrix", (8, 5), epsilon=1e-3),
    _batch_norm("1d", (3, 4, 6)),
    _batch_norm("3d", (2, 3, 3, 4, 3), momentum=0.8),
)


def _unary(operator: str) -> tuple[OperatorCase, ...]:
    return (
        OperatorCase(operator, "matrix", (Operand((4, 5)),)),
        OperatorCase(operator, "4d", (Operand((2, 3, 4, 5)),)),
        OperatorCase(operator, "wide", (Operand((4, 6), values="wide"),)),
    )


def _binary(operator: str) -> tuple[OperatorCase, ...]:
    x = Operand((2, 3, 4, 5))
    return (
        OperatorCase(operator, "same", (x, Operand((2, 3, 4, 5)))),
        OperatorCase(operator, "matrix-row", (Operand((4, 5)), *_weights((5,)))),
        OperatorCase(operator, "matrix-column", (Operand((4, 5)), *_weights((4, 1)))),
        OperatorCase(operator, "per-channel", (x, *_weights((1, 3, 1, 1)))),
        OperatorCase(operator, "lower-rank", (x, *_weights((3, 1, 1)))),
        OperatorCase(operator, "last-axis", (x, *_weights((5,)))),
        OperatorCase(operator, "scalar", (x, *_weights(()))),
        OperatorCase(operator, "first-broadcast", (Operand((2, 3, 1, 1)), x)),
        OperatorCase(operator, "both-broadcast", (Operand((4, 1, 5)), *_weights((3, 1)))),
    )


ELEMENTWISE = (
    *_unary("relu"),
    OperatorCase("relu", "zeros", (Operand((4, 6), values="zeros"),)),
    *_unary("sigmoid"),
    *_unary("tanh"),
    *_unary("silu"),
    *_binary("add"),
    *_binary("mul"),
    OperatorCase("dropout", "matrix", (Operand((4, 5)),), {"ratio": 0.3}),
    OperatorCase("dropout", "4d", (Operand((2, 3, 4, 4)),), {"ratio": 0.5}),
    OperatorCase("dropout", "ratio-0", (Operand((4, 5)),), {"ratio": 0.0}),
    OperatorCase("softmax", "matrix", (Operand((4, 5)),)),
    OperatorCase("softmax", "shifted", (Operand((4, 6), values="shifted"),)),
    OperatorCase("softmax", "axis-1", (Operand((2, 3, 4)),), {"axis": 1}),
    OperatorCase("softmax", "axis-0", (Operand((4, 3)),), {"axis": 0}),
    OperatorCase("softmax", "axis-1-4d", (Operand((2, 3, 4, 5)),), {"axis": 1}),
    OperatorCase("softmax", "axis-from-end", (Operand((2, 3, 4, 5)),), {"axis": -2}),
    *_unary("reduce_mean"),
    OperatorCase("reduce_mean", "vector", (Operand((7,)),)),
)

SHAPES = (
    OperatorCase("reshape", "plain", (Operand((4, 6)),), {"shape": (3, 8)}),
    OperatorCase("reshape", "infer", (Operand((2, 3, 4)),), {"shape": (-1, 6)}),
    OperatorCase("reshape", "keep-and-infer", (Operand((2, 3, 4, 5)),), {"shape": (0, 0, -1)}),
    OperatorCase("reshape", "flatten-4d", (Operand((2, 3, 4, 5)),), {"shape": (0, -1)}),
    OperatorCase("reshape", "to-4d", (Operand((2, 24)),), {"shape": (0, 2, 3, 4)}),
    OperatorCase("transpose", "matrix", (Operand((4, 6)),), {"perm": (1, 0)}),
    OperatorCase("transpose", "batch-and-time", (Operand((2, 5, 3)),), {"perm": (1, 0, 2)}),
    OperatorCase("transpose", "4d", (Operand((2, 3, 4, 5)),), {"perm": (0, 2, 3, 1)}),
    OperatorCase("transpose", "4d-cycle", (Operand((2, 3, 4, 5)),), {"perm": (3, 0, 2, 1)}),
    OperatorCase("flatten", "4d", (Operand((2, 3, 4, 5)),)),
    OperatorCase("flatten", "3d", (Operand((2, 3, 4)),)),
    OperatorCase("flatten", "matrix", (Operand((4, 5)),)),
)


def _lstm(name: str, steps: int, batch: int, size: int, hidden: int) -> OperatorCase:
    weights = _weights((1, 4 * hidden, size), (1, 4 * hidden, hidden), (1, 8 * hidden))
    return OperatorCase("lstm", name, (Operand((steps, batch, size)), *weights), {"hidden_size": hidden})


RECURRENT = (
    _lstm("small", 5, 3, 4, 6),
    _lstm("one-step", 1, 2, 3, 2),
    _lstm("batch-1", 4, 1, 5, 3),
)


def _cross_entropy(name: str, batch: int, classes: int, values: str = "normal") -> OperatorCase:
    operands = (Operand((batch, classes), values=values), Operand((batch,), "labels", classes=classes))
    return OperatorCase("softmax_cross_entropy_loss", name, operands)


LOSSES = (
    _cross_entropy("plain", 5, 7),
    _cross_entropy("two-classes", 3, 2),
    _cross_entropy("shifted", 4, 10, "shifted"),
)

OPERATOR_CASES: tuple[OperatorCase, ...] = (
    *CONVOLUTIONS,
    *POOLINGS,
    *MATRICES,
    *NORMALIZATIONS,
    *ELEMENTWISE,
    *SHAPES,
    *RECURRENT,
    *LOSSES,
)
"""At least one case, and where attributes matter several, of every operator of the vocabulary."""
