"""Building a graph: layers that add the parameters they need."""

from __future__ import annotations

import math
from collections.abc import Sequence

from benchmarker.errors import UsageError
from benchmarker.graph.attributes import Recurrent
from benchmarker.graph.declarations import Declarations
from benchmarker.graph.initializers import ONES, ZEROS, he_normal, inverse_sqrt_uniform
from benchmarker.graph.recorder import Value
from benchmarker.graph.types import Distribution


def each_axis(value: int | Sequence[int], rank: int) -> tuple[int, ...]:
    """Return a value for each of ``rank`` spatial axes, a single one for all of them."""
    return (value,) * rank if isinstance(value, int) else tuple(value)


class Network(Declarations):
    """A graph under construction, with layers that add the parameters which they need.

    Parameters
    ----------
    name : str
        The problem's name.
    batch_size : int
        Samples in a mini-batch, the first axis of every input.
    """

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
        """Convolution over any number of spatial axes, with its weight and bias.

        Parameters
        ----------
        name : str
            Of the layer; its parameters are ``name.weight``, ``(filters, channels / groups, *kernel)`` and drawn as by
            He et al. (2015), and ``name.bias``, ``(filters,)``.
        x : Value
            ``(batch, channels, *spatial)``.
        filters : int
            Channels of the result.
        kernel, stride, dilation : int or sequence of int
            Of each spatial axis; one number is for all of them.
        pad : int or sequence of int
            Zeros at either end of each spatial axis.
        groups : int
            Into which the channels and the filters are parted; both are multiples of it.
        bias : bool
            Whether a bias is added.
        pads : sequence of int, optional
            Zeros at the beginnings of all axes and then at their ends, instead of ``pad``.
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
        """Batch normalization over all axes but the second, with scale, shift and running statistics.

        Parameters
        ----------
        name : str
            Of the layer; its parameters are ``name.weight``, ``name.bias``, ``name.running_mean`` and
            ``name.running_var``, ``(channels,)`` each.
        x : Value
            ``(batch, channels, ...)``.
        epsilon : float
            Added to the variance.
        momentum : float
            The share of the running statistics that a step keeps, as in ONNX.
        start : float
            Of the scale.
        """
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
        """Transposed convolution over any number of spatial axes, with its weight and bias.

        Parameters
        ----------
        name : str
            Of the layer; its parameters are ``name.weight``, ``(channels, filters, *kernel)``, and ``name.bias``,
            ``(filters,)``.
        x : Value
            ``(batch, channels, *spatial)``.
        filters : int
            Channels of the result.
        kernel, stride : int or sequence of int
            Of each spatial axis; one number is for all of them.
        pad : int or sequence of int
            How much is cut off either end of each spatial axis of the result.
        output_padding : int or sequence of int
            How much each spatial axis of the result is longer at its end.
        bias : bool
            Whether a bias is added.
        """
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
        """Fully connected layer over the last axis.

        Parameters
        ----------
        name : str
            Of the layer; its parameters are ``name.weight``, ``(units, features)``, and ``name.bias``, ``(units,)``.
        x : Value
            ``(..., features)``.
        units : int
            Size of the last axis of the result.
        bias : bool
            Whether a bias is added.
        start : Distribution, optional
            How the weight is drawn, where the bias then is 0; by default both are uniform in ``±1/sqrt(features)``.
        """
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
        """Rows of a table, one for each index.

        Parameters
        ----------
        name : str
            Of the layer; its parameter is ``name.weight``, ``(rows, width)``.
        indices : Value
            Integers of any shape, each below ``rows``; the result has one axis more, of ``width``.
        rows, width : int
            Of the table.
        start : Distribution
            How it is drawn.
        """
        table = self.parameter(f"{name}.weight", (rows, width), start)
        result: Value = self.named(name).gather(table, indices)
        return result

    def layer_norm(self, name: str, x: Value, *, epsilon: float = 1e-5) -> Value:
        """Layer normalization over the last axis, with scale and shift.

        Parameters
        ----------
        name : str
            Of the layer; its parameters are ``name.weight`` and ``name.bias``, ``(features,)`` each.
        x : Value
            ``(..., features)``.
        epsilon : float
            Added to the variance.
        """
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
        """Maximum pooling over the spatial axes.

        Parameters
        ----------
        x : Value
            ``(batch, channels, *spatial)``.
        kernel : int or sequence of int
            Of the window, of each spatial axis; one number is for all of them.
        stride : int or sequence of int, optional
            By default the window's size.
        pad : int or sequence of int
            At either end of each spatial axis, with what no maximum is.
        ceil_mode : bool
            Whether a window that reaches over the end counts.
        """
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
        """One layer of plain recurrent cells with two bias vectors (ONNX ``RNN``).

        Parameters
        ----------
        name : str
            Of the layer; its parameters are ``name.w``, ``(D, H, I)``, ``name.r``, ``(D, H, H)``, and ``name.b``,
            ``(D, 2H)``, where ``D`` is the number of directions.
        x : Value
            ``(T, N, I)``: time, batch, features.
        units : int
            ``H``, the size of the hidden state.
        direction : {"forward", "bidirectional"}
            Whether a second layer goes back in time.
        activation : {"tanh", "relu"}
            Of the cells.
        start : Distribution, optional
            How the weights are drawn, where the biases then are 0; by default all are uniform in ``±1/sqrt(H)``.

        Returns
        -------
        y : Value
            ``(T, D, N, H)``: every hidden state.
        y_h : Value
            ``(D, N, H)``: the last one of each direction.
        """
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
        """One LSTM layer with two bias vectors (ONNX ``LSTM``).

        Parameters
        ----------
        name, x, units, direction, start
            As of :meth:`rnn_layer`, but for ``name.w (D, 4H, I)``, ``name.r (D, 4H, H)`` and ``name.b (D, 8H)``.

        Returns
        -------
        y : Value
            ``(T, D, N, H)``: every hidden state.
        y_h : Value
            ``(D, N, H)``: the last one of each direction.
        y_c : Value
            ``(D, N, H)``: the last state of the cells.
        """
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
        """One GRU layer with two bias vectors (ONNX ``GRU`` with ``linear_before_reset=1``).

        Parameters
        ----------
        name, x, units, direction, start
            As of :meth:`rnn_layer`, but for ``name.w (D, 3H, I)``, ``name.r (D, 3H, H)`` and ``name.b (D, 6H)``.

        Returns
        -------
        y : Value
            ``(T, D, N, H)``: every hidden state.
        y_h : Value
            ``(D, N, H)``: the last one of each direction.
        """
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
