"""Operators written in others, for engines that would compute something else."""

from __future__ import annotations

from dataclasses import replace

from benchmarker.graph.windows import MaxPooling


def rounded_down(window: MaxPooling, x: tuple[int, ...]) -> MaxPooling:
    """Return a window without ``ceil_mode`` that gives the same maxima of an input of shape ``x``."""
    begins, ends = zip(*window.covering_pairs(x))
    return replace(window, pads=(*begins, *ends), ceil_mode=False)
