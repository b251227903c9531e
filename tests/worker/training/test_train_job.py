"""A training in this process, with the real NumPy plugin, against one by hand; and mistakes, which show."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarker.api.framework import Device, Framework
from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem import Problem
from benchmarker.data import values
from benchmarker.data.evaluation import Evaluation, EvaluationBatch, evaluate_scores
from benchmarker.data.samplers import Shuffled
from benchmarker.data.splits import Split
from benchmarker.errors import UnsupportedError
from benchmarker.graph.network import Network
from benchmarker.orchestration.references import reference_job
from benchmarker.plugins.numpy.framework import NumpyFramework
from benchmarker.plugins.numpy.program import NumpyProgram
from benchmarker.training import schedules
from benchmarker.training.fields import made, to_json
from benchmarker.training.recipe import Training
from benchmarker.worker.job import TrainJob
from benchmarker.worker.jobs.reference import compute_reference
from benchmarker.worker.jobs.train import train
from benchmarker.worker.loading import problem_graph
from benchmarker.worker.stages import Stages
from benchmarker.worker.training.evaluation import Evaluator
from benchmarker.worker.training.rates import Rates
from tests.support.digits_by_hand import PROBLEM, SIZES, ByHand, prepared_digits, train_by_hand, travelled
from tests.support.faulty_frameworks import framework_of
from tests.worker import test_verified_start as start

WARM = {"kind": "cosine", "warmup": 20}
EVERY = 44


def table(**changes: Any) -> dict[str, Any]:
    asked = {
        "name": "test",
        "target": {"value": 0.99},
        "limits": {"epochs": 3},
        "evaluate_every": 32 * EVERY,
        **changes,
    }
    return to_json(made(Training, asked, "training"))


JOB = TrainJob(
    framework=f"{start.__name__}:Plugin",
    device=Device("cpu"),
    threads=1,
    seed=5,
    problem=PROBLEM,
    problem_parameters=SIZES,
    mode="training",
    batch_size=32,
    precision="fp32",
    optimizer=Optimizer("momentum", learning_rate=0.05, momentum=0.9),
    inputs="fed",
)


@pytest.fixture
def digits(own_home: Path) -> str:
    return str(prepared_digits())


Trained = Callable[..., dict[str, dict[str, Any]]]


@pytest.fixture
def trained(digits: str, tmp_path: Path) -> Trained:
    """Compute the reference, train, and return what the worker said."""

    def run(
        framework: Callable[[], Framework] = NumpyFramework, *, verify: bool = True, **changes: Any
    ) -> dict[str, dict[str, Any]]:
        job = replace(JOB, data=digits, training=table(**changes.pop("training", {})), **changes)
        events: Any = start.Events()
        if verify:
            path = tmp_path / "reference.npz"
            job = replace(job, reference=str(path), verification_samples=job.batch_size)
            compute_reference(reference_job(job, path), events, Stages(events))
        events.sent.clear()
        start.Plugin.framework = framework
        train(job, events, Stages(events))
        sent: dict[str, dict[str, Any]] = events.sent
        return sent

    return run


def by_hand(rates: np.ndarray) -> ByHand:
    first = values.draw_parameters(problem_graph(JOB, JOB.batch_size), JOB.seed)
    return train_by_hand(first, rates.tolist(), seed=JOB.seed, every=EVERY)


def constant(steps: int) -> np.ndarray:
    return np.full(steps, 0.05)


def counts(sent: dict[str, dict[str, Any]]) -> list[int]:
    found: list[int] = sent["result"]["training"]["curve"]["correct"]
    return found


def test_a_training_is_the_one_by_hand(trained: Trained) -> None:
    sent = trained()
    told, exact = sent["result"]["training"], by_hand(constant(132))
    assert sent["verification"]["status"] == sent["proof"]["status"] == "passed"
    assert counts(sent) == exact.correct
    assert told["curve"]["evaluation_loss"] == pytest.approx(exact.losses, rel=1e-5)
    assert told["curve"]["step"] == [0, 44, 88, 132]
    assert told["curve"]["samples"] == [0, 44 * 32, 88 * 32, 132 * 32]
    assert told["evaluated_samples"] == 359 + (sum(told["split_samples"].values()) - 1797)
    assert told["outcome"] == "epochs"
    assert not told["reached"]
    assert told["final"]["correct"] == told["final"]["reference_correct"] == exact.correct[-1]
    assert told["final"]["reference_samples"] == told["evaluated_samples"]


def test_the_weights_are_those_by_hand(trained: Trained) -> None:
    found: list[dict[str, np.ndarray]] = []

    class Watched(NumpyProgram):
        def parameters(self) -> dict[str, np.ndarray]:
            found.append(super().parameters())
            return found[-1]

    sent = trained(framework_of(Watched))
    digest = sent["result"]["training"]["digests"]["final_parameters"]
    final = next(weights for weights in found if values.digest(weights) == digest)
    exact = by_hand(constant(132)).weights
    first = values.draw_parameters(problem_graph(JOB, JOB.batch_size), JOB.seed)
    assert travelled(final, exact, first) < 1e-5


def test_four_clocks_add_up(trained: Trained) -> None:
    sent = trained()
    told, result = sent["result"]["training"], sent["result"]
    assert told["training_seconds"] >= sum(result["samples_nanoseconds"]) / 1e9
    in_all = told["training_seconds"] + told["loading_seconds"] + told["evaluation_seconds"]
    assert in_all >= 0.5 * result["wall_nanoseconds"] / 1e9
    assert told["first_step_seconds"] == pytest.approx(result["seconds"]["compile"], rel=1e-3)
    assert result["steps"] == told["steps"] - 1 - len(result["warmup_nanoseconds"])
    assert len(result["samples_nanoseconds"]) == -(-result["steps"] // result["block_steps"])
    curve = told["curve"]
    assert curve["training_seconds"][-1] == told["training_seconds"]
    assert curve["evaluation_seconds"] == sorted(curve["evaluation_seconds"])


def test_it_ends_at_the_target_or_goes_on(trained: Trained) -> None:
    exact = by_hand(constant(132)).correct
    wanted = {"target": {"value": (exact[1] - 0.5) / 359}}
    early = trained(training=wanted)["result"]["training"]
    assert (early["outcome"], early["reached"], early["steps"]) == ("target", True, 44)
    assert early["hit"]["step"] == 44
    on = trained(training={**wanted, "early_stop": False})["result"]["training"]
    assert (on["outcome"], on["reached"], on["steps"]) == ("epochs", True, 132)
    assert on["hit"]["step"] == 44


@pytest.mark.parametrize(
    ("limits", "outcome", "steps"),
    [
        ({"steps": 50}, "steps", 50),
        ({"epochs": 3, "loss": 100.0}, "loss", 44),
        ({"epochs": 3, "seconds": 1e-9}, "seconds", None),
        ({"steps": 2}, "steps", 2),
    ],
)
def test_it_ends_at_each_limit(
    limits: dict[str, Any], outcome: str, steps: int | None, trained: Trained
) -> None:
    told = trained(training={"limits": limits}, verify=False)["result"]["training"]
    assert told["outcome"] == outcome
    assert steps in (None, told["steps"])
    assert told["curve"]["step"][-1] == told["steps"]


def test_it_is_left_after_some_steps_of_the_whole_schedule(trained: Trained) -> None:
    asked = {"schedules": {"learning_rate": WARM}}
    whole = trained(training=asked, verify=False)["result"]["training"]
    part = trained(training={**asked, "max_steps": 50}, verify=False)["result"]["training"]
    assert (part["outcome"], part["steps"], part["most_steps"], part["reached"]) == ("steps", 50, 50, False)
    assert part["curve"]["correct"][:2] == whole["curve"]["correct"][:2]
    assert part["digests"]["constants"] == whole["digests"]["constants"]


def test_it_ends_without_improvement(trained: Trained) -> None:
    limits = {"epochs": 3, "no_improvement": 1}
    told = trained(
        training={"limits": limits}, optimizer=Optimizer("sgd", learning_rate=1e-12), verify=False
    )["result"]["training"]
    assert (told["outcome"], told["steps"]) == ("no_improvement", 44)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_loss_that_is_no_number_ends_it_as_diverged(trained: Trained) -> None:
    sent = trained(optimizer=Optimizer("sgd", learning_rate=1e30), verify=False)
    told = sent["result"]["training"]
    assert told["outcome"] == "diverged"
    assert told["diverged"]["last_finite_step"] < told["diverged"]["step"] == told["steps"]
    assert sent["result"]["data"]["distinct_batches"] == told["steps"]
    assert told["final"] is None
    assert sent["result"]["loss_last"] is None
    assert sent["proof"]["status"] != "failed"


def test_schedules_reach_every_step(trained: Trained) -> None:
    rates = schedules.table(made(schedules.Schedule, WARM, "it"), 0.05, 132, 44, "rate")
    sent = trained(training={"schedules": {"learning_rate": WARM}})
    assert sent["proof"]["status"] == "passed"
    assert counts(sent) == by_hand(rates).correct
    digests = sent["result"]["training"]["digests"]["constants"]
    assert digests == {"learning_rate": schedules.table_digest(rates)}


@pytest.mark.parametrize("kind", ["schedule_free_sgd", "schedule_free_adamw", "accelegrad", "adam"])
def test_what_a_rule_keeps_of_rates_that_changed_is_known_to_the_proof(kind: str, trained: Trained) -> None:
    sent = trained(
        optimizer=Optimizer.default(kind),
        training={"schedules": {"learning_rate": WARM}, "limits": {"epochs": 1}},
    )
    assert sent["proof"]["status"] == "passed", sent["proof"]["reason"]


def test_what_the_steps_were_given_is_told(trained: Trained) -> None:
    classes = trained(verify=False)["result"]["training"]["classes"]
    assert sum(classes["given"]) == 132 * 32
    assert sum(classes["available"]) == 1438


# --- beside the reference ------------------------------------------------------------------------


def told_divergence(sent: dict[str, dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = sent["result"]["training"]["divergence"]
    return found


def column(found: dict[str, Any], name: str) -> np.ndarray:
    return np.array([parameter[name] for parameter in found["parameters"]], float)


def test_two_trainings_are_as_far_apart_as_by_hand(trained: Trained) -> None:
    weights: list[dict[str, np.ndarray]] = []

    class Watched(NumpyProgram):
        def parameters(self) -> dict[str, np.ndarray]:
            weights.append(super().parameters())
            return weights[-1]

    found = told_divergence(trained(framework_of(Watched), verify=False, divergence=132))
    exact = by_hand(constant(132)).weights
    first = values.draw_parameters(problem_graph(JOB, JOB.batch_size), JOB.seed)
    assert (found["steps"], found["state"]) == (132, "framework")
    assert (found["step"][0], found["step"][-1], len(found["step"])) == (1, 132, 100)
    for parameter in found["parameters"]:
        name = parameter["name"]
        difference, travel = weights[-1][name] - exact[name], exact[name] - first[name]
        by_norm = np.linalg.norm(difference) / np.linalg.norm(travel)
        assert parameter["free_l2"][-1] == pytest.approx(by_norm, rel=1e-3)
        assert parameter["free_max"][-1] == pytest.approx(abs(difference).max() / abs(travel).max(), rel=1e-3)
    for kind in ("followed_l2", "followed_max", "free_l2", "free_max"):
        assert 0.0 < column(found, kind).max() < 1e-3
    assert column(found, "followed_l2")[:, 0] == pytest.approx(column(found, "free_l2")[:, 0])


class Late(NumpyProgram):
    """Takes its constants a step late."""

    def use_hyperparameters(self, prepared: Any) -> None:
        now, self.waiting = getattr(self, "waiting", prepared), prepared
        super().use_hyperparameters(now)


def test_a_rate_that_comes_a_step_late_shows_in_every_followed_step(trained: Trained) -> None:
    asked: dict[str, Any] = {
        "training": {"schedules": {"learning_rate": WARM}},
        "verify": False,
        "divergence": 20,
    }
    right = column(told_divergence(trained(**asked)), "followed_l2")
    late = column(told_divergence(trained(framework_of(Late), **asked)), "followed_l2")
    assert right.max() < 1e-3
    # While the rate rises from 1/21 of the base to all of it, the rate before is k / (k + 1) of the one that belongs.
    assert late[:, 1:] == pytest.approx(np.tile(1 / np.arange(2.0, 21.0), (4, 1)), rel=0.01)


def test_a_step_that_is_skipped_shows_once_where_it_is_followed(trained: Trained) -> None:
    class Skipping(NumpyProgram):
        made = 0

        def train_step(self, batch: Any) -> Any:
            self.made += 1
            return self.gradient_step(batch)[0] if self.made == 7 else super().train_step(batch)

    found = told_divergence(trained(framework_of(Skipping), verify=False, divergence=12))
    followed, free = column(found, "followed_l2"), column(found, "free_l2")
    assert np.flatnonzero(followed.max(axis=0) > 0.01).tolist() == [6]
    assert np.all(free[:, 6:].max(axis=0) > 0.01)
    assert free[:, :6].max() < 1e-3


def test_a_state_that_is_not_told_is_the_reference_s_own(trained: Trained) -> None:
    class Silent(NumpyProgram):
        def optimizer_state(self) -> dict[str, dict[str, np.ndarray]]:
            raise UnsupportedError("it is not told")

        def evaluation_parameters(self) -> dict[str, np.ndarray]:
            return self.parameters()

    found = told_divergence(trained(framework_of(Silent), verify=False, divergence=30))
    assert found["state"] == "reference"
    assert column(found, "followed_l2").max() < 1e-3


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_divergence_ends_where_weights_are_no_numbers(trained: Trained) -> None:
    sent = trained(optimizer=Optimizer("sgd", learning_rate=1e30), verify=False, divergence=40)
    found = told_divergence(sent)
    assert found["steps"] == 40
    assert len(found["step"]) < 10
    assert {len(parameter["free_max"]) for parameter in found["parameters"]} == {len(found["step"])}


def test_a_parameter_that_does_not_move_has_no_share(trained: Trained) -> None:
    found = told_divergence(trained(problem=f"{__name__}:Normalized", verify=False, divergence=3))
    bias = next(one for one in found["parameters"] if one["name"] == "fc1.bias")
    assert bias["free_l2"] == bias["followed_max"] == [None] * 3
    assert all(one["free_l2"][-1] < 1e-3 for one in found["parameters"] if one is not bias)


# --- mistakes ------------------------------------------------------------------------------------


def late(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Rates.prepared
    monkeypatch.setattr(
        Rates, "prepared", lambda self, program, index: right(self, program, max(index - 1, 0))
    )


def from_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    right = schedules.table

    def wrong(schedule: Any, *rest: Any) -> Any:
        return right(replace(schedule, warmup_from=0.0), *rest)

    monkeypatch.setattr("benchmarker.worker.training.rates.table", wrong)


def on_training_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Split, "part", lambda self, name: self.train)


def filling_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    everything = property(lambda self: np.ones(len(self.labels), bool))
    monkeypatch.setattr(EvaluationBatch, "mask", everything)


def not_shuffled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Shuffled, "order", lambda self, epoch: self.indices)


def skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    right, calls = NumpyProgram.train_step, [0]

    def wrong(self: NumpyProgram, batch: Any) -> Any:
        calls[0] += 1
        return self.gradient_step(batch)[0] if calls[0] % 9 == 0 else right(self, batch)

    monkeypatch.setattr(NumpyProgram, "train_step", wrong)


def mean_of_means(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weigh the mini-batch that is not full like the others, as a mean of the losses of mini-batches does."""
    right = Evaluator.evaluate

    def wrong(self: Evaluator, first: int = 0, stride: int = 1) -> Evaluation:
        found = right(self, first, stride)
        means = [
            evaluate_scores(self.scores(number), batch.labels, batch.mask).loss
            for number, batch in enumerate(self.batches)
        ]
        return replace(found, loss_sum=found.total * float(np.mean(means)))

    monkeypatch.setattr(Evaluator, "evaluate", wrong)


