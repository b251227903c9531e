"""The calls of OpenBLAS, by way of ctypes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROW_MAJOR = 101
TRANSPOSED: dict[bool, int] = {False: 111, True: 112}
"""Whether an operand is transposed, as CBLAS says it."""

Product = Callable[..., None]
"""``cblas_?gemm`` with the scalars' types set."""


def _loaded() -> ctypes.CDLL:
    import scipy_openblas32

    (path,) = Path(scipy_openblas32.get_lib_dir()).glob("libscipy_openblas.so*")
    return ctypes.CDLL(str(path))


class Library:
    """The copy of OpenBLAS that the wheel holds; NumPy has another one, which computes nothing here."""

    def __init__(self) -> None:
        self._library = _loaded()
        for name in ("get_config", "get_corename"):
            self._function(name).restype = ctypes.c_char_p

    def _function(self, name: str) -> Any:
        return getattr(self._library, f"scipy_openblas_{name}")

    def set_threads(self, threads: int) -> None:
        """Have products computed by so many threads."""
        self._function("set_num_threads")(threads)

    def build(self) -> str:
        """Return version, options and the kernels chosen for this processor, as it tells them."""
        texts = self._function("get_config")(), self._function("get_corename")()
        return ", kernels ".join(text.decode() for text in texts)

    def product(self, precision: str) -> Product:
        """Return ``cblas_sgemm``, or ``cblas_dgemm`` for ``fp64``."""
        letter, scalar = ("d", ctypes.c_double) if precision == "fp64" else ("s", ctypes.c_float)
        found: Any = getattr(self._library, f"scipy_cblas_{letter}gemm")
        order, size, memory = [ctypes.c_int], [ctypes.c_int], [ctypes.c_void_p, ctypes.c_int]
        found.argtypes = [*order * 3, *size * 3, scalar, *memory * 2, scalar, *memory]
        found.restype = None
        return found  # type: ignore[no-any-return]
