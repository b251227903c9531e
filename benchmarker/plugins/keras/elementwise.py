"""Operators on single elements, and those on rows: softmax, masks, dropout."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from benchmarker.plugins.common.axis_orders import Shape
from benchmarker.plugins.keras import float64
from benchmarker.plugins.keras.binding_site import Site
from benchmarker.plugins.keras.layouts import Native


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
        return float64.gelu(approximate)
    return lambda x: ops.gelu(x, approximate=approximate == "tanh")


def cast(site: Site, *, to: str = "float32") -> Native:
    """``ops.cast``; real numbers are of the type in which the program computes."""
    from keras import ops

    site.keep()
    dtype = site.setting.native_type(to)
    return lambda x: ops.cast(x, dtype)


def where(site: Site) -> Native:
    """``ops.where``, which takes no variables over JAX."""
    from keras import ops

    site.together()
    tensor = ops.convert_to_tensor
    return lambda condition, a, b: ops.where(condition, tensor(a), tensor(b))


def integer_div(site: Site) -> Native:
    """Keras rounds quotients down alone: the quotient of the sizes with the sign of both."""
    from keras import ops

    site.together()

    def divide(a: Any, b: Any) -> Any:
        quotient = ops.floor_divide(ops.absolute(a), ops.absolute(b))
        return ops.multiply(quotient, ops.multiply(ops.sign(a), ops.sign(b)))

    return divide


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


def add(site: Site) -> Native:
    """``ops.add``."""
    site.together()
    return broadcast_add(site, site.taken_shape(0), site.taken_shape(1))


def broadcast_add(site: Site, x: Shape, y: Shape) -> Native:
    """Return the sum of tensors of two shapes: ``ops.add``, or ``+`` where that is wrong over TensorFlow.

    Parameters
    ----------
    site : Site
        Where it is applied.
    x, y : tuple of int
        Shapes of the tensors themselves, their axes as they stand.
    """
    from keras import ops

    if site.setting.backend == "tensorflow" and taken_for_another_bias(x, y):
        return _plus
    return ops.add  # type: ignore[no-any-return]


def taken_for_another_bias(x: Shape, y: Shape) -> bool:
    """Return whether Keras 3 over TensorFlow adds ``y`` to ``x`` along another axis than broadcasting does.

    Its ``ops.add`` calls ``tf.nn.bias_add`` wherever ``y`` has one axis of more than one element and as many
    as the last axis of ``x`` or, failing that, its second has, whichever axis of ``y`` that is
    (``keras/src/backend/tensorflow/numpy.py``; keras-team/keras pull request 20386).

    Parameters
    ----------
    x, y : tuple of int
        Shapes of the first and the second summand.
    """
    sizes = [size for size in y if size > 1]
    if len(sizes) != 1 or len(x) < 2 or sizes[0] not in (x[1], x[-1]):
        return False
    meant = y.index(sizes[0]) - len(y)
    taken = -1 if x[-1] == sizes[0] else 1 - len(x)
    return len(y) > len(x) or meant != taken


def _plus(x: Any, y: Any) -> Any:
    return _tensor(x) + _tensor(y)


def _tensor(x: Any) -> Any:
    """Return TensorFlow's own tensor: the ``+`` of a Keras variable is Keras' function again."""
    import keras

    return x.value if isinstance(x, keras.Variable) else x
