"""What spoils numbers is found, with what it is, why, and what to do; from planted machines and this one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarker.cli.main import main
from benchmarker.execution.rank_networks import NetworkFaults, network_faults
from benchmarker.machine.threads import usable_cpus
from benchmarker.orchestration.doctor import (
    Finding,
    examine,
    judge_gpus,
    judge_network,
    judge_python,
    summary,
    warnings_before_run,
)
from benchmarker.worker.python_build import PythonBuild, python_build
from tests.conftest import Command
from tests.support.kernel_files import plant

CPU = usable_cpus()[0]
GOOD = {
    "proc/cpuinfo": "flags : fpu tsc\n\n",
    "proc/stat": "cpu  10 0 0 990 0 0 0 0 0 0\n",
    "proc/meminfo": "MemTotal: 16000000 kB\nMemAvailable: 9000000 kB\nSwapTotal: 100 kB\nSwapFree: 100 kB\n",
    "proc/pressure/cpu": "some avg10=0.00 avg60=0.00 avg300=0.00 total=1\n",
    "proc/sys/kernel/randomize_va_space": "2\n",
    "proc/sys/kernel/osrelease": "6.1.0\n",
    "sys/devices/system/cpu/cpufreq/policy0/scaling_governor": "performance\n",
    "sys/devices/system/cpu/cpufreq/boost": "0\n",
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    "sys/class/thermal/thermal_zone0/temp": "45000\n",
    "sys/class/power_supply/AC/type": "Mains\n",
    "sys/class/power_supply/AC/online": "1\n",
    f"sys/devices/system/cpu/cpu{CPU}/topology/thread_siblings_list": f"{CPU}\n",
    f"sys/devices/system/cpu/cpu{CPU}/thermal_throttle/core_throttle_count": "0\n",
}
FAULTS = [
    ("governor", {"sys/devices/system/cpu/cpufreq/policy0/scaling_governor": "powersave\n"}, "powersave"),
    ("turbo", {"sys/devices/system/cpu/cpufreq/boost": "1\n"}, "on"),
    (
        "smt",
        {f"sys/devices/system/cpu/cpu{CPU}/topology/thread_siblings_list": f"{CPU},{CPU + 64}\n"},
        "2 threads per core",
    ),
    (
        "cpu quota",
        {
            "sys/fs/cgroup/cgroup.controllers": "cpu\n",
            "proc/self/cgroup": "0::/\n",
            "sys/fs/cgroup/cpu.max": "50000 100000\n",
        },
        f"0.5 cores for {len(usable_cpus())} CPUs",
    ),
    ("load", {"proc/pressure/cpu": "some avg10=40.00 avg60=0.00 avg300=0.00 total=1\n"}, "40 %"),
    (
        "memory",
        {"proc/meminfo": "MemTotal: 16000000 kB\nMemAvailable: 900000 kB\nSwapTotal: 1 kB\nSwapFree: 1 kB\n"},
        "0.9 of 15.3 GiB available",
    ),
    (
        "swap",
        {"proc/meminfo": "MemTotal: 9 kB\nMemAvailable: 9 kB\nSwapTotal: 4096 kB\nSwapFree: 1024 kB\n"},
        "3 MiB in use",
    ),
    (
        "transparent huge pages",
        {"sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never\n"},
        "always",
    ),
    ("heat", {"sys/class/thermal/thermal_zone0/temp": "97000\n"}, "97 °C"),
    (
        "heat",
        {f"sys/devices/system/cpu/cpu{CPU}/thermal_throttle/core_throttle_count": "12\n"},
        "slowed down 12 times",
    ),
    ("power supply", {"sys/class/power_supply/AC/online": "0\n"}, "battery"),
    (
        "clock source",
        {"sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet\n"},
        "hpet",
    ),
    (
        "virtual machine",
        {
            "proc/cpuinfo": "flags : fpu hypervisor\n\n",
            "sys/class/dmi/id/sys_vendor": "QEMU\n",
            "proc/stat": "cpu  10 0 0 985 0 0 0 5 0 0\n",
        },
        "kvm, 0.50 % of the time stolen",
    ),
    ("address layout", {"proc/sys/kernel/randomize_va_space": "0\n"}, "randomize_va_space is 0"),
]


def findings(root: Path) -> dict[str, Finding]:
    return {finding.name: finding for finding in examine(root)}


def test_a_good_machine_has_no_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.getloadavg", lambda: (0.1, 0.1, 0.1))
    monkeypatch.setattr("benchmarker.orchestration.doctor.usable_cpus", lambda: [CPU, CPU])
    found = findings(plant(tmp_path, GOOD))
    # Of the GPUs the driver tells, and of this Python its own configuration, which no planted file can stand in for.
    asked = {"gpu processes", "python build"}
    assert {name for name, finding in found.items() if finding.status != "ok"} <= asked


@pytest.mark.parametrize(("name", "files", "text"), FAULTS)
def test_each_fault_is_found_with_why_and_what_to_do(
    tmp_path: Path, name: str, files: dict[str, str], text: str
) -> None:
    finding = findings(plant(tmp_path, {**GOOD, **files}))[name]
    assert finding.status == "warn"
    assert text in finding.found
    assert finding.why
    assert finding.advice
    assert name in summary(tmp_path)["warnings"]


def test_a_run_is_warned_of_what_could_be_otherwise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.getloadavg", lambda: (0.1, 0.1, 0.1))
    assert warnings_before_run(plant(tmp_path / "good", GOOD)) == []
    heat = {"sys/class/thermal/thermal_zone0/temp": "97000\n"}
    layout = {"proc/sys/kernel/randomize_va_space": "0\n"}  # of a machine: doctor tells it
    found = warnings_before_run(plant(tmp_path / "hot", {**GOOD, **heat, **layout}))
    assert [(finding.name, finding.found) for finding in found] == [
        ("heat", "97 °C, slowed down 0 times since boot")
    ]


@pytest.mark.framework("numpy")
def test_a_run_tells_its_warnings_unless_it_is_to_be_quiet(
    command: Command, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    finding = Finding("governor", "warn", "powersave", "why", "what")
    monkeypatch.chdir(command.folder)
    monkeypatch.setattr("benchmarker.cli.run.end_as_interrupted", lambda: None)
    monkeypatch.setattr("benchmarker.orchestration.doctor.warnings_before_run", lambda: [finding])
    words = [
        "--framework=numpy",
        "--problem=mnist_mlp",
        "--batch-size=2",
        "--steps=2",
        "--warmup=0",
        "--no-verify",
    ]
    sentence = (
        "benchmarker: this machine may distort the measurements: governor: powersave (see benchmarker doctor)"
    )
    for extra, told in (([], True), (["--quiet"], False), (["--json"], False)):
        main([*words, *extra])
        said = " ".join(capsys.readouterr().err.split())  # wrapped to the width of the terminal
        assert (sentence in said) == told


def test_a_single_cpu_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarker.orchestration.doctor.usable_cpus", lambda: [CPU])
    assert findings(Path("/"))["affinity"].status == "warn"


def test_what_a_machine_does_not_tell_is_unknown_not_fine(tmp_path: Path) -> None:
    unknown = set(summary(tmp_path)["unknown"])
    assert {"governor", "turbo", "smt", "transparent huge pages", "heat", "clock source"} <= unknown
    assert {"address layout", "virtual machine"} <= unknown


@pytest.mark.parametrize(("guided", "status"), [(True, "ok"), (False, "warn"), (None, "unknown")])
def test_a_build_that_no_profile_guided_is_a_warning(guided: bool | None, status: str) -> None:
    finding = judge_python(PythonBuild("GCC 12.2.0, main, Dec 4 2023 18:10:11", guided))
    assert finding.status == status
    assert "GCC 12.2.0, main, Dec 4 2023 18:10:11" in finding.found
    assert bool(finding.why and finding.advice) == (status == "warn")


def test_the_doctor_looks_at_the_python_that_runs_it() -> None:
    assert judge_python(python_build()) in examine()


@pytest.mark.parametrize(
    ("others", "status"), [([0, 0], "ok"), ([0, 2], "warn"), ([0, None], "unknown"), ([None, 1], "warn")]
)
def test_other_users_of_the_gpus(others: list[int | None], status: str) -> None:
    finding = judge_gpus([{"index": i, "other_processes": count} for i, count in enumerate(others)])
    assert finding.status == status
    assert ("GPU 1" in finding.found) == (status == "warn")


def test_the_command_prints_every_check_and_strict_decides_the_status(command: Command) -> None:
    told = command("doctor", "--json")
    found = json.loads(told.stdout)["findings"]
    assert told.status == 0
    assert len(found) == len({finding["name"] for finding in found}) == 17
    text = command("doctor").stdout
    assert all(finding["name"] in text for finding in found)
    strict = command("doctor", "--strict", "--json")
    warned = any(finding["status"] == "warn" for finding in json.loads(strict.stdout)["findings"])
    assert strict.status == (1 if warned else 0)


# --- networks of ranks ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("faults", "status", "found"),
    [
        (
            NetworkFaults(None, None, None),
            "ok",
            "bytes are counted; links are emulated with rates and latencies",
        ),
        (
            NetworkFaults(None, None, "no netem"),
            "ok",
            "bytes are counted; links are emulated with rates but no latencies (no 'netem')",
        ),
        (
            NetworkFaults(None, "'tc' is not here", "'tc' is not here"),
            "ok",
            "bytes are counted; links cannot be emulated: 'tc' is not here",
        ),
        (NetworkFaults("not permitted", "not permitted", "not permitted"), "warn", "not permitted"),
    ],
)
def test_what_networks_of_ranks_can_do_is_told(faults: NetworkFaults, status: str, found: str) -> None:
    finding = judge_network(faults)
    assert (finding.name, finding.status, finding.found) == ("rank network", status, found)
    assert bool(finding.advice) == (status == "warn")


def test_the_network_of_this_machine_is_looked_at() -> None:
    assert examine()[-1] == judge_network(network_faults())
