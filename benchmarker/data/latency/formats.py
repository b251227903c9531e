"""Formats that two photographs are stored in for the measurement."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.cache import staged_folder
from benchmarker.data import values
from benchmarker.data.latency.timing import ARRAYS, stored_files
from benchmarker.data.readers.bundled import bundled_file
from benchmarker.data.readers.image_folder import decoded
from benchmarker.errors import UsageError, did_you_mean
from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

PHOTOGRAPHS = ("china.jpg", "flower.jpg")
"""Real JPEGs of 640 x 427 that come with scikit-learn."""


def photographs() -> list[bytes]:
    """Return the JPEGs of scikit-learn.

    Raises
    ------
    UsageError
        If scikit-learn is not installed.
    """
    return [bundled_file("photographs", f"images/{name}")[0].read_bytes() for name in PHOTOGRAPHS]


@dataclass(frozen=True)
class StoredFormat:
    """Images in storage.

    Parameters
    ----------
    name : str
        Of the format.
    folder : Path
        Where they lie.
    count, size : int
        How many, and the pixels along both sides of what is read.
    """

    name: str
    folder: Path
    count: int
    size: int

    def batches(self, batch_size: int) -> list[list[int]]:
        """Return mini-batches of the numbers of images, in a random order that is always the same."""
        order = values.draw_order(0, "latency", self.count).tolist()
        return [order[start : start + batch_size] for start in range(0, self.count, batch_size)]

    def stored_bytes(self, numbers: Sequence[int]) -> int:
        """Return the bytes in storage that a mini-batch is made of."""
        if self.name in ARRAYS:
            return len(numbers) * 3 * self.size * self.size
        return sum(path.stat().st_size for path in stored_files(self.folder, self.name, numbers))


def _write_npy(stored: StoredFormat, originals: Sequence[bytes]) -> None:
    (path,) = stored_files(stored.folder, stored.name, ())
    np.save(path, _pixels(stored, originals))


def _write_idx(stored: StoredFormat, originals: Sequence[bytes]) -> None:
    (path,) = stored_files(stored.folder, stored.name, ())
    pixels = _pixels(stored, originals)
    with path.open("wb") as file:
        file.write(bytes((0, 0, 8, pixels.ndim)) + struct.pack(f">{pixels.ndim}I", *pixels.shape))
        file.write(pixels.tobytes())


def _write_png(stored: StoredFormat, originals: Sequence[bytes]) -> None:
    from PIL import Image

    encoded = []
    for original in originals:
        stream = BytesIO()
        with Image.open(BytesIO(original)) as image:
            image.save(stream, "png")
        encoded.append(stream.getvalue())
    _write_jpeg(stored, encoded)


def _write_jpeg(stored: StoredFormat, originals: Sequence[bytes]) -> None:
    for number, path in enumerate(stored_files(stored.folder, stored.name, range(stored.count))):
        path.write_bytes(originals[number % len(originals)])


def _pixels(stored: StoredFormat, originals: Sequence[bytes]) -> Array:
    each = [decoded(original, "photograph", stored.size) for original in originals]
    return np.stack([each[number % len(each)] for number in range(stored.count)])


FORMATS: Mapping[str, Callable[[StoredFormat, Sequence[bytes]], None]] = {
    "npy": _write_npy,
    "idx": _write_idx,
    "png": _write_png,
    "jpeg": _write_jpeg,
}
"""Every format, and what stores photographs in it: pixels at the final size, or the photographs as a whole."""


@contextlib.contextmanager
def stored_formats(folder: Path, names: Sequence[str], count: int, size: int) -> Iterator[list[StoredFormat]]:
    """Store the photographs by turns in each format, and remove them at the end of the block.

    Parameters
    ----------
    folder : Path
        On the storage that is measured.
    names : sequence of str
        Of formats; all without any.
    count, size : int
        How many images, and the pixels along both sides of what is read.

    Raises
    ------
    UsageError
        If there is no such format, the folder cannot be written, or scikit-learn or Pillow is not installed.
    """
    for name in names:
        if name not in FORMATS:
            raise UsageError(f"unknown format '{name}'{did_you_mean(name, FORMATS)}")
    originals = photographs()
    with contextlib.ExitStack() as stack:
        try:
            own = stack.enter_context(staged_folder(folder / "latency"))
            found = [StoredFormat(name, own / name, count, size) for name in dict.fromkeys(names or FORMATS)]
            for stored in found:
                stored.folder.mkdir()
                FORMATS[stored.name](stored, originals)
        except OSError as error:
            raise UsageError(f"images cannot be stored in '{folder}': {error.strerror or error}") from None
        yield found
