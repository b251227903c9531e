"""Faults that show late, or in a mode of their own: which of them `run`, `verify` and `check` catch."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarker import registry
from benchmarker.api.optimizer import Optimizer
from benchmarker.errors import BenchmarkerError
from benchmarker.plugins.numpy.framework import NumpyFramework
from benchmarker.worker.conformance import Check, conformance_checks
from benchmarker.worker.job import RunJob
from benchmarker.worker.jobs.probes import compute_probes
from benchmarker.worker.other_jobs import ProbesJob
from benchmarker.worker.stages import Stages
from benchmarker.worker.verification import budget, reference, timing_again, verify_checks
from benchmarker.worker.verification.equivalence import compare
from benchmarker.worker.verification.later_gradients import GRADIENT_STEPS
from benchmarker.worker.verification.probes import COMPARED, LATER, LATER_CALLS, ProbeSpec
from benchmarker.worker.verification.tolerances import Expected
from tests.conftest import ROOT
from tests.support import late_faults, planted
from tests.support.planted import PLANTED, Planted
from tests.worker import test_verified_start as start
from tests.worker.test_after_timing import INFERENCE, TRAINING
from tests.worker.test_conformance_suite import failures

CHECKS = conformance_checks()
INFERRING = (planted.INFERENCE, planted.BLOCKS)
DROPPED = {"dropout": 0.5}
TOOLS = ("run", "verify", "check")


def job_of(fault: Planted) -> RunJob:
    """Return the run in which a fault shows."""
    job = INFERENCE if fault.shows_in in INFERRING else TRAINING
    job = replace(job, optimizer=Optimizer.default(fault.optimizer))
    if fault.shows_in == planted.BLOCKS:
        return replace(job, sampling="throughput", steps=100)
    if fault.shows_in == planted.STATISTICS:
        return replace(job, problem=f"{start.__name__}:Biased")
    if fault.shows_in == planted.GRADIENT:
        return replace(job, mode="gradient")
    return replace(job, problem_parameters=DROPPED) if fault.shows_in == planted.DROPOUT else job


def caught_by_run(fault: Planted, folder: Path) -> bool:
    try:
        sent = start.run_events(job_of(fault), folder, fault.framework)
    except RuntimeError:
        return True
    return "failed" in (sent["verification"]["status"], sent.get("proof", {}).get("status"))


class Verify:
    """What the jobs of `verify` find of a framework, in this process."""

    def __init__(self, fault: Planted, folder: Path) -> None:
        self._fault, self._folder = fault, folder
        run = job_of(fault)
        self._job = ProbesJob(
            framework=run.framework,
            device=run.device,
            threads=1,
            seed=run.seed,
            problem=run.problem,
            problem_parameters=run.problem_parameters,
            mode="inference" if fault.shows_in in INFERRING else "training",
            batch_size=run.batch_size,
            precision="fp32",
            framework_options={},
            what="reference",
            path="",
            trajectory=str(folder / "trajectory.npz"),
            probes=("sgd", "momentum", "adam", LATER),
            steps=3,
            seeds={},
            moved=False,
        )

    def _computed(self, what: str) -> list[Expected]:
        events = start.Events()
        start.Plugin.framework = self._fault.framework if what == "found" else NumpyFramework
        self._job = replace(self._job, what=what, path=str(self._folder / f"{what}.npz"))
        compute_probes(self._job, events, Stages(events))  # type: ignore[arg-type]
        result = events.sent["result"]
        self._job = replace(self._job, seeds=result["seeds"])
        self.checks: list[dict[str, str]] = result["checks"]
        return reference.load(Path(self._job.path))[0]

    def expected(self) -> tuple[list[Expected], Mapping[str, Sequence[int]]]:
        """Return what the reference computes, and the seeds of the mini-batches that it chooses."""
        return self._computed("reference"), self._job.seeds

    def failed(self) -> set[str]:
        """Return the quantities and checks that fail."""
        expected, seeds = expected_of(self._fault.shows_in, self._fault.optimizer)
        self._job = replace(self._job, seeds=seeds)
        found = self._computed("found")
        checks = {check["name"] for check in self.checks if check["status"] == "failed"}
        if any(tensor.kind not in COMPARED for tensor in found):
            expected = expected + self._computed("stepwise")
        return {q.kind for q in compare(expected, found, "fp32") if q.status == "failed"} | checks


@functools.cache
def expected_of(shows_in: str, optimizer: str) -> tuple[list[Expected], Mapping[str, Sequence[int]]]:
    """Return what the reference computes for all faults that show in the same run."""
    with tempfile.TemporaryDirectory() as folder:
        return Verify(Planted(NumpyFramework, shows_in, optimizer), Path(folder)).expected()


def caught_by_verify(fault: Planted, folder: Path) -> bool:
    try:
        return bool(Verify(fault, folder).failed())
    except (BenchmarkerError, RuntimeError):
        return True


OF_CHECK = (
    "program/",
    "synchronize/",
    "dropout/",
    *(f"optimizer/{kind}" for kind in ("sgd", "momentum", "adam")),
    "problem/conv2d/",
    "problem/mnist_mlp/",
)


TELLING = {
    planted.INFERENCE: (
        "program/late/infer",
        "program/infer",
        "program/late/time-of-unseen",
        "synchronize/infer",
    ),
    planted.BLOCKS: ("synchronize/",),
    planted.TRAINING: ("program/late/train_step",),
    planted.STATISTICS: ("program/late/train_step",),
    planted.GRADIENT: ("program/late/gradient_step",),
    planted.DROPOUT: ("dropout/",),
}
"""Where a fault shows at once."""


def caught_by_check(fault: Planted) -> bool:
    """Tell whether a check fails; the first that does is enough."""
    telling = TELLING[fault.shows_in] if fault.optimizer == "sgd" else (f"optimizer/{fault.optimizer}/",)

    def telling_ones_first(check: Check) -> int:
        return next((n for n, name in enumerate(telling) if check.name.startswith(name)), len(telling))

    chosen = sorted((c for c in CHECKS if c.name.startswith(OF_CHECK)), key=telling_ones_first)
    return any(failures(fault.framework(), (check,)) for check in chosen)


def documented() -> dict[str, dict[str, bool]]:
    """Return which tool catches which fault by the table of the documentation."""
    page = (ROOT / "docs" / "equivalence.md").read_text()
    _, _, table = page.partition("| planted fault | `run` | `verify` | `check` |\n|---|---|---|---|\n")
    rows = [line.strip("| ").split(" | ") for line in table.partition("\n\n")[0].splitlines()]
    assert {cell for _, *cells in rows for cell in cells} == {"yes", "no"}
    return {name: {tool: cell == "yes" for tool, cell in zip(TOOLS, cells)} for name, *cells in rows}


@pytest.fixture
def much_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the proof time for every check on a machine that is busy, too."""
    monkeypatch.setattr(budget, "MIN_SECONDS", 60.0)


