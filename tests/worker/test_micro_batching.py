"""Training in micro-batches: the same step without statistics, a told other one with them, and faults caught."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarker import registry
from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem import Problem
from benchmarker.api.problem_scheme import ProblemReference
from benchmarker.api.program import Program
from benchmarker.data.values import draw_batch, draw_parameters
from benchmarker.errors import UnsupportedError
from benchmarker.experiment.fault import ExperimentError
from benchmarker.experiment.planning import plan
from benchmarker.experiment.spec import Experiment, RunSpec
from benchmarker.experiment.suitability import unsupported_reason
from benchmarker.graph.cost import graph_cost
from benchmarker.graph.graph import Graph
from benchmarker.graph.network import Network
from benchmarker.graph.types import Distribution
from benchmarker.orchestration.references import verification_samples
from benchmarker.plugins.numpy.program import NumpyProgram
from benchmarker.records.assembly.cost import step_cost
from benchmarker.records.assembly.transformations import transformations_of
from benchmarker.records.schema.transformations import MicroBatch
from benchmarker.worker.measurement.micro_batching import MicroBatched, split
from benchmarker.worker.verification.micro_batches import check_mean
from tests.support.faulty_frameworks import framework_of
from tests.support.numpy_programs import build
from tests.worker.test_verified_start import JOB, Sizes, run_events

MICRO = replace(JOB, micro_batch=2)
WITH_STATISTICS = replace(MICRO, problem="tests.worker.test_verified_start:Biased")


SENTENCES = {"head": "classification", "dropout": 0.0}


def graphs(name: str, *sizes: int, **changes: Any) -> list[Graph]:
    """Return a problem's reduced graph for each of these batch sizes."""
    problem = registry.problem(name)
    return [problem.graph(size, **{**problem.reduced, **changes}) for size in sizes]


@pytest.mark.parametrize(
    ("name", "changes"), [("bert_base", SENTENCES), ("mnist_mlp", {}), ("lstm_char", {})]
)
def test_a_step_in_micro_batches_is_the_step_of_the_whole(name: str, changes: dict[str, Any]) -> None:
    whole, part = graphs(name, 6, 2, **changes)
    parameters, batch = draw_parameters(whole, 0), draw_batch(whole, 0)
    optimizer = Optimizer("momentum", learning_rate=0.1)
    one = build(whole, parameters, optimizer=optimizer)
    many = MicroBatched(build(part, parameters, optimizer=optimizer), 2, "numpy", part.counted)
    for _ in range(2):
        loss = one.train_step(one.load(batch))
        assert many.fetch(many.train_step(many.load(batch)))[0] == pytest.approx(float(loss), rel=1e-12)
    for parameter, value in one.parameters().items():
        np.testing.assert_allclose(many.parameters()[parameter], value, rtol=1e-12, atol=1e-14)
    for parameter, value in one.optimizer_state()["v"].items():
        np.testing.assert_allclose(many.optimizer_state()["v"][parameter], value, rtol=1e-12, atol=1e-14)
    many.assign(parameters)
    for parameter, value in many.parameters().items():
        np.testing.assert_array_equal(value, parameters[parameter])


def test_a_mini_batch_is_split_in_order() -> None:
    parts = split({"x": np.arange(6)}, 2, {})
    assert [part["x"].tolist() for part in parts] == [[0, 1], [2, 3], [4, 5]]


def test_a_part_numbers_its_own_rows() -> None:
    neighbours = np.array([[1, 2, 0], [4, 5, 3], [7, 8, 6], [10, 11, 9]])
    parts = split({"neighbour": neighbours}, 2, {"neighbour": 3})
    assert [part["neighbour"].tolist() for part in parts] == [[[1, 2, 0], [4, 5, 3]]] * 2
    assert parts[0]["neighbour"].dtype == neighbours.dtype


