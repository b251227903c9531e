"""Data sets: read in their true formats, kept as plain arrays that every framework's worker can read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import cast

from benchmarker.data.dataset import Dataset
from benchmarker.errors import UsageError, did_you_mean

READERS: Mapping[str, str] = {
    "digits": "benchmarker.data.digits",
    "mnist": "benchmarker.data.mnist",
    "cifar10": "benchmarker.data.cifar10",
    "imdb": "benchmarker.data.imdb",
    "npy": "benchmarker.data.npy",
}
"""Module with a ``read(folder)`` for each data set that ``--data`` names."""


def read_dataset(name: str, folder: Path | None) -> Dataset:
    """Read a data set.

    Parameters
    ----------
    name : str
        One of :data:`READERS`.
    folder : Path or None
        ``--data-dir``; ``digits`` needs none.

    Raises
    ------
    UsageError
        On an unknown name, or a file that is missing or damaged or cannot be read; the text says which.
    """
    if name not in READERS:
        raise UsageError(f"unknown data set '{name}'{did_you_mean(name, READERS)}")
    read = cast("Callable[[Path | None], Dataset]", import_module(READERS[name]).read)
    try:
        return read(folder)
    except OSError as error:
        raise UsageError(f"'{error.filename or folder}' cannot be read: {error.strerror or error}") from None
