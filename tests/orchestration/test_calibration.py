"""The machine's peaks: measured by a real worker, kept by what they depend on, and looked up for a run."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarker.api.framework import Device
from benchmarker.data.values import draw_batch, draw_parameters
from benchmarker.errors import BenchmarkerError
from benchmarker.graph.graph import Graph
from benchmarker.machine.peaks import Calibration, Machine, keep, peaks_for, this_machine
from benchmarker.orchestration.jobs import calibration
from benchmarker.worker.jobs.calibrate import copy_graph, product_graph
from benchmarker.worker.other_jobs import CalibrateJob
from tests.conftest import Command
from tests.support.kernel_files import plant
from tests.support.numpy_programs import build

pytestmark = pytest.mark.framework("numpy")

HERE = Machine("A processor", 8, 32)
KEPT = Calibration(
    machine=HERE,
    device="cpu",
    framework="numpy",
    version="2.0",
    threads=4,
    precision="fp32",
    flops_per_second=100e9,
    size=2048,
    bytes_per_second=20e9,
    copy_bytes=1 << 28,
    grade="clean",
    reasons=(),
    measured_at="2026-01-01T00:00:00Z",
)


def test_the_best_of_all_frameworks_is_the_peak(tmp_path: Path) -> None:
    keep(KEPT, tmp_path)
    keep(replace(KEPT, framework="other", flops_per_second=150e9, bytes_per_second=5e9), tmp_path)
    peaks = peaks_for("cpu", 4, "fp32", machine=HERE, where=tmp_path)
    assert peaks is not None
    assert (peaks.flops_per_second, peaks.flops_by) == (150e9, "other 2.0")
    assert (peaks.bytes_per_second, peaks.bytes_by) == (20e9, "numpy 2.0")


@pytest.mark.parametrize(
    "other",
    [
        replace(KEPT, threads=2),
        replace(KEPT, precision="fp64"),
        replace(KEPT, device="NVIDIA H100"),
        replace(KEPT, machine=Machine("Another processor", 8, 32)),
        replace(KEPT, machine=Machine("A processor", 16, 32)),
        replace(KEPT, machine=Machine("A processor", 8, 64)),
    ],
)
def test_the_peaks_of_something_else_are_not_taken(tmp_path: Path, other: Calibration) -> None:
    keep(other, tmp_path)
    assert peaks_for("cpu", 4, "fp32", machine=HERE, where=tmp_path) is None


def test_on_a_gpu_the_threads_do_not_matter(tmp_path: Path) -> None:
    keep(replace(KEPT, device="NVIDIA H100", threads=16), tmp_path)
    assert peaks_for("NVIDIA H100", 4, "fp32", machine=HERE, where=tmp_path) is not None


def test_a_new_calibration_takes_the_place_of_the_old(tmp_path: Path) -> None:
    first = keep(KEPT, tmp_path)
    second = keep(replace(KEPT, flops_per_second=90e9, grade="noisy", reasons=("a", "b")), tmp_path)
    assert first == second
    peaks = peaks_for("cpu", 4, "fp32", machine=HERE, where=tmp_path)
    assert peaks is not None
    assert peaks.flops_per_second == 90e9
    assert [path.name for path in tmp_path.iterdir()] == [first.name]


def test_a_disturbed_calibration_is_no_peak(tmp_path: Path) -> None:
    keep(replace(KEPT, grade="contaminated", reasons=("others",)), tmp_path)
    assert peaks_for("cpu", 4, "fp32", machine=HERE, where=tmp_path) is None


def calibrated(monkeypatch: pytest.MonkeyPatch, grades: list[str]) -> tuple[Calibration, list[str]]:
    """Return what is left of attempts with these grades, and what was told meanwhile."""
    attempts = iter([replace(KEPT, grade=grade, reasons=("others",)) for grade in grades])
    monkeypatch.setattr(calibration, "_measured", lambda *what: {})
    monkeypatch.setattr(calibration, "_calibration", lambda *what: next(attempts))
    told: list[str] = []
    job: Any = CalibrateJob("", Device("cpu"), 1, 42, "fp32", (8,), 8, 0.1, 0)
    return calibration._undisturbed(None, job, None, told.append), told  # type: ignore[arg-type]


def test_a_disturbed_calibration_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    found, told = calibrated(monkeypatch, ["contaminated", "noisy"])
    assert (found.grade, told) == ("noisy", ["it was disturbed, so it is repeated: others"])
    with pytest.raises(BenchmarkerError, match="was disturbed 3 times and is not kept: others"):
        calibrated(monkeypatch, ["contaminated"] * 3)


def test_files_of_another_kind_are_passed_over(tmp_path: Path) -> None:
    plant(tmp_path, {"a.json": "{", "b.json": "[1]", "c.json": '{"machine": {}}', "d.json": "null"})
    assert peaks_for("cpu", 4, "fp32", machine=HERE, where=tmp_path) is None
    assert peaks_for("cpu", 4, "fp32", machine=HERE, where=tmp_path / "nothing") is None


def test_a_machine_is_known_by_model_cores_and_memory(tmp_path: Path) -> None:
    files = {"proc/cpuinfo": "model name : A processor\n\n", "proc/meminfo": "MemTotal: 32800000 kB\n"}
    machine = this_machine(plant(tmp_path, files))
    assert (machine.cpu, machine.memory_gib) == ("A processor", 31)
    assert this_machine() == this_machine()


def outcome(graph: Graph) -> tuple[np.ndarray, ...]:
    program = build(graph, draw_parameters(graph, 1), mode="inference", precision="fp32")
    return program.fetch(program.infer(program.load(draw_batch(graph, 1))))


def test_what_is_timed_is_a_product_and_a_copy() -> None:
    graph = product_graph(6)
    (product,) = outcome(graph)
    left, right = draw_batch(graph, 1)["left"], draw_parameters(graph, 1)["right"]
    np.testing.assert_allclose(product, left @ right, rtol=1e-5)
    graph = copy_graph(10)
    (copied,) = outcome(graph)
    np.testing.assert_allclose(copied, draw_batch(graph, 1)["array"] + 1, rtol=1e-6)


SLEEPY = """
import time

