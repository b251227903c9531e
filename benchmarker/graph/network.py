"""Building a graph: operators record nodes, layers add the parameters they need."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarker.errors import UsageError
from benchmarker.graph.graph import Graph, apply_node, as_tuple
from benchmarker.graph.operators import OPERATORS, REQUIRED, Operators
from benchmarker.graph.shapes import Shapes
from benchmarker.graph.types import Distribution, Input, Node, Parameter, TensorType


@dataclass(frozen=True)
class Value:
    """A named tensor of the graph under construction."""

    name: str
    type: TensorType

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape, mini-batch included."""
        return self.type.shape


class Recorder(Operators):
    """Operators that append a node for each call; the methods are generated from the vocabulary."""

    def __init__(self) -> None:
        super().__init__(training=True)
        self.nodes: list[Node] = []
        self.types: dict[str, TensorType] = {}
        self._shapes = Shapes(training=True)
        self._calls: dict[str, int] = {}

    def named(self, name: str) -> Recorder:
        """Return the same network, whose next node has this name: ``net.named("fc").gemm(...)``."""
        return _Named(self, name)

    def record(self, operator: str, arguments: inspect.BoundArguments, name: str | None = None) -> Any:
        """Append a node and return its outputs as values."""
        info = OPERATORS[operator]
        tensors: list[Value | None] = [arguments.arguments.get(name) for name in info.tensors]
        while tensors and tensors[-1] is None:
            tensors.pop()
        attributes = {}
        for attribute, default in info.attributes.items():
            value = arguments.arguments.get(attribute, default)
            if value is REQUIRED:
                raise TypeError(f"operator '{operator}' needs attribute '{attribute}'")
            attributes[attribute] = as_tuple(value)
        name = self._unused(name or self._numbered(operator))
        node = Node(name, operator, tuple(t.name if t else "" for t in tensors), (), attributes)
        types = apply_node(node, self._shapes, [t.type if t else None for t in tensors])
        outputs = (name,) if len(types) == 1 else tuple(f"{name}:{i}" for i in range(len(types)))
        self.nodes.append(Node(name, operator, node.inputs, outputs, attributes))
        self.types.update(zip(outputs, types))
        values = tuple(Value(output, type_) for output, type_ in zip(outputs, types))
        return values if len(values) > 1 else values[0]

    def _numbered(self, operator: str) -> str:
        self._calls[operator] = self._calls.get(operator, 0) + 1
        return f"{operator}_{self._calls[operator]}"

    def _unused(self, name: str) -> str:
        if name in self.types or any(node.name == name for node in self.nodes):
            raise UsageError(f"the graph has two values named '{name}'")
        return name


class _Named(Recorder):
    """A recorder that appends to another one, under a given name."""

    def __init__(self, recorder: Recorder, name: str) -> None:
        super().__init__()
        self._recorder = recorder
        self._name = name

    def record(self, operator: str, arguments: inspect.BoundArguments, name: str | None = None) -> Any:
        return self._recorder.record(operator, arguments, name or self._name)


def _recording(operator: str, declared: Callable[..., Any]) -> Callable[..., Any]:
    signature = inspect.signature(declared)

    def call(self: Recorder, *tensors: Any, **attributes: Any) -> Any:
        return self.record(operator, signature.bind(self, *tensors, **attributes))

    call.__name__ = operator
    call.__doc__ = declared.__doc__
    return call


for _name in OPERATORS:
    setattr(Recorder, _name, _recording(_name, getattr(Operators, _name)))


def he_normal(fan: int) -> Distribution:
    """Normal with standard deviation ``sqrt(2 / fan)`` (He et al. 2015, arXiv 1502.01852, eq. 10)."""
    return Distribution("normal", math.sqrt(2.0 / fan))


def inverse_sqrt_uniform(fan: int) -> Distribution:
    """Uniform in ``±1/sqrt(fan)``, the usual start of fully connected and recurrent layers."""
    return Distribution("uniform", 1.0 / math.sqrt(fan))


ZEROS = Distribution("constant", 0.0)
ONES = Distribution("constant", 1.0)


def _spatial(value: int | Sequence[int], rank: int) -> tuple[int, ...]:
    return (value,) * rank if isinstance(value, int) else tuple(value)


