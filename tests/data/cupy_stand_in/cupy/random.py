"""As ``cupy.random``, for masks of dropout."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupy.arrays import ndarray


class Philox4x3210:
    def __init__(self, seed: Any) -> None:
        self.seed = seed


class Generator:
    def __init__(self, bits: Any) -> None:
        self._host = np.random.default_rng(bits.seed)

    def random(self, size: Any) -> Any:
        return ndarray(self._host.random(size))
