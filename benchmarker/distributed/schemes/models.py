"""Definitions that several schemes have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from benchmarker.api.scheme import Model

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


class MeanGradient(Model):
    """One update with the mean of all gradients, the same for each replica."""

    is_elementwise = True

    def step(self, weights: Array, gradients: Array, update: Callable[[int, Array, Array], Array]) -> Array:
        import numpy as np

        mean = np.mean(gradients, axis=0)
        return np.stack([update(replica, weights[replica], mean) for replica in range(len(weights))])
