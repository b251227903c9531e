"""Building a graph: inputs, parameters, and layers that add the parameters they need."""

from __future__ import annotations

import math
from collections.abc import Sequence

from benchmarker.errors import UsageError
from benchmarker.graph.attributes import Recurrent
from benchmarker.graph.graph import Graph
from benchmarker.graph.initializers import ONES, ZEROS, he_normal, inverse_sqrt_uniform
from benchmarker.graph.recorder import Recorder, Value
from benchmarker.graph.types import Distribution, Input, Parameter, TensorType


def each_axis(value: int | Sequence[int], rank: int) -> tuple[int, ...]:
    """Return a value for each of ``rank`` spatial axes, a single one for all of them."""
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
        self._loss_over: str | None = None
        self._operands = False

    # --- tensors -----------------------------------------------------------------------------

    def input(
        self,
        name: str,
        sample_shape: Sequence[int],
        dtype: str = "float32",
        distribution: Distribution = Distribution("normal"),
        rows: int = 0,
    ) -> Value:
        """Declare a tensor of the mini-batch; ``sample_shape`` is without the batch axis.

        Where its values number rows of another tensor through the whole mini-batch, as those of a graph's neighbours
        do, ``rows`` tells how many each sample has, so that a part of the mini-batch can count its own.
        """
        type_ = TensorType((self.batch_size, *self._positive(name, sample_shape)), dtype)
        self._inputs.append(Input(name, type_, distribution, rows))
        return self._declare(name, type_)

    def operand(
        self,
        name: str,
        shape: Sequence[int],
        dtype: str = "float32",
        distribution: Distribution = Distribution("normal"),
    ) -> Value:
        """Declare an operand of an operator that is measured by itself; its first axis counts no samples.

        Raises
        ------
        UsageError
            If the mini-batch is to have several samples: the sizes of such a problem are its parameters.
        """
        if self.batch_size != 1:
            raise UsageError(
                f"'{self.name}' takes all its sizes from its parameters; the batch size must be 1, got "
                f"{self.batch_size}"
            )
        self._operands = True
        type_ = TensorType(self._positive(name, shape), dtype)
        self._inputs.append(Input(name, type_, distribution))
        return self._declare(name, type_)

    def labels(self, name: str, classes: int) -> Value:
        """Declare one class index a sample, drawn evenly from ``classes``."""
        self._positive(name, (classes,))
        return self.input(name, (), "int64", Distribution("integers", classes))

    def parameter(
        self,
        name: str,
        shape: Sequence[int],
        initializer: Distribution,
        trainable: bool = True,
        dtype: str = "float32",
    ) -> Value:
        """Declare a parameter, or state if it is not trainable; only such may hold integers or truth values."""
        type_ = TensorType(self._positive(name, shape), dtype)
        self._parameters.append(Parameter(name, type_, initializer, trainable))
        return self._declare(name, type_)

    def constant(
        self, name: str, shape: Sequence[int], distribution: Distribution, dtype: str = "float32"
    ) -> Value:
        """Declare a table that belongs to the model and never changes."""
        return self.parameter(name, shape, distribution, False, dtype)

    def initializer(self, name: str) -> Distribution | None:
        """Return how a parameter is drawn, None where ``name`` is no parameter's."""
        return next((p.initializer for p in self._parameters if p.name == name), None)

    def output(self, value: Value) -> None:
        """Make ``value`` a result of inference."""
        self._outputs.append(value.name)

    def loss(self, value: Value, *, over: str | None = None) -> None:
        """Make the scalar ``value`` what training minimises.

        A loss is a mean over samples. Where it is one over something else, of which parts of a mini-batch have
        different numbers, ``over`` says of what, e.g. ``masked words``: ranks and micro-batches then minimise the mean
        of their own means, which the reference computes too, and records say so.
        """
        self._loss, self._loss_over = value.name, over

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
            operands=self._operands,
            loss_over=self._loss_over,
        )

    def _declare(self, name: str, type_: TensorType) -> Value:
        return self._kept(self._unused(name), type_)

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
        pads: Sequence[int] | None = None,
    ) -> Value:
        """Convolution with its weight and bias.

        ``pad`` is the same at both ends of an axis; ``pads``, the begins then the ends, goes before it.
        """
        rank = len(x.shape) - 2
        channels = x.shape[1]
        sizes = each_axis(kernel, rank)
        self._positive(name, (filters, *sizes))
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
            strides=each_axis(stride, rank),
            pads=tuple(pads) if pads is not None else each_axis(pad, rank) * 2,
            dilations=each_axis(dilation, rank),
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

    def transposed_convolution(
        self,
        name: str,
        x: Value,
        filters: int,
        kernel: int | Sequence[int],
        *,
        stride: int | Sequence[int] = 1,
        pad: int | Sequence[int] = 0,
        output_padding: int | Sequence[int] = 0,
        bias: bool = True,
    ) -> Value:
        """Transposed convolution with its weight ``(channels, filters, kernel)`` and bias."""
        rank, channels = len(x.shape) - 2, x.shape[1]
        sizes = each_axis(kernel, rank)
        self._positive(name, (filters, *sizes))
        w = self.parameter(
            f"{name}.weight", (channels, filters, *sizes), he_normal(channels * math.prod(sizes))
        )
        start = inverse_sqrt_uniform(channels * math.prod(sizes))
        b = self.parameter(f"{name}.bias", (filters,), start) if bias else None
        result: Value = self.named(name).conv_transpose(
            x,
            w,
            b,
            strides=each_axis(stride, rank),
            pads=each_axis(pad, rank) * 2,
            output_padding=each_axis(output_padding, rank),
            dilations=(1,) * rank,
        )
        return result

    def dense(
        self, name: str, x: Value, units: int, *, bias: bool = True, start: Distribution | None = None
    ) -> Value:
        """Fully connected layer over the last axis; the weight is ``(units, features)``."""
        features = x.shape[-1]
        initializer = start or inverse_sqrt_uniform(features)
        w = self.parameter(f"{name}.weight", (units, features), initializer)
        b = self.parameter(f"{name}.bias", (units,), ZEROS if start else initializer) if bias else None
        rows = x if len(x.shape) == 2 else self.reshape(x, shape=(-1, features))
        result: Value = self.named(name).gemm(rows, w, b, trans_b=True)
        return result if len(x.shape) == 2 else self.reshape(result, shape=(*x.shape[:-1], units))

    def embedding(
        self, name: str, indices: Value, rows: int, width: int, start: Distribution = Distribution("normal")
    ) -> Value:
        """Rows of a table ``(rows, width)``, one for each index."""
        table = self.parameter(f"{name}.weight", (rows, width), start)
        result: Value = self.named(name).gather(table, indices)
        return result

    def layer_norm(self, name: str, x: Value, *, epsilon: float = 1e-5) -> Value:
        """Layer normalization over the last axis with scale and shift."""
        shape = x.shape[-1:]
        scale = self.parameter(f"{name}.weight", shape, ONES)
        shift = self.parameter(f"{name}.bias", shape, ZEROS)
        result: Value = self.named(name).layer_normalization(x, scale, shift, epsilon=epsilon)
        return result

    def pool(
        self,
        x: Value,
        kernel: int | Sequence[int],
        *,
        stride: int | Sequence[int] | None = None,
        pad: int | Sequence[int] = 0,
        ceil_mode: bool = False,
    ) -> Value:
        """Maximum pooling; the stride is the window's size by default."""
        rank = len(x.shape) - 2
        result: Value = self.max_pool(
            x,
            kernel_shape=each_axis(kernel, rank),
            strides=each_axis(kernel if stride is None else stride, rank),
            pads=each_axis(pad, rank) * 2,
            ceil_mode=ceil_mode,
        )
        return result

    def rnn_layer(
        self,
        name: str,
        x: Value,
        units: int,
        *,
        direction: str = "forward",
        activation: str = "tanh",
        start: Distribution | None = None,
    ) -> tuple[Value, Value]:
        """One layer of plain cells over ``x (T, N, I)`` with two bias vectors; returns ``y`` and ``y_h``."""
        w, r, b = self._recurrent(name, x, units, 1, direction, start)
        return self.named(name).rnn(x, w, r, b, hidden_size=units, direction=direction, activation=activation)

    def lstm_layer(
        self,
        name: str,
        x: Value,
        units: int,
        *,
        direction: str = "forward",
        start: Distribution | None = None,
    ) -> tuple[Value, Value, Value]:
        """One LSTM layer over ``x (T, N, I)`` with two bias vectors; returns ``y``, ``y_h``, ``y_c``."""
        w, r, b = self._recurrent(name, x, units, 4, direction, start)
        return self.named(name).lstm(x, w, r, b, hidden_size=units, direction=direction)

    def gru_layer(
        self,
        name: str,
        x: Value,
        units: int,
        *,
        direction: str = "forward",
        start: Distribution | None = None,
    ) -> tuple[Value, Value]:
        """One GRU layer over ``x (T, N, I)`` with two bias vectors; returns ``y`` and ``y_h``."""
        w, r, b = self._recurrent(name, x, units, 3, direction, start)
        return self.named(name).gru(x, w, r, b, hidden_size=units, direction=direction)

    def _recurrent(
        self, name: str, x: Value, units: int, gates: int, direction: str, start: Distribution | None
    ) -> tuple[Value, Value, Value]:
        self._positive(name, (units,))
        initializer = start or inverse_sqrt_uniform(units)
        w, r, b = Recurrent(units, direction).weight_shapes(gates, x.shape[2])
        return (
            self.parameter(f"{name}.w", w, initializer),
            self.parameter(f"{name}.r", r, initializer),
            self.parameter(f"{name}.b", b, ZEROS if start else initializer),
        )
