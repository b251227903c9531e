"""Sizes that several networks compute alike, and the checks of what they are computed from."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarker.errors import UsageError


def require_choice(name: str, value: str, choices: Sequence[str]) -> None:
    """Raise unless ``value`` is one of ``choices``.

    Raises
    ------
    UsageError
        Naming the parameter, its value and the choices.
    """
    if value not in choices:
        raise UsageError(f"'{name}' must be one of {', '.join(choices)}, got '{value}'")


def scaled(filters: int, width: float) -> int:
    """Return ``filters`` times ``width``, at least 1.

    Raises
    ------
    UsageError
        If ``width`` is not positive.
    """
    if width <= 0.0:
        raise UsageError(f"'width' must be above 0, got {width:g}")
    return max(1, round(filters * width))


def counts(name: str, text: str, length: int) -> tuple[int, ...]:
    """Read ``length`` whole numbers of at least 1, written ``3-4-6-3``.

    Raises
    ------
    UsageError
        If it is anything else.
    """
    parts = text.split("-")
    if len(parts) != length or not all(part.isdecimal() and int(part) >= 1 for part in parts):
        raise UsageError(f"'{name}' must be {length} numbers of at least 1 joined by '-', got '{text}'")
    return tuple(int(part) for part in parts)


def same_pads(spatial: Sequence[int], kernel: int, stride: int = 1) -> tuple[int, ...]:
    """Return the pads with which a window leaves ``ceil(size / stride)`` positions, the larger half at the end."""
    totals = [max(0, (-(-size // stride) - 1) * stride + kernel - size) for size in spatial]
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
