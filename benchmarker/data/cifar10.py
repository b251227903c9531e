"""CIFAR-10 in its binary version (Krizhevsky 2009, "Learning multiple layers of features from tiny images")."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarker.data.dataset import Dataset, from_pixels
from benchmarker.data.files import data_folder, find_file, read_bytes
from benchmarker.errors import UsageError

_SHAPE = (3, 32, 32)
_ROW = 1 + 3 * 32 * 32
"""A label, then 1024 red, green and blue values each."""
_BATCHES = tuple(f"data_batch_{i}.bin" for i in range(1, 6))
_SUBFOLDER = "cifar-10-batches-bin"


def read(folder: Path | None) -> Dataset:
    """Read the training set: images ``(count, 3, 32, 32)`` and classes.

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
    rows, files = [], []
    for name in _BATCHES:
        path = find_file(folder, name)
        content, file = read_bytes(path)
        if not content or len(content) % _ROW:
            raise UsageError(
                f"'{path}' is damaged: its rows have {_ROW} bytes each, it has {len(content)} bytes"
            )
        rows.append(np.frombuffer(content, np.uint8).reshape(-1, _ROW))
        files.append(file)
    table = np.concatenate(rows)
    labels = table[:, 0]
    if int(labels.max()) > 9:
        raise UsageError(
            f"CIFAR-10 in '{folder}' has label {int(labels.max())}; there are the classes 0 to 9"
        )
    pixels = np.ascontiguousarray(table[:, 1:]).reshape(-1, *_SHAPE)
    source = "Krizhevsky 2009, Learning multiple layers of features from tiny images, CIFAR-10 training set"
    return from_pixels("cifar10", pixels, labels, 10, source, tuple(files))
