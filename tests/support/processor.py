"""What this machine's processor can do, as far as results of frameworks depend on it."""

from __future__ import annotations

from pathlib import Path


def adds_bytes_exactly() -> bool:
    """Return whether products of 8 bits are added in 32 bits.

    On an x86 without VNNI engines add two of them in 16 bits, where they saturate.
    """
    flags = Path("/proc/cpuinfo").read_text(encoding="utf-8").split()
    return "sse2" not in flags or not {"avx512_vnni", "avx_vnni"}.isdisjoint(flags)
