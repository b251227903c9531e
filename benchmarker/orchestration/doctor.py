"""What on this machine will spoil numbers, why, and what to do about it. Nothing is changed here."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarker.api.collector import Unavailable
from benchmarker.collectors import cpu, gpus, load, memory, virtualization
from benchmarker.execution.rank_networks import NetworkFaults, network_faults
from benchmarker.machine import nvml
from benchmarker.machine.procfs import control_groups, counters
from benchmarker.machine.procfs.files import ROOT, read_index_list, read_integer, read_text
from benchmarker.machine.threads import usable_cpus
from benchmarker.machine.trust import LIMITS, PROCESSOR_CLOCKS
from benchmarker.quick_dataclass import dataclass
from benchmarker.worker.python_build import PythonBuild, python_build

HOT_CELSIUS = 85.0
LOW_MEMORY_SHARE = 0.1
BUSY_LOAD = 0.5
RANDOM_LAYOUT = 2
"""Of ``randomize_va_space``: stack, libraries and heap lie elsewhere in every process."""


@dataclass(frozen=True)
class Finding:
    """The state of one thing that numbers depend on.

    Parameters
    ----------
    name : str
        What was looked at.
    status : {"ok", "warn", "unknown"}
        Whether it will spoil numbers; unknown where the machine does not tell.
    found : str
        What it is.
    why : str
        Why it spoils numbers; empty unless it does.
    advice : str
        What to do; empty unless it does.
    """

    name: str
    status: str
    found: str
    why: str = ""
    advice: str = ""


class _Seen(NamedTuple):
    """What a check has seen, whether it spoils numbers, and what to do where that depends on it."""

    found: str
    spoils: bool
    advice: str = ""


@dataclass(frozen=True)
class _Check:
    """A thing to look at; ``look`` returns None where the machine does not tell.

    ``passes`` says that it may be otherwise a moment later or is easily changed, so that a run is worth a warning.
    """

    name: str
    look: Callable[[Path], _Seen | None]
    why: str
    advice: str
    unknown: str = "not reported by the kernel"
    passes: bool = False

    def finding(self, root: Path) -> Finding:
        seen = self.look(root)
        if seen is None:
            return Finding(self.name, "unknown", self.unknown)
        if not seen.spoils:
            return Finding(self.name, "ok", seen.found)
        return Finding(self.name, "warn", seen.found, self.why, seen.advice or self.advice)


def examine(root: Path = ROOT) -> list[Finding]:
    """Return the findings of all checks, this Python and other users of the GPUs included, which may take seconds.

    Parameters
    ----------
    root : Path
        Folder that holds ``proc`` and ``sys``.
    """
    return [*_quick(root), judge_python(python_build()), _gpu_processes(), judge_network(network_faults())]


def summary(root: Path = ROOT) -> dict[str, list[str]]:
    """Return the names of the quick checks that warn and of those that found nothing out, in milliseconds."""
    found = list(_quick(root))
    return {
        "warnings": [finding.name for finding in found if finding.status == "warn"],
        "unknown": [finding.name for finding in found if finding.status == "unknown"],
    }


def warnings_before_run(root: Path = ROOT) -> list[Finding]:
    """Return what will spoil the numbers of a run that starts now, and could be otherwise, in milliseconds."""
    found = (check.finding(root) for check in _CHECKS if check.passes)
    return [finding for finding in found if finding.status == "warn"]


def _quick(root: Path) -> Iterator[Finding]:
    return (check.finding(root) for check in _CHECKS)


def _governor(root: Path) -> _Seen | None:
    governor = cpu.governors(root)
    return None if governor is None else _Seen(governor, governor != "performance")


def _turbo(root: Path) -> _Seen | None:
    turbo = cpu.turbo(root)
    return None if turbo is None else _Seen("on" if turbo else "off", turbo)


def _smt(root: Path) -> _Seen | None:
    siblings = [
        len(threads)
        for c in usable_cpus()
        if (threads := read_index_list(root / counters.CPUS / f"cpu{c}/topology/thread_siblings_list"))
    ]
    if not siblings:
        return None
    most = max(siblings)
    return _Seen("one thread per core" if most == 1 else f"{most} threads per core", most > 1)


def _swap(root: Path) -> _Seen | None:
    used = memory.facts(root)["swap_used_bytes"]
    if used is None:
        return None
    return _Seen(f"{used / 2**20:.0f} MiB in use" if used else "not in use", used > 0)


def _memory(root: Path) -> _Seen | None:
    facts = memory.facts(root)
    total, available = facts["total_bytes"], facts["available_bytes"]
    if total is None or available is None:
        return None
    found = f"{available / 2**30:.1f} of {total / 2**30:.1f} GiB available"
    return _Seen(found, available < LOW_MEMORY_SHARE * total)


def _huge_pages(root: Path) -> _Seen | None:
    choice = memory.facts(root)["transparent_huge_pages"]
    return None if choice is None else _Seen(choice, choice == "always")


def _quota(root: Path) -> _Seen:
    quota = control_groups.limits(root)["cpus"]
    if quota is None:
        return _Seen("none", False)
    granted = len(usable_cpus())
    advice = f"--threads={max(int(quota), 1)} or fewer, or a container without a quota"
    return _Seen(f"{quota:g} cores for {granted} CPUs", quota < granted, advice)


def _affinity(root: Path) -> _Seen:
    usable = len(usable_cpus())
    online = read_index_list(root / counters.CPUS / "online")
    return _Seen(f"{usable} of {len(online)} CPUs usable" if online else f"{usable} CPUs usable", usable <= 1)


def _load(root: Path) -> _Seen | None:
    now = load.load_now(root)
    averages, waiting = now["load_average"], now["cpu_pressure_avg10_percent"]
    if averages is None and waiting is None:
        return None
    average = averages[0] if averages else 0.0
    found = f"{average:.2f} tasks in the last minute"
    if waiting is not None:
        found += f", some waited for a core for {waiting:.0f} % of the last 10 s"
    return _Seen(found, average > BUSY_LOAD or (waiting or 0.0) > 100 * LIMITS["cpu_pressure"].noisy)


def _heat(root: Path) -> _Seen | None:
    throttles = counters.thermal_throttles(usable_cpus(), root)
    zones = [read_integer(zone / "temp") for zone in (root / "sys/class/thermal").glob("thermal_zone*")]
    degrees = max((value / 1000 for value in zones if value is not None), default=None)
    if throttles is None and degrees is None:
        return None
    parts = [] if degrees is None else [f"{degrees:.0f} °C"]
    parts += [] if throttles is None else [f"slowed down {throttles} times since boot"]
    return _Seen(", ".join(parts), bool(throttles) or (degrees or 0.0) >= HOT_CELSIUS)


def _clock(root: Path) -> _Seen | None:
    source = counters.clock_source(root)
    return None if source is None else _Seen(source, source not in PROCESSOR_CLOCKS)


def _virtual_machine(root: Path) -> _Seen | None:
    kind = virtualization.facts(root)["machine"]["kind"]
    if kind in (None, "none"):
        return None if kind is None else _Seen(kind, False)
    times = counters.cpu_times(root)
    stolen = f", {100 * times.stolen / times.total:.2f} % of the time stolen since boot" if times else ""
    return _Seen(f"{kind}{stolen}", True)


def _layout(root: Path) -> _Seen | None:
    value = read_integer(root / "proc/sys/kernel/randomize_va_space")
    if value is None:
        return None
    if value == RANDOM_LAYOUT:
        return _Seen("random in every process", False)
    return _Seen(f"randomize_va_space is {value}", True)


def _power(root: Path) -> _Seen | None:
    supplies = list((root / "sys/class/power_supply").glob("*"))
    mains = [read_integer(supply / "online") for supply in supplies if read_text(supply / "type") == "Mains"]
    if not mains:
        return None if supplies else _Seen("no battery", False)
    return _Seen("mains" if any(mains) else "battery", not any(mains))


_CHECKS = (
    _Check(
        "governor",
        _governor,
        "the frequency follows the load, so the first steps are slower and short runs differ from long ones",
        "sudo cpupower frequency-set --governor performance",
        unknown="the kernel does not control the frequency here",
        passes=True,
    ),
    _Check(
        "turbo",
        _turbo,
        "how fast a core runs depends on its neighbours and on heat, so later runs may be slower than early ones",
        "switch it off in the firmware or in /sys (intel_pstate/no_turbo or cpufreq/boost), or compare "
        "interleaved runs only",
    ),
    _Check(
        "smt",
        _smt,
        "whatever runs on the other thread of a core slows the worker down",
        "use one thread per core (the default here) and leave the others idle: --affinity=...",
    ),
    _Check(
        "cpu quota",
        _quota,
        "libraries that start a thread per CPU use up the quota, and then all of them stall for tens of milliseconds",
        "",
    ),
    _Check(
        "affinity",
        _affinity,
        "the worker shares its only CPU with everything else, benchmarker included",
        "grant two CPUs or more",
    ),
    _Check(
        "load",
        _load,
        "other programs take cores, caches and memory bandwidth from the worker",
        "end other programs; top shows them",
        unknown="not reported by the system",
        passes=True,
    ),
    _Check(
        "memory",
        _memory,
        "the kernel takes caches away and swaps while steps are timed",
        "end the programs that fill the memory",
        passes=True,
    ),
    _Check(
        "swap",
        _swap,
        "a page that has to be read back from disk costs as much as thousands of steps of a small problem",
        "end the programs that fill the memory, then sudo swapoff -a && sudo swapon -a",
    ),
    _Check(
        "transparent huge pages",
        _huge_pages,
        "whether memory comes in large pages is a matter of chance, and so is its speed",
        "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
    ),
    _Check(
        "heat",
        _heat,
        "a hot processor lowers its frequency, so runs become slower one after the other",
        "let it cool down, and check the fans",
        passes=True,
    ),
    _Check(
        "power supply",
        _power,
        "a machine on battery runs slower",
        "plug it in",
        unknown="no mains adapter listed",
        passes=True,
    ),
    _Check(
        "clock source",
        _clock,
        "each reading of the clock is a system call and takes a microsecond or more",
        "find out with dmesg why the kernel distrusts the processor's counter (tsc)",
    ),
    _Check(
        "virtual machine",
        _virtual_machine,
        "its neighbours use the same cores, caches and memory, and nothing here shows them",
        "repeat in many processes (--repeats), or measure on real hardware",
        unknown="not reported by the system",
    ),
    _Check(
        "address layout",
        _layout,
        "all processes share one memory layout, whose effect no number of repetitions averages out",
        "sudo sysctl kernel.randomize_va_space=2",
    ),
)


def judge_python(build: PythonBuild) -> Finding:
    """Return what this Python's build does to environments that are made with it."""
    name, found = "python build", f"{platform.python_version()}, {build.text}"
    if build.profile_guided is None:
        return Finding(name, "unknown", f"{found}; it does not tell whether it was optimized by a profile")
    if build.profile_guided:
        return Finding(name, "ok", f"{found}, optimized by a profile")
    return Finding(
        name,
        "warn",
        f"{found}, not optimized by a profile",
        "what frameworks do in Python takes half as long again or more, which short steps show most",
        "run benchmarker with a Python built with --enable-optimizations, as those of distributions and uv are",
    )


