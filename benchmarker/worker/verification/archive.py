"""NumPy's archives that another process has written, which may hold anything."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarker.files import open_regular


@contextmanager
def open_archive(path: Path) -> Iterator[Any]:
    """Give the arrays of a file by their names; a pipe in its place is refused, as nobody may ever write to it.

    Raises
    ------
    OSError
        If it cannot be opened; what a damaged file raises depends on the fault.
    """
    # Of a broken archive NumPy would leave a file open that it opened itself.
    with os.fdopen(open_regular(path), "rb") as file, np.load(file, allow_pickle=False) as archive:
        yield archive
