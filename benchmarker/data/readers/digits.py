"""The digits that come with scikit-learn: 1797 images of 8 x 8, which need no file of one's own."""

from __future__ import annotations

import hashlib
from io import BytesIO
from pathlib import Path

import numpy as np

from benchmarker.api.dataset import Dataset, SourceFile, from_pixels
from benchmarker.data.readers.bundled import bundled_file
from benchmarker.data.readers.files import read_bytes

_MAX_PIXEL = 16
"""The images hold counts from 0 to 16."""
_MAX_BYTES = 1 << 24


def read(folder: Path | None) -> Dataset:
    """Read the images ``(count, 1, 8, 8)`` and digits.

    Raises
    ------
    UsageError
        If scikit-learn is not installed.
    """
    del folder  # the images lie in the package
    path, version = bundled_file("digits", "data/digits.csv.gz")
    rows = np.loadtxt(BytesIO(read_bytes(path, most=_MAX_BYTES)[0]), delimiter=",")
    images, digits = rows[:, :-1].reshape(-1, 8, 8), rows[:, -1]
    digest = hashlib.sha256(np.asarray(images, np.float64).tobytes()).hexdigest()
    file = SourceFile(f"scikit-learn {version} digits", digest)
    source = "Alpaydin & Kaynak 1998, optical recognition of handwritten digits, as in scikit-learn"
    pixels, labels = np.asarray(images, np.uint8), np.asarray(digits, np.int64)
    return from_pixels("digits", pixels[:, None], labels, 10, source, (file,), _MAX_PIXEL)