@pytest.mark.parametrize("job", [MICRO, WITH_STATISTICS], ids=["without", "with"])
def test_a_run_is_verified(job: Any, tmp_path: Path) -> None:
    events = run_events(job, tmp_path)
    assert events["verification"]["status"] == "passed"
    kinds = {tensor["kind"] for tensor in events["verification"]["tensors"]}
    assert kinds - {"statistic"} == {"loss", "gradient", "update"}
    assert ("statistic" in kinds) == (job is WITH_STATISTICS)


def test_with_statistics_the_whole_mini_batch_is_another_function(tmp_path: Path) -> None:
    found = {}
    for job in (WITH_STATISTICS, replace(WITH_STATISTICS, micro_batch=None)):
        (tmp_path / str(job.micro_batch)).mkdir()
        found[job.micro_batch] = run_events(job, tmp_path / str(job.micro_batch))["result"]["loss_first"]
    assert found[2] != pytest.approx(found[None], rel=1e-3)


class Dropping(NumpyProgram):
    """Leaves the last micro-batch out."""

    def train_micro(self, batches: Sequence[Any]) -> Any:
        return super().train_micro(batches[:-1])


class Summing(NumpyProgram):
    """Takes the sum of the gradients for their mean."""

    def train_micro(self, batches: Sequence[Any]) -> Any:
        total: dict[str, Any] = {}
        losses = []
        for batch in batches:
            loss, gradients = self.half_step(batch)
            losses.append(loss)
            for name, gradient in gradients.items():
                total[name] = total.get(name, 0.0) + gradient
        assert self._update is not None
        self._update(total)
        return np.mean(losses)


@pytest.mark.parametrize("job", [MICRO, WITH_STATISTICS], ids=["without", "with"])
@pytest.mark.parametrize(("program", "kind"), [(Dropping, "update"), (Summing, "update")])
def test_a_fault_fails_verification(program: type[NumpyProgram], kind: str, job: Any, tmp_path: Path) -> None:
    verification = run_events(job, tmp_path, framework_of(program))["verification"]
    assert verification["status"] == "failed"
    assert kind in {tensor["kind"] for tensor in verification["tensors"] if not tensor["passed"]}


def build_summed(net: Network, p: Sizes) -> None:
    """A loss that is the sum over samples."""
    x = net.input("x", (p.features,))
    x = net.dense("fc", x, p.classes)
    net.output(x)
    net.loss(net.reduce_sum(net.mul(x, x), axes=(0, 1)))


class Summed:
    def benchmarker_problem(self) -> Problem:
        return Problem("summed", "test", "none", Sizes, build_summed)


def test_a_loss_that_is_no_mean_over_samples_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=r"'summed' is not a mean over samples .* train it whole"):
        run_events(replace(MICRO, problem=f"{__name__}:Summed"), tmp_path)


def test_with_batch_normalization_a_mean_is_one_all_the_same() -> None:
    whole, part = graphs("resnet18", 4, 2)
    check_mean(whole, part, draw_parameters(whole, 0), draw_batch(whole, 0))


def test_a_mean_over_those_words_that_count_is_none_over_samples() -> None:
    whole, part = graphs("bert_base", 6, 2)
    with pytest.raises(UnsupportedError, match="'bert_base' is not a mean over samples"):
        check_mean(whole, part, draw_parameters(whole, 0), draw_batch(whole, 0))


def test_what_problems_say_of_their_parts_is_so() -> None:
    """Of every problem that trains: those whose loss is no mean over samples, and no others, say so."""
    wrong = []
    for name in registry.names("problems", ours=True):
        problem = registry.problem(name)
        size = problem.reduced_batch_size
        if problem.collective or size == 1:
            continue
        whole, part = graphs(name, 2 * size, size)
        if whole.loss is None:
            continue
        try:
            check_mean(whole, part, draw_parameters(whole, 0), draw_batch(whole, 0))
            is_mean = True
        except UnsupportedError:
            is_mean = False
        if is_mean != (whole.loss_over is None) or problem.fault_of_parts(problem.reduced) is not None:
            wrong.append(name)
    assert wrong == []


