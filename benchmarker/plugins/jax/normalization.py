"""Normalizations, their statistics in full precision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarker.plugins.jax.layout_operators import Arranging
from benchmarker.plugins.jax.tensors import LAST, Tensor


class Normalizations(Arranging):
    """Batch, layer and group normalization."""

    def batch_normalization(
        self,
        x: Tensor,
        scale: Tensor,
        b: Tensor,
        mean: Tensor,
        var: Tensor,
        *,
        epsilon: float = 1e-5,
        momentum: float = 0.9,
    ) -> Tensor:
        form = self.image_form(x.rank)
        value = self.image(x)
        given = self.full(value)

        def spread(values: Any) -> Any:
            return self.of_channels(values, value, LAST if x.rank == 2 else form)

        centre, variance = self.full(mean.value), self.full(var.value)
        if self.training:
            channels = 1 if x.rank == 2 or form != LAST else x.rank - 1
            axes = tuple(axis for axis in range(x.rank) if axis != channels)
            centre, variance = self._moments(given, axes)
            self._move(mean, centre, momentum)
            self._move(var, variance, momentum)
        factor = self.lax.rsqrt(variance + epsilon) * self.full(scale.value)
        y = (given - spread(centre)) * spread(factor) + spread(self.full(b.value))
        return Tensor(y.astype(value.dtype), form)

    def _moments(self, x: Any, axes: Sequence[int]) -> tuple[Any, Any]:
        """Return mean and biased variance over ``axes``."""
        mean = self._of_all(x.mean(axes, keepdims=True))
        return mean.squeeze(axes), self._of_all(self.jnp.square(x - mean).mean(axes))

    def _of_all(self, mean: Any) -> Any:
        """Return the mean over the mini-batches of all ranks."""
        return mean if self._axis is None else self.lax.pmean(mean, self._axis)

    def _move(self, statistic: Tensor, batch: Any, momentum: float) -> None:
        """Move a running statistic on from where the layer's uses before this one in the step left it."""
        name = str(statistic.parameter)
        old = self.updates.get(name, statistic.value)
        self.updates[name] = momentum * old + (1.0 - momentum) * self.lax.stop_gradient(batch)

    def layer_normalization(
        self, x: Tensor, scale: Tensor, b: Tensor, *, axis: int = -1, epsilon: float = 1e-5
    ) -> Tensor:
        value = self.plain(x)
        axes = tuple(range(axis % x.rank, x.rank))
        normal = self._normal(self.full(value), axes, epsilon)
        y = normal * self.full(scale.value) + self.full(b.value)
        return Tensor(y.astype(value.dtype))

    def _normal(self, x: Any, axes: tuple[int, ...], epsilon: float) -> Any:
        centred = x - x.mean(axes, keepdims=True)
        variance = self.jnp.square(centred).mean(axes, keepdims=True)
        return centred * self.lax.rsqrt(variance + epsilon)

    def group_normalization(
        self, x: Tensor, scale: Tensor, b: Tensor, *, num_groups: int, epsilon: float = 1e-5
    ) -> Tensor:
        form, value = self.image_form(x.rank), self.image(x)
        batch, channels = x.shape[:2]
        groups = (num_groups, channels // num_groups)
        shape, axes = ((batch, -1, *groups), (1, 3)) if form == LAST else ((batch, *groups, -1), (2, 3))
        normal = self._normal(self.full(value).reshape(shape), axes, epsilon).reshape(value.shape)
        factor, shift = (self.of_channels(self.full(p.value), value, form) for p in (scale, b))
        return Tensor((normal * factor + shift).astype(value.dtype), form)
