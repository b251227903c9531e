"""The sum of two tensors, past what Keras takes for a bias."""

from __future__ import annotations

from typing import Any

from benchmarker.plugins.keras.site import Site
from benchmarker.plugins.keras.standing import Native, Shape


def add(site: Site) -> Native:
    """``ops.add``."""
    site.together()
    return adding(site, site.taken_shape(0), site.taken_shape(1))


def adding(site: Site, x: Shape, y: Shape) -> Native:
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
