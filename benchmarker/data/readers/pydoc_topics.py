"""English text that every CPython brings along: the pages of its ``help()``, as next characters to predict."""

from __future__ import annotations

import ast
import hashlib
import platform
import sysconfig
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from benchmarker.api.dataset import Dataset, SourceFile
from benchmarker.data.readers.files import find_file, read_bytes
from benchmarker.errors import UsageError

LENGTH = 40
"""Characters that are seen before the one to predict."""
STRIDE = 3
"""Characters from one sample to the next, as in the example of Keras that ``lstm_char`` is from."""
_FILE = "topics.py"
_MAX_BYTES = 1 << 26
KNOWN: Mapping[str, str] = {
    "b1882a33e8512d28c4e983e7376fdeac986c374348734197b7ac5dfcb93d6542": "3.10.13",
    "b0796031be1d1b35e6efa46b7944effd47a0c52a48087d470dde314fe2d66968": "3.11.2",
    "2a95af4ac93f5b719944030ce3769070ddf827d847cba42192afa8da989e5dc4": "3.11.7",
    "b5bb57d637a700f50d8c7309e7340f40a333fdf2cba89d3f1da81c1b74ee8952": "3.12.1",
    "4b7ff11aae42ee979a50edb5d279a88ae9d80d7216e9ba99add988136ded5fb2": "3.13.0",
}
"""SHA-256 of the text of versions of CPython: each documents itself anew, so that none but these is the same."""


def read(folder: Path | None) -> Dataset:
    """Read windows of 40 characters ``(count, 40)`` as uint8 symbols by number, and the character after each.

    The pages stand one after the other in the order of their names, with a line break between them. Symbols are
    numbered in the order of their code points. A folder with another CPython's ``topics.py`` goes before that of the
    Python that runs this.

    Raises
    ------
    UsageError
        If this Python's text is none of those that are known, or the file is missing or damaged.
    """
    path = _own_file() if folder is None else find_file(folder, _FILE, f"pydoc_data/{_FILE}")
    text = text_of(path)
    digest = hashlib.sha256(text.encode()).hexdigest()
    if folder is None and digest not in KNOWN:
        raise UsageError(
            f"data set 'pydoc_topics' is the text of CPython {', '.join(KNOWN.values())}; that of Python "
            f"{platform.python_version()} here is different (sha256 {digest[:12]}): give a folder with the {_FILE} of "
            f"one of them as --data-dir, or '{path.parent}' to take this one as it is"
        )
    version = f"CPython {KNOWN[digest]}" if digest in KNOWN else "a CPython not known here"
    return windows(
        text, f"the text of pydoc_data.topics of {version}", SourceFile(_FILE, digest, digest in KNOWN)
    )


def windows(text: str, source: str, file: SourceFile) -> Dataset:
    """Return the windows of a text.

    Raises
    ------
    UsageError
        If it has more different characters than a byte numbers, or is shorter than a window.
    """
    alphabet, numbers = np.unique(np.frombuffer(text.encode("utf-32-le"), "<u4"), return_inverse=True)
    if len(alphabet) > 256 or len(numbers) <= LENGTH:
        raise UsageError(
            f"a text must have more than {LENGTH} characters, at most 256 of them different, but '{file.name}' has "
            f"{len(numbers)}, {len(alphabet)} of them different"
        )
    symbols = numbers.astype(np.uint8)
    every = np.lib.stride_tricks.sliding_window_view(symbols, LENGTH + 1)[::STRIDE]
    samples, labels = np.ascontiguousarray(every[:, :-1]), every[:, -1].astype(np.int64)
    count = len(alphabet)
    return Dataset("pydoc_topics", samples, labels, count, source, (file,), symbols=count, sequential=True)


def text_of(path: Path) -> str:
    """Return the text of a ``topics.py``, which is read and not run.

    Raises
    ------
    UsageError
        If it is no such file.
    """
    content, _ = read_bytes(path, most=_MAX_BYTES)
    try:
        statements = ast.parse(content).body
        values = [
            s.value for s in statements if isinstance(s, ast.Assign) and ast.unparse(s.targets[0]) == "topics"
        ]
        pages = ast.literal_eval(values[0])
        return "\n".join(pages[name] for name in sorted(pages))
    except (SyntaxError, ValueError, IndexError, TypeError, AttributeError, RecursionError, MemoryError):
        raise UsageError(
            f"'{path}' is not a file of CPython's pydoc_data: it has no table 'topics' of texts"
        ) from None


def _own_file() -> Path:
    path = Path(sysconfig.get_path("stdlib"), "pydoc_data", _FILE)
    if not path.is_file():
        raise UsageError(
            f"data set 'pydoc_topics' comes with CPython as '{path}', which is not there: give a folder with a "
            f"{_FILE} as --data-dir"
        )
    return path
