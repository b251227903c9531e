"""What an option's text is taken for; what is not allowed is refused in a sentence."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from benchmarker.api.given_values import repeated, shown, whole_number
from benchmarker.api.rules import MAX_COUNT, Whole

_Value = TypeVar("_Value")
_ADDRESS = "://"
"""What makes a text an address rather than a path."""
MAX_PAIRS = 10_000
"""Of processes that one command makes to compare two sides."""


def file_path(text: str) -> Path:
    """Return a path; an empty one would be this folder."""
    if not text.strip() or "\0" in text:
        raise argparse.ArgumentTypeError(f"must be a path, got {shown(text)}")
    if _ADDRESS in text:
        from benchmarker.records.remote.addresses import without_password

        raise argparse.ArgumentTypeError(
            f"must be a path of this machine, got an address, {shown(without_password(text))}"
        )
    return Path(text)


def results_place(text: str) -> Path:
    """Return a results folder, given as a path or as an address; of one elsewhere, its copy on this machine."""
    if _ADDRESS not in text:
        return file_path(text)
    from benchmarker.records.remote.opening import open_place

    return open_place(text)


def whole(least: int = 1, most: int = MAX_COUNT) -> Callable[[str], int]:
    """Return what reads a whole number between two bounds."""
    rule = Whole(least, most)

    def read(text: str) -> int:
        try:
            number = whole_number(text)
        except ValueError:
            number = least - 1
        if not rule.accepts(number):
            raise argparse.ArgumentTypeError(f"must be {rule.allowed}, got {shown(text)}")
        return number

    return read


def each_once(values: tuple[_Value, ...]) -> tuple[_Value, ...]:
    """Return a list of values; one that has a value twice is refused."""
    for index in repeated(values):
        raise argparse.ArgumentTypeError(f"must name each value once, got {shown(values[index])} twice")
    return values
