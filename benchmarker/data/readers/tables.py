"""Tables of measurements that come with scikit-learn: a row per sample, its class in the last column."""

from __future__ import annotations

import hashlib
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.dataset import Dataset, SourceFile
from benchmarker.data.readers.bundled import bundled_file
from benchmarker.data.readers.files import read_bytes
from benchmarker.errors import UsageError

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

_MAX_BYTES = 1 << 24
_DIGITS = 6


def read_breast_cancer(folder: Path | None) -> Dataset:
    """Read 569 cell samples ``(569, 30)``: malignant (0) or benign (1).

    Raises
    ------
    UsageError
        If scikit-learn is not installed.
    """
    del folder  # the table lies in the package
    source = "Street, Wolberg & Mangasarian 1993, nuclear feature extraction for breast tumor diagnosis"
    return _read("breast_cancer", "breast_cancer.csv", source)


def read_wine(folder: Path | None) -> Dataset:
    """Read 178 chemical analyses of wines ``(178, 13)`` of three cultivars.

    Raises
    ------
    UsageError
        If scikit-learn is not installed.
    """
    del folder
    return _read("wine", "wine_data.csv", "Aeberhard, Coomans & de Vel 1992, wine recognition data")


def _read(name: str, file: str, source: str) -> Dataset:
    path, version = bundled_file(name, f"data/{file}")
    content, _ = read_bytes(path, most=_MAX_BYTES)
    head, *lines = content.decode("ascii", errors="replace").splitlines()
    rows, features, *classes = head.split(",")
    try:
        table = np.loadtxt(BytesIO("\n".join(lines).encode()), delimiter=",", ndmin=2)
    except ValueError as error:
        raise UsageError(f"'{path}' is damaged: {error}") from None
    if [str(len(table)), str(table.shape[1] - 1)] != [rows, features]:
        raise UsageError(
            f"'{path}' is damaged: it states {rows} rows of {features} features but has {len(table)} of "
            f"{table.shape[1] - 1}"
        )
    digest = hashlib.sha256(np.ascontiguousarray(table, np.float64).tobytes()).hexdigest()
    return Dataset(
        name,
        standardised(table[:, :-1]),
        table[:, -1].astype(np.int64),
        len(classes),
        f"{source}, as in scikit-learn",
        (SourceFile(f"scikit-learn {version} {name}", digest),),
    )


def standardised(features: Array) -> Array:
    """Return features ``(count, features)`` less their mean, divided by their deviation, in float32.

    Both are of the whole table, to six digits, in which the order of a sum does not show. To normalize once more by
    the training part alone gives what it would give of the raw numbers.
    """
    means, deviations = (_six_digits(numbers) for numbers in (features.mean(axis=0), features.std(axis=0)))
    found: Array = ((features - means) / deviations).astype(np.float32)
    return found


def _six_digits(numbers: Array) -> Array:
    return np.array([float(f"{number:.{_DIGITS}g}") for number in numbers.tolist()])
