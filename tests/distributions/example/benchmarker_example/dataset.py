"""A data set that needs no files: each class is a corner of a cube, with noise around it."""

from __future__ import annotations

from pathlib import Path

from benchmarker.api import Dataset, DatasetReader

CORNERS = DatasetReader("corners", "points around the corners of a cube", "benchmarker_example.dataset:read")


def read(folder: Path | None) -> Dataset:
    import numpy as np

    draw = np.random.default_rng(1)
    labels = np.arange(400) % 5
    corners = draw.choice([-1.0, 1.0], (5, 32))
    samples = corners[labels] + draw.normal(0, 0.1, (400, 32))
    return Dataset("corners", samples.astype(np.float32), labels, 5, "drawn", ())