@pytest.mark.parametrize(
    "plant",
    [late, from_zero, on_training_data, filling_counts, mean_of_means, not_shuffled, skipped],
    ids=lambda f: f.__name__,
)
def test_a_mistake_shows_in_the_counts(
    plant: Callable[[pytest.MonkeyPatch], None], trained: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates = schedules.table(made(schedules.Schedule, WARM, "it"), 0.05, 132, 44, "rate")
    exact = by_hand(rates)
    plant(monkeypatch)
    sent = trained(training={"schedules": {"learning_rate": WARM}}, verify=False)
    losses = sent["result"]["training"]["curve"]["evaluation_loss"]
    assert losses != pytest.approx(exact.losses, rel=1e-4)


@pytest.mark.parametrize("every", [3, 9])
def test_a_program_that_skips_updates_fails(every: int, trained: Trained) -> None:
    class Skipping(NumpyProgram):
        made = 0

        def train_step(self, batch: Any) -> Any:
            self.made += 1
            if self.made % every == 0:
                return self.gradient_step(batch)[0]
            return super().train_step(batch)

    sent = trained(framework_of(Skipping))
    assert sent["verification"]["status"] == "passed"
    assert sent["proof"]["status"] == "failed"
    assert "updated" in sent["proof"]["reason"]


def test_a_program_that_takes_its_rate_a_step_late_fails(trained: Trained) -> None:
    sent = trained(framework_of(Late), training={"schedules": {"learning_rate": WARM}})
    assert sent["proof"]["status"] == "failed" or sent["verification"]["status"] == "failed"


def test_an_evaluation_of_other_weights_fails(trained: Trained) -> None:
    class Distorting(NumpyProgram):
        def infer(self, batch: Any) -> Any:
            (scores,) = super().infer(batch)
            return (np.concatenate([-scores[:2], scores[2:]]),)

    sent = trained(framework_of(Distorting))
    assert sent["proof"]["status"] == "failed"
    assert "final accuracy" in sent["proof"]["reason"]


def build_normalized(net: Network, p: start.Sizes) -> None:
    x = net.input("x", (p.features,))
    label = net.labels("label", p.classes)
    x = net.relu(net.batch_norm("bn", net.dense("fc1", x, 16)))
    x = net.dense("fc2", x, p.classes)
    net.output(x)
    net.loss(net.softmax_cross_entropy_loss(x, label))


class Normalized:
    def benchmarker_problem(self) -> Problem:
        return Problem("normalized", "test", "none", start.Sizes, build_normalized)


def test_running_statistics_are_those_of_the_training(trained: Trained) -> None:
    sent = trained(problem=f"{__name__}:Normalized")
    assert sent["proof"]["status"] == "passed", sent["proof"]["reason"]
    assert counts(sent)[-1] > 300


def test_an_evaluation_without_the_running_statistics_fails(trained: Trained) -> None:
    class Forgetful(NumpyProgram):
        def assign(self, values: Any) -> None:
            super().assign({n: v for n, v in values.items() if "mean" not in n and "var" not in n})

    sent = trained(framework_of(Forgetful), problem=f"{__name__}:Normalized")
    assert sent["proof"]["status"] == "failed"
    assert "final accuracy" in sent["proof"]["reason"]


# --- mini-batches made ahead ---------------------------------------------------------------------


@pytest.mark.parametrize("way", ["thread", "process"])
def test_mini_batches_made_ahead_are_the_same(way: str, trained: Trained) -> None:
    shifted = {"limits": {"steps": 60}, "augmentation": [{"name": "cutout", "size": 2}]}
    plain = trained(training=shifted, verify=False)["result"]
    ahead = trained(training=shifted, verify=False, prefetch=way)["result"]
    digests = [one["training"]["digests"] for one in (plain, ahead)]
    assert digests[0]["order"] == digests[1]["order"]
    assert digests[0]["final_parameters"] == digests[1]["final_parameters"]
    assert plain["data"] == ahead["data"]
    assert [one["training"]["feed"]["prefetch"] for one in (plain, ahead)] == ["none", way]
    assert plain["training"]["feed"]["depth"] == 0 < ahead["training"]["feed"]["depth"]


@pytest.mark.parametrize("way", ["none", "thread"])
def test_what_steps_waited_for_is_told_by_interval(way: str, trained: Trained) -> None:
    told = trained(verify=False, prefetch=way)["result"]["training"]
    feed = told["feed"]
    assert len(feed["waits"]) == len(told["curve"]["step"])
    assert feed["waits"][0] == 0.0
    assert sum(feed["waits"]) == pytest.approx(feed["waited_seconds"])
    assert 0.0 < feed["waited_seconds"] <= told["loading_seconds"]


def test_what_the_sampler_gave_is_counted_as_it_is_given(
    trained: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    even = trained(verify=False)["result"]["training"]["feed"]["bias"]
    assert sum(even["given"]) == 131 * 32
    assert even["total_variation"] < 0.01
    right = Shuffled.order

    def lopsided(self: Shuffled, epoch: int) -> Any:
        order = right(self, epoch)
        return np.resize(order[:300], len(order))

    monkeypatch.setattr(Shuffled, "order", lopsided)
    biased = trained(verify=False)["result"]["training"]["feed"]["bias"]
    assert biased["available"] == even["available"]
    assert biased["total_variation"] > 2 * even["total_variation"]
