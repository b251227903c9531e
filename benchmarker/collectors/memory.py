"""Main memory: how much there is and was free at the start, swap, huge pages, modules where readable."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarker.api.collector import Run
from benchmarker.machine.memory import in_bytes, memory_sizes
from benchmarker.machine.procfs.files import ROOT, read_choice, read_integer, read_pairs, read_text

HUGE_PAGES = "sys/kernel/mm/transparent_hugepage"


@contextmanager
def benchmarker_collect(run: Run) -> Iterator[dict[str, Any]]:
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
    return {
        **memory_sizes(root),
        "huge_pages": {
            "total": in_bytes(table.get("HugePages_Total")),
            "free": in_bytes(table.get("HugePages_Free")),
            "page_bytes": in_bytes(table.get("Hugepagesize")),
        },
        "transparent_huge_pages": read_choice(root / HUGE_PAGES / "enabled"),
        "transparent_huge_pages_defragmentation": read_choice(root / HUGE_PAGES / "defrag"),
        "swappiness": read_integer(root / "proc/sys/vm/swappiness"),
        "modules": _modules(root),
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
