"""CIFAR-10 in its binary version (Krizhevsky 2009, "Learning multiple layers of features from tiny images")."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarker.api.dataset import Dataset, SourceFile, from_pixels
from benchmarker.data.readers.files import data_folder, find_file, read_bytes
from benchmarker.errors import UsageError

_SHAPE = (3, 32, 32)
_ROW = 1 + 3 * 32 * 32
"""A label, then 1024 red, green and blue values each."""
_BATCHES = tuple(f"data_batch_{i}.bin" for i in range(1, 6))
_TEST_BATCH = "test_batch.bin"
_SUBFOLDER = "cifar-10-batches-bin"


def read(folder: Path | None) -> Dataset:
    """Read the training set, and the test set if it lies beside: images ``(count, 3, 32, 32)`` and classes.

    Raises
    ------
    UsageError
        If a file is missing or damaged.
    """
    folder = data_folder(
        "cifar10", folder, f"{_BATCHES[0]} to {_BATCHES[-1]} or the folder {_SUBFOLDER} with them"
    )
    if (folder / _SUBFOLDER).is_dir():
        folder = folder / _SUBFOLDER
    names = (*_BATCHES, _TEST_BATCH) if (folder / _TEST_BATCH).exists() else _BATCHES
    tables, files = zip(*(_read_batch(find_file(folder, name)) for name in names))
    table = np.concatenate(tables)
    labels = table[:, 0]
    if int(labels.max()) > 9:
        raise UsageError(f"CIFAR-10 in '{folder}' has label {int(labels.max())}; classes are 0 to 9")
    pixels = np.ascontiguousarray(table[:, 1:]).reshape(-1, *_SHAPE)
    tested = sum(map(len, tables[len(_BATCHES) :]))
    source = "Krizhevsky 2009, Learning multiple layers of features from tiny images, CIFAR-10 training set"
    source += " and test set" if tested else ""
    return from_pixels("cifar10", pixels, labels, 10, source, files, tested=tested)


def _read_batch(path: Path) -> tuple[npt.NDArray[np.uint8], SourceFile]:
    """Return the rows of a file: a label and the pixels each."""
    content, file = read_bytes(path)
    if not content or len(content) % _ROW:
        raise UsageError(f"'{path}' is damaged: its rows have {_ROW} bytes each, it has {len(content)} bytes")
    return np.frombuffer(content, np.uint8).reshape(-1, _ROW), file
