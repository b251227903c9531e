"""The processor: model, topology, caches, frequency and what the kernel does about its faults."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarker.api.collector import Run
from benchmarker.execution.distributions import installed_version
from benchmarker.machine.cpuinfo import PROBE, WAIT_SECONDS, Answer, CpuinfoFacts
from benchmarker.machine.procfs.counters import CPUS
from benchmarker.machine.procfs.files import (
    ROOT,
    integer,
    number,
    read_index_list,
    read_integer,
    read_pairs,
    read_text,
)

CACHE_LETTERS = {"Data": "d", "Instruction": "i", "Unified": ""}
SIZE_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}
TOPOLOGY = ("sockets", "physical_cores", "threads_per_core")


class CpuCollector:
    """Quick facts from files at once; py-cpuinfo's from a child process that never runs beside timed steps.

    Parameters
    ----------
    probe : Path
        The program that asks py-cpuinfo.
    wait_seconds : float
        How long to wait for it, in seconds, before it is killed.
    """

    def __init__(self, probe: Path = PROBE, wait_seconds: float = WAIT_SECONDS) -> None:
        self._probe = probe
        self._wait_seconds = wait_seconds
        self._facts: CpuinfoFacts | None = None

    @contextmanager
    def benchmarker_collect(self, run: Run) -> Iterator[dict[str, Any]]:
        """Yield the quick facts; py-cpuinfo's are added when the context is left."""
        readings = quick_facts()
        facts = self._facts = CpuinfoFacts(self._probe, installed_version("py-cpuinfo"))
        try:
            yield readings
            add_answer(readings, facts.answer(self._wait_seconds))
        finally:
            facts.kill()
            self._facts = None

    def benchmarker_before_timing(self, run: Run) -> None:
        """Wait for py-cpuinfo."""
        if self._facts is not None:
            self._facts.answer(self._wait_seconds)


def quick_facts(root: Path = ROOT) -> dict[str, Any]:
    """Return what the files of the kernel say, ``None`` where they do not.

    Parameters
    ----------
    root : Path
        Folder that holds ``proc`` and ``sys``.
    """
    block = read_pairs(root / "proc/cpuinfo", first_block=True)
    online = read_index_list(root / CPUS / "online")
    flags = block.get("flags") or block.get("Features")
    return {
        "model": block.get("model name"),
        "vendor": block.get("vendor_id"),
        "architecture": platform.machine() or None,
        "family": integer(block.get("cpu family")),
        "model_number": integer(block.get("model")),
        "stepping": integer(block.get("stepping")),
        "microcode": block.get("microcode"),
        "logical_cores": len(online) if online else os.cpu_count(),
        "usable_cores": _usable_cores(),
        **_topology(root, online or []),
        "numa_nodes": _numa_nodes(root),
        **_caches(root, online or []),
        "frequency_mhz": _frequency(root, block),
        "governor": governors(root),
        "turbo": turbo(root),
        "mitigations": _mitigations(root),
        "flags": sorted(set(flags.split())) if flags else None,
    }