def build_contrasted(net: Network, p: Sizes) -> None:
    """A loss that compares samples with each other, as contrastive learning does."""
    x = net.dense("fc", net.input("x", (p.features,)), p.classes)
    net.output(x)
    likeness = net.gemm(x, x, trans_b=True)
    net.loss(net.reduce_mean(net.mul(likeness, likeness)))


class Contrasted:
    def benchmarker_problem(self) -> Problem:
        return Problem("contrasted", "test", "none", Sizes, build_contrasted)


def test_samples_that_are_compared_with_each_other_are_not_parted(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=r"'contrasted' is not a mean over samples .* train it whole"):
        run_events(replace(MICRO, problem=f"{__name__}:Contrasted"), tmp_path)


class Plain(NumpyProgram):
    """Cannot train in micro-batches."""

    train_micro = Program.train_micro


def test_a_framework_that_cannot_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="'tested' cannot train in micro-batches"):
        run_events(MICRO, tmp_path, framework_of(Plain))


SPEC = RunSpec(
    "numpy",
    ProblemReference("resnet18"),
    problem_parameters={"image_size": 32},
    mode="training",
    batch_size=8,
    micro_batch=2,
)


@pytest.mark.parametrize(("micro_batch", "refused"), [(2, False), (8, False), (3, True), (16, True)])
def test_micro_batches_divide_the_mini_batch(micro_batch: int, refused: bool) -> None:
    reason = unsupported_reason(replace(SPEC, micro_batch=micro_batch))
    assert (reason is not None) == refused
    assert not refused or f"got {micro_batch} for a batch size of 8" in str(reason)


MASKED = replace(SPEC, problem=ProblemReference("bert_base"), problem_parameters={"length": 16})


def compared_above(length: int) -> Problem:
    """Return a problem that is trained whole where its sentences are longer."""
    problem = registry.problem("bert_base")
    reason = "its samples are compared with each other"
    return replace(problem, whole_only=lambda parameters: reason if parameters.length > length else None)


