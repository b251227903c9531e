"""IMDB reviews (Maas et al. 2011) as sequences of GloVe word vectors (Pennington et al. 2014)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.data.dataset import Dataset, SourceFile
from benchmarker.data.files import data_folder, find_file
from benchmarker.errors import UsageError

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

WORDS = 250
"""Longer reviews are cut, shorter ones filled with zeros (Deuschle et al., Rysia, section 4)."""
FEATURES = 50
_VECTORS = "glove.6B.50d.txt"
_WORD = re.compile(r"[a-z0-9']+|[.,!?;:()\"]")
_CLASSES = ("neg", "pos")


def words_of(review: str) -> list[str]:
    """Return the words and marks of a review in lower case, without line breaks of HTML."""
    return _WORD.findall(review.lower().replace("<br />", " "))


def read_vectors(path: Path, wanted: Iterable[str]) -> dict[str, Array]:
    """Return the vectors of the words that are wanted: lines of a word and 50 numbers.

    Raises
    ------
    UsageError
        If a line is no such line.
    """
    words, vectors = set(wanted), {}
    with path.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, start=1):
            word, *values = line.rstrip().split(" ")
            if word not in words:
                continue
            if len(values) != FEATURES:
                raise UsageError(
                    f"line {number} of '{path}' must be a word and {FEATURES} numbers, it has {len(values)} after "
                    f"'{word}'"
                )
            vectors[word] = _vector(
                values, f"line {number} of '{path}': the vector of '{word}' must be numbers"
            )
    return vectors


def _vector(values: list[str], rule: str) -> Array:
    try:
        vector = np.array(values, np.float32)
    except ValueError:
        raise UsageError(rule) from None
    if not np.isfinite(vector).all():
        raise UsageError(f"{rule} that are finite")
    return vector


def embed(review: Iterable[str], vectors: Mapping[str, Array]) -> Array:
    """Return a review as ``(250, 50)``; a word without a vector is zeros."""
    embedded = np.zeros((WORDS, FEATURES), np.float32)
    for position, word in zip(range(WORDS), review):
        if word in vectors:
            embedded[position] = vectors[word]
    return embedded


def read(folder: Path | None) -> Dataset:
    """Read the training reviews ``(count, 250, 50)`` and whether each is positive.

    Raises
    ------
    UsageError
        If the reviews or the vectors are missing or damaged.
    """
    holds = f"train/neg, train/pos (or aclImdb with them) and {_VECTORS}"
    folder = data_folder("imdb", folder, holds)
    root = folder / "aclImdb" if (folder / "aclImdb").is_dir() else folder
    reviews: list[list[str]] = []
    labels: list[int] = []
    digest = hashlib.sha256()
    for label, name in enumerate(_CLASSES):
        paths = sorted((root / "train" / name).glob("*.txt"))
        if not paths:
            raise UsageError(f"'{root}' must hold reviews as train/{name}/*.txt; it holds none")
        for path in paths:
            content = path.read_bytes()
            digest.update(content)
            reviews.append(words_of(content.decode("utf-8", errors="replace")))
            labels.append(label)
    vectors_path = find_file(folder, _VECTORS, f"glove.6B/{_VECTORS}")
    vectors = read_vectors(vectors_path, {word for review in reviews for word in review})
    if not vectors:
        raise UsageError(f"'{vectors_path}' has no vector of any word of the reviews")
    samples = np.stack([embed(review, vectors) for review in reviews])
    files = (
        SourceFile("train", digest.hexdigest()),
        SourceFile(vectors_path.name, _file_digest(vectors_path)),
    )
    source = (
        "Maas et al. 2011, large movie review data set, training set; Pennington et al. 2014, GloVe 6B 50d"
    )
    return Dataset("imdb", samples, np.array(labels, np.int64), 2, source, files)


def _file_digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        for block in iter(lambda: stream.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()
