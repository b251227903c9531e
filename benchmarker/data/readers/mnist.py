"""MNIST and its relatives, in the IDX format (LeCun, Cortes & Burges, "The MNIST database")."""

from __future__ import annotations

import functools
import math
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.dataset import Dataset, SourceFile, from_pixels
from benchmarker.data.readers.files import data_folder, find_file, read_bytes
from benchmarker.errors import UsageError

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

_UNSIGNED_BYTE = 0x08
_IMAGES = "train-images-idx3-ubyte"
_LABELS = "train-labels-idx1-ubyte"
_TEST_IMAGES = "t10k-images-idx3-ubyte"
_TEST_LABELS = "t10k-labels-idx1-ubyte"
_PUBLISHED_MD5 = {
    f"{_IMAGES}.gz": "f68b3c2dcbeaaa9fbdd348bbdeb94873",
    f"{_LABELS}.gz": "d53e105ee54ea40749a09fcbcd1e9432",
    f"{_TEST_IMAGES}.gz": "9fb629c4189551a2d022fa330f9573f3",
    f"{_TEST_LABELS}.gz": "ec29112dd5afa0611ce80d1b7f02629c",
}


def parse_idx(content: bytes, name: str, rank: int) -> Array:
    """Return the array in an IDX file of unsigned bytes.

    Parameters
    ----------
    content : bytes
        The file: two zero bytes, the element type, the rank, each size as a big-endian 32-bit integer,
        then the elements.
    name : str
        For messages.
    rank : int
        The number of axes that there must be.

    Raises
    ------
    UsageError
        If it is no such file, or is not as long as its sizes say.
    """
    shape = _sizes(content, name, rank)
    header = 4 + 4 * rank
    if len(content) - header != math.prod(shape):
        raise UsageError(
            f"'{name}' is damaged: sizes {shape} need {math.prod(shape)} bytes of data, but there are "
            f"{len(content) - header}"
        )
    return np.frombuffer(content, np.uint8, offset=header).reshape(shape)


def _sizes(content: bytes, name: str, rank: int) -> tuple[int, ...]:
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] != _UNSIGNED_BYTE or content[3] != rank:
        raise UsageError(
            f"'{name}' must be an IDX file of unsigned bytes with {rank} axes, which starts with the bytes "
            f"0, 0, 8, {rank}, but it starts with {', '.join(map(str, content[:4])) or 'nothing'}"
        )
    header = 4 + 4 * rank
    if len(content) < header:
        raise UsageError(f"'{name}' is damaged: it ends within its header")
    return struct.unpack(f">{rank}I", content[4:header])


def _stated_size(head: bytes, name: str, rank: int) -> int:
    """Return how many bytes a file has by its beginning."""
    return 4 + 4 * rank + math.prod(_sizes(head, name, rank))


def read(folder: Path | None) -> Dataset:
    """Read the training set, and the test set if it lies beside: images ``(count, 1, rows, columns)`` and digits.

    Raises
    ------
    UsageError
        If a file is missing or damaged, or those of images and labels do not belong together.
    """
    folder = data_folder("mnist", folder, f"{_IMAGES}[.gz] and {_LABELS}[.gz]")
    images, labels, files = _read_set(folder, _IMAGES, _LABELS)
    tested = 0
    if any(folder.glob("t10k-*")):
        test_images, test_labels, test_files = _read_set(folder, _TEST_IMAGES, _TEST_LABELS)
        if test_images.shape[1:] != images.shape[1:]:
            raise UsageError(
                f"MNIST in '{folder}' has images of {images.shape[1:]} for training and of {test_images.shape[1:]} for "
                "testing"
            )
        images, labels = np.concatenate([images, test_images]), np.concatenate([labels, test_labels])
        files, tested = (*files, *test_files), len(test_labels)
    source = "LeCun, Cortes & Burges, the MNIST database of handwritten digits, training set"
    source += " and test set" if tested else ""
    return from_pixels("mnist", images[:, None], labels, 10, source, files, tested=tested)


def _read_set(
    folder: Path, images_name: str, labels_name: str
) -> tuple[Array, Array, tuple[SourceFile, ...]]:
    arrays, files = [], []
    for name, rank in ((images_name, 3), (labels_name, 1)):
        path = find_file(folder, name, f"{name}.gz", name.replace("-idx", ".idx"))
        stated = functools.partial(_stated_size, name=path.name, rank=rank)
        content, file = read_bytes(path, _PUBLISHED_MD5.get(path.name), stated=stated)
        arrays.append(parse_idx(content, path.name, rank))
        files.append(file)
    images, labels = arrays
    if len(images) != len(labels):
        raise UsageError(f"MNIST in '{folder}' has {len(images)} images but {len(labels)} labels")
    if labels.size and int(labels.max()) > 9:
        raise UsageError(f"MNIST in '{folder}' has label {int(labels.max())}, which is not a digit")
    return images, labels, tuple(files)