@pytest.mark.parametrize(
    ("run", "without"),
    [
        (MASKED, "--micro-batch"),
        (replace(MASKED, micro_batch=None, ranks=2, scheme="all-reduce", exchange="mpi"), "--ranks"),
        (replace(MASKED, micro_batch=8), None),
        (replace(MASKED, mode="gradient", micro_batch=None), None),
        (replace(MASKED, problem_parameters={"length": 8}), None),
    ],
)
def test_a_problem_that_is_trained_whole_is_refused_by_name(
    run: RunSpec, without: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = compared_above(8)
    monkeypatch.setattr(registry, "problem", lambda reference: problem)
    reason = unsupported_reason(run)
    if without is None:
        assert reason is None
    else:
        rule = f"problem 'bert_base' is trained by whole mini-batches, without {without}: its samples are compared"
        assert str(reason).startswith(rule)


def build_masked(net: Network, p: Sizes) -> None:
    """A loss that is a mean over those of three words per sample that count."""
    x = net.input("x", (p.features,))
    drawn = Distribution("integers", p.classes, probability=0.7, otherwise=-100.0)
    label = net.input("label", (3,), "int64", drawn)
    x = net.dense("fc", x, 3 * p.classes)
    net.output(x)
    scores, labels = net.reshape(x, shape=(-1, p.classes)), net.reshape(label, shape=(-1,))
    net.loss(net.softmax_cross_entropy_loss(scores, labels, ignore_index=-100), over="words that count")


class Masked:
    def benchmarker_problem(self) -> Problem:
        return Problem("masked", "test", "none", Sizes, build_masked)


IN_PARTS = replace(MICRO, problem=f"{__name__}:Masked", batch_size=8)


class OfAll(NumpyProgram):
    """Computes the mean over the words of all micro-batches at once."""

    def train_micro(self, batches: Sequence[Any]) -> Any:
        return self.train_step({name: np.concatenate([b[name] for b in batches]) for name in batches[0]})


def test_a_loss_that_says_what_it_is_a_mean_over_is_verified_in_parts(tmp_path: Path) -> None:
    whole, part = Masked().benchmarker_problem().graph(6), Masked().benchmarker_problem().graph(2)
    assert whole.loss_over == part.loss_over == "words that count"
    with pytest.raises(UnsupportedError, match="'masked' is not a mean over samples"):
        check_mean(whole, part, draw_parameters(whole, 0), draw_batch(whole, 0))
    assert run_events(IN_PARTS, tmp_path)["verification"]["status"] == "passed"


def test_the_loss_of_the_whole_mini_batch_is_another_function(tmp_path: Path) -> None:
    verification = run_events(IN_PARTS, tmp_path, framework_of(OfAll))["verification"]
    assert verification["status"] == "failed"
    assert not next(tensor for tensor in verification["tensors"] if tensor["kind"] == "update")["passed"]


def test_the_record_says_what_the_mean_is_over() -> None:
    spec = replace(MASKED, problem_parameters=registry.problem("bert_base").configure({"length": 16}))
    found = transformations_of(spec, step_cost(spec))
    assert found is not None
    assert found.micro_batch == MicroBatch(samples=2, parts=4, statistics=None, loss_over="masked words")


def test_the_record_says_what_was_done_and_what_it_saves() -> None:
    spec = replace(SPEC, problem_parameters=registry.problem("resnet18").configure({"image_size": 32}))
    found = transformations_of(spec, step_cost(spec))
    assert found is not None
    assert found.micro_batch == MicroBatch(samples=2, parts=4, statistics="of each micro-batch")
    assert found.memory.predicted_bytes < found.memory.predicted_bytes_without


@pytest.mark.parametrize(("precision", "size"), [("bf16", 2), ("fp32", 4), ("fp64", 8)])
def test_what_waits_for_its_turn_has_the_precision_of_the_run(precision: str, size: int) -> None:
    problem = registry.problem("mnist_mlp")
    spec = RunSpec(
        "numpy",
        ProblemReference("mnist_mlp"),
        problem_parameters=problem.configure({}),
        mode="training",
        batch_size=8,
        micro_batch=2,
    )
    spec = replace(spec, precision=precision)
    found = transformations_of(spec, step_cost(spec))
    assert found is not None
    part = graph_cost(problem.graph(2), training=True, precision=precision).memory(spec.optimizer)["total"]
    waiting = 3 * 2 * (784 * size + 8)  # three parts of two images and labels
    assert found.memory.predicted_bytes == part + waiting


def test_several_whole_micro_batches_are_verified() -> None:
    assert verification_samples(replace(MICRO, mode="inference", batch_size=32, micro_batch=None), 8e9) == 15
    assert verification_samples(replace(MICRO, batch_size=32, micro_batch=4), 8e9) == 8
    assert verification_samples(replace(MICRO, batch_size=48, micro_batch=4), 8e9) == 12
    assert verification_samples(replace(MICRO, batch_size=32, micro_batch=8), 8e9) == 16
    assert verification_samples(replace(MICRO, batch_size=32, micro_batch=16), 8e9) == 32


def test_the_part_of_training_that_is_verified_fills_the_mini_batch() -> None:
    assert verification_samples(replace(JOB, batch_size=32), 8e9) == 8
    assert verification_samples(replace(JOB, batch_size=31), 8e9) == 15


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"micro_batches": (2,), "modes": ("inference",)}, "micro_batch"),
        ({"fold_batch_norm": True, "modes": ("training", "gradient")}, "fold_batch_norm"),
    ],
)
def test_a_transformation_of_another_mode_is_a_fault(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(ExperimentError) as caught:
        plan(Experiment(frameworks=("numpy",), problems=("mnist_mlp",), **changes))
    assert caught.value.fault.where == (field,)
