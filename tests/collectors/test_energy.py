"""Energy: counters with known truth in a planted powercap tree, on a clock of the test's own."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarker.collectors.energy import EnergyCollector
from benchmarker.machine import energy, nvml
from benchmarker.machine.energy import MIN_UPDATES, Idle, advance, efficiency, total_joules
from benchmarker.machine.energy_counters import EnergyCounter, Meter, rapl_counters
from benchmarker.orchestration.collector_session import CollectorSession
from tests.collectors.test_gpus import one_gpu
from tests.support.collectors import RUN

RANGE = 262_143_328_850


class Machine:
    """A powercap tree whose counters follow a clock: each zone draws so many watts, and wraps around."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.now = 100.0
        self.watts: dict[str, float] = {}
        self.microjoules: dict[str, float] = {}
        self.ranges: dict[str, int] = {}

    def zone(self, folder: str, name: str, watts: float, start: int = 0, wraps_at: int = RANGE) -> None:
        path = self.root / "sys/class/powercap" / folder
        path.mkdir(parents=True)
        (path / "name").write_text(f"{name}\n")
        (path / "max_energy_range_uj").write_text(f"{wraps_at}\n")
        self.watts[folder], self.microjoules[folder], self.ranges[folder] = watts, start, wraps_at
        self.show(folder)

    def file(self, folder: str) -> Path:
        return self.root / "sys/class/powercap" / folder / "energy_uj"

    def show(self, folder: str) -> None:
        # Not truncated first: a reader never sees half of it.
        text = f"{int(self.microjoules[folder]) % (self.ranges[folder] + 1):012d}\n"
        path = self.file(folder)
        with open(path, "r+" if path.exists() else "w") as stream:
            stream.write(text)

    def pause(self, seconds: float) -> None:
        self.now += seconds
        for folder, watts in self.watts.items():
            self.microjoules[folder] += watts * seconds * 1e6
            self.show(folder)

    def clock(self) -> float:
        return self.now


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def measured(machine: Machine, timed: Callable[[], None], **run: Any) -> CollectorSession:
    """Return what is collected of a run whose timed part is ``timed``."""
    plugin = EnergyCollector(machine.root, machine.clock, machine.pause)
    with CollectorSession(replace(RUN, **run), {"energy": plugin}, {}) as collection:
        collection.before_timing()
        collection.timing_begins(os.getpid())
        timed()
        collection.timing_ends()
    return collection


def load(machine: Machine, watts: float, seconds: float) -> Callable[[], None]:
    def work() -> None:
        machine.watts = dict.fromkeys(machine.watts, watts)
        machine.pause(seconds)

    return work


def test_joules_are_exact_and_the_idle_baseline_is_told_and_subtracted(machine: Machine) -> None:
    machine.zone("intel-rapl:0", "package-0", watts=10)
    collection = measured(machine, load(machine, watts=50, seconds=4))
    assert collection.statuses["energy"] == {"status": "ok", "reason": None}
    account = collection.monitors["energy"]["domains"]["package-0"]
    assert account["joules"] == pytest.approx(200, abs=1e-5)
    assert account["idle_watts"] == pytest.approx(10, rel=1e-3)
    assert account["joules_net"] == pytest.approx(160, rel=1e-3)
    assert account["window_seconds"] == pytest.approx(4)
    assert account["idle_seconds"] >= 0.45
    assert account["update_seconds"] == pytest.approx(0.005, rel=1e-3)
    assert account["resolution_joules"] == pytest.approx(50 * 0.005, rel=1e-3)
    assert account["method"] == "RAPL, energy_uj of intel-rapl:0"


@pytest.mark.parametrize("wraps_at", [RANGE, 65_532_610_987])
def test_a_wrap_around_is_counted(machine: Machine, wraps_at: int) -> None:
    machine.zone("intel-rapl:0", "package-0", watts=10, start=wraps_at - 50_000_000, wraps_at=wraps_at)
    collection = measured(machine, load(machine, watts=50, seconds=4))
    assert int(machine.file("intel-rapl:0").read_text()) < 200_000_000
    assert collection.monitors["energy"]["domains"]["package-0"]["joules"] == pytest.approx(200, abs=1e-5)