def _gpu_processes() -> Finding:
    name = "gpu processes"
    if not nvml.library_exists():
        return Finding(name, "ok", "no NVIDIA GPU")
    try:
        devices = gpus.Question(anonymous=True).answer(gpus.WAIT_SECONDS)
    except Unavailable as error:
        return Finding(name, "unknown", str(error))
    except Exception as error:  # NVML's own errors, which only it can name
        return Finding(name, "unknown", f"NVML failed: {error}")
    return judge_gpus(devices)


def judge_gpus(devices: list[dict[str, object]]) -> Finding:
    """Return what the collector's facts of the GPUs say of other users."""
    used = [f"GPU {gpu['index']}" for gpu in devices if gpu.get("other_processes")]
    if not used:
        known = all(gpu.get("other_processes") is not None for gpu in devices)
        return Finding(
            "gpu processes", "ok" if known else "unknown", "none" if known else "not reported by the driver"
        )
    return Finding(
        "gpu processes",
        "warn",
        f"others use {', '.join(used)}",
        "they take its cores, its memory and its power budget from the worker",
        "choose another with --gpus, or end them; nvidia-smi shows them",
    )


def judge_network(faults: NetworkFaults) -> Finding:
    """Return what can be done here for runs of several ranks, by why something cannot."""
    name = "rank network"
    if faults.counting is not None:
        return Finding(
            name,
            "warn",
            faults.counting,
            "what the ranks of a run send is not counted, and no slower network can be emulated",
            "install iproute2 and util-linux, and allow network namespaces (root, or user namespaces)",
        )
    if faults.emulation is not None:
        return Finding(name, "ok", f"bytes are counted; links cannot be emulated: {faults.emulation}")
    latency = "and latencies" if faults.latency is None else "but no latencies (no 'netem')"
    return Finding(name, "ok", f"bytes are counted; links are emulated with rates {latency}")
