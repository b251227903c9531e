"""Folders of images, one per class, as ImageNet's (Russakovsky et al. 2015): ``n01440764/n01440764_18.JPEG``."""

from __future__ import annotations

import hashlib
import math
import os
import shutil
import tempfile
import warnings
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.dataset import Dataset, SourceFile, from_pixels
from benchmarker.cache import explain_unwritable, home
from benchmarker.data.readers.files import data_folder
from benchmarker.errors import UsageError, missing_package, plural
from benchmarker.files import read_regular

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

SIZE = 256
"""Pixels along both sides, of which training and evaluation cut 224 (Krizhevsky et al. 2012)."""
_MAX_SCALED_PIXELS = 1 << 26
"""Of an image before its middle is cut out: a narrow one of a few bytes would take all memory."""
_WHAT = "data set 'image_folder'"
_PARTS = ("train", "val")
_ENDINGS = (".jpeg", ".jpg", ".png")


def read(folder: Path | None) -> Dataset:
    """Read images ``(count, 3, 256, 256)`` and the number of the folder that each lies in, by order of name.

    Where the folder holds ``train`` and ``val`` alone, as ImageNet's does, the images of ``val``, which must have the
    same folders, follow as the published test set. The shorter side is brought to 256 pixels (Pillow's bilinear filter,
    which averages where it shrinks) and the
    middle is cut out. Images are decoded once and kept as pixels.

    Raises
    ------
    UsageError
        If Pillow is not installed, an image is damaged, a folder is empty, or all together are too many to keep.
    """
    folder, classes, found, tested = _found(folder)
    decoder = pillow(_WHAT)
    pixels = _storage(folder, (len(found), 3, SIZE, SIZE))
    digest = hashlib.sha256()
    for target, (path, _) in zip(pixels, found):
        content = read_regular(path)
        digest.update(hashlib.sha256(content).digest())
        target[...] = decoded(content, str(path))
    labels = np.array([label for _, label in found], np.int64)
    source = f"images of one's own in {plural(len(classes), 'class')}, decoded by {decoder}"
    file = SourceFile(
        f"{plural(len(found), 'image')} in {plural(len(classes), 'folder')}", digest.hexdigest()
    )
    return from_pixels("image_folder", pixels, labels, len(classes), source, (file,), tested=tested)


def fingerprint(folder: Path | None) -> str:
    """Return what the pixels are of: decoder, and name, size and time of change of every image.

    Raises
    ------
    UsageError
        If Pillow is not installed, or a folder is empty.
    """
    folder, _, found, _ = _found(folder)
    total = hashlib.sha256(f"{pillow(_WHAT)} {SIZE}\n".encode())
    for path, _ in found:
        status = path.stat()
        total.update(f"{path.relative_to(folder)} {status.st_size} {status.st_mtime_ns}\n".encode())
    return total.hexdigest()


def _found(folder: Path | None) -> tuple[Path, list[str], list[tuple[Path, int]], int]:
    """Return the folder, the names of the classes, every image with the number of its class, and how many test."""
    folder = data_folder(
        "image_folder", folder, "a folder of JPEG or PNG images for each class, or train and val with them"
    )
    classes = _classes(folder)
    if classes == list(_PARTS) and any(_classes(folder / part) for part in _PARTS):
        trained, tested = (_labelled(folder / part, _classes(folder / part)) for part in _PARTS)
        classes, others = (_classes(folder / part) for part in _PARTS)
        if classes != others:
            raise UsageError(
                f"'{folder / _PARTS[1]}' must hold the folders that '{folder / _PARTS[0]}' holds, one per class; only "
                f"one of them has '{min({*classes} ^ {*others})}'"
            )
        return folder, classes, [*trained, *tested], len(tested)
    if not classes:
        raise UsageError(
            f"'{folder}' must hold a folder of JPEG or PNG images for each class; it holds no folder"
        )
    return folder, classes, _labelled(folder, classes), 0


def _classes(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir() if entry.is_dir())


def _labelled(folder: Path, classes: list[str]) -> list[tuple[Path, int]]:
    return [(path, label) for label, name in enumerate(classes) for path in _images(folder / name)]


def _images(folder: Path) -> list[Path]:
    paths = sorted(path for path in folder.iterdir() if path.suffix.lower() in _ENDINGS)
    if not paths:
        raise UsageError(f"'{folder}' must hold images ({', '.join(_ENDINGS)}); it holds none")
    return paths


def _storage(folder: Path, shape: tuple[int, ...]) -> Array:
    """Return an array for pixels: in memory up to half of the machine's, else in a file that goes with the array."""
    needed = math.prod(shape)
    if needed <= os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2:
        return np.empty(shape, np.uint8)
    place = home()
    with explain_unwritable(place, "data sets"):
        place.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(place).free
        if 2 * needed > free:
            raise UsageError(
                f"'{folder}' has {plural(shape[0], 'image')}, which take {needed / 2**30:.1f} GiB as {SIZE} x {SIZE} "
                f"pixels each, and twice that while they are decoded; '{place}' has {free / 2**30:.1f} GiB free: "
                "choose fewer, or another place with BENCHMARKER_HOME"
            )
        with tempfile.TemporaryFile(dir=place) as file:
            file.truncate(needed)
            return np.memmap(file, np.uint8, "r+", shape=shape)


def pillow(what: str) -> str:
    """Return the name and version of the decoder.

    Raises
    ------
    UsageError
        If Pillow is not installed.
    """
    try:
        from PIL import __version__, features
    except ImportError:
        raise UsageError(missing_package(what, "Pillow", "data")) from None
    library = "libjpeg-turbo" if features.check_feature("libjpeg_turbo") else "libjpeg"
    return (
        f"Pillow {__version__} with {library} {features.version('libjpeg_turbo') or features.version('jpg')}"
    )


def decoded(content: bytes, name: str, size: int = SIZE) -> Array:
    """Return an image as uint8 ``(3, size, size)``: its shorter side scaled to that, the middle cut out.

    Raises
    ------
    UsageError
        If it is no image, or is damaged.
    """
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(BytesIO(content)) as image:
                colours = image.convert("RGB")
    except Exception as error:  # a decoder of damaged bytes raises whatever it stumbles over
        raise UsageError(f"'{name}' is not an image that Pillow can decode, or is damaged: {error}") from None
    scale = size / min(colours.size)
    width, height = (max(size, round(side * scale)) for side in colours.size)
    if width * height > _MAX_SCALED_PIXELS:
        raise UsageError(
            f"'{name}' is too narrow: {colours.width} x {colours.height} pixels become {width} x {height} before the "
            "middle is cut out"
        )
    scaled = colours.resize((width, height), Image.Resampling.BILINEAR)
    left, top = (width - size) // 2, (height - size) // 2
    middle = scaled.crop((left, top, left + size, top + size))
    return np.asarray(middle, np.uint8).transpose(2, 0, 1)
