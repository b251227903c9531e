"""As ``cupyx.scipy.special``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from cupy.arrays import ndarray


def erf(x: Any) -> Any:
    return ndarray(np.vectorize(math.erf, otypes=[x.dtype])(x._host))
