"""Matrix products."""

from __future__ import annotations

from typing import Any

from benchmarker.graph.attributes import Gemm
from benchmarker.plugins.keras.binding_site import Site
from benchmarker.plugins.keras.elementwise import broadcast_add
from benchmarker.plugins.keras.layouts import Native


def matmul(site: Site) -> Native:
    """``ops.matmul``."""
    from keras import ops

    return ops.matmul  # type: ignore[no-any-return]


def gemm(site: Site, *, product: Gemm) -> Native:
    """``ops.matmul`` and ``ops.add``, as ``keras.layers.Dense`` calls them, on a weight ``(in, out)``."""
    from keras import ops

    site.take(0, (1, 0) if product.trans_a else (0, 1))
    site.take(1, (1, 0) if product.trans_b else (0, 1))

    alpha, beta = product.alpha, product.beta

    def scaled(a: Any, b: Any) -> Any:
        y = ops.matmul(a, b)
        return y if alpha == 1.0 else ops.multiply(y, alpha)

    if not site.has(2):
        return lambda a, b, c=None: scaled(a, b)
    add = broadcast_add(site, site.result.shape, site.shape(2))
    return lambda a, b, c: add(scaled(a, b), c if beta == 1.0 else ops.multiply(c, beta))
