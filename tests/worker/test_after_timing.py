"""The proof after the timed part: right programs pass it, and what is right at first and wrong later does not."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from benchmarker.api.framework import STEP_MODES, Framework
from benchmarker.api.optimizer import OPTIMIZERS, Optimizer
from benchmarker.plugins.numpy.framework import NumpyFramework
from benchmarker.plugins.numpy.program import NumpyProgram
from benchmarker.worker.measurement import lateness, sampling
from benchmarker.worker.verification import budget, dropout_again, timing_again
from benchmarker.worker.verification.samples import NO_ERRORS, tensor_sample
from benchmarker.worker.verification.tolerances import Expected, Tolerance, with_first_loss
from benchmarker.worker.verification.verdicts import judge
from tests.support import late_faults as faults
from tests.worker import test_verified_start as start
from tests.worker.test_verified_start import JOB, run_events

MOMENTUM, ADAM, ADAMW = (Optimizer.default(kind) for kind in ("momentum", "adam", "adamw"))
TRAINING = replace(JOB, steps=20, warmup=3)
INFERENCE = replace(TRAINING, mode="inference")
DROPPED = replace(TRAINING, problem_parameters={"dropout": 0.5}, optimizer=ADAM)


@pytest.fixture(autouse=True)
def much_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the proof time for every check on a machine that is busy, too."""
    monkeypatch.setattr(budget, "MIN_SECONDS", 60.0)


@pytest.fixture
def short_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Queue few steps where something else is looked at than whether they are waited for."""
    monkeypatch.setattr(timing_again, "LATE_SECONDS", 0.0)


def proof_of(*arguments: Any, **options: Any) -> dict[str, Any]:
    sent = run_events(*arguments, **options)
    assert "proof" in sent, sent["verification"]["reason"]
    return sent["proof"]


def statuses(proof: dict[str, Any]) -> dict[str, str]:
    return {check["name"]: check["status"] for check in proof["checks"]}


@pytest.mark.parametrize("mode", STEP_MODES)
def test_a_right_program_passes_all_that_is_looked_at(mode: str, tmp_path: Path) -> None:
    proof = proof_of(replace(TRAINING, mode=mode), tmp_path)
    assert set(statuses(proof).values()) <= {"passed", "left_out"}
    assert list(statuses(proof).values()).count("passed") >= 4


@pytest.fixture
def few_masks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw as few masks as the check is ever made with, where something else is looked at."""
    monkeypatch.setattr(dropout_again, "MAX_DRAWS", dropout_again.MIN_DRAWS)


@pytest.mark.usefixtures("few_masks", "short_rows")
@pytest.mark.parametrize("dropout", [0.0, 0.5])
@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_every_optimizer_of_the_reference_passes(kind: str, dropout: float, tmp_path: Path) -> None:
    parameters = {"dropout": dropout}
    job = replace(TRAINING, optimizer=Optimizer.default(kind), problem_parameters=parameters)
    proof = proof_of(job, tmp_path)
    assert proof["status"] == "passed", proof
    assert statuses(proof)["further steps"] == "passed"


OTHER_DECAYS = [
    (kind, decay)
    for kind in OPTIMIZERS
    for decay in (0.0, 0.1)
    if decay or Optimizer.default(kind).weight_decay
]


@pytest.mark.usefixtures("short_rows")
@pytest.mark.parametrize(("kind", "decay"), OTHER_DECAYS)
def test_weight_decay_is_followed(kind: str, decay: float, tmp_path: Path) -> None:
    job = replace(TRAINING, optimizer=replace(Optimizer.default(kind), weight_decay=decay))
    proof = proof_of(job, tmp_path)
    assert proof["status"] == "passed", proof


@pytest.mark.usefixtures("short_rows")
def test_each_update_is_counted_once_for_all_that_are_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule = type(Optimizer.default("schedule_free_sgd").rule)
    usual, asked = rule.numbers, []

    def numbers(self: Any, step: int, memory: dict[str, float]) -> Any:
        asked.append(step)
        return usual(self, step, memory)

    monkeypatch.setattr(rule, "numbers", numbers)
    job = replace(TRAINING, steps=100, optimizer=Optimizer.default("schedule_free_sgd"))
    assert statuses(proof_of(job, tmp_path))["further steps"] == "passed"
    assert asked.count(50) == 2  # by the program that makes it, and by what follows those after it


