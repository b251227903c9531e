"""The BLAS under NumPy, asked through its own C functions: Chainer has no call for its threads."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

_SUFFIXES = ("64_", "")


class OpenBlas:
    """The OpenBLAS that this process has loaded, if any (Linux only)."""

    def __init__(self) -> None:
        self._library = _loaded_openblas()

    def describe(self) -> str | None:
        """Return its version and build options, or None if there is no OpenBLAS."""
        get = self._function("openblas_get_config")
        if get is None:
            return None
        get.restype = ctypes.c_char_p
        text: bytes = get()
        return text.decode("ascii", "replace").strip()

    def set_threads(self, count: int) -> None:
        """Set the number of threads; do nothing without OpenBLAS."""
        set_number = self._function("openblas_set_num_threads")
        if set_number is not None:
            set_number(ctypes.c_int(count))

    def threads(self) -> int | None:
        """Return the number of threads, or None if there is no OpenBLAS."""
        get = self._function("openblas_get_num_threads")
        return None if get is None else int(get())

    def _function(self, name: str) -> Any:
        if self._library is None:
            return None
        found = (getattr(self._library, name + suffix, None) for suffix in _SUFFIXES)
        return next((function for function in found if function is not None), None)


def _loaded_openblas() -> ctypes.CDLL | None:
    maps = Path("/proc/self/maps")
    if not maps.exists():
        return None
    for line in maps.read_text(encoding="utf-8", errors="replace").splitlines():
        path = line.split(maxsplit=5)[5:]
        if path and "openblas" in Path(path[0]).name:
            return ctypes.CDLL(path[0])
    return None
