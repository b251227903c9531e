"""Checks of honesty C1 to C4 and C7 to C9 on whole runs of frameworks of somebody else; D7 in mid-campaign.

What a framework did is known from itself; each check is also made with a framework that has the fault.
"""

from __future__ import annotations

import importlib
import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from benchmarker.api.framework import Device
from benchmarker.records.precision import excluded
from benchmarker.records.schema import validate
from benchmarker.worker.conformance import Subject, conformance_checks
from benchmarker.worker.loading import load_framework, load_framework_plugin
from tests.conftest import DISTRIBUTIONS, ROOT, Command, write_distribution
from tests.support.timed_frameworks import taken_ns, with_clockwork

pytestmark = pytest.mark.framework("numpy")

WARM_UP = 3


@pytest.fixture
def clockwork(command: Command, tmp_path: Path) -> Command:
    """The command with the frameworks of known times."""
    return with_clockwork(command, tmp_path)


def run(clockwork: Command, steps: int, *options: str, mode: str = "inference") -> dict[str, Any]:
    """Return the record of a run."""
    finished = clockwork(
        "--framework=clockwork", "--problem=mnist_mlp", f"--mode={mode}", "--batch-size=2", "--threads=1",
        f"--warmup={WARM_UP}", f"--steps={steps}", "--json", *options,
    )  # fmt: skip
    assert "Traceback" not in finished.stderr
    (record,) = finished.records
    return record


# --- C1, C2: what a framework knows that it took is what the record says -----------------------------


def excess_seconds(record: dict[str, Any]) -> float:
    """Return by how much a sample of the record exceeds at least what its calls really took.

    Infinite if one falls short. What is counted in wrongly is in every sample, others' load in some.
    """
    timing = record["timing"]
    block = timing["block_steps"]
    calls = taken_ns(record)[1 + WARM_UP :][: timing["steps"]]
    blocks = [calls[i : i + block] for i in range(0, len(calls), block)]
    own = [sum(taken) / len(taken) / 1e9 for taken in blocks]
    differences = [ours - theirs for ours, theirs in zip(timing["samples_seconds"], own)]
    assert len(differences) == len(timing["samples_seconds"])
    return min(differences) if min(differences) >= 0 else float("inf")


@pytest.mark.parametrize("asleep", [False, True], ids=["busy", "asleep"])
@pytest.mark.parametrize(("mode", "block_steps"), [("inference", 1), ("training", 2)])
def test_c1_c2_a_record_says_what_the_framework_took(
    clockwork: Command, mode: str, block_steps: int, asleep: bool
) -> None:
    record = run(
        clockwork, 40, "--set=wait_ms=5", f"--set=asleep={str(asleep).lower()}", "--no-verify", mode=mode
    )
    assert record["timing"]["block_steps"] == block_steps
    assert min(record["timing"]["samples_seconds"]) >= 0.005
    # Of a step of 5 ms, whose own frame is taken down, on cores whose caches others use too.
    assert 0 <= excess_seconds(record) < 5e-5
    timing = record["timing"]
    shorter = [value - 1e-4 for value in timing["samples_seconds"]]
    assert excess_seconds({**record, "timing": {**timing, "samples_seconds": shorter}}) == float("inf")


# --- C3: a synchronisation that does not wait, and a result that nobody looks at ---------------------


@pytest.fixture
def plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """The frameworks of known times, in this process."""
    monkeypatch.syspath_prepend(str(DISTRIBUTIONS / "clockwork"))
    importlib.import_module("clockwork_framework")


def not_waited_for(entry_point: str) -> set[str]:
    """Return the checks of synchronisation that a framework fails."""
    plugin = load_framework_plugin(entry_point)
    framework, device = load_framework(plugin), Device("cpu")
    framework.configure(device, threads=1, seed=0)
    subject = Subject(framework, plugin, device, seed=0)
    checks = [check for check in conformance_checks() if check.name.startswith("synchronize/")]
    return {check.name for check in checks if check.run(subject).status == "failed"}


@pytest.mark.parametrize("fault", ["AsHasty", "AsLazy"])
def test_c3_a_framework_that_is_not_done_when_it_says_so_is_found(plugins: None, fault: str) -> None:
    assert not_waited_for("clockwork_framework:AsQueued") == set()
    assert not_waited_for(f"clockwork_framework:{fault}") == {"synchronize/infer", "synchronize/train_step"}


def test_c3_the_command_refuses_it(clockwork: Command) -> None:
    finished = clockwork("check", "hasty", "--threads=1", "--only=synchronize/*", "--json")
    assert finished.status == 1
    failed = {r["name"] for r in json.loads(finished.stdout)["results"] if r["status"] == "failed"}
    assert failed >= {"synchronize/infer", "synchronize/train_step"}


# --- C4: a null problem on a null framework ----------------------------------------------------------


def test_c4_a_null_run_takes_less_than_a_microsecond_and_is_flagged(command: Command, tmp_path: Path) -> None:
    source = (ROOT / "benchmarks" / "null" / "benchmarker_null.py").read_text()
    points = {
        "frameworks": ["null = benchmarker_null:NullFrameworkPlugin"],
        "problems": ["null = benchmarker_null:NullProblemPlugin"],
    }
    folder = write_distribution(tmp_path / "null", "benchmarker-null", points, {"benchmarker_null": source})
    finished = command.with_path(folder)(
        "--framework=null", "--problem=null", "--mode=inference", "--steps=5000", "--no-verify", "--json"
    )
    assert finished.status == 0, finished.stderr
    (record,) = finished.records
    assert record["timing"]["step_seconds"]["median"] < 1e-6
    (finding,) = [f for f in record["trust"]["findings"] if f["kind"] == "timer"]
    assert finding["excludes"]
    assert excluded(record) is not None


