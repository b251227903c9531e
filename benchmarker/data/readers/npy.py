"""A pair of ``.npy`` files, samples and labels, as Rysia takes them: in a folder, or as ``SAMPLES,LABELS``."""

from __future__ import annotations

import math
from io import BytesIO
from pathlib import Path
from tokenize import TokenError
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.dataset import Dataset, SourceFile, from_pixels
from benchmarker.data.readers.files import HEAD_BYTES, data_folder, find_file, read_bytes
from benchmarker.errors import UsageError

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

_SAMPLES = ("data.npy", "train_data.npy", "x_train.npy")
_LABELS = ("labels.npy", "train_labels.npy", "y_train.npy")
_REAL = "buif"
"""Kinds of NumPy's types that are truth values, whole numbers and floating-point ones."""
_MAX_CLASSES = 2**31 - 1
_MAGIC = b"\x93NUMPY"
"""How every .npy file begins."""


def _load(path: Path, what: str) -> tuple[Array, SourceFile]:
    content, file = read_bytes(path, stated=_stated_size)
    if content.startswith(b"PK"):
        raise UsageError(f"'{path}' is an archive of arrays (.npz); save its {what} alone, with numpy.save")
    if not content.startswith(_MAGIC):
        raise UsageError(f"'{path}' is not an .npy file; save its {what} with numpy.save")
    try:
        if (_stated_size(content[:HEAD_BYTES]) or 0) > len(content):
            raise ValueError("its data end early")  # before so much memory is asked for
        array = np.load(BytesIO(content), allow_pickle=False)
    except (ValueError, EOFError, OSError, MemoryError, TokenError, RecursionError, OverflowError):
        raise UsageError(
            f"'{path}' is not an .npy file of numbers, or is damaged; save its {what} again, with numpy.save"
        ) from None
    if array.dtype.kind not in _REAL:
        raise UsageError(f"the {what} in '{path}' must be real numbers, got the type {array.dtype}")
    return array, file


def _stated_size(head: bytes) -> int | None:
    """Return how many bytes the file has by its header; None if that is for the reader to refuse."""
    stream = BytesIO(head)
    try:
        version = np.lib.format.read_magic(stream)
        parse = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        shape, _, dtype = parse[version](stream)
    except (ValueError, KeyError, EOFError, TokenError, RecursionError, MemoryError):
        return None
    return stream.tell() + math.prod(shape) * dtype.itemsize


def _paths(folder: Path | None) -> tuple[Path, Path]:
    pair = str(folder).split(",") if folder is not None else []
    if len(pair) == 2 and all(Path(path).is_file() for path in pair):
        return Path(pair[0]), Path(pair[1])
    folder = data_folder(
        "npy", folder, f"{_SAMPLES[0]} and {_LABELS[0]} (or give the two files, with a comma)"
    )
    return find_file(folder, *_SAMPLES), find_file(folder, *_LABELS)


def _finite(samples: Array, path: Path) -> Array:
    with np.errstate(over="ignore"):
        values: Array = samples.astype(np.float32)
    wrong = np.count_nonzero(~np.isfinite(values).reshape(len(values), -1).all(axis=1))
    if wrong:
        raise UsageError(
            f"the samples in '{path}' must be finite in float32, got {wrong} of {len(values)} with NaN or infinity"
        )
    return values


def _class_numbers(labels: Array, path: Path) -> Array:
    """Return labels as int64 ``(count,)``, from class numbers or one-hot rows."""
    if labels.ndim == 2 and labels.shape[1] > 1:
        if np.any((labels != 0) & (labels != 1)) or np.any(labels.sum(axis=1) != 1):
            raise UsageError(f"each row of the labels in '{path}' must be a single 1 among zeros")
        hot: Array = labels.argmax(axis=1)
        return hot
    numbers = labels.reshape(-1)
    fitting = (numbers >= 0) & (numbers < _MAX_CLASSES)
    if not np.all(fitting) or np.any(numbers != np.floor(numbers)):
        raise UsageError(f"the labels in '{path}' must be class numbers: whole numbers from 0 up")
    return numbers.astype(np.int64)


def read(folder: Path | None) -> Dataset:
    """Read samples ``(count, ...)``, numbers or uint8 images, and labels.

    Labels are class numbers ``(count,)`` or ``(count, 1)``, or one-hot rows ``(count, classes)``.

    Raises
    ------
    UsageError
        If a file is missing or damaged, holds anything but finite numbers, or the two do not belong together.
    """
    samples_path, labels_path = _paths(folder)
    samples, sample_file = _load(samples_path, "samples")
    labels, label_file = _load(labels_path, "labels")
    pairs = samples.ndim >= 2 and labels.ndim in (1, 2) and len(samples) == len(labels)
    if not pairs or not samples.size or not labels.size:
        raise UsageError(
            f"'{samples_path}' must hold samples (count, ...) and '{labels_path}' labels (count,) or one-hot "
            f"(count, classes), got {samples.shape} and {labels.shape}"
        )
    numbers = _class_numbers(labels, labels_path)
    files = (sample_file, label_file)
    classes = labels.shape[1] if labels.ndim == 2 and labels.shape[1] > 1 else int(numbers.max()) + 1
    source = "files of one's own"
    if samples.dtype == np.uint8:
        return from_pixels("npy", samples, numbers, classes, source, files)
    return Dataset("npy", _finite(samples, samples_path), numbers, classes, source, files)
