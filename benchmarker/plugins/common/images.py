"""Scaling an image so that its shorter side fits, and cutting out the middle."""

from __future__ import annotations


def scaled_sides(rows: int, columns: int, size: int) -> tuple[int, int]:
    """Return rows and columns of an image whose shorter side has become ``size``."""
    scale = size / min(rows, columns)
    return max(size, round(rows * scale)), max(size, round(columns * scale))


def middle(rows: int, columns: int, size: int) -> tuple[slice, slice]:
    """Return which rows and columns the middle square has."""
    top, left = (rows - size) // 2, (columns - size) // 2
    return slice(top, top + size), slice(left, left + size)
