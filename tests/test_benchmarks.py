"""What the benchmarks of the project measure, where a number of theirs could be wrong without anybody's notice."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.support.framework_process import interpreter

BENCHMARKS = ROOT / "benchmarks"
MEASURING = BENCHMARKS / "by_hand" / "measuring.py"


@pytest.fixture
def benchmark_module(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], ModuleType]]:
    """Import a module of the benchmarks, which are scripts; what they do to the path is undone."""
    before = set(sys.modules)
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), str(BENCHMARKS / "lowering"), *sys.path])
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if str(BENCHMARKS) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


# --- two steps side by side ----------------------------------------------------------------------


@dataclass
class Machine:
    """A clock that only steps move, on a machine that gets slower with time or stops for a while."""

    slowing: float = 0.0
    stops: dict[int, float] = field(default_factory=dict)
    now: float = 0.0
    ran: list[str] = field(default_factory=list)

    def step(self, name: str, seconds: float) -> Callable[[], None]:
        """Return a step; each is slower than the one before by ``slowing`` of its first duration."""

        def run() -> None:
            count = len(self.ran)
            self.now += seconds * (1 + self.slowing * count) + self.stops.get(count, 0.0)
            self.ran.append(name)

        return run

    def compare(self, paired: ModuleType, **settings: Any) -> Any:
        """Compare a step of 2 seconds with one of 1."""
        return paired.compare(
            "it", self.step("ours", 2.0), self.step("theirs", 1.0), clock=lambda: self.now, **settings
        )


def test_a_machine_that_gets_slower_changes_no_ratio(
    benchmark_module: Callable[[str], ModuleType],
) -> None:
    machine = Machine(slowing=0.1)
    found = machine.compare(benchmark_module("paired"), pairs=6)
    assert [found.ratio, found.low, found.high] == pytest.approx([2.0, 2.0, 2.0])
    assert found.pairs == 6


def test_each_side_is_first_as_often(benchmark_module: Callable[[str], ModuleType]) -> None:
    machine = Machine()
    machine.compare(benchmark_module("paired"), pairs=7, warmup=0)
    rounds = [tuple(machine.ran[start : start + 4]) for start in range(0, len(machine.ran), 4)]
    begins_theirs, begins_ours = ("theirs", "ours", "ours", "theirs"), ("ours", "theirs", "theirs", "ours")
    assert rounds == [begins_theirs, begins_ours] * 4


@pytest.mark.parametrize("place", [0, 3, 4, 21])
def test_a_pause_in_one_block_changes_no_ratio(
    benchmark_module: Callable[[str], ModuleType], place: int
) -> None:
    machine = Machine(stops={place: 100.0})
    found = machine.compare(benchmark_module("paired"), pairs=9, warmup=0)
    assert found.ratio == pytest.approx(2.0)
    assert [found.low, found.high] == pytest.approx([2.0, 2.0])


def test_the_first_round_is_dropped(benchmark_module: Callable[[str], ModuleType]) -> None:
    machine = Machine(stops=dict.fromkeys(range(4), 100.0))
    found = machine.compare(benchmark_module("paired"), pairs=1, warmup=0)
    assert (found.ours_seconds, found.theirs_seconds) == (2.0, 1.0)


# --- operators -----------------------------------------------------------------------------------

GEMMS = [
    ("deepbench_gemm", {"m": 8, "n": 6, "k": 7, "a_transposed": a, "b_transposed": b})
    for a in (False, True)
    for b in (False, True)
]
CONVS = [
    (
        "deepbench_conv",
        {
            "width": 9,
            "height": 7,
            "in_channels": 3,
            "batch": 2,
            "filters": 4,
            "pad_h": 1,
            "kernel_w": kernel,
            "kernel_h": 3,
            "pad_w": pad,
            "stride_w": stride,
            "stride_h": stride,
        },
    )
    for kernel, pad, stride in ((3, 1, 1), (4, 0, 1), (3, 1, 2))
]
RNNS = [
    ("deepbench_rnn", {"type": kind, "hidden": 4, "batch": 3, "time_steps": 2})
    for kind in ("vanilla", "lstm", "gru")
]


def measured(python: str, framework: str, cases: list[Any], **more: Any) -> subprocess.CompletedProcess[str]:
    """Run the part of ``operators.py`` that is inside a framework's interpreter, as shortly as it can."""
    job = {"framework": framework, "threads": 1, "cases": cases, "rounds": 1, "block_seconds": 0.0}
    job |= {"cpu_time": True, "itself": False, **more}
    return subprocess.run(
        [python, str(MEASURING)],
        input=json.dumps(job),
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


MORE_CALLS = {
    "pytorch": {"inference": -1, "gradient": 3},
    "tensorflow": {"inference": 5, "gradient": 6},
    "mxnet": {"inference": 2, "gradient": 2},
    "jax": {"inference": 3, "gradient": 4},
    "onnxruntime": {"inference": 2},
    "openvino": {"inference": 2},
    "chainer": {"inference": 3, "gradient": 11},
    "numpy": {"inference": 6, "gradient": 55},
}
"""How many functions of Python a step of ours may call beyond those of the same step by hand."""


@pytest.mark.parametrize("framework", MORE_CALLS)
def test_by_hand_is_the_same_and_hardly_fewer_calls(
    benchmark_module: Callable[[str], ModuleType], cache_home: Path, framework: str
) -> None:
    operators = benchmark_module("operators")
    assert set(operators.KINDS) == set(MORE_CALLS)
    problems: dict[str, list[tuple[str, dict[str, Any]]]] = {"gemm": GEMMS, "conv": CONVS, "rnn": RNNS}
    modes = operators.MODES.get(framework, ("inference", "gradient"))
    cases = [(*row, mode) for kind in operators.KINDS[framework] for row in problems[kind] for mode in modes]
    found = measured(interpreter(framework), framework, cases)
    assert found.returncode == 0, found.stderr
    lines = [json.loads(line) for line in found.stdout.splitlines() if line[0] == "{"]
    assert [line["name"].split()[:2] for line in lines] == [[mode, problem] for problem, _, mode in cases]
    more = {
        mode: max(line["more_calls"] for line in lines if line["name"].startswith(mode)) for mode in modes
    }
    assert {mode: count for mode, count in more.items() if count > MORE_CALLS[framework][mode]} == {}


@pytest.mark.parametrize(
    ("mode", "right", "wrong"),
    [
        ("inference", "return lambda: left @ right", "return lambda: left @ right + 1"),
        ("gradient", "else left.T @ dy", "else left.T @ dy * 2"),
    ],
)
def test_two_different_functions_are_not_timed(tmp_path: Path, mode: str, right: str, wrong: str) -> None:
    copied = tmp_path / "benchmarks"
    for name in (
        "rows.py",
        "lowering/paired.py",
        *(f"by_hand/{n}.py" for n in ("case", "measuring", "numpy")),
    ):
        (copied / name).parent.mkdir(parents=True, exist_ok=True)
        text = (BENCHMARKS / name).read_text(encoding="utf-8")
        if name == "by_hand/numpy.py":
            assert right in text
            text = text.replace(right, wrong)
        (copied / name).write_text(text, encoding="utf-8")
    job = {
        "framework": "numpy",
        "threads": 1,
        "cases": [(*GEMMS[0], mode)],
        "rounds": 1,
        "block_seconds": 0.0,
    }
    found = subprocess.run(
        [sys.executable, str(copied / "by_hand" / "measuring.py")],
        input=json.dumps({**job, "cpu_time": True, "itself": False}),
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 1
    assert "Not equal to tolerance" in found.stderr
    assert found.stdout == ""


def test_operators_prints_a_row_for_each_framework(tmp_path: Path) -> None:
    cells = tmp_path / "cells.json"
    settings = ["--sample=2", "--most-gflop=0.001", "--rounds=2", "--block-ms=0", "--threads=1"]
    command = [sys.executable, str(BENCHMARKS / "operators.py"), "numpy", *settings, f"--cells={cells}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    ((name, _, interval, count, goal, verdict),) = json.loads(cells.read_text())
    assert (name, count, goal) == ("numpy: ours / by hand", "2", "at most 1.0050")
    assert " to " in interval
    assert verdict in ("met", "not met", "unclear")
    assert done.stderr.count("numpy gradient deepbench_gemm") == 2


def test_configurations_are_different_affordable_and_spread(
    benchmark_module: Callable[[str], ModuleType],
) -> None:
    operators = benchmark_module("operators")
    found = operators.configurations("gemm", 12, 1e9)
    costs = [2 * sizes["m"] * sizes["n"] * sizes["k"] for _, sizes in found]
    assert len({json.dumps(sizes) for _, sizes in found}) == 12
    assert costs == sorted(costs)
    assert costs[0] < 2e6
    assert 5e8 < costs[-1] <= 1e9


def test_the_mean_of_a_framework_is_geometric_with_an_interval_over_configurations(
    benchmark_module: Callable[[str], ModuleType],
) -> None:
    operators = benchmark_module("operators")
    row = operators.Mean("x", [1.0, 1.1, 1.0 / 1.1], 1.005, str)
    assert row.centre == pytest.approx(1.0)
    low, high = row.interval
    # Student's t of 2 degrees of freedom is 4.303; the deviation of the logarithms is that of 1.1.
    assert high == pytest.approx(1.1 ** (4.3027 / 3**0.5), rel=1e-4)
    assert low == pytest.approx(1 / high)
    assert row.verdict == "unclear"
    assert operators.Mean("x", [1.0, 1.001, 1.0], 1.005, str).verdict == "met"


# --- all of them ---------------------------------------------------------------------------------


def test_all_names_every_script_that_has_a_goal(benchmark_module: Callable[[str], ModuleType]) -> None:
    scripts = {
        path.stem
        for path in BENCHMARKS.glob("*.py")
        if path.stem != "all" and "finish(" in path.read_text(encoding="utf-8") and path.stem != "rows"
    }
    assert set(benchmark_module("all").SCRIPTS) == scripts
