"""Data sets in their true formats, one module a format; each is an entry point of ``benchmarker.datasets``."""

from __future__ import annotations

from benchmarker.api.dataset import DatasetReader


def _reader(name: str, description: str, function: str = "", fingerprint: str = "") -> DatasetReader:
    room = "benchmarker.data.readers."
    quick = fingerprint and f"{room}{fingerprint}"
    return DatasetReader(name, description, f"{room}{function or f'{name}:read'}", quick)


DIGITS = _reader("digits", "1797 digits of 8 x 8 that come with scikit-learn; needs no folder")
MNIST = _reader("mnist", "digits of 28 x 28 and their relatives, in the IDX format")
CIFAR10 = _reader("cifar10", "photographs of 32 x 32 in ten classes, in the binary version")
IMDB = _reader("imdb", "film reviews as sequences of 250 GloVe word vectors")
NPY = _reader("npy", "a pair of .npy files, samples and labels")
BREAST_CANCER = _reader(
    "breast_cancer",
    "569 cell samples of 30 features that come with scikit-learn; needs no folder",
    "tables:read_breast_cancer",
)
WINE = _reader(
    "wine", "178 wines of 13 features that come with scikit-learn; needs no folder", "tables:read_wine"
)
PYDOC_TOPICS = _reader(
    "pydoc_topics", "English text that comes with CPython, for the next character; needs no folder"
)
IMAGE_FOLDER = _reader(
    "image_folder",
    "JPEG or PNG images in a folder for each class, as ImageNet's",
    fingerprint="image_folder:fingerprint",
)