# --- C7: what a compiler leaves out because nobody looks at it ---------------------------------------

DROPS = [("inference", "forward", "output"), ("training", "update", "update")]


@pytest.mark.parametrize(("mode", "drops", "kind"), DROPS)
def test_c7_dead_code_fails_verification(clockwork: Command, mode: str, drops: str, kind: str) -> None:
    record = run(clockwork, 4, f"--set=drops={drops}", mode=mode)
    assert (record["status"], record["error"]["type"]) == ("failed", "VerificationFailed")
    assert not record["verification"]["worst"]["passed"]
    assert record["verification"]["worst"]["kind"] == kind
    assert record["timing"]["samples_seconds"] == []


@pytest.mark.parametrize(("mode", "drops", "kind"), DROPS)
def test_c7_nothing_is_found_without_verification_or_without_the_fault(
    clockwork: Command, mode: str, drops: str, kind: str
) -> None:
    unseen = run(clockwork, 4, f"--set=drops={drops}", "--no-verify", mode=mode)
    assert (unseen["status"], unseen["verification"]["status"]) == ("ok", "skipped")
    right = run(clockwork, 4, mode=mode)
    assert (right["status"], right["verification"]["status"]) == ("ok", "passed")


# --- C8: compilation in the first call ---------------------------------------------------------------


def only_in_the_first_step(record: dict[str, Any], seconds: float) -> bool:
    """Return whether a time that long was passed in the first step and nowhere else."""
    timing = record["timing"]
    elsewhere = [timing[f"{stage}_seconds"] or 0.0 for stage in ("build", "verify", "warmup")]
    return bool(timing["compile_seconds"] >= seconds > max(*elsewhere, sum(timing["samples_seconds"])))


@pytest.mark.parametrize("mode", ["inference", "training"])
@pytest.mark.parametrize("options", [(), ("--no-verify",)], ids=["verified", "not-verified"])
def test_c8_compilation_is_a_number_of_its_own(clockwork: Command, mode: str, options: tuple[str]) -> None:
    record = run(clockwork, 5, "--set=compile_at=1", "--set=compile_ms=2000", *options, mode=mode)
    assert only_in_the_first_step(record, 2.0)
    assert record["timing"]["compilations"] == 0


@pytest.mark.parametrize("call", [2, 1 + WARM_UP + 2], ids=["in the warm-up", "in the timed part"])
def test_c8_would_find_compilation_elsewhere(clockwork: Command, call: int) -> None:
    record = run(clockwork, 5, f"--set=compile_at={call}", "--set=compile_ms=2000", "--no-verify")
    assert not only_in_the_first_step(record, 2.0)


# --- C9: compilation among the timed steps -----------------------------------------------------------


def found_out(record: dict[str, Any]) -> bool:
    """Return whether the record says that the framework compiled among its timed steps."""
    excluding = {finding["kind"]: finding["excludes"] for finding in record["trust"]["findings"]}
    return bool(record["timing"]["compilations"]) and excluding.get("compilation", False)


@pytest.mark.parametrize("mode", ["inference", "training"])
def test_c9_a_compilation_at_the_fiftieth_step_excludes_the_number(clockwork: Command, mode: str) -> None:
    record = run(clockwork, 100, "--set=compile_at=50", "--set=compile_ms=20", "--no-verify", mode=mode)
    assert record["timing"]["compilations"] == 1
    assert found_out(record)
    assert excluded(record) is not None


@pytest.mark.parametrize(
    "options", [("--set=compile_at=2",), ("--set=compile_at=50", "--set=counted=false")],
    ids=["in the warm-up", "not counted"],
)  # fmt: skip
def test_c9_nothing_is_found_before_the_timed_part_or_without_a_count(
    clockwork: Command, options: tuple[str, ...]
) -> None:
    assert not found_out(run(clockwork, 100, *options, "--no-verify"))


# --- D7: an interrupt between two processes of a pair ------------------------------------------------


def test_d7_what_an_interrupt_leaves_is_valid_and_the_rest_can_be_resumed(
    clockwork: Command, tmp_path: Path
) -> None:
    asked = (
        "--framework=clockwork,numpy", "--problem=mnist_mlp", "--mode=inference", "--batch-size=2",
        "--threads=1", "--warmup=1", "--steps=100", "--repeats=2", "--no-verify", "--set=clockwork.wait_ms=20",
        "--set=clockwork.asleep=true",
    )  # fmt: skip
    process = clockwork.start(*asked, "--json")
    results = tmp_path / "results"
    while len(list(results.glob("*.json"))) < 2:
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    kept = [json.loads(path.read_text()) for path in results.glob("*.json")]
    assert [fault for record in kept for fault in validate(record)] == []
    assert sum(record["status"] == "ok" for record in kept) in (2, 3)
    stopped = [r["replication"]["stop_reason"] for r in kept if r["status"] == "interrupted"]
    assert stopped == ["interrupted"] * len(stopped)
    rest = clockwork(*asked, "--resume", "--json")
    assert rest.status == 0, rest.stderr
    good = [record for record in [*kept, *rest.records] if record["status"] == "ok"]
    assert sorted((r["framework"]["name"], r["repetition"]) for r in good) == [
        ("clockwork", 0), ("clockwork", 1), ("numpy", 0), ("numpy", 1),
    ]  # fmt: skip
