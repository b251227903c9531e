"""Main memory: how much there is and was free at the start, swap, huge pages, modules where readable."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarker.experiment import RunSpec
from benchmarker.procfs.files import ROOT, read_choice, read_integer, read_pairs, read_text

HUGE_PAGES = "sys/kernel/mm/transparent_hugepage"


@contextmanager
def benchmarker_collect(run: RunSpec) -> Iterator[dict[str, Any]]:
    """Yield the facts at the start of the run."""
    yield facts()


def facts(root: Path = ROOT) -> dict[str, Any]:
    """Return the facts, sizes in bytes.

    Parameters
    ----------
    root : Path
        Folder that holds ``proc`` and ``sys``.
    """
    table = read_pairs(root / "proc/meminfo")
    sizes = _sizes(table) if table else _sizes_elsewhere()
    return {
        **sizes,
        "huge_pages": {
            "total": _value(table.get("HugePages_Total")),
            "free": _value(table.get("HugePages_Free")),
            "page_bytes": _value(table.get("Hugepagesize")),
        },
        "transparent_huge_pages": read_choice(root / HUGE_PAGES / "enabled"),
        "transparent_huge_pages_defragmentation": read_choice(root / HUGE_PAGES / "defrag"),
        "swappiness": read_integer(root / "proc/sys/vm/swappiness"),
        "modules": _modules(root),
    }


def _value(text: str | None) -> int | None:
    """Return the number of a line of ``/proc/meminfo``, in bytes if it is in kB."""
    words = (text or "").split()
    if not words or not words[0].isdigit():
        return None
    return int(words[0]) * (1024 if words[1:] == ["kB"] else 1)


def _sizes(table: dict[str, str]) -> dict[str, int | None]:
    swap_total, swap_free = _value(table.get("SwapTotal")), _value(table.get("SwapFree"))
    known = swap_total is not None and swap_free is not None
    return {
        "total_bytes": _value(table.get("MemTotal")),
        "available_bytes": _value(table.get("MemAvailable")),
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


def _modules(root: Path) -> list[dict[str, Any]] | None:
    """Return the memory modules that the kernel's error detection lists; the firmware's table needs root."""
    found = []
    for folder in sorted((root / "sys/devices/system/edac/mc").glob("mc*/dimm*")):
        megabytes = read_integer(folder / "size")
        found.append(
            {
                "type": read_text(folder / "dimm_mem_type"),
                "bytes": megabytes * 2**20 if megabytes is not None else None,
                "location": read_text(folder / "dimm_location"),
            }
        )
    return found or None
