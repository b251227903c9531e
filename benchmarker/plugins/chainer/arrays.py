"""Operators whose results are integers or truth values: nothing flows back, so plain arrays are enough."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from benchmarker.plugins.chainer.binding_site import Native, Site, array_of
from benchmarker.plugins.numpy.operators import NumpyOperators


def of_arrays(name: str) -> Callable[..., Native]:
    """Return the binder of an operator on arrays, by NumPy's functions, which CuPy's arrays take too."""

    def bind(site: Site, **attributes: Any) -> Native:
        method = getattr(NumpyOperators(dtype=site.dtype), name)
        native = functools.partial(method, **attributes) if attributes else method
        return lambda *xs: native(*map(array_of, xs))

    return bind