@pytest.mark.usefixtures("short_rows")
@pytest.mark.parametrize("precision", ["fp32", "fp64"])
def test_micro_batches_and_precisions_pass(precision: str, tmp_path: Path) -> None:
    job = replace(TRAINING, precision=precision, micro_batch=3, optimizer=MOMENTUM)
    proof = proof_of(job, tmp_path)
    assert proof["status"] == "passed", proof


def test_a_training_that_diverges_is_no_fault_of_the_framework(tmp_path: Path) -> None:
    job = replace(TRAINING, optimizer=Optimizer("sgd", 1e30))
    with np.errstate(all="ignore"):
        assert statuses(proof_of(job, tmp_path))["further steps"] == "left_out"


STEP_FAULTS: dict[str, tuple[Any, Callable[[], Framework]]] = {
    "updates stop after 1 step": (TRAINING, faults.with_program(faults.stopping(1))),
    "updates stop after 3 steps": (TRAINING, faults.with_program(faults.stopping(3))),
    "updates stop after 8 steps": (TRAINING, faults.with_program(faults.stopping(8))),
    "every second update is skipped": (TRAINING, faults.with_program(faults.EverySecond)),
    "every fifth update is skipped": (TRAINING, faults.with_program(faults.EveryFifthSkipped)),
    "the rate decays": (TRAINING, faults.with_program(faults.DecayingRate)),
    "gradients are never zeroed": (TRAINING, faults.with_program(faults.NeverZeroed)),
    "one bias stops": (TRAINING, faults.with_program(faults.OneBiasStops)),
    "the loss is kept": (TRAINING, faults.with_program(faults.KeptLoss)),
    "dampening": (replace(TRAINING, optimizer=MOMENTUM), faults.with_program(faults.dampened(0.1))),
    "momentum is 1 % off": (
        replace(TRAINING, optimizer=MOMENTUM),
        faults.with_optimizer(faults.other(momentum=0.891)),
    ),
    "updates with dropout stop": (DROPPED, faults.with_program(faults.stopping(3))),
    "another beta2 with dropout": (DROPPED, faults.with_optimizer(faults.other(beta2=0.99))),
}


@pytest.mark.usefixtures("short_rows")
@pytest.mark.parametrize("fault", STEP_FAULTS)
def test_a_step_that_is_wrong_later_is_found(fault: str, tmp_path: Path) -> None:
    job, framework = STEP_FAULTS[fault]
    assert "further steps" in failed(job, tmp_path, framework)


def failed(job: Any, folder: Path, framework: Callable[[], Framework], **options: Any) -> set[str]:
    """Return the checks that failed; the run must have no result then."""
    sent = run_events(job, folder, framework, **options)
    assert sent["verification"]["status"] == "passed"
    assert sent["proof"]["status"] == "failed"
    assert "result" not in sent
    found = statuses(sent["proof"])
    return {name for name, status in found.items() if status == "failed"}


@pytest.mark.usefixtures("short_rows")
@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_a_right_program_that_tells_no_state_passes(kind: str, tmp_path: Path) -> None:
    job = replace(TRAINING, optimizer=Optimizer.default(kind))
    found = statuses(proof_of(job, tmp_path, faults.with_program(faults.silent(faults.Counting))))
    assert found["further steps"] == "passed"
    assert found.get("freshly built program", "none") == ("none" if kind == "sgd" else "passed")


def test_without_a_state_plain_gradient_descent_is_followed_all_the_same(tmp_path: Path) -> None:
    framework = faults.with_program(faults.silent(faults.DecayingRate))
    assert "further steps" in failed(TRAINING, tmp_path, framework)


@pytest.mark.parametrize("program", [faults.dampened(0.1), faults.NeverZeroed])
def test_without_a_state_a_freshly_built_program_shows_a_wrong_rule(program: Any, tmp_path: Path) -> None:
    framework = faults.with_program(faults.silent(program))
    assert "freshly built program" in failed(replace(TRAINING, optimizer=MOMENTUM), tmp_path, framework)


START_FAULTS: dict[str, tuple[Any, Callable[[], Framework]]] = {
    "another beta2": (replace(TRAINING, optimizer=ADAM), faults.with_optimizer(faults.other(beta2=0.99))),
    "Adam without bias correction": (replace(TRAINING, optimizer=ADAM), faults.UncorrectedAdam),
    "AdamW computed as Adam": (
        replace(TRAINING, optimizer=ADAMW),
        faults.with_optimizer(faults.other(kind="adam")),
    ),
}