def test_the_table_has_every_planted_fault() -> None:
    assert list(documented()) == list(PLANTED)


NO_FAULTS = {"Counting", "FixedWeights", "WhenAskedFor"}
"""What faults are made with."""


def test_every_late_fault_is_planted() -> None:
    """Those that take a parameter are functions, and stand in the source of the list by their names."""
    source = Path(str(planted.__file__)).read_text()
    classes = {name for name, value in vars(late_faults).items() if _is_own_class(value)}
    assert {name for name in classes if f"faults.{name}" not in source} == NO_FAULTS


def _is_own_class(value: object) -> bool:
    return isinstance(value, type) and value.__module__ == late_faults.__name__


@pytest.mark.usefixtures("much_budget")
@pytest.mark.parametrize("name", PLANTED)
def test_the_table_tells_which_faults_are_caught(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault = PLANTED[name]
    if fault.shows_in not in INFERRING:  # few steps are queued where none is late
        monkeypatch.setattr(timing_again, "LATE_SECONDS", 0.0)
    with np.errstate(all="ignore"):
        caught = {
            "run": caught_by_run(fault, tmp_path),
            "verify": caught_by_verify(fault, tmp_path),
            "check": caught_by_check(fault),
        }
    assert caught == documented()[name]


@pytest.mark.usefixtures("much_budget")
@pytest.mark.parametrize("shows_in", sorted({fault.shows_in for fault in PLANTED.values()}))
def test_a_right_framework_is_caught_by_none(shows_in: str, tmp_path: Path) -> None:
    right = Planted(NumpyFramework, shows_in)
    assert not caught_by_run(right, tmp_path)
    assert not caught_by_verify(right, tmp_path)


LATE = {
    **dict.fromkeys(
        (name for name, fault in PLANTED.items() if fault.shows_in in (planted.TRAINING, planted.STATISTICS)),
        "program/late/train_step",
    ),
    **dict.fromkeys(
        (name for name, fault in PLANTED.items() if fault.shows_in == planted.GRADIENT),
        "program/late/gradient_step",
    ),
    "outputs are kept by content": "program/late/time-of-unseen",
    "outputs are kept after five calls": "program/late/infer",
    "a layer is skipped after five calls": "program/late/infer",
    "a layer is skipped in every second call": "program/late/infer",
    "a layer is skipped in every tenth call": "program/late/infer",
    "outputs are forgotten after five calls": "program/late/infer",
    "the fourth mini-batch is kept": "program/late/infer",
}
OF_THE_RULE = {name for name, fault in PLANTED.items() if fault.optimizer != "sgd"}
"""What is wrong with another optimizer alone is followed by its own checks."""


@pytest.mark.parametrize("fault", sorted(set(LATE) - OF_THE_RULE))
def test_later_calls_show_what_earlier_ones_do_not(fault: str) -> None:
    (check,) = (check for check in CHECKS if check.name == LATE[fault])
    with np.errstate(all="ignore"):
        assert failures(PLANTED[fault].framework(), (check,)) == {check.name}


def test_what_would_take_too_long_is_left_out_and_told() -> None:
    graph = registry.problem("resnet152").graph(64)
    asked = ProbeSpec(graph, 1, ("sgd", LATER), 3)
    spec = verify_checks.affordable(asked)
    assert (spec.probes, spec.calls) == (("sgd",), 0)
    found = list(verify_checks.checks(asked, spec, reference.build("fp32"), "cpu"))
    assert [(check.name, check.status) for check in found] == [
        (verify_checks.LATER_CALLS_NAME, "left_out"),
        (verify_checks.LATER_STEPS_NAME, "left_out"),
        (GRADIENT_STEPS, "left_out"),
    ]
    assert "more than 120 s" in found[0].detail
    small = ProbeSpec(registry.problem("resnet152").graph(2, image_size=32, width=0.125), 1, (LATER,), 3)
    assert verify_checks.affordable(small) == replace(small, calls=LATER_CALLS)
