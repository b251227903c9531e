"""Where an operator is applied, and what every binder needs of that place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarker.graph.types import TensorType
from benchmarker.graph.windows import Pairs
from benchmarker.plugins.common.axis_orders import (
    Order,
    Shape,
    across,
    broadcast_order,
    graph_order,
    image_order,
)
from benchmarker.plugins.keras.layouts import Native
from benchmarker.quick_dataclass import dataclass


@dataclass(frozen=True)
class Setting:
    """What holds for all operators of a straight line.

    Parameters
    ----------
    backend : str
        Keras' name of the framework underneath.
    dtype : str
        In which floating-point numbers are computed.
    training : bool
        Whether batch normalization takes the mini-batch's statistics.
    updating : bool
        Whether running statistics move and dropout drops; off when only gradients are asked for.
    seed : keras.random.SeedGenerator or None
        Of dropout.
    """

    backend: str
    dtype: str = "float32"
    training: bool = False
    updating: bool = False
    seed: Any = None

    def native_type(self, dtype: str) -> str:
        """Return the type in which a tensor of the graph's ``dtype`` is kept; JAX has 32-bit integers alone."""
        return {
            "float32": self.dtype,
            "int64": "int32" if self.backend == "jax" else "int64",
        }.get(dtype, dtype)

    @property
    def lacks_kernels(self) -> bool:
        """Whether some functions have no kernels, see :mod:`benchmarker.plugins.keras.float64`."""
        return self.backend == "tensorflow" and self.dtype == "float64"

    @property
    def channels_last(self) -> bool:
        """Whether images stand so; the other format is PyTorch's own."""
        return self.backend != "torch"


class Site:
    """Where an operator is applied; its binder says here how it takes and gives tensors.

    What it does not speak of it takes and gives in the graph's order of axes.

    Parameters
    ----------
    types : sequence of TensorType or None
        Of the tensor inputs; None for an absent one.
    orders : sequence of Order
        In which the inputs stand; empty for an absent one.
    result : TensorType
        Of the first output.
    setting : Setting
        Of the line.
    flat : bool
        Whether the result's columns may stand as the channels-last image that is flattened here.
    """

    def __init__(
        self,
        types: Sequence[TensorType | None],
        orders: Sequence[Order],
        result: TensorType,
        setting: Setting,
        flat: bool,
    ) -> None:
        self.result = result
        self.setting = setting
        self.flat = flat
        self.taken: dict[int, Order] = {}
        self.given: Order | None = None
        self._types = types
        self._orders = orders

    def shape(self, position: int) -> Shape:
        """Return the shape of an input that must be there, as the graph has it."""
        found = self._types[position]
        assert found is not None
        return found.shape

    def rank(self, position: int) -> int:
        """Return the number of axes of an input."""
        return len(self.shape(position))

    def has(self, position: int) -> bool:
        """Return whether an optional input is there."""
        return len(self._types) > position and self._types[position] is not None

    def order(self, position: int) -> Order:
        """Return how an input stands before it is arranged."""
        return self._orders[position]

    def taken_shape(self, position: int) -> Shape:
        """Return the shape of an input after it is arranged, as the binder has said by now."""
        shape = self.shape(position)
        order = self.taken.get(position, graph_order(len(shape)))
        raised = (1,) * (len(order) - len(shape)) + shape
        return tuple(raised[axis] for axis in order)

    # --- what a binder says ------------------------------------------------------------------

    def take(self, position: int, order: Order) -> None:
        """Have an input arranged in ``order``; with more axes than it has, as broadcasting raises it."""
        self.taken[position] = order

    def give(self, order: Order) -> None:
        """Say that the result stands in ``order``, all of several results."""
        self.given = order

    def keep(self) -> Order:
        """Take the first input as it stands, give the result so, and return the order."""
        order = self.order(0)
        self.take(0, order)
        self.give(order)
        return order

    def image(self) -> Order:
        """Take the first input and give the result as images stand, and return the order."""
        order = image_order(self.rank(0), self.setting.channels_last)
        self.take(0, order)
        self.give(order)
        return order

    def together(self) -> Order:
        """Take all inputs so that they broadcast as in the graph, give the result so, return the order."""
        rank = len(self.result.shape)
        shapes = [self.shape(position) for position in range(len(self._types))]
        order = broadcast_order(shapes, self._orders)
        for position, own in enumerate(map(len, shapes)):
            self.take(position, order if own == rank or order != graph_order(rank) else graph_order(own))
        self.give(order)
        return order

    def axis(self, axis: int, order: Order) -> int:
        """Return where the graph's ``axis`` of the first input stands in ``order``."""
        return order.index(axis % self.rank(0))

    @property
    def data_format(self) -> str:
        """Keras' name of how images stand."""
        return "channels_last" if self.setting.channels_last else "channels_first"


def surrounding(site: Site, pairs: Pairs, value: float) -> Native | None:
    """Return what surrounds an image with ``value``, None where nothing is to be added."""
    from keras import ops

    if not any(map(any, pairs)):
        return None
    whole = across(pairs, (0, 0), site.setting.channels_last)
    return lambda x: ops.pad(x, whole, constant_values=value)


Binder = Any
"""``binder(site, **attributes) -> Native``."""


def operation(name: str, **constants: Any) -> Binder:
    """Return the binder of an operator on single elements that is a function of ``keras.ops``."""

    def bind(site: Site) -> Native:
        from keras import ops

        site.keep()
        function: Native = getattr(ops, name)
        return (lambda x: function(x, **constants)) if constants else function

    return bind


def together(name: str) -> Binder:
    """Return the binder of an operator on pairs of elements that is a function of ``keras.ops``."""

    def bind(site: Site) -> Native:
        from keras import ops

        site.together()
        function: Native = getattr(ops, name)
        return function

    return bind
