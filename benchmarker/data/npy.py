"""A pair of ``.npy`` files, samples and labels, as Rysia takes them: in a folder, or as ``SAMPLES,LABELS``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.data.dataset import Dataset, SourceFile, from_pixels
from benchmarker.data.files import data_folder, find_file, read_bytes
from benchmarker.errors import UsageError

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

_SAMPLES = ("data.npy", "train_data.npy", "x_train.npy")
_LABELS = ("labels.npy", "train_labels.npy", "y_train.npy")


def _load(path: Path) -> tuple[Array, SourceFile]:
    _, file = read_bytes(path)
    try:
        return np.load(path, allow_pickle=False), file
    except (ValueError, EOFError, OSError) as error:
        raise UsageError(f"'{path}' is no .npy file of numbers, or is damaged: {error}") from None


def _paths(folder: Path | None) -> tuple[Path, Path]:
    pair = str(folder).split(",") if folder is not None else []
    if len(pair) == 2 and all(Path(path).is_file() for path in pair):
        return Path(pair[0]), Path(pair[1])
    folder = data_folder(
        "npy", folder, f"{_SAMPLES[0]} and {_LABELS[0]} (or give the two files, with a comma)"
    )
    return find_file(folder, *_SAMPLES), find_file(folder, *_LABELS)


def read(folder: Path | None) -> Dataset:
    """Read samples ``(count, ...)``, numbers or uint8 images, and labels ``(count,)`` or one-hot rows.

    Raises
    ------
    UsageError
        If a file is missing or damaged, or the two do not belong together.
    """
    samples_path, labels_path = _paths(folder)
    samples, sample_file = _load(samples_path)
    labels, label_file = _load(labels_path)
    if labels.ndim == 2:
        labels = labels.argmax(axis=1)
    if samples.ndim < 2 or labels.ndim != 1 or len(samples) != len(labels) or not len(labels):
        raise UsageError(
            f"'{samples_path}' must hold samples (count, ...) and '{labels_path}' labels (count,), got "
            f"{samples.shape} and {labels.shape}"
        )
    if int(labels.min()) < 0 or np.any(labels != labels.astype(np.int64)):
        raise UsageError(f"the labels in '{labels_path}' must be class numbers from 0 on")
    files = (sample_file, label_file)
    classes = int(labels.max()) + 1
    source = "files of one's own"
    if samples.dtype == np.uint8:
        return from_pixels("npy", samples, labels, classes, source, files)
    return Dataset("npy", samples.astype(np.float32), labels.astype(np.int64), classes, source, files)
