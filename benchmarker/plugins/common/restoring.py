"""What frameworks share that put the state of a training back into their own tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.plugins.common.composed import AsInGraph

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

_STATISTIC = "statistic."
_WORD = (1 << 64) - 1


def restored_arrays(
    natives: Mapping[str, Sequence[Any]],
    slots: Sequence[Any],
    arrays: Mapping[str, Array],
    encode: Callable[[str, Array], Sequence[Array]],
) -> Iterator[tuple[Any, Array]]:
    """Yield each native tensor of a letter of the state with what belongs into it.

    It is the inverse of :func:`~benchmarker.plugins.common.composed.state_arrays`.

    Parameters
    ----------
    natives : mapping
        Native tensors of each trainable parameter.
    slots : sequence
        The letter of each of these tensors, in their order; None of one that lacks it, and at the first of them
        what is of them all.
    arrays : mapping
        The letter by parameter, as programs tell it.
    encode : callable
        Brings what has a parameter's shape from the graph's layout into native arrays.
    """
    left = iter(slots)
    for name, tensors in natives.items():
        kept = [next(left) for _ in tensors]
        if isinstance(kept[0], AsInGraph):
            yield kept[0].tensor, np.reshape(arrays[name], tuple(kept[0].tensor.shape))
            continue
        if any(one is None for one in kept):
            continue
        alike = all(tuple(one.shape) == tuple(tensor.shape) for one, tensor in zip(kept, tensors))
        given = encode(name, arrays[name]) if alike else [arrays[name]]
        for one, array in zip(kept, given):
            yield one, np.reshape(array, tuple(one.shape))


def native_statistics(natives: Mapping[str, Sequence[Array]]) -> dict[str, Array]:
    """Return native arrays of running statistics, which layouts may scale and so round, as part of a native state."""
    return {
        f"{_STATISTIC}{name}.{place}": np.array(array)
        for name, arrays in natives.items()
        for place, array in enumerate(arrays)
    }


def statistics_of(native: Mapping[str, Array], name: str, count: int) -> list[Array]:
    """Return the native arrays of a running statistic in a native state; none if it does not have them."""
    keys = [f"{_STATISTIC}{name}.{place}" for place in range(count)]
    return [native[key] for key in keys] if all(key in native for key in keys) else []


def generator_words(generator: np.random.Generator) -> Array:
    """Return the state of NumPy's default generator as uint64, shape ``(6,)``."""
    state: Any = generator.bit_generator.state
    both = (state["state"]["state"], state["state"]["inc"])
    words = [part for number in both for part in (number & _WORD, number >> 64)]
    return np.array([*words, state["has_uint32"], state["uinteger"]], np.uint64)


def set_generator(generator: np.random.Generator, words: Array) -> None:
    """Put back what :func:`generator_words` told."""
    low, high, low_inc, high_inc, has, kept = (int(word) for word in words)
    generator.bit_generator.state = {
        "bit_generator": "PCG64",
        "state": {"state": low | high << 64, "inc": low_inc | high_inc << 64},
        "has_uint32": has,
        "uinteger": kept,
    }
