"""MNIST and its relatives, in the IDX format (LeCun, Cortes & Burges, "The MNIST database")."""

from __future__ import annotations

import math
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.data.dataset import Dataset, from_pixels
from benchmarker.data.files import data_folder, find_file, read_bytes
from benchmarker.errors import UsageError

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

_UNSIGNED_BYTE = 0x08
_IMAGES = "train-images-idx3-ubyte"
_LABELS = "train-labels-idx1-ubyte"
_PUBLISHED_MD5 = {
    f"{_IMAGES}.gz": "f68b3c2dcbeaaa9fbdd348bbdeb94873",
    f"{_LABELS}.gz": "d53e105ee54ea40749a09fcbcd1e9432",
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
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] != _UNSIGNED_BYTE or content[3] != rank:
        raise UsageError(
            f"'{name}' must be an IDX file of unsigned bytes with {rank} axes, which starts with the bytes "
            f"0, 0, 8, {rank}; it starts with {', '.join(map(str, content[:4])) or 'nothing'}"
        )
    header = 4 + 4 * rank
    if len(content) < header:
        raise UsageError(f"'{name}' is damaged: it ends within its header")
    shape = struct.unpack(f">{rank}I", content[4:header])
    if len(content) - header != math.prod(shape):
        raise UsageError(
            f"'{name}' is damaged: sizes {shape} need {math.prod(shape)} bytes of data, there are "
            f"{len(content) - header}"
        )
    return np.frombuffer(content, np.uint8, offset=header).reshape(shape)


def read(folder: Path | None) -> Dataset:
    """Read the training set: images ``(count, 1, rows, columns)`` and digits.

    Raises
    ------
    UsageError
        If a file is missing or damaged, or the two do not belong together.
    """
    folder = data_folder("mnist", folder, f"{_IMAGES}[.gz] and {_LABELS}[.gz]")
    arrays, files = [], []
    for name, rank in ((_IMAGES, 3), (_LABELS, 1)):
        path = find_file(folder, name, f"{name}.gz", name.replace("-idx", ".idx"))
        content, file = read_bytes(path, _PUBLISHED_MD5.get(path.name))
        arrays.append(parse_idx(content, path.name, rank))
        files.append(file)
    images, labels = arrays
    if len(images) != len(labels):
        raise UsageError(f"MNIST in '{folder}' has {len(images)} images but {len(labels)} labels")
    if labels.size and int(labels.max()) > 9:
        raise UsageError(f"MNIST in '{folder}' has label {int(labels.max())}, which is no digit")
    source = "LeCun, Cortes & Burges, the MNIST database of handwritten digits, training set"
    return from_pixels("mnist", images[:, None], labels, 10, source, tuple(files))
