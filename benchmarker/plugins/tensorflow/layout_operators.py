"""Bringing tensors into the order of axes and the element type in which an operator takes them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from benchmarker.graph.operators import Operators
from benchmarker.plugins.common.axis_orders import (
    Order,
    across,
    broadcast_order,
    graph_order,
    image_order,
    moves_elements,
    permutation,
)
from benchmarker.plugins.tensorflow.tensors import Tensor


class Arranging(Operators):
    """What all families of operators build on. Every tensor is a :class:`Tensor`.

    Parameters
    ----------
    tensorflow : module
        TensorFlow itself.
    compute : tf.DType or None
        Element type of activations, float32 if None.
    training : bool
        Whether batch normalization uses the mini-batch's statistics.
    generator : tf.random.Generator or None
        Of dropout's masks; without one nothing is dropped.
    xla : bool
        Whether XLA compiles the program.
    images_last : bool
        Whether images stand channels last, else as in the graph.

    Attributes
    ----------
    updates : dict
        New values of the running statistics by ``Variable.ref()``, to be assigned by the step.
    exact : tf.DType
        In which losses and statistics are computed: float32 at least.
    """

    def __init__(
        self,
        tensorflow: Any,
        compute: Any = None,
        *,
        training: bool = False,
        generator: Any = None,
        xla: bool = False,
        images_last: bool = True,
    ) -> None:
        super().__init__(training=training)
        self.tf = tensorflow
        self.compute = tensorflow.float32 if compute is None else compute
        self.exact = tensorflow.float64 if self.compute == tensorflow.float64 else tensorflow.float32
        self.updates: dict[Any, Any] = {}
        self._generator = generator
        self._xla = xla
        self._images_last = images_last

    # --- element types -----------------------------------------------------------------------

    def value(self, x: Tensor) -> Any:
        """Return the native tensor of ``x`` as it stands, a parameter in the type of activations."""
        return self._as(x.value, self.compute) if x.parameter and x.value.dtype.is_floating else x.value

    def full(self, x: Any) -> Any:
        """Return ``x`` in the type in which losses and statistics are computed."""
        return self._as(x, self.exact)

    def _as(self, x: Any, dtype: Any) -> Any:
        return x if x.dtype == dtype else self.tf.cast(x, dtype)

    def biased(self, y: Any, bias: Any, data_format: str = "NHWC") -> Any:
        """Return ``y`` with a value of ``bias`` added to each channel.

        On CPUs without arithmetic of bfloat16 the gradient of ``bias_add`` is summed in bfloat16, a third off for large
        images; that of a sum is not.
        """
        if y.dtype != self.tf.bfloat16:
            return self.tf.nn.bias_add(y, bias, data_format)
        if data_format == "NCHW":
            bias = self.tf.reshape(bias, (-1, *(1,) * (len(y.shape) - 2)))
        return y + bias

    # --- axes --------------------------------------------------------------------------------

    def arrange(self, x: Tensor, order: Order) -> Any:
        """Return the native tensor of ``x`` with its axes in ``order``, in the type of activations."""
        x = self.settled(x)
        value = self.value(x)
        if x.order == order:
            return value
        if moves_elements(x.shape, x.order, order):
            return self.tf.transpose(value, permutation(x.order, order))
        return self.tf.reshape(value, [x.shape[axis] for axis in order])

    def settled(self, x: Tensor) -> Tensor:
        """Return ``x`` with its columns in the graph's order."""
        if x.columns is None:
            return x
        sizes, order = x.columns.sizes, x.columns.order
        shape = {0: [x.shape[0]], 1: [sizes[axis] for axis in order]}
        split = self.tf.reshape(self.value(x), [size for axis in x.order for size in shape[axis]])
        axes = {0: (0,), 1: tuple(1 + axis for axis in order)}
        inner = Tensor(split, tuple(axis for outer in x.order for axis in axes[outer]))
        matrix = self.tf.reshape(self.plain(inner), (x.shape[0], math.prod(sizes)))
        return Tensor(matrix, (0, 1))

    def plain(self, x: Tensor) -> Any:
        """Return the native tensor of ``x`` with its axes as in the graph."""
        return self.arrange(x, graph_order(x.rank))

    def image_order(self, rank: int) -> Order:
        """Return how images stand."""
        return image_order(rank, self._images_last)

    def image(self, x: Tensor) -> Any:
        """Return the native tensor of ``x`` as images stand."""
        return self.arrange(x, self.image_order(x.rank))

    def across(self, spatial: Sequence[Any], other: Any) -> tuple[Any, ...]:
        """Return what there is for each axis of an image: that of the spatial ones, and the others'."""
        return across(spatial, other, self._images_last)

    def image_shape(self, batch: int, spatial: Sequence[int], channels: int) -> tuple[int, ...]:
        """Return the shape of an image as images stand."""
        return (batch, *spatial, channels) if self._images_last else (batch, channels, *spatial)

    def data_format(self, rank: int) -> str:
        """Return TensorFlow's name of how images of four or five axes stand."""
        spatial = "DHW"[5 - rank :]
        return f"N{spatial}C" if self._images_last else f"NC{spatial}"

    @property
    def channels(self) -> int:
        """Where the channels of an image stand."""
        return -1 if self._images_last else 1

    @property
    def _first_spatial(self) -> int:
        return 1 if self._images_last else 2

    def axes(self, x: Tensor, axes: Sequence[int]) -> list[int]:
        """Return where the graph's ``axes`` stand in ``x``."""
        return [x.order.index(axis % x.rank) for axis in axes]

    def innermost(self, x: Tensor, axis: int = -1) -> Tensor:
        """Return ``x`` with ``axis`` standing last."""
        x = self.settled(x)
        axis %= x.rank
        if x.order[-1] == axis:
            return x
        order = (*(a for a in range(x.rank) if a != axis), axis)
        return Tensor(self.arrange(x, order), order)

    def raised(self, x: Tensor, rank: int) -> Tensor:
        """Return ``x`` with as many leading axes of size 1 as broadcasting adds."""
        missing = rank - x.rank
        if missing == 0:
            return self.settled(x)
        value = self.tf.reshape(self.plain(x), (*(1,) * missing, *x.shape))
        return Tensor(value, graph_order(rank))

    def together(self, *xs: Tensor) -> tuple[list[Any], Order]:
        """Return the values of ``xs`` so that they broadcast as in the graph, and their order."""
        rank = max(x.rank for x in xs)
        raised = [self.raised(x, rank) for x in xs]
        order = broadcast_order([x.shape for x in raised], [x.order for x in raised])
        return [self.arrange(x, order) for x in raised], order

    def aligned(self, a: Tensor, b: Tensor) -> tuple[Any, Any, Order]:
        """Return the values of ``a`` and ``b`` so that they broadcast as in the graph, and their order."""
        (left, right), order = self.together(a, b)
        if left.dtype != right.dtype:
            # One of them is a loss, which stays exact.
            left, right = self.full(left), self.full(right)
        return left, right, order

    def pairwise(self, function: Callable[[Any, Any], Any], a: Tensor, b: Tensor) -> Tensor:
        """Return what ``function`` makes of the elements of both, broadcast as in the graph."""
        left, right, order = self.aligned(a, b)
        return Tensor(function(left, right), order)
