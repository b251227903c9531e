"""Operators on single elements, and those on rows: softmax, masks, dropout."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from benchmarker.plugins.keras import doubles
from benchmarker.plugins.keras.site import Site
from benchmarker.plugins.keras.standing import Native


def affine(site: Site, *, alpha: float = 1.0, beta: float = 0.0) -> Native:
    """``alpha * x + beta``, of which a factor 1 and a summand 0 are left out."""
    from keras import ops

    site.keep()
    if beta == 0.0:
        return lambda x: ops.multiply(x, alpha)
    if alpha == 1.0:
        return lambda x: ops.add(x, beta)
    return lambda x: ops.add(ops.multiply(x, alpha), beta)


def leaky_relu(site: Site, *, alpha: float = 0.01) -> Native:
    """``ops.leaky_relu``."""
    from keras import ops

    site.keep()
    return lambda x: ops.leaky_relu(x, negative_slope=alpha)


def clip(site: Site, *, min: float, max: float) -> Native:
    """``ops.relu6`` where that is meant, as ``keras.layers.ReLU`` chooses."""
    from keras import ops

    site.keep()
    return ops.relu6 if (min, max) == (0.0, 6.0) else lambda x: ops.clip(x, min, max)


def gelu(site: Site, *, approximate: str = "none") -> Native:
    """``ops.gelu``."""
    from keras import ops

    site.keep()
    if site.setting.lacks_kernels:
        return doubles.gelu(approximate)
    return lambda x: ops.gelu(x, approximate=approximate == "tanh")


def cast(site: Site) -> Native:
    """``ops.cast`` to the type in which the program computes."""
    from keras import ops

    site.keep()
    dtype = site.setting.dtype
    return lambda x: ops.cast(x, dtype)


def softmax(site: Site, *, axis: int = -1) -> Native:
    """``ops.softmax``."""
    from keras import ops

    native = site.axis(axis, site.keep())
    return lambda x: ops.softmax(x, axis=native)


def log_softmax(site: Site, *, axis: int = -1) -> Native:
    """``ops.log_softmax``."""
    from keras import ops

    native = site.axis(axis, site.keep())
    return lambda x: ops.log_softmax(x, axis=native)


def causal_mask(site: Site) -> Native:
    """``ops.where`` with a mask that was made once."""
    from keras import ops

    length = site.shape(0)[-1]
    allowed = np.tril(np.ones((length, length), bool))
    return lambda x: ops.where(allowed, x, -math.inf)


def dropout(site: Site, *, ratio: float = 0.5) -> Native:
    """``keras.random.dropout``, as ``keras.layers.Dropout`` calls it."""
    import keras

    site.keep()
    seed = site.setting.seed
    if not (site.setting.updating and ratio > 0.0):
        return lambda x: x

    def drop(x: Any) -> Any:
        return keras.random.dropout(x, ratio, seed=seed)

    return drop
