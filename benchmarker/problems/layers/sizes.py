"""Sizes of networks: what several compute alike, and checks that no tensor's shape would make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from benchmarker.api.rules import MAX_COUNT, Whole
from benchmarker.errors import UsageError
from benchmarker.graph.network import each_axis

Padding = Annotated[int, Whole(0, MAX_COUNT)]
"""A parameter that says how far an image is padded, at each end."""


def require_choice(name: str, value: str, choices: Sequence[str]) -> None:
    """Raise unless ``value`` is one of ``choices``.

    Raises
    ------
    UsageError
        Naming the parameter, its value and the choices.
    """
    if value not in choices:
        raise UsageError(f"'{name}' must be one of {', '.join(choices)}, got '{value}'")


def quotient(name: str, size: int, parts_name: str, parts: int) -> int:
    """Return ``size / parts``.

    Raises
    ------
    UsageError
        If ``size`` is no multiple of ``parts``.
    """
    if size % parts:
        raise UsageError(f"'{name}' must be a multiple of '{parts_name}', got {size} and {parts}")
    return size // parts


def scaled(filters: int, width: float) -> int:
    """Return ``filters`` times ``width``, at least 1.

    Raises
    ------
    UsageError
        If ``width`` is not positive, or makes too many filters.
    """
    most = MAX_COUNT / filters
    if not 0.0 < width <= most:
        raise UsageError(f"'width' must be above 0 and at most {most:g}, got {width:g}")
    return max(1, round(filters * width))


def counts(name: str, text: str, length: int) -> tuple[int, ...]:
    """Read ``length`` whole numbers of at least 1, written ``3-4-6-3``.

    Raises
    ------
    UsageError
        If it is anything else.
    """
    parts = text.split("-")
    if len(parts) != length or not all(map(_is_count, parts)):
        raise UsageError(f"'{name}' must be {length} numbers of at least 1 joined by '-', got '{text}'")
    return tuple(int(part) for part in parts)


def _is_count(text: str) -> bool:
    # Python refuses to read a number of thousands of digits.
    return text.isascii() and text.isdecimal() and len(text) < 10 and int(text) >= 1


def same_pads(
    spatial: Sequence[int], kernel: int | Sequence[int], stride: int | Sequence[int] = 1
) -> tuple[int, ...]:
    """Return the pads with which a window leaves ``ceil(size / stride)`` positions, the larger half at the end."""
    kernels, strides = (each_axis(value, len(spatial)) for value in (kernel, stride))
    totals = [
        max(0, (-(-size // step) - 1) * step + window - size)
        for size, window, step in zip(spatial, kernels, strides)
    ]
    return (*(total // 2 for total in totals), *(total - total // 2 for total in totals))


def window_pads(padding: str, spatial: Sequence[int], kernel: int) -> tuple[int, ...]:
    """Return the pads of a convolution with stride 1 whose padding is ``same`` or ``valid`` (none).

    Raises
    ------
    UsageError
        If it is neither.
    """
    require_choice("padding", padding, ("same", "valid"))
    return same_pads(spatial, kernel) if padding == "same" else (0,) * 2 * len(spatial)