def test_several_wrap_arounds_are_counted_because_the_counter_is_polled(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    wraps_at = 99_999_999  # 100 J, which is polled every 0.05 s
    machine.zone("intel-rapl:0", "package-0", watts=10, start=0, wraps_at=wraps_at)
    reads = CountedReads(monkeypatch)

    def work() -> None:
        machine.watts["intel-rapl:0"] = 60
        for _ in range(5):
            machine.pause(1)
            reads.wait()

    collection = measured(machine, work)
    assert collection.monitors["energy"]["domains"]["package-0"]["joules"] == pytest.approx(300, abs=1e-5)


class CountedReads:
    """Waits until a counter's file was read twice more, the second time surely from the start."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.times = 0
        real = os.pread

        def pread(*arguments: Any) -> bytes:
            answer = real(*arguments)
            self.times += 1
            return answer

        monkeypatch.setattr(os, "pread", pread)

    def wait(self) -> None:
        until = self.times + 2
        while self.times < until:
            assert any(thread.name == "sampler" for thread in threading.enumerate()), "nobody polls"
            time.sleep(0.01)


def test_packages_and_their_memory_are_taken_and_nothing_twice(machine: Machine) -> None:
    for package in (0, 1):
        machine.zone(f"intel-rapl:{package}", f"package-{package}", watts=10)
        machine.zone(f"intel-rapl:{package}:0", "core", watts=5)
        machine.zone(f"intel-rapl:{package}:1", "dram", watts=2)
    machine.zone("intel-rapl:2", "psys", watts=40)
    machine.zone("intel-rapl-mmio:0", "package-0", watts=10)
    collection = measured(machine, load(machine, watts=20, seconds=1))
    readings = collection.monitors["energy"]
    assert list(readings["domains"]) == ["package-0", "package-0-dram", "package-1", "package-1-dram"]
    assert total_joules(readings, net=False) == pytest.approx(80, abs=1e-4)
    assert total_joules(readings) == pytest.approx(80 - 24, rel=1e-2)


def test_a_reading_that_fails_at_the_end_leaves_nothing_and_not_the_range(machine: Machine) -> None:
    machine.zone("intel-rapl:0", "package-0", watts=10)
    machine.zone("intel-rapl:1", "package-1", watts=10)

    def work() -> None:
        load(machine, watts=50, seconds=4)()
        machine.file("intel-rapl:0").write_text("")

    readings = measured(machine, work).monitors["energy"]
    assert list(readings["domains"]) == ["package-1"]
    assert "its counter could not be read" in readings["absent"]["package-0"]


def test_a_run_whose_only_counter_fails_has_no_energy(machine: Machine) -> None:
    machine.zone("intel-rapl:0", "package-0", watts=10)

    def work() -> None:
        machine.pause(4)
        machine.file("intel-rapl:0").write_text("")

    collection = measured(machine, work)
    assert collection.monitors["energy"] is None
    assert collection.statuses["energy"]["status"] == "absent"
    assert "package-0: its counter could not be read" in str(collection.statuses["energy"]["reason"])


def test_a_counter_that_cannot_be_read_from_the_start_is_absent(machine: Machine) -> None:
    machine.zone("intel-rapl:0", "package-0", watts=10)
    machine.file("intel-rapl:0").unlink()
    # A file that opens and answers every read with an error.
    machine.file("intel-rapl:0").symlink_to("/proc/self/mem")
    counters, absent = rapl_counters(machine.root)
    assert counters == []
    assert "cannot be read: [Errno 5]" in absent["package-0"]


def test_a_machine_without_counters_has_no_energy_and_says_why(machine: Machine) -> None:
    collection = measured(machine, lambda: None)
    assert collection.monitors["energy"] is None
    assert collection.statuses["energy"]["status"] == "absent"
    assert "no processor package under /sys/class/powercap" in str(collection.statuses["energy"]["reason"])


def test_counters_for_root_only_are_absent_with_that_reason() -> None:
    # Not in the test's own folder, which other users may not enter.
    folder = Path(tempfile.mkdtemp(prefix="benchmarker-test-"))
    folder.chmod(0o755)
    try:
        machine = Machine(folder)
        machine.zone("intel-rapl:0", "package-0", watts=10)
        machine.file("intel-rapl:0").chmod(0o400 if os.geteuid() == 0 else 0)
        was = os.geteuid()
        if was == 0:
            os.seteuid(65534)
        try:
            counters, absent = rapl_counters(folder)
        finally:
            os.seteuid(was)
    finally:
        shutil.rmtree(folder)
    assert counters == []
    assert absent["package-0"].endswith("energy_uj can be read by root only")


def test_a_window_of_few_updates_is_not_told(machine: Machine) -> None:
    machine.zone("intel-rapl:0", "package-0", watts=10)
    collection = measured(machine, load(machine, watts=50, seconds=0.04))
    assert collection.monitors["energy"] is None
    assert "0.040 s is shorter than 10 updates of its counter, one every 0.005 s" in str(
        collection.statuses["energy"]["reason"]
    )


def test_a_counter_that_stands_still_is_not_told(machine: Machine) -> None:
    machine.zone("intel-rapl:0", "package-0", watts=0)
    started = machine.now
    collection = measured(machine, load(machine, watts=50, seconds=4))
    assert collection.monitors["energy"] is None
    assert "updated fewer than 10 times in 3 s" in str(collection.statuses["energy"]["reason"])
    assert machine.now - started < 7.1


# --- GPUs, NVML stood in for ---------------------------------------------------------------------


def slow_counter(machine: Machine, watts: float, update_seconds: float) -> Callable[[str], int]:
    """Return NVML's function for a GPU whose count is updated at intervals."""

    def millijoules(handle: str) -> int:
        return int(machine.now / update_seconds + 1e-6) * round(watts * update_seconds * 1000)

    return millijoules


@pytest.mark.parametrize(("seconds", "told"), [(8.0, True), (0.9, False)])
def test_a_gpu_s_slow_counter_is_watched_longer_and_its_resolution_is_named(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, seconds: float, told: bool
) -> None:
    library = one_gpu(nvmlDeviceGetTotalEnergyConsumption=slow_counter(machine, 70, 0.1))
    monkeypatch.setattr(nvml, "library_exists", lambda: True)
    monkeypatch.setitem(sys.modules, "pynvml", library)
    collection = measured(machine, lambda: machine.pause(seconds), device="cuda")
    assert library.calls[-1] == "nvmlShutdown"
    if not told:
        assert "shorter than 10 updates" in str(collection.statuses["energy"]["reason"])
        return
    account = collection.monitors["energy"]["domains"]["gpu0"]
    assert account["update_seconds"] == pytest.approx(0.1, rel=0.01)
    assert account["idle_watts"] == pytest.approx(70, rel=0.01)
    assert account["idle_seconds"] == pytest.approx(1.0, abs=0.02)
    assert account["resolution_joules"] == pytest.approx(7, rel=0.02)
    assert abs(account["joules"] - 70 * seconds) <= account["resolution_joules"]
    assert abs(account["joules_net"]) <= 2 * account["resolution_joules"]
    assert "rapl" in collection.monitors["energy"]["absent"]


def test_a_gpu_that_does_not_tell_and_a_run_that_uses_none(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = one_gpu()
    monkeypatch.setattr(nvml, "library_exists", lambda: True)
    monkeypatch.setitem(sys.modules, "pynvml", library)
    collection = measured(machine, lambda: None, device="cuda")
    assert "gpu0: NVML does not report its energy" in str(collection.statuses["energy"]["reason"])
    assert library.calls[-1] == "nvmlShutdown"
    calls = len(library.calls)
    measured(machine, lambda: None)
    assert len(library.calls) == calls


# --- arithmetic ----------------------------------------------------------------------------------


def test_advance_of_a_counter() -> None:
    assert advance(5, 9, None) == 4
    assert advance(99, 0, 99) == 1
    assert advance(95, 3, 99) == 8
    with pytest.raises(ValueError, match="went backwards, from 9 to 5"):
        advance(9, 5, None)
    with pytest.raises(ValueError, match="went back"):
        advance(200, 5, 99)


def test_a_meter_stops_at_the_first_fault() -> None:
    answers: list[Any] = [10, 30, OSError("gone"), 90, 95]

    class Scripted(EnergyCounter):
        name, method, unit_joules, wraps_at = "x", "test", 0.5, 99

        def read(self) -> int:
            answer = answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return int(answer)

    meter = Meter(Scripted())
    meter.read()
    assert (meter.joules, meter.fault) == (10.0, None)
    for _ in range(2):
        meter.read()
    assert "gone" in str(meter.fault)


def test_idle_needs_enough_updates_and_goes_from_update_to_update() -> None:
    updates = [(0.07 + 0.1 * i, 5.0 + 7 * i) for i in range(MIN_UPDATES + 1)]
    idle = energy.idle_from(updates)
    assert idle is not None
    assert (idle.watts, idle.update_seconds) == pytest.approx((70, 0.1))
    assert energy.idle_from(updates[1:]) is None


def test_a_run_that_drew_less_than_the_idle_machine_has_no_energy() -> None:
    """Others used the GPU while its idling was watched: net, two processes on one H100 drew -541 J."""
    with pytest.raises(ValueError, match=r"the timed part drew 9 W and the idle machine 10 W before it"):
        energy.domain(9.0, 1.0, "m", 1e-6, Idle(10.0, 0.5, 0.005))


def test_polling_is_quick_enough_for_the_most_power_there_is() -> None:
    assert energy.polling_seconds(None, 1e-3) is None
    seconds = energy.polling_seconds(RANGE, 1e-6)
    assert seconds is not None
    assert seconds * energy.MAX_WATTS < RANGE * 1e-6


def test_net_may_be_negative_within_the_resolution_but_gives_no_efficiency() -> None:
    account = energy.domain(9.0, 1.0, "m", 1e-6, Idle(9.02, 0.5, 0.005))
    assert account.joules_net == pytest.approx(-0.02)
    nothing = {"joules_per_sample": None, "samples_per_joule": None, "flop_per_joule": None}
    assert efficiency(account.joules_net, 10, 1e9) == nothing
    assert efficiency(None, 10, 1e9) == nothing
    assert efficiency(20.0, 10, 4e9) == {
        "joules_per_sample": 2.0,
        "samples_per_joule": 0.5,
        "flop_per_joule": 2e8,
    }
    assert efficiency(20.0, 10, None)["flop_per_joule"] is None
    assert total_joules(None) is None
    assert total_joules({"domains": {}}) is None
