"""The digits that come with scikit-learn: 1797 images of 8 x 8, which need no file of one's own."""

from __future__ import annotations

import hashlib
from importlib import metadata
from pathlib import Path

import numpy as np

from benchmarker.data.dataset import Dataset, SourceFile, from_pixels
from benchmarker.errors import UsageError

_LARGEST = 16
"""The images hold counts from 0 to 16."""


def read(folder: Path | None) -> Dataset:
    """Read the images ``(count, 1, 8, 8)`` and digits.

    Raises
    ------
    UsageError
        If scikit-learn is not installed.
    """
    del folder  # the images lie in the package
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise UsageError(
            "data set 'digits' comes with scikit-learn, which is not installed: pip install benchmarker[data]"
        ) from None
    loaded = load_digits()
    digest = hashlib.sha256(np.asarray(loaded.images, np.float64).tobytes()).hexdigest()
    file = SourceFile(f"scikit-learn {metadata.version('scikit-learn')} digits", digest)
    source = "Alpaydin & Kaynak 1998, optical recognition of handwritten digits, as in scikit-learn"
    pixels, labels = np.asarray(loaded.images, np.uint8), np.asarray(loaded.target, np.int64)
    return from_pixels("digits", pixels[:, None], labels, 10, source, (file,), _LARGEST)