@pytest.mark.parametrize("fault", START_FAULTS)
def test_a_rule_that_is_wrong_from_the_first_step_on_is_found_before_timing(
    fault: str, tmp_path: Path
) -> None:
    job, framework = START_FAULTS[fault]
    verification = run_events(job, tmp_path, framework)["verification"]
    assert verification["status"] == "failed"
    assert {t["kind"] for t in verification["tensors"] if not t["passed"]} & {"update", "state"}


def test_running_statistics_that_stop_are_found(tmp_path: Path) -> None:
    job = replace(TRAINING, problem=f"{start.__name__}:Biased")
    found = failed(job, tmp_path, faults.with_program(faults.FrozenStatistics))
    assert "running statistics" in found
    assert "gradients of an unseen mini-batch" in found


def test_a_gradient_that_is_told_no_more_is_missed(tmp_path: Path) -> None:
    framework = faults.with_program(faults.LosesAGradient)
    with pytest.raises(RuntimeError, match=r"returned no gradient for fc1\.weight$"):
        run_events(TRAINING, tmp_path, framework)
    job = replace(TRAINING, mode="gradient")
    assert "gradients of an unseen mini-batch" in failed(job, tmp_path, framework)


@pytest.mark.parametrize("program", [faults.TurnsInfinite, faults.InfiniteUpdates])
def test_a_divergence_that_is_the_frameworks_own_is_found(program: Any, tmp_path: Path) -> None:
    with np.errstate(all="ignore"):
        assert failed(TRAINING, tmp_path, faults.with_program(program))


OUTPUT_FAULTS: dict[str, tuple[type[NumpyProgram], str]] = {
    "outputs are kept by mini-batch": (faults.KeepsByContent, "time of unseen mini-batches"),
    "outputs are kept after five calls": (faults.KeepsAfterFive, "last timed step"),
    "a layer is skipped after five calls": (faults.SkipsALayer, "unseen mini-batch"),
    "nothing is waited for": (faults.Late, "synchronisation"),
    "outputs are forgotten": (faults.ForgetsOutputs, "unseen mini-batch"),
    "a mini-batch is changed by its step": (faults.ChangesInput, "unseen mini-batch"),
    "a mini-batch is kept": (faults.KeepsMiniBatch, "unseen mini-batch"),
}


@pytest.mark.parametrize("fault", OUTPUT_FAULTS)
def test_outputs_that_are_wrong_later_are_found(fault: str, tmp_path: Path) -> None:
    program, check = OUTPUT_FAULTS[fault]
    assert check in failed(INFERENCE, tmp_path, faults.with_program(program))


def test_what_nobody_looks_at_is_computed_all_the_same(tmp_path: Path) -> None:
    """In a block of steps that is synchronised once, most results are looked at by nobody."""
    job = replace(INFERENCE, sampling="throughput", steps=100)
    assert failed(job, tmp_path, faults.with_program(faults.Lazy)) == {"synchronisation"}
    assert proof_of(job, tmp_path)["status"] == "passed"


GRADIENT = replace(TRAINING, mode="gradient")


@pytest.mark.parametrize("program", [faults.KeptGradients, faults.OneBehind])
def test_gradients_that_a_step_returns_are_held_to_the_reference(program: Any, tmp_path: Path) -> None:
    found = failed(GRADIENT, tmp_path, faults.with_program(program))
    assert "gradients of an unseen mini-batch" in found
    assert ("last timed step" in found) == (program is faults.OneBehind)


def test_gradients_of_the_first_step_are_verified_too(tmp_path: Path) -> None:
    verification = run_events(GRADIENT, tmp_path, faults.with_program(faults.OtherGradients))["verification"]
    assert verification["status"] == "failed"
    assert "of the first step" in verification["reason"]
    with pytest.raises(RuntimeError, match=r"returned no gradient for fc1\.weight, "):
        run_events(GRADIENT, tmp_path, faults.with_program(faults.NoGradients))


@pytest.mark.parametrize(
    ("shares", "status"),
    [([0.0, 0.0, 0.0], "passed"), ([0.9, 0.0, 0.0, 0.0], "passed"), ([0.1, 0.9, 0.9, 0.9], "failed")],
)
def test_one_interrupted_trial_neither_hides_nor_feigns_what_is_not_waited_for(
    shares: list[float], status: str
) -> None:
    assert timing_again.waited(shares).status == status


