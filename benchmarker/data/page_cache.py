"""Having the kernel forget the pages of a file, so that the next read comes from storage; whether it did is seen."""

from __future__ import annotations

import ctypes
import mmap
import os
from pathlib import Path
from typing import Optional


def drop(path: Path) -> Optional[str]:
    """Drop a file's pages from the kernel's cache, and look whether they are gone.

    Returns
    -------
    str or None
        Why they are still there, as the end of a sentence; None if they are gone.
    """
    if not hasattr(os, "posix_fadvise"):
        return "this system cannot drop pages"
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)  # pages that were not written yet stay
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        left = resident_pages(descriptor)
    except OSError as error:
        return f"the kernel refused: {error.strerror}"
    finally:
        os.close(descriptor)
    return None if not left else f"the kernel kept {left} pages of '{path.name}'"


def resident_pages(descriptor: int) -> int:
    """Return how many pages of an open file are in the kernel's cache.

    Raises
    ------
    OSError
        If the kernel does not tell.
    """
    size = os.fstat(descriptor).st_size
    if not size:
        return 0
    pages = -(-size // mmap.PAGESIZE)
    found = (ctypes.c_ubyte * pages)()
    library = ctypes.CDLL(None, use_errno=True)
    # A private copy that nothing writes to shows the file's own pages, and its address may be had.
    with mmap.mmap(descriptor, size, access=mmap.ACCESS_COPY) as view:
        first = ctypes.c_char.from_buffer(view)
        try:
            address = ctypes.c_void_p(ctypes.addressof(first))
            if library.mincore(address, ctypes.c_size_t(size), found):
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        finally:
            del first
    return sum(page & 1 for page in found)
