"""What on this machine will spoil numbers, why, and what to do about it. Nothing is changed here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarker.collector import NothingToRead
from benchmarker.collectors import cpu, gpus, load, memory, nvml, virtualization
from benchmarker.procfs import control_groups, counters
from benchmarker.procfs.files import ROOT, read_index_list, read_integer, read_text
from benchmarker.trust import LIMITS, PROCESSOR_CLOCKS
from benchmarker.worker_environment import usable_cpus

HOT_CELSIUS = 85.0
LOW_MEMORY_SHARE = 0.1
BUSY_LOAD = 0.5
RANDOM_LAYOUT = 2
"""Of ``randomize_va_space``: stack, libraries and heap lie elsewhere in every process."""
_CPU = counters.CPUS


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


_Check = Callable[[Path], Finding]


def examine(root: Path = ROOT) -> list[Finding]:
    """Return the findings of all checks, other users of the GPUs included, which may take seconds.

    Parameters
    ----------
    root : Path
        Folder that holds ``proc`` and ``sys``.
    """
    return [*_quick(root), _gpu_processes()]


def summary(root: Path = ROOT) -> dict[str, list[str]]:
    """Return the names of the quick checks that warn and of those that found nothing out, in milliseconds."""
    found = list(_quick(root))
    return {
        "warnings": [finding.name for finding in found if finding.status == "warn"],
        "unknown": [finding.name for finding in found if finding.status == "unknown"],
    }


def _quick(root: Path) -> Iterator[Finding]:
    return (check(root) for check in _CHECKS)


def _governor(root: Path) -> Finding:
    governor = cpu.governors(root)
    if governor is None:
        return Finding("governor", "unknown", "the kernel does not control the frequency here")
    if governor == "performance":
        return Finding("governor", "ok", governor)
    return Finding(
        "governor",
        "warn",
        governor,
        "the frequency follows the load, so the first steps are slower and short runs differ from long ones",
        "sudo cpupower frequency-set --governor performance",
    )


def _turbo(root: Path) -> Finding:
    turbo = cpu.turbo(root)
    if turbo is None:
        return Finding("turbo", "unknown", "the kernel does not tell")
    if not turbo:
        return Finding("turbo", "ok", "off")
    return Finding(
        "turbo",
        "warn",
        "on",
        "how fast a core runs depends on its neighbours and on heat, so later runs may be slower than early ones",
        "switch it off in the firmware or in /sys (intel_pstate/no_turbo or cpufreq/boost), or compare "
        "interleaved runs only",
    )


def _smt(root: Path) -> Finding:
    siblings = [
        threads
        for c in usable_cpus()
        if (threads := read_index_list(root / _CPU / f"cpu{c}/topology/thread_siblings_list"))
    ]
    if not siblings:
        return Finding("smt", "unknown", "the kernel does not tell")
    if max(map(len, siblings)) == 1:
        return Finding("smt", "ok", "one thread a core")
    return Finding(
        "smt",
        "warn",
        f"{max(map(len, siblings))} threads a core",
        "what runs on the other thread of a core slows the worker down",
        "use one thread a core (the default here) and leave the others idle: --affinity=...",
    )


def _swap(root: Path) -> Finding:
    used = memory.facts(root)["swap_used_bytes"]
    if used is None:
        return Finding("swap", "unknown", "the kernel does not tell")
    if used == 0:
        return Finding("swap", "ok", "not in use")
    return Finding(
        "swap",
        "warn",
        f"{used / 2**20:.0f} MiB in use",
        "a page that has to come back from disk costs as much as thousands of steps of a small problem",
        "end what fills the memory, then sudo swapoff -a && sudo swapon -a",
    )


def _memory(root: Path) -> Finding:
    facts = memory.facts(root)
    total, available = facts["total_bytes"], facts["available_bytes"]
    if total is None or available is None:
        return Finding("memory", "unknown", "the kernel does not tell")
    found = f"{available / 2**30:.1f} of {total / 2**30:.1f} GiB available"
    if available >= LOW_MEMORY_SHARE * total:
        return Finding("memory", "ok", found)
    return Finding(
        "memory",
        "warn",
        found,
        "the kernel takes caches away and swaps while steps are timed",
        "end what fills the memory",
    )


def _huge_pages(root: Path) -> Finding:
    choice = memory.facts(root)["transparent_huge_pages"]
    if choice is None:
        return Finding("transparent huge pages", "unknown", "the kernel does not tell")
    if choice != "always":
        return Finding("transparent huge pages", "ok", choice)
    return Finding(
        "transparent huge pages",
        "warn",
        choice,
        "whether memory comes in large pages is luck of the moment, and so is how fast it is",
        "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
    )


def _quota(root: Path) -> Finding:
    quota = control_groups.limits(root)["cpus"]
    granted = len(usable_cpus())
    if quota is None:
        return Finding("cpu quota", "ok", "none")
    if quota >= granted:
        return Finding("cpu quota", "ok", f"{quota:g} cores for {granted} CPUs")
    return Finding(
        "cpu quota",
        "warn",
        f"{quota:g} cores for {granted} CPUs",
        "libraries that start a thread a CPU use the quota up, and then all stand still for tens of milliseconds",
        f"--threads={max(int(quota), 1)} or fewer, or a container without a quota",
    )


def _affinity(root: Path) -> Finding:
    usable = usable_cpus()
    online = read_index_list(root / _CPU / "online")
    found = f"{len(usable)} of {len(online)} CPUs usable" if online else f"{len(usable)} CPUs usable"
    if len(usable) > 1:
        return Finding("affinity", "ok", found)
    return Finding(
        "affinity",
        "warn",
        found,
        "the worker shares its only CPU with everything else, benchmarker included",
        "grant two CPUs or more",
    )


def _load(root: Path) -> Finding:
    now = load.load_now(root)
    averages, waiting = now["load_average"], now["cpu_pressure_avg10_percent"]
    if averages is None and waiting is None:
        return Finding("load", "unknown", "the system does not tell")
    average = averages[0] if averages else 0.0
    found = f"{average:.2f} tasks in the last minute"
    if waiting is not None:
        found += f", some waited for a core in {waiting:.0f} % of the last 10 s"
    if average <= BUSY_LOAD and (waiting or 0.0) <= 100 * LIMITS["cpu_pressure"].noisy:
        return Finding("load", "ok", found)
    return Finding(
        "load",
        "warn",
        found,
        "others take cores, caches and memory bandwidth from the worker",
        "end other programs; top shows them",
    )


def _heat(root: Path) -> Finding:
    throttles = counters.thermal_throttles(usable_cpus(), root)
    zones = [read_integer(zone / "temp") for zone in (root / "sys/class/thermal").glob("thermal_zone*")]
    degrees = max((value / 1000 for value in zones if value is not None), default=None)
    if throttles is None and degrees is None:
        return Finding("heat", "unknown", "the kernel does not tell")
    parts = [] if degrees is None else [f"{degrees:.0f} °C"]
    parts += [] if throttles is None else [f"slowed down {throttles} times since the start"]
    if not throttles and (degrees or 0.0) < HOT_CELSIUS:
        return Finding("heat", "ok", ", ".join(parts))
    return Finding(
        "heat",
        "warn",
        ", ".join(parts),
        "a hot processor lowers its frequency, so runs become slower one after the other",
        "let it cool down, and look after the fans",
    )


def _clock(root: Path) -> Finding:
    source = counters.clock_source(root)
    if source is None:
        return Finding("clock source", "unknown", "the kernel does not tell")
    if source in PROCESSOR_CLOCKS:
        return Finding("clock source", "ok", source)
    return Finding(
        "clock source",
        "warn",
        source,
        "each reading of the clock is a system call and takes a microsecond or more",
        "find out with dmesg why the kernel distrusts the processor's counter (tsc)",
    )


def _virtual_machine(root: Path) -> Finding:
    kind = virtualization.facts(root)["machine"]["kind"]
    if kind is None:
        return Finding("virtual machine", "unknown", "the system does not tell")
    if kind == "none":
        return Finding("virtual machine", "ok", "none")
    times = counters.cpu_times(root)
    stolen = f", {100 * times.stolen / times.total:.2f} % of the time stolen since its start" if times else ""
    return Finding(
        "virtual machine",
        "warn",
        f"{kind}{stolen}",
        "its neighbours use the same cores, caches and memory, and nothing here shows them",
        "repeat in many processes (--repeats), or measure on real hardware",
    )


def _layout(root: Path) -> Finding:
    value = read_integer(root / "proc/sys/kernel/randomize_va_space")
    if value is None:
        return Finding("address layout", "unknown", "the kernel does not tell")
    if value == RANDOM_LAYOUT:
        return Finding("address layout", "ok", "random in every process")
    return Finding(
        "address layout",
        "warn",
        f"randomize_va_space is {value}",
        "all processes share one layout of memory, whose luck no number of repetitions averages out",
        "sudo sysctl kernel.randomize_va_space=2",
    )


def _power(root: Path) -> Finding:
    supplies = list((root / "sys/class/power_supply").glob("*"))
    mains = [read_integer(supply / "online") for supply in supplies if read_text(supply / "type") == "Mains"]
    if not mains:
        return Finding(
            "power supply",
            "ok" if not supplies else "unknown",
            "no battery" if not supplies else "no mains adapter listed",
        )
    if any(mains):
        return Finding("power supply", "ok", "mains")
    return Finding("power supply", "warn", "battery", "a machine on battery runs slower", "plug it in")


_CHECKS: tuple[_Check, ...] = (
    _governor,
    _turbo,
    _smt,
    _quota,
    _affinity,
    _load,
    _memory,
    _swap,
    _huge_pages,
    _heat,
    _power,
    _clock,
    _virtual_machine,
    _layout,
)


def _gpu_processes() -> Finding:
    name = "gpu processes"
    if not nvml.library_exists():
        return Finding(name, "ok", "no NVIDIA GPU")
    try:
        devices = gpus.Question(anonymous=True).answer(gpus.WAIT_SECONDS)
    except NothingToRead as error:
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
            "gpu processes", "ok" if known else "unknown", "none" if known else "the driver does not tell"
        )
    return Finding(
        "gpu processes",
        "warn",
        f"others use {', '.join(used)}",
        "they take its cores, its memory and its power budget from the worker",
        "choose another with --gpus, or end them; nvidia-smi shows them",
    )