@pytest.mark.parametrize(("held_up", "status"), [(0, "passed"), (20, "passed"), (1000, "failed")])
def test_cores_that_are_short_do_not_feign_kept_results(held_up: int, status: str) -> None:
    """They hold up most steps of several threads, of mini-batches that were not seen, too, but not all of them."""
    numbers, seen, left = itertools.count(), set(), held_up

    def step(batch: int) -> None:
        nonlocal left
        if batch not in seen and left:
            left -= 1
            time.sleep(0.001)
        seen.add(batch)

    program = SimpleNamespace(synchronize=lambda output: None)
    steps: Any = SimpleNamespace(load=lambda batch: batch, step=step, program=program)
    unseen: Any = lambda: next(numbers)  # noqa: E731
    assert timing_again.unseen_check(steps, unseen, 1e-4, budget.Budget(0.0)).status == status


class SharedDevice:
    """A device that others use: results come home after 1 or 20 ms, whatever has been waited for.

    Parameters
    ----------
    waits : bool
        Whether a synchronisation waits for the steps, 1 ms each.
    """

    def __init__(self, waits: bool) -> None:
        self._waits, self._delays, self._ready = waits, random.Random(1), 0.0
        self.program: Any = self

    def step(self, batch: int) -> float:
        self._ready = max(self._ready, time.perf_counter()) + 0.001
        return self._ready

    def synchronize(self, output: float) -> None:
        if self._waits:
            _until(output)

    def collect(self, output: float) -> list[Any]:
        _until(output)
        time.sleep(self._delays.choice((0.001, 0.02)))
        return [np.zeros(1 << 25, np.int8)]

    def returned(self, output: float) -> list[Any]:
        return self.collect(output)


def _until(moment: float) -> None:
    time.sleep(max(0.0, moment - time.perf_counter()))


@pytest.mark.parametrize("kept", [0, 2])
@pytest.mark.parametrize("waits", [True, False])
def test_others_on_a_gpu_neither_hide_nor_feign_what_is_not_waited_for(waits: bool, kept: int) -> None:
    steps: Any = SharedDevice(waits)
    assert timing_again.waiting_check(steps, 0, kept).status == ("passed" if waits else "failed")