def _usable_cores() -> int | None:
    """Return the number of logical cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count()


def _topology(root: Path, online: list[int]) -> dict[str, int | None]:
    """Count sockets and cores from the lists of threads that share them."""
    sockets: set[int] = set()
    cores: dict[int, int] = {}
    for cpu in online:
        folder = root / CPUS / f"cpu{cpu}" / "topology"
        socket = read_integer(folder / "physical_package_id")
        siblings = read_index_list(folder / "thread_siblings_list")
        if socket is None or siblings is None:
            return dict.fromkeys(TOPOLOGY)
        sockets.add(socket)
        cores[siblings[0]] = len(siblings)
    if cores:
        return dict(zip(TOPOLOGY, (len(sockets), len(cores), max(cores.values()))))
    return {**dict.fromkeys(TOPOLOGY), "physical_cores": _physical_cores_elsewhere()}


def _physical_cores_elsewhere() -> int | None:
    """Return the number of cores where there is no ``/sys``."""
    try:
        import psutil

        return psutil.cpu_count(logical=False)
    except (ImportError, OSError):
        return None


def _numa_nodes(root: Path) -> int | None:
    nodes = read_index_list(root / "sys/devices/system/node/online")
    return len(nodes) if nodes else None


def _caches(root: Path, online: list[int]) -> dict[str, dict[str, int] | None]:
    """Return the size of one cache of each level in bytes, and how many of it there are."""
    sizes: dict[str, int] = {}
    instances: dict[str, int] = {}
    for index in range(8 if online else 0):
        folder = root / CPUS / f"cpu{online[0]}" / "cache" / f"index{index}"
        level = read_text(folder / "level")
        size = _size(read_text(folder / "size"))
        if level is None:
            break
        if size is None:
            continue
        name = f"L{level}{CACHE_LETTERS.get(read_text(folder / 'type') or '', '')}"
        sizes[name] = size
        instances[name] = _cache_instances(root, online, index)
    return {"caches": sizes or None, "cache_instances": instances or None}


def _cache_instances(root: Path, online: list[int], index: int) -> int:
    """Count the caches at ``index``, reading one file for each."""
    count, left = 0, set(online)
    while left:
        cpu = min(left)
        shared = read_index_list(root / CPUS / f"cpu{cpu}" / "cache" / f"index{index}" / "shared_cpu_list")
        left -= {cpu, *(shared or [])}
        count += 1
    return count


def _size(text: str | None) -> int | None:
    """Return the bytes of a size such as ``1024K``."""
    match = re.fullmatch(r"(\d+)([KMG]?)", text or "")
    return int(match.group(1)) * SIZE_UNITS[match.group(2)] if match else None


def _frequency(root: Path, block: dict[str, str]) -> dict[str, float | None]:
    """Return frequencies of the first core in MHz; ``advertised`` is py-cpuinfo's to say."""
    folder = root / CPUS / "cpu0/cpufreq"
    mhz: dict[str, float | None] = {}
    for key, name in (
        ("current", "scaling_cur_freq"),
        ("min", "cpuinfo_min_freq"),
        ("max", "cpuinfo_max_freq"),
    ):
        khz = read_integer(folder / name)
        mhz[key] = khz / 1000 if khz is not None else None
    if mhz["current"] is None:
        mhz["current"] = number(block.get("cpu MHz"))
    return {**mhz, "advertised": None}


def governors(root: Path) -> str | None:
    """Return the frequency governor; several, should cores differ, with commas between."""
    policies = (root / CPUS / "cpufreq").glob("policy*/scaling_governor")
    governors = {text for text in map(read_text, policies) if text}
    return ",".join(sorted(governors)) or None


def turbo(root: Path) -> bool | None:
    """Tell whether cores may run faster than their nominal frequency."""
    no_turbo = read_integer(root / CPUS / "intel_pstate/no_turbo")
    if no_turbo is not None:
        return no_turbo == 0
    boost = read_integer(root / CPUS / "cpufreq/boost")
    return boost == 1 if boost is not None else None


def _mitigations(root: Path) -> dict[str, str] | None:
    try:
        files = sorted((root / CPUS / "vulnerabilities").iterdir())
    except OSError:
        return None
    return {file.name: text for file in files if (text := read_text(file))} or None


def add_answer(readings: dict[str, Any], answer: Answer) -> None:
    """Add py-cpuinfo's answer: where the kernel said nothing, and apart what only py-cpuinfo says.

    Its cache sizes are taken only where the kernel's are missing: some are in other units than stated.
    """
    facts = answer.facts
    for name, key in (
        ("model", "brand_raw"),
        ("vendor", "vendor_id_raw"),
        ("family", "family"),
        ("model_number", "model"),
        ("stepping", "stepping"),
    ):
        if readings[name] is None:
            readings[name] = facts.get(key)
    for key, name in (("hz_advertised", "advertised"), ("hz_actual", "current")):
        if readings["frequency_mhz"][name] is None:
            readings["frequency_mhz"][name] = _mhz(facts.get(key))
    listed = readings["flags"]
    all_flags = facts.get("flags") or []
    if listed is None and all_flags:
        readings["flags"] = sorted(all_flags)
    if readings["caches"] is None:
        readings["caches"] = _caches_of_answer(facts)
    readings["py_cpuinfo"] = {
        "version": answer.version,
        "reason": answer.reason,
        "further_flags": sorted(set(all_flags) - set(listed)) if facts and listed else None,
    }


def _mhz(pair: Any) -> float | None:
    """Return megahertz from py-cpuinfo's pair of whole and fractional hertz."""
    if isinstance(pair, list) and pair and isinstance(pair[0], int) and pair[0] > 0:
        return pair[0] / 1e6
    return None


def _caches_of_answer(facts: dict[str, Any]) -> dict[str, int] | None:
    keys = {
        "L1d": "l1_data_cache_size",
        "L1i": "l1_instruction_cache_size",
        "L2": "l2_cache_size",
        "L3": "l3_cache_size",
    }
    return {name: facts[key] for name, key in keys.items() if isinstance(facts.get(key), int)} or None
