"""Weights of classes in place of class indices: the loss of ``docs/data.md`` is softmax's cross-entropy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarker import registry
from benchmarker.api.optimizer import Optimizer
from benchmarker.data.batch_inputs import BatchInputs
from benchmarker.data.batches import DatasetBatches
from benchmarker.data.prepared import check_fits, prepare
from benchmarker.data.training_batches import FeedSpec
from benchmarker.errors import UsageError
from benchmarker.graph.graph import Graph
from benchmarker.graph.network import Network
from benchmarker.graph.types import Distribution
from benchmarker.worker.conformance.subject import draw_parameters, reference_program
from benchmarker.worker.training.evaluation import has_cross_entropy

CLASSES, BATCH_SIZE = 10, 16


def digits_graph(soft: bool, classes: int = CLASSES) -> Graph:
    net = Network("soft" if soft else "hard", BATCH_SIZE)
    image = net.input("image", (64,))
    if soft:
        label = net.input("label", (classes,), distribution=Distribution("one_hot"))
    else:
        label = net.labels("label", classes)
    scores = net.dense("fc", image, classes)
    net.output(scores)
    if soft:
        log_shares = net.log_softmax(scores)
        net.loss(
            net.affine(net.reduce_mean(net.reduce_sum(net.mul(label, log_shares), axes=(-1,))), alpha=-1.0)
        )
    else:
        net.loss(net.softmax_cross_entropy_loss(scores, label))
    return net.graph()


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BENCHMARKER_HOME", str(tmp_path_factory.mktemp("home")))
        yield prepare("digits", registry.dataset_reader("digits"), None)


def gradients(graph: Graph, batch: dict[str, Any]) -> tuple[float, dict[str, Any]]:
    program = reference_program(graph, draw_parameters(graph, 1), "training", Optimizer())
    return program.gradients(program.load(batch))


def test_labels_as_they_are_have_the_loss_and_gradients_of_class_indices(prepared: Any) -> None:
    soft, hard = digits_graph(True), digits_graph(False)
    check_fits(prepared.description, soft)
    batches = [DatasetBatches(prepared.folder, graph, 3).batch(0) for graph in (soft, hard)]
    assert np.array_equal(batches[0]["label"], np.eye(CLASSES, dtype=np.float32)[batches[1]["label"]])
    (soft_loss, soft_gradients), (hard_loss, hard_gradients) = map(gradients, (soft, hard), batches)
    assert soft_loss == pytest.approx(hard_loss, rel=1e-12)
    for name, expected in hard_gradients.items():
        assert soft_gradients[name] == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_smoothed_labels_have_the_loss_of_the_paper(prepared: Any) -> None:
    """``(1 - epsilon) H(q, p) + epsilon H(u, p)`` (Szegedy et al. 2016, section 7)."""
    graph, epsilon = digits_graph(True), 0.2
    spec = FeedSpec(
        str(prepared.folder),
        BatchInputs.of(graph),
        BATCH_SIZE,
        3,
        augmentation=({"name": "label_smoothing", "epsilon": epsilon},),
    )
    batches = spec.open()
    batch, labels = batches.batch(0), batches.augmenter.data.labels[batches.indices(0)]
    parameters = draw_parameters(graph, 1)
    scores = (
        batch["image"].astype(np.float64) @ parameters["fc.weight"].T.astype(np.float64)
        + parameters["fc.bias"]
    )
    log_shares = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    expected = (1 - epsilon) * -log_shares[np.arange(BATCH_SIZE), labels] + epsilon * -log_shares.mean(axis=1)
    assert gradients(graph, batch)[0] == pytest.approx(expected.mean(), rel=1e-6)


def test_a_problem_with_another_number_of_classes_is_refused(prepared: Any) -> None:
    for classes in (9, 11):
        with pytest.raises(
            UsageError, match=f"data set 'digits' has 10 classes, but problem 'soft' has {classes}"
        ):
            check_fits(prepared.description, digits_graph(True, classes))


def test_numbers_that_are_no_weights_of_classes_are_no_labels(prepared: Any) -> None:
    net = Network("regression", BATCH_SIZE)
    net.output(net.input("image", (64,)))
    net.input("target", (CLASSES,))
    with pytest.raises(
        UsageError, match="problem 'regression' takes image, target: run it on synthetic data"
    ):
        check_fits(prepared.description, net.graph())


def soft_loss(weight: float = 1.0, alpha: float = -1.0, axis: int = -1, scored: str = "second") -> Graph:
    net = Network("soft", BATCH_SIZE)
    image = net.input("image", (CLASSES,))
    label = net.input("label", (CLASSES,), distribution=Distribution("one_hot"))
    layers = {"first": net.dense("first", image, CLASSES)}
    layers["second"] = net.dense("second", layers["first"], CLASSES)
    net.output(layers["second"])
    shares = net.mul(
        label if weight == 1.0 else net.affine(label, alpha=weight), net.log_softmax(layers[scored])
    )
    net.loss(net.affine(net.reduce_mean(net.reduce_sum(shares, axes=(axis,))), alpha=alpha))
    return net.graph()


def test_a_target_may_be_of_this_loss_and_of_no_other() -> None:
    assert has_cross_entropy(soft_loss())
    assert has_cross_entropy(digits_graph(True))
    assert has_cross_entropy(digits_graph(False))
    others = (
        soft_loss(weight=2.0),
        soft_loss(alpha=-2.0),
        soft_loss(axis=0),
        soft_loss(scored="first"),
    )
    assert not any(map(has_cross_entropy, others))
