"""Matrix products."""

from __future__ import annotations

from typing import Any

from benchmarker.plugins.keras.adding import adding
from benchmarker.plugins.keras.site import Site
from benchmarker.plugins.keras.standing import Native


def matmul(site: Site) -> Native:
    """``ops.matmul``."""
    from keras import ops

    return ops.matmul  # type: ignore[no-any-return]


def gemm(
    site: Site,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    trans_a: bool = False,
    trans_b: bool = False,
) -> Native:
    """``ops.matmul`` and ``ops.add``, as ``keras.layers.Dense`` calls them, on a weight ``(in, out)``."""
    from keras import ops

    site.take(0, (1, 0) if trans_a else (0, 1))
    site.take(1, (1, 0) if trans_b else (0, 1))

    def product(a: Any, b: Any) -> Any:
        y = ops.matmul(a, b)
        return y if alpha == 1.0 else ops.multiply(y, alpha)

    if not site.has(2):
        return lambda a, b, c=None: product(a, b)
    add = adding(site, site.result.shape, site.shape(2))
    return lambda a, b, c: add(product(a, b), c if beta == 1.0 else ops.multiply(c, beta))
