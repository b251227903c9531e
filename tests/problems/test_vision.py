"""Problems of vision, science and games: published counts, structure, losses, and impossible sizes."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from benchmarker import registry
from benchmarker.api.optimizer import OPTIMIZERS, Optimizer
from benchmarker.api.problem import Published
from benchmarker.errors import UsageError
from benchmarker.graph.cost import graph_cost
from benchmarker.graph.graph import Graph
from benchmarker.worker.conformance.subject import (
    draw_batch,
    draw_parameters,
    fetch_outputs,
    reference_program,
)

NAMES = (
    "alexnet",
    "cifar_vgg",
    "cnn2d_simple",
    "cnn3d_simple",
    "conv1d",
    "conv2d",
    "conv2d_2",
    "conv3d",
    "conv_autoencoder",
    "cosmoflow",
    "dcgan",
    "deep_mnist",
    "deepcam",
    "deeplabv3_resnet50",
    "mnist_mlp",
    "mobilenet_v2",
    "nature_dqn",
    "pool2d",
    "res10ssd",
    "resnet101",
    "resnet152",
    "resnet18",
    "resnet34",
    "resnet44",
    "resnet50",
    "simple_cnn",
    "ssd300",
    "unet",
    "vgg16",
    "vgg19",
    "wide_resnet28_10",
    "xception",
)


PROBLEMS = {name: registry.problem(name) for name in NAMES}
PUBLISHED = [(name, entry) for name in NAMES for entry in PROBLEMS[name].published]


def label(value: Any) -> str:
    if isinstance(value, Published):
        return ",".join(f"{k}={v}" for k, v in value.values.items()) or "defaults"
    return str(value)


# --- counts --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "entry"), PUBLISHED, ids=label)
def test_parameters_and_flops_are_the_published_ones(name: str, entry: Published) -> None:
    for batch_size in (1, 3):
        graph = PROBLEMS[name].graph(batch_size, **entry.values)
        assert graph.parameter_count == entry.parameters
        if entry.flops is not None:
            assert graph_cost(graph.without_loss()).forward_flops == entry.flops * batch_size


def test_every_problem_says_what_is_known_of_its_size() -> None:
    assert all(p.published and not p.published[0].values for p in PROBLEMS.values())


def test_the_auxiliary_classifier_is_part_of_the_loss_alone() -> None:
    deeplab = PROBLEMS["deeplabv3_resnet50"]
    for size, flops in ((512, 346_530_250_752), (520, 357_443_890_176)):
        graph = deeplab.graph(1, image_size=size, auxiliary=True)
        assert graph_cost(graph).forward_flops == flops
        assert graph.without_loss().nodes == deeplab.graph(1, image_size=size).without_loss().nodes


def test_both_networks_of_a_loss_are_counted() -> None:
    generator, discriminator = 209_256_448, 207_634_432
    assert graph_cost(PROBLEMS["dcgan"].graph(2)).forward_flops == 2 * (generator + 3 * discriminator)
    assert graph_cost(PROBLEMS["nature_dqn"].graph(2)).forward_flops == 2 * 2 * 18_692_096


# --- what every problem keeps --------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_every_problem_says_what_it_is(name: str) -> None:
    found = PROBLEMS[name]
    graph = found.graph()
    assert found.name == graph.name == name
    assert found.task
    assert found.source
    assert found.parameters.__doc__
    assert found.optimizer.kind in OPTIMIZERS
    assert graph.batch_size == found.batch_size
    assert graph.loss is not None
    assert graph.types[graph.loss].shape == ()
    for value in (*(i.name for i in graph.inputs), *graph.outputs):
        assert graph.types[value].shape[0] == found.batch_size


@pytest.mark.parametrize("name", NAMES)
def test_the_reduced_problem_is_small_and_has_every_operator(name: str) -> None:
    found = PROBLEMS[name]
    graph = found.graph(found.reduced_batch_size, **found.reduced)
    assert graph.operators == found.graph(1).operators
    assert graph_cost(graph).forward_flops < 1e9
    assert graph.parameter_count < 1_000_000


@pytest.mark.parametrize("name", NAMES)
def test_a_graph_survives_json(name: str) -> None:
    found = PROBLEMS[name]
    graph = found.graph(2, **found.reduced)
    assert Graph.from_json(json.loads(json.dumps(graph.to_json()))) == graph


# --- structure -----------------------------------------------------------------------------------


def operators(name: str, **values: Any) -> Counter[str]:
    return Counter(node.operator for node in PROBLEMS[name].graph(1, **values).nodes)


def shape(name: str, value: str | None = None, **values: Any) -> tuple[int, ...]:
    graph = PROBLEMS[name].graph(1, **values)
    return graph.types[value or graph.outputs[0]].shape


@pytest.mark.parametrize("depth", [18, 34, 50, 101, 152])
def test_a_resnet_is_as_deep_as_its_name(depth: int) -> None:
    graph = PROBLEMS[f"resnet{depth}"].graph(1)
    weighted = [n.name for n in graph.nodes if n.operator in ("conv", "gemm") and "shortcut" not in n.name]
    assert len(weighted) == depth
    assert graph.types["stage4.block1.bn1"].shape[1] == 512


def test_the_blocks_of_a_resnet_are_a_parameter() -> None:
    blocks = PROBLEMS["resnet152"].graph(1, blocks="1-2-3-1")
    assert [n.name for n in blocks.nodes if n.name.endswith("conv1") and "stage3" in n.name] == [
        f"stage3.block{i}.conv1" for i in (1, 2, 3)
    ]


def test_resnet44_has_the_papers_shortcut_or_deep500s() -> None:
    papers, deep500 = operators("resnet44"), operators("resnet44", shortcut="projection")
    assert (papers["conv"], papers["slice"], papers["pad"]) == (43, 2, 2)
    assert (deep500["conv"], deep500["slice"], deep500["pad"]) == (45, 0, 0)


def test_wide_resnet_drops_out_only_if_asked() -> None:
    assert operators("wide_resnet28_10")["dropout"] == 0
    assert operators("wide_resnet28_10", dropout=0.3)["dropout"] == 12
    assert shape("wide_resnet28_10", "bn") == (1, 640, 8, 8)


def test_deeplab_dilates_instead_of_striding() -> None:
    graph = PROBLEMS["deeplabv3_resnet50"].graph(1)
    convolutions = {n.name: n.attributes for n in graph.nodes if n.operator == "conv"}
    assert graph.types["stage4.block3.bn3"].shape == (1, 2048, 28, 28)
    assert [convolutions[f"stage{s}.block{b}.conv2"]["dilations"][0] for s in (3, 4) for b in (1, 2)] == [
        1,
        2,
        2,
        4,
    ]
    assert shape("deeplabv3_resnet50") == (1, 21, 224, 224)


def test_segmentation_returns_every_pixel() -> None:
    assert shape("deepcam") == (1, 3, 768, 1152)
    assert shape("unet") == (1, 2, 388, 388)
    assert shape("unet", padding="same", image_size=512) == (1, 2, 512, 512)


def test_ssd_has_8732_boxes_on_six_maps() -> None:
    graph = PROBLEMS["ssd300"].graph(1)
    assert [graph.types[name].shape for name in graph.outputs] == [(1, 8732, 21), (1, 8732, 4)]
    maps = [graph.types[f"class{number}"].shape[2] for number in range(1, 7)]
    assert maps == [38, 19, 10, 5, 3, 1]


def test_padding_of_even_kernels_is_at_the_end() -> None:
    graph = PROBLEMS["conv2d_2"].graph(1)
    assert graph.nodes[0].attributes["pads"] == (0, 0, 1, 1)
    cosmoflow = PROBLEMS["cosmoflow"].graph(1, kernel=2)
    assert cosmoflow.nodes[0].attributes["pads"] == (0, 0, 0, 1, 1, 1)


# --- losses against plain NumPy ------------------------------------------------------------------


def computed(graph: Graph) -> tuple[float, dict[str, Any], dict[str, Any]]:
    """Return the loss, the outputs and the mini-batch in float64; the graph has nothing that training changes."""
    parameters, batch = draw_parameters(graph, 0), draw_batch(graph, 0)
    training = reference_program(graph, parameters, "training", Optimizer())
    loss, _ = training.gradients(training.load(batch))
    inference = graph.without_loss()
    program = reference_program(inference, parameters, "inference")
    return loss, fetch_outputs(program, inference, program.load(batch)), batch


def cross_entropy(scores: Any, labels: Any) -> Any:
    """Return it for each label, the classes along the last axis of ``scores``."""
    rows = scores - scores.max(axis=-1, keepdims=True)
    logs = rows - np.log(np.exp(rows).sum(axis=-1, keepdims=True))
    return -np.take_along_axis(logs, labels[..., None], axis=-1)[..., 0]


def test_the_loss_of_ssd_mines_hard_negatives() -> None:
    found = PROBLEMS["ssd300"]
    graph = found.graph(2, **{**found.reduced, "positives": 5})
    loss, outputs, batch = computed(graph)
    scores, offsets = (outputs[name] for name in graph.outputs)
    entropy = cross_entropy(scores, batch["label"])
    expected = 0.0
    for image in range(2):
        positive = batch["label"][image] > 0
        assert 0 < positive.sum() < 20
        difference = np.abs(offsets[image] - batch["target"][image])[positive]
        expected += np.where(difference < 1, difference**2 / 2, difference - 0.5).sum()
        expected += entropy[image][positive].sum()
        expected += np.sort(entropy[image][~positive])[-15:].sum()
    assert loss == pytest.approx(expected / (batch["label"] > 0).sum(), rel=1e-10)


def test_some_transitions_of_nature_dqn_end_an_episode_at_every_seed() -> None:
    found = PROBLEMS["nature_dqn"]
    for size in (found.batch_size, found.reduced_batch_size):
        graph = found.graph(size, **found.reduced)
        for seed in (0, 42, 2**32 - 1):
            assert draw_batch(graph, seed=seed)["ended"].mean() == 0.25


def test_the_loss_of_nature_dqn_is_the_clipped_temporal_difference() -> None:
    found = PROBLEMS["nature_dqn"]
    graph = found.graph(6, **found.reduced)
    (best,) = (node.name for node in graph.nodes if node.operator == "reduce_max")
    loss, outputs, batch = computed(replace(graph, outputs=(*graph.outputs, best)))
    values, best_values = outputs.values()
    chosen = np.take_along_axis(values, batch["action"], axis=1)
    error = np.abs(chosen - (batch["reward"] + 0.99 * (1 - batch["ended"]) * best_values))
    assert loss == pytest.approx(np.where(error < 1, error**2 / 2, error - 0.5).mean(), rel=1e-6)
    assert {p.name for p in graph.trainable} == {
        f"online.{layer}.{kind}"
        for layer in ("conv1", "conv2", "conv3", "fc1", "fc2")
        for kind in ("weight", "bias")
    }


def test_the_loss_of_unet_weighs_every_pixel() -> None:
    found = PROBLEMS["unet"]
    graph = found.graph(1, **found.reduced, dropout=0.0)
    loss, outputs, batch = computed(graph)
    (logits,) = outputs.values()
    entropy = cross_entropy(logits.transpose(0, 2, 3, 1), batch["label"])
    assert loss == pytest.approx((entropy * batch["weight"]).mean(), rel=1e-10)
    assert 1 <= batch["weight"].min() < batch["weight"].max() < 11


def test_the_loss_of_deepcam_weighs_every_class() -> None:
    graph = PROBLEMS["deepcam"].graph(1)
    (table,) = (p for p in graph.parameters if p.name == "class_weights")
    assert not table.trainable
    assert table.initializer.values == pytest.approx((1.0017296, 2.6146119, 1.7164248), rel=1e-7)
    assert "class_weights" not in {p.name for p in PROBLEMS["deepcam"].graph(1, weighted=False).parameters}


def gradients_of(graph: Graph, loss: str) -> dict[str, float]:
    """Return the norm of each parameter's gradient of one of the graph's values."""
    graph = replace(graph, loss=loss)
    program = reference_program(graph, draw_parameters(graph, 0), "training", Optimizer())
    _, found = program.gradients(program.load(draw_batch(graph, 0)))
    return {name: float(np.linalg.norm(value)) for name, value in found.items()}


def test_each_player_of_dcgan_follows_its_own_loss() -> None:
    found = PROBLEMS["dcgan"]
    graph = found.graph(4, **found.reduced)
    assert graph.loss is not None
    total = gradients_of(graph, graph.loss)
    for loss, player in zip(
        ("binary_cross_entropy_loss_1", "binary_cross_entropy_loss_2", "binary_cross_entropy_loss_3"),
        ("discriminator", "discriminator", "generator"),
    ):
        own = gradients_of(graph, loss)
        assert {name.partition(".")[0] for name, norm in own.items() if norm} == {player}
        if player == "generator":
            assert {n: v for n, v in own.items() if v} == pytest.approx(
                {n: v for n, v in total.items() if n.startswith(player)}
            )


# --- impossible sizes ----------------------------------------------------------------------------

IMPOSSIBLE: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("resnet18", {"blocks": "2-2-2"}, "'blocks' must be 4 numbers of at least 1 joined by '-', got '2-2-2'"),
    ("resnet152", {"blocks": "3-8-0-3"}, "'blocks' must be 4 numbers of at least 1"),
    ("resnet152", {"blocks": f"3-8-{'9' * 5000}-3"}, "'blocks' must be 4 numbers of at least 1"),
    ("resnet152", {"blocks": "3-8-999999999-3"}, "more than 10000 operators; take fewer layers"),
    ("resnet34", {"width": 0.0}, "'width' must be above 0 and at most 3.35544e[+]07, got 0"),
    ("resnet34", {"width": 1e300}, "'width' must be above 0 and at most 3.35544e[+]07, got 1e[+]300"),
    ("resnet44", {"shortcut": "none"}, "'shortcut' must be one of identity, projection, got 'none'"),
    ("wide_resnet28_10", {"dropout": 1.0}, "below 1, got 1.0"),
    ("vgg19", {"image_size": 16}, "does not fit an axis of size 1"),
    ("alexnet", {"image_size": 32}, "does not fit an axis of size"),
    ("xception", {"image_size": 4}, "does not fit an axis of size 1"),
    ("simple_cnn", {"image_size": 9}, "does not fit an axis of size"),
    ("conv1d", {"groups": 5}, "multiples of the 5 groups"),
    ("conv3d", {"kernel": 40, "padding": 0}, "window of 40 does not fit an axis of size 32"),
    ("pool2d", {"kind": "median"}, "'kind' must be one of max, average, got 'median'"),
    ("cnn2d_simple", {"padding": "full"}, "'padding' must be one of same, valid, got 'full'"),
    ("cnn3d_simple", {"padding": "valid", "volume_size": 1}, "does not fit an axis of size 1"),
    ("ssd300", {"image_size": 200}, "does not fit an axis of size"),
    ("ssd300", {"classes": 1}, "from 2 to 2147483647, got 1"),
    ("ssd300", {"positives": 8733}, "must be at most the 8732 boxes of an image, got 8733"),
    ("deeplabv3_resnet50", {"blocks": "x"}, "'blocks' must be 4 numbers"),
    ("deepcam", {"classes": 5}, "those of 3 classes, got classes=5; .* weighted=false"),
    ("deepcam", {"image_height": 100}, "must be multiples of 16, got 100 and 1152"),
    ("unet", {"image_size": 100}, "does not fit an axis of size"),
    ("unet", {"padding": "none"}, "'padding' must be one of same, valid"),
    ("cosmoflow", {"volume_size": 16}, "does not fit an axis of size 1"),
    ("conv_autoencoder", {"image_size": 30}, r"shapes .* do not broadcast"),
    ("nature_dqn", {"image_size": 30}, "does not fit an axis of size"),
    ("nature_dqn", {"discount": -0.5}, "'discount' must be a number of at least 0 and at most 1, got -0.5"),
    ("nature_dqn", {"discount": 1.5}, "'discount' must be a number of at least 0 and at most 1, got 1.5"),
)


@pytest.mark.parametrize(("name", "values", "message"), IMPOSSIBLE)
def test_an_impossible_size_is_a_usage_error(name: str, values: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        PROBLEMS[name].graph(2, **values)