@pytest.mark.parametrize("first_seconds", [1e-4, 0.0])
def test_a_row_is_about_as_long_as_it_must_be(first_seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even where the first step seems to take no time: 100 of 0.1 ms would do, and three such rows are made."""
    made, now = 0, 0.0

    def step(batch: object) -> None:
        nonlocal made, now
        now += 1e-4 if made else first_seconds
        made += 1

    monkeypatch.setattr(lateness, "perf_counter", lambda: now)
    program = SimpleNamespace(synchronize=lambda output: None)
    steps: Any = SimpleNamespace(step=step, program=program, collect=lambda output: [])
    assert timing_again.waiting_check(steps, None).status == "passed"
    assert 300 < made < 500


def test_a_wrong_last_sample_is_found_where_only_some_are_verified_first(tmp_path: Path) -> None:
    framework = faults.with_program(faults.WrongLastSample)
    found = failed(INFERENCE, tmp_path, framework, samples=3)
    assert "rows in other places" in found


@pytest.mark.parametrize("operators", [faults.ScaledTwice, faults.NeverDropped, faults.DropsLess])
def test_dropout_that_is_another_is_found(operators: Any, tmp_path: Path) -> None:
    assert "dropout" in failed(DROPPED, tmp_path, faults.with_operators(operators))


def test_a_clock_that_is_slowed_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    true = time.perf_counter_ns
    monkeypatch.setattr(time, "perf_counter_ns", lambda: true() // 2)
    defaults = sampling.sample.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "clock", time.perf_counter_ns)
    assert "clocks" in failed(replace(INFERENCE, steps=None, window=0.3), tmp_path, NumpyFramework)


@pytest.mark.usefixtures("without_budget")
def test_what_takes_too_long_is_left_out_and_told(tmp_path: Path) -> None:
    found = statuses(proof_of(INFERENCE, tmp_path))
    assert found["unseen mini-batch"] == "left_out"
    assert found["rows in other places"] == found["first mini-batch again"] == "passed"


@pytest.mark.usefixtures("without_budget")
def test_without_a_reference_of_its_own_an_unseen_mini_batch_shows_what_is_kept(tmp_path: Path) -> None:
    for program in (faults.KeepsAfterFive, faults.SkipsALayer):
        assert "first mini-batch again" in failed(
            INFERENCE, tmp_path, faults.with_program(program), samples=3
        )


@pytest.fixture
def without_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the proof no time for the reference of other weights."""
    monkeypatch.setattr(budget, "MIN_SECONDS", 0.0)
    monkeypatch.setattr(budget, "RUN_SHARE", 0.0)


@pytest.mark.usefixtures("without_budget", "short_rows")
@pytest.mark.parametrize("samples", [3, 6])
@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_where_the_reference_is_too_dear_the_first_step_is_made_again(
    kind: str, samples: int, tmp_path: Path
) -> None:
    job = replace(TRAINING, optimizer=Optimizer.default(kind))
    proof = proof_of(job, tmp_path, samples=samples)
    found = statuses(proof)
    assert found["further steps"] == "passed"
    if job.optimizer.rule.is_elementwise:
        assert found["first step again"] == "passed"
        assert "gradients of the first mini-batch again" not in found
    else:  # the reference has samples of its gradients, of which a rule that sees whole tensors tells nothing
        assert "first step again" not in found


DEAR = {
    "updates stop after 3 steps": {"further steps", "first step again"},
    "every second update is skipped": {"further steps", "first step again"},
    "the rate decays": {"first step again"},
    "gradients are never zeroed": {"further steps", "first step again"},
    "the loss is kept": {"further steps", "first step again"},
    "dampening": {"further steps", "first step again"},
    "momentum is 1 % off": {"further steps", "first step again"},
}


@pytest.mark.usefixtures("without_budget", "short_rows")
@pytest.mark.parametrize("fault", DEAR)
def test_where_the_reference_is_too_dear_steps_are_followed_all_the_same(fault: str, tmp_path: Path) -> None:
    job, framework = STEP_FAULTS[fault]
    assert failed(job, tmp_path, framework) & DEAR[fault]


@pytest.mark.usefixtures("without_budget", "short_rows")
@pytest.mark.parametrize("samples", [3, 6])
@pytest.mark.parametrize("program", [faults.SlowStatistics, faults.KeepsMiniBatch])
def test_where_the_reference_is_too_dear_the_first_step_shows_more(
    program: Any, samples: int, tmp_path: Path
) -> None:
    job = replace(TRAINING, problem=f"{start.__name__}:Biased")
    assert "first step again" in failed(job, tmp_path, faults.with_program(program), samples=samples)


@pytest.mark.usefixtures("without_budget")
@pytest.mark.parametrize("program", [faults.KeptGradients, faults.OneBehind])
def test_gradients_of_steps_are_looked_at_where_the_reference_is_too_dear(
    program: Any, tmp_path: Path
) -> None:
    assert "gradients of the first mini-batch again" in failed(
        GRADIENT, tmp_path, faults.with_program(program)
    )


@pytest.mark.usefixtures("without_budget")
def test_a_program_that_takes_no_weights_is_followed_for_two_steps(tmp_path: Path) -> None:
    found = proof_of(TRAINING, tmp_path, faults.with_program(faults.FixedWeights))
    (followed,) = [check for check in found["checks"] if check["name"] == "further steps"]
    assert followed["detail"].startswith("2 steps")
    assert statuses(found)["gradients of the first mini-batch again"] == "left_out"


def test_a_loss_that_became_small_is_judged_on_the_scale_of_the_first() -> None:
    """A cross-entropy of large scores has their rounding, however small it is itself."""
    first = Expected("loss", "loss", tensor_sample("loss", np.array([2.3])), NO_ERRORS)
    later = Expected("loss", "loss", tensor_sample("loss", np.array([0.002])), NO_ERRORS)
    limits = {"loss": Tolerance(1e-5, 1e-5), "x": Tolerance(1e-5, 1e-5)}
    wider = with_first_loss(limits, [first])
    assert wider["x"] == limits["x"]
    assert judge(later, np.array([0.002 + 1e-5]), wider["loss"]).passed
    assert not judge(later, np.array([0.002 + 1e-5]), limits["loss"]).passed
    assert not judge(later, np.array([0.0021]), wider["loss"]).passed
    assert with_first_loss(limits, []) == limits