class Network(Recorder):
    """A graph under construction.

    Parameters
    ----------
    name : str
        The problem's name.
    batch_size : int
        Samples in a mini-batch, the first axis of every input.
    """

    def __init__(self, name: str, batch_size: int) -> None:
        super().__init__()
        if batch_size < 1:
            raise UsageError(f"the batch size must be at least 1, got {batch_size}")
        self.name = name
        self.batch_size = batch_size
        self._inputs: list[Input] = []
        self._parameters: list[Parameter] = []
        self._outputs: list[str] = []
        self._loss: str | None = None

    # --- tensors -----------------------------------------------------------------------------

    def input(
        self,
        name: str,
        sample_shape: Sequence[int],
        dtype: str = "float32",
        distribution: Distribution = Distribution("normal"),
    ) -> Value:
        """Declare a tensor of the mini-batch; ``sample_shape`` is without the batch axis."""
        type_ = TensorType((self.batch_size, *self._positive(name, sample_shape)), dtype)
        self._inputs.append(Input(name, type_, distribution))
        return self._declare(name, type_)

    def labels(self, name: str, classes: int) -> Value:
        """Declare one class index a sample, drawn evenly from ``classes``."""
        self._positive(name, (classes,))
        return self.input(name, (), "int64", Distribution("integers", classes))

    def parameter(
        self, name: str, shape: Sequence[int], initializer: Distribution, trainable: bool = True
    ) -> Value:
        """Declare a parameter, or state if it is not trainable."""
        type_ = TensorType(self._positive(name, shape))
        self._parameters.append(Parameter(name, type_, initializer, trainable))
        return self._declare(name, type_)

    def output(self, value: Value) -> None:
        """Make ``value`` a result of inference."""
        self._outputs.append(value.name)

    def loss(self, value: Value) -> None:
        """Make the scalar ``value`` what training minimises."""
        self._loss = value.name

    def graph(self) -> Graph:
        """Return the finished graph."""
        return Graph(
            self.name,
            tuple(self._inputs),
            tuple(self._parameters),
            tuple(self.nodes),
            tuple(self._outputs),
            self._loss,
            dict(self.types),
        )

    def _declare(self, name: str, type_: TensorType) -> Value:
        self.types[self._unused(name)] = type_
        return Value(name, type_)

    def _positive(self, name: str, shape: Sequence[int]) -> tuple[int, ...]:
        if any(size < 1 for size in shape):
            raise UsageError(f"every size of '{name}' must be at least 1, got {tuple(shape)}")
        return tuple(shape)

    # --- layers ------------------------------------------------------------------------------

    def convolution(
        self,
        name: str,
        x: Value,
        filters: int,
        kernel: int | Sequence[int],
        *,
        stride: int | Sequence[int] = 1,
        pad: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
        bias: bool = True,
    ) -> Value:
        """Convolution with its weight and bias; ``pad`` is the same at both ends of an axis."""
        rank = len(x.shape) - 2
        channels = x.shape[1]
        sizes = _spatial(kernel, rank)
        if groups < 1 or channels % groups or filters % groups:
            raise UsageError(
                f"'{name}': {channels} channels and {filters} filters must be multiples of the "
                f"{groups} groups"
            )
        initializer = he_normal(filters // groups * math.prod(sizes))
        w = self.parameter(f"{name}.weight", (filters, channels // groups, *sizes), initializer)
        fan_in = channels // groups * math.prod(sizes)
        b = self.parameter(f"{name}.bias", (filters,), inverse_sqrt_uniform(fan_in)) if bias else None
        result: Value = self.named(name).conv(
            x,
            w,
            b,
            strides=_spatial(stride, rank),
            pads=_spatial(pad, rank) * 2,
            dilations=_spatial(dilation, rank),
            group=groups,
        )
        return result

    def batch_norm(
        self, name: str, x: Value, *, epsilon: float = 1e-5, momentum: float = 0.9, start: float = 1.0
    ) -> Value:
        """Batch normalization with scale (at first ``start``), shift and running statistics."""
        shape = (x.shape[1],)
        scale = self.parameter(f"{name}.weight", shape, Distribution("constant", start))
        shift = self.parameter(f"{name}.bias", shape, ZEROS)
        mean = self.parameter(f"{name}.running_mean", shape, ZEROS, trainable=False)
        var = self.parameter(f"{name}.running_var", shape, ONES, trainable=False)
        result: Value = self.named(name).batch_normalization(
            x, scale, shift, mean, var, epsilon=epsilon, momentum=momentum
        )
        return result

    def dense(self, name: str, x: Value, units: int) -> Value:
        """Fully connected layer with bias; the weight is ``(units, features)``."""
        features = x.shape[1]
        initializer = inverse_sqrt_uniform(features)
        w = self.parameter(f"{name}.weight", (units, features), initializer)
        b = self.parameter(f"{name}.bias", (units,), initializer)
        result: Value = self.named(name).gemm(x, w, b, trans_b=True)
        return result

    def pool(self, x: Value, kernel: int, *, stride: int | None = None, pad: int = 0) -> Value:
        """Maximum pooling with a square window; the stride is the window's size by default."""
        rank = len(x.shape) - 2
        result: Value = self.max_pool(
            x,
            kernel_shape=_spatial(kernel, rank),
            strides=_spatial(kernel if stride is None else stride, rank),
            pads=_spatial(pad, rank) * 2,
        )
        return result

    def lstm_layer(self, name: str, x: Value, units: int) -> tuple[Value, Value, Value]:
        """One LSTM layer over ``x (T, N, I)`` with two bias vectors; returns ``y``, ``y_h``, ``y_c``."""
        start = inverse_sqrt_uniform(units)
        w = self.parameter(f"{name}.w", (1, 4 * units, x.shape[2]), start)
        r = self.parameter(f"{name}.r", (1, 4 * units, units), start)
        b = self.parameter(f"{name}.b", (1, 8 * units), start)
        return self.named(name).lstm(x, w, r, b, hidden_size=units)
