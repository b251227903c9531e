"""How much main memory and swap there is, and how much of it is free."""

from __future__ import annotations

from pathlib import Path

from benchmarker.machine.procfs.files import ROOT, read_pairs


def memory_sizes(root: Path = ROOT) -> dict[str, int | None]:
    """Return total, available and swap memory in bytes; None where it is not told.

    Parameters
    ----------
    root : Path
        Folder that holds ``proc``.
    """
    table = read_pairs(root / "proc/meminfo")
    return _sizes(table) if table else _sizes_elsewhere()


def in_bytes(text: str | None) -> int | None:
    """Return the number of a line of ``/proc/meminfo``, in bytes if it is in kB."""
    words = (text or "").split()
    if not words or not words[0].isdigit():
        return None
    return int(words[0]) * (1024 if words[1:] == ["kB"] else 1)


def _sizes(table: dict[str, str]) -> dict[str, int | None]:
    swap_total, swap_free = in_bytes(table.get("SwapTotal")), in_bytes(table.get("SwapFree"))
    known = swap_total is not None and swap_free is not None
    return {
        "total_bytes": in_bytes(table.get("MemTotal")),
        "available_bytes": in_bytes(table.get("MemAvailable")),
        "swap_total_bytes": swap_total,
        "swap_used_bytes": (swap_total or 0) - (swap_free or 0) if known else None,
    }


def _sizes_elsewhere() -> dict[str, int | None]:
    """Return the sizes where there is no ``/proc``."""
    try:
        import psutil

        memory, swap = psutil.virtual_memory(), psutil.swap_memory()
    except (ImportError, OSError):
        return dict.fromkeys(("total_bytes", "available_bytes", "swap_total_bytes", "swap_used_bytes"))
    return {
        "total_bytes": memory.total,
        "available_bytes": memory.available,
        "swap_total_bytes": swap.total,
        "swap_used_bytes": swap.used,
    }