from benchmarker.api.framework import FrameworkPlugin
from benchmarker.plugins.numpy.framework import NumpyFramework


def benchmarker_framework():
    return FrameworkPlugin("sleepy", "numpy", ("numpy",), implementation="sleepy_framework:Sleepy")


class Sleepy(NumpyFramework):
    def build(self, graph, parameters, **settings):
        program = super().build(graph, parameters, **settings)
        program.infer = lambda batch: time.sleep(0.02)
        return program
"""
CALIBRATE = """
from dataclasses import asdict
import json
from benchmarker.machine.peaks import peaks_for
from benchmarker.orchestration.jobs import calibration
calibration.grade = lambda evidence: {"grade": "clean", "reasons": []}  # the tests beside it do not count
for _ in range(3):  # an interruption of one may leave it few steps, a fault is in each
    (found,) = calibration.calibrate("sleepy", threads=1, environment="current", seconds=0.1)
    if found.flops_per_second > 2 * 512**3 / 0.08:
        break
print(json.dumps([asdict(found), peaks_for("cpu", 1, "fp32").flops_per_second]))
"""


def test_rates_are_operations_over_time_and_long_products_are_left_out(
    command: Command, distribution: Callable[..., Path], tmp_path: Path
) -> None:
    points = {"frameworks": ["sleepy = sleepy_framework"]}
    command = command.with_path(distribution("sleepy", points, {"sleepy_framework": SLEEPY}))
    environment = {**command.environment, "BENCHMARKER_HOME": str(tmp_path / "home")}
    child = subprocess.run(
        [sys.executable, "-c", CALIBRATE], env=environment, capture_output=True, text=True, check=True
    )
    found, peak = json.loads(child.stdout)
    # 1024 would take eight times as long as 512 does, which is more than 0.1 s.
    assert found["size"] == 512
    at_most = 2 * 512**3 / 0.02
    assert at_most / 4 < found["flops_per_second"] <= at_most
    assert found["bytes_per_second"] > 1e8
    assert peak == found["flops_per_second"]


def test_the_command_measures_keeps_and_prints(command: Command, tmp_path: Path) -> None:
    apart = Command(command.folder, {**command.environment, "BENCHMARKER_HOME": str(tmp_path / "home")})

    def run() -> dict[str, Any]:
        asked = (
            "--framework=numpy",
            "--problem=mnist_mlp",
            "--steps=2",
            "--threads=1",
            "--no-verify",
            "--json",
        )
        (record,) = apart(*asked).records
        return dict(record)

    before = run()
    assert before["peaks"] is None
    assert before["peaks_reason"] == "'calibrate' has not measured them for cpu, 1 thread, fp32"
    told = apart("calibrate", "--env=current", "--precision=fp32,fp64", "--threads=1", "--json")
    if told.status == 1:
        # Other tests beside this one disturb it: then there must be no peak.
        assert "times and is not kept: " in told.stderr
        assert run()["peaks"] is None or told.stdout
        return
    assert told.status == 0, told.stderr
    single, double = map(json.loads, told.stdout.splitlines())
    assert [single["precision"], double["precision"]] == ["fp32", "fp64"]
    assert single["framework"] == "numpy"
    kept = [json.loads(path.read_text()) for path in (tmp_path / "home" / "calibrations").iterdir()]
    assert sorted(kept, key=lambda k: k["precision"]) == [single, double]
    after = run()
    assert after["peaks"]["flops_per_second"] == single["flops_per_second"]
    assert after["peaks_reason"] is None


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--framework=nunpy"], "did you mean 'numpy'"),
        (["--precision=fp16"], "framework 'numpy' has no fp16 on cpu; it has fp32"),
        (["--device=cuda"], "framework 'numpy' does not run on cuda, only on cpu"),
        (["--threads=9999"], "9999 threads were asked for"),
    ],
)
def test_what_makes_no_sense_is_told_in_one_sentence(command: Command, options: list[str], text: str) -> None:
    told = command("calibrate", *options)
    assert (told.status, told.stdout) == (2, "")
    (line,) = told.stderr.splitlines()
    assert text in line
