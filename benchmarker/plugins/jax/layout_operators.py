"""Bringing tensors into the order of axes and the element type in which an operator takes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from benchmarker.graph.operators import Operators
from benchmarker.plugins.common.axis_orders import broadcast_order, graph_order
from benchmarker.plugins.jax.tensors import KERNEL, LAST, PLAIN, Form, Tensor


class Arranging(Operators):
    """What all families of operators build on. Every tensor is a :class:`Tensor`.

    Parameters
    ----------
    compute : str
        Element type of activations.
    exact : str
        Element type of losses, statistics and sums over everything.
    channels_last : bool
        Whether images stand channels last.
    training : bool
        Whether batch normalization uses the mini-batch's statistics.
    key : jax.Array, optional
        What dropout draws its masks from; None if it is off.
    axis : str, optional
        Of the ranks whose mini-batches are normalized as one; None normalizes the own one.

    Attributes
    ----------
    updates : dict
        New values of the running statistics by name, as the step leaves them.
    """

    def __init__(
        self,
        compute: str = "float32",
        exact: str = "float32",
        *,
        channels_last: bool = True,
        training: bool = False,
        key: Any = None,
        axis: str | None = None,
    ) -> None:
        super().__init__(training=training)
        import jax

        self.jax = jax
        self.jnp: Any = jax.numpy
        self.lax: Any = jax.lax
        self.compute = compute
        self.exact = exact
        self.updates: dict[str, Any] = {}
        self._channels_last = channels_last
        self._key = key
        self._axis = axis

    def next_key(self) -> Any:
        """Return a key that no other operator of the step has."""
        self._key, key = self.jax.random.split(self._key)
        return key

    # --- element types -----------------------------------------------------------------------

    def value(self, x: Tensor) -> Any:
        """Return the array of ``x`` as it stands, a parameter in the type of activations."""
        real = x.parameter and self.jnp.issubdtype(x.value.dtype, self.jnp.floating)
        return x.value.astype(self.compute) if real else x.value

    def full(self, x: Any) -> Any:
        """Return ``x`` in the type of losses and statistics."""
        return x.astype(self.exact)

    # --- axes --------------------------------------------------------------------------------

    def image_form(self, rank: int) -> Form:
        """Return how images of ``rank`` axes stand."""
        return LAST if self._channels_last and rank > 2 else PLAIN

    @property
    def kernel_form(self) -> Form:
        """How filters stand."""
        return KERNEL if self._channels_last else PLAIN

    def arrange(self, x: Tensor, form: Form) -> Any:
        """Return the array of ``x`` in ``form``, in the type of activations."""
        value = self.value(x)
        return value if x.form == form else form.encode(x.form.decode(value))

    def plain(self, x: Tensor) -> Any:
        """Return the array of ``x`` with its axes as in the graph."""
        return self.arrange(x, PLAIN)

    def image(self, x: Tensor) -> Any:
        """Return the array of ``x`` as images stand."""
        return self.arrange(x, self.image_form(x.rank))

    def of_channels(self, values: Any, y: Any, form: Form) -> Any:
        """Return one value per channel so that it broadcasts to ``y``, which stands in ``form``."""
        return values if form == LAST else values.reshape((-1,) + (1,) * (y.ndim - 2))

    def places(self, x: Tensor, axes: Sequence[int]) -> tuple[int, ...]:
        """Return where the graph's ``axes`` stand in ``x``."""
        return tuple(x.place(axis) for axis in axes)

    def raised(self, x: Tensor, rank: int) -> Tensor:
        """Return ``x`` with as many leading axes of size 1 as broadcasting adds."""
        if x.rank == rank:
            return x
        return Tensor(self.plain(x).reshape((1,) * (rank - x.rank) + x.shape))

    def pairwise(self, function: Callable[[Any, Any], Any], a: Tensor, b: Tensor) -> Tensor:
        """Return what ``function`` makes of the elements of both, broadcast as in the graph."""
        both, form = self.together(a, b)
        return Tensor(function(*both), form)

    def together(self, *xs: Tensor) -> tuple[list[Any], Form]:
        """Return the arrays of ``xs`` so that they broadcast as in the graph, and their form."""
        order = broadcast_order([x.shape for x in xs], [x.order for x in xs])
        if order == graph_order(len(order)):
            return [self.plain(x) for x in xs], PLAIN
        return [self.arrange(self.raised(x, len(order)), LAST) for x in xs], LAST
