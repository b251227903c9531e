"""Numbers rounded to the precisions that are coarser than float32, in float32 arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

FRACTION_BITS: Mapping[str, int] = {"tf32": 10, "fp16": 10, "bf16": 7}
"""Bits of fraction of each low precision; float32 has 23."""


def rounded(arrays: Mapping[str, Array], precision: str) -> dict[str, Array]:
    """Round to the nearest number with the precision's fraction, ties to even; whole numbers stay.

    The range stays that of float32: frameworks scale the loss where a precision has a smaller one.
    """
    if precision not in FRACTION_BITS:
        return dict(arrays)
    return {name: _rounded(array, FRACTION_BITS[precision]) for name, array in arrays.items()}


MODELLED = ("fp16", "bf16")
"""Precisions in which frameworks keep what operators return; in TF32 they round the operands of products alone."""
TRIALS = ((0.0, 1.0), (0.5, 1.0), (0.5, 1.0), (0.5, 0.5), (0.5, 0.5))
"""Ways to round a network: how far numbers are moved before, in units of roundoff, and the share of results rounded.

Rounding everything happens in one way; a framework rounds the same numbers elsewhere, so that its errors are others,
and some of its results are not rounded at all."""


def rounding_trials(precision: str) -> Iterator[Callable[[Array], Array]]:
    """Yield what rounds the results of operators, and the gradients that they pass on, each time otherwise.

    Scalars stay: frameworks compute losses in float32.
    """
    import numpy as np

    bits = FRACTION_BITS[precision]
    for number, (dither, share) in enumerate(TRIALS):
        chance = np.random.default_rng(number)

        def rounds(
            array: Array,
            dither: float = dither,
            share: float = share,
            chance: np.random.Generator = chance,
        ) -> Array:
            if array.size == 1 or array.dtype.kind != "f" or chance.random() >= share:
                return array
            single = np.asarray(array, np.float32)
            if dither:
                moves = (2.0 * chance.random(single.shape, np.float32) - 1.0) * (dither * 2.0 ** -(bits + 1))
                single = single * (1.0 + moves.astype(np.float32))
            return _rounded(single, bits).astype(array.dtype)

        yield rounds


def _rounded(array: Array, bits: int) -> Array:
    import numpy as np  # the orchestrator reads the table above, and has no use for NumPy

    if array.dtype != np.float32:
        return array
    dropped = np.uint32(23 - bits)
    words = np.ascontiguousarray(array).view(np.uint32)
    odd = (words >> dropped) & np.uint32(1)
    half = np.uint32((1 << (int(dropped) - 1)) - 1)
    return (((words + half + odd) >> dropped) << dropped).view(np.float32)
