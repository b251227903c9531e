"""IMDB reviews (Maas et al. 2011) as sequences of GloVe word vectors (Pennington et al. 2014)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarker.api.dataset import Dataset, SourceFile
from benchmarker.data.readers.files import data_folder, find_file
from benchmarker.errors import UsageError
from benchmarker.files import read_regular, sha256_of

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

WORDS = 250
"""Longer reviews are cut, shorter ones filled with zeros (Deuschle et al., Rysia, section 4)."""
FEATURES = 50
_VECTORS = "glove.6B.50d.txt"
_WORD = re.compile(r"[a-z0-9']+|[.,!?;:()\"]")
_MAX_LINE = 1 << 16
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
        for number, line in enumerate(iter(lambda: lines.readline(_MAX_LINE), ""), start=1):
            if len(line) == _MAX_LINE:
                raise UsageError(f"line {number} of '{path}' is longer than any of GloVe's")
            word, *values = line.rstrip().split(" ")
            if word not in words:
                continue
            if len(values) != FEATURES:
                raise UsageError(
                    f"line {number} of '{path}' must be a word and {FEATURES} numbers, but has {len(values)} after "
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
        raise UsageError(f"{rule}, and finite")
    return vector


def embed(review: Iterable[str], vectors: Mapping[str, Array]) -> Array:
    """Return a review as ``(250, 50)``; a word without a vector is zeros."""
    embedded = np.zeros((WORDS, FEATURES), np.float32)
    for position, word in zip(range(WORDS), review):
        if word in vectors:
            embedded[position] = vectors[word]
    return embedded


def read(folder: Path | None) -> Dataset:
    """Read the training reviews, and those for testing if they lie beside: ``(count, 250, 50)`` and whether positive.

    Raises
    ------
    UsageError
        If the reviews or the vectors are missing or damaged.
    """
    holds = f"train/neg, train/pos (or aclImdb with them) and {_VECTORS}"
    folder = data_folder("imdb", folder, holds)
    root = folder / "aclImdb" if (folder / "aclImdb").is_dir() else folder
    parts = ("train", "test") if (root / "test").is_dir() else ("train",)
    found = [_reviews(root, part) for part in parts]
    reviews = [review for part in found for review in part.reviews]
    labels = [label for part in found for label in part.labels]
    vectors_path = find_file(folder, _VECTORS, f"glove.6B/{_VECTORS}")
    vectors = read_vectors(vectors_path, {word for review in reviews for word in review})
    if not vectors:
        raise UsageError(f"'{vectors_path}' has no vector of any word of the reviews")
    samples = np.stack([embed(review, vectors) for review in reviews])
    files = (
        *(SourceFile(part, each.sha256) for part, each in zip(parts, found)),
        SourceFile(vectors_path.name, sha256_of(vectors_path)),
    )
    sets = "training and test set" if len(parts) > 1 else "training set"
    source = f"Maas et al. 2011, large movie review data set, {sets}; Pennington et al. 2014, GloVe 6B 50d"
    lengths = np.array([min(len(review), WORDS) for review in reviews], np.int64)
    tested = sum(len(part.labels) for part in found[1:])
    numbers = np.array(labels, np.int64)
    return Dataset("imdb", samples, numbers, 2, source, files, lengths=lengths, tested=tested)


class _Reviews(NamedTuple):
    """The words of each review of a part, which it is, and the digest of the files."""

    reviews: list[list[str]]
    labels: list[int]
    sha256: str


def _reviews(root: Path, part: str) -> _Reviews:
    reviews: list[list[str]] = []
    labels: list[int] = []
    digest = hashlib.sha256()
    for label, name in enumerate(_CLASSES):
        paths = sorted((root / part / name).glob("*.txt"))
        if not paths:
            raise UsageError(f"'{root}' must hold reviews as {part}/{name}/*.txt; it holds none")
        for path in paths:
            content = read_regular(path)
            digest.update(content)
            reviews.append(words_of(content.decode("utf-8", errors="replace")))
            labels.append(label)
    return _Reviews(reviews, labels, digest.hexdigest())
