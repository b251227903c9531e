"""The layer language: shapes, parameters and starts of each layer, and what cannot be built."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

import numpy as np
import pytest

from benchmarker import blueprint as bp
from benchmarker import registry
from benchmarker.api.framework import Device
from benchmarker.data.values import draw_parameters
from benchmarker.errors import UsageError
from benchmarker.graph.cost import graph_cost
from benchmarker.graph.graph import Graph
from benchmarker.plugins.numpy.framework import NumpyFramework
from benchmarker.problems.layers.declared import LAYERS, layer_faults, layers_from_json, layers_to_text
from benchmarker.worker.conformance import problems
from benchmarker.worker.conformance.problems import SmallProblem
from benchmarker.worker.conformance.subject import Subject


def graph(*layers: bp.Layer, batch_size: int = 2, **values: Any) -> Graph:
    return registry.problem("architecture").graph(batch_size, layers=layers_to_text(layers), **values)


VGG = (
    bp.InputLayer((32, 32, 3)),
    *(bp.Convolution(64, (3, 3), "relu"),) * 2,
    bp.Pooling((2, 2)),
    *(bp.Convolution(128, (3, 3), "relu"),) * 2,
    bp.Pooling((2, 2)),
    *(bp.Convolution(256, (3, 3), "relu"),) * 3,
    bp.Pooling((2, 2)),
    *(bp.Convolution(512, (3, 3), "relu"),) * 3,
    bp.Pooling((2, 2)),
    bp.Flatten(),
    bp.FullyConnected(512, "relu"),
    bp.FullyConnected(256, "relu"),
    bp.FullyConnected(10, "linear"),
)
SENTIMENT = (bp.InputLayer((250, 50)), bp.LSTM(128, False), bp.FullyConnected(2, "linear"))
PERCEPTRON = (
    bp.InputLayer((784,)),
    bp.FullyConnected(128, "relu"),
    bp.FullyConnected(64, "relu"),
    bp.FullyConnected(10, "linear"),
)


@pytest.mark.parametrize(
    ("layers", "parameters", "products"),
    [(PERCEPTRON, 109_386, 109_184), (VGG, 8_818_250, 286_067_200), (SENTIMENT, 92_418, 22_784_256)],
    ids=["mnist", "cifar10", "imdb"],
)
def test_rysias_networks_have_their_sizes(
    layers: tuple[bp.Layer, ...], parameters: int, products: int
) -> None:
    built = graph(*layers)
    assert built.parameter_count == parameters
    cost = graph_cost(built.without_loss(), training=False)
    assert cost.forward_flops == 2 * products * built.batch_size


@pytest.mark.parametrize(
    ("layers", "name"), [(PERCEPTRON, "mnist_mlp"), (VGG, "cifar_vgg"), (SENTIMENT, "lstm_imdb")]
)
def test_they_are_the_built_in_problems(layers: tuple[bp.Layer, ...], name: str) -> None:
    ours, built_in = graph(*layers), registry.problem(name).graph(2)
    assert [p.type.shape for p in ours.parameters] == [p.type.shape for p in built_in.parameters]
    assert [n.operator for n in ours.nodes] == [n.operator for n in built_in.nodes]


def test_weights_start_as_rysia_says() -> None:
    built = graph(*VGG)
    values = draw_parameters(built, seed=3)
    for name, array in values.items():
        if name.endswith("bias"):
            assert not array.any()
        else:
            fan_in = math.prod(array.shape[1:])
            assert np.std(array) == pytest.approx(math.sqrt(2 / fan_in), rel=0.05)
    lstm = draw_parameters(graph(*SENTIMENT), seed=3)
    assert np.std(lstm["layer2.w"]) == pytest.approx(math.sqrt(2 / 50), rel=0.02)
    assert np.std(lstm["layer2.r"]) == pytest.approx(math.sqrt(2 / 50), rel=0.02)
    assert not lstm["layer2.b"].any()


def test_shapes_are_inferred_with_channels_last() -> None:
    model = bp.model(
        bp.InputLayer((9, 8, 3)),
        bp.Convolution(4, 3, stride=2),
        bp.Convolution(5, (3, 1), padding="valid"),
        bp.Pooling(2),
        bp.GlobalPooling(),
        bp.FullyConnected(7),
    )
    assert model.shapes == ((9, 8, 3), (5, 4, 4), (3, 4, 5), (2, 2, 5), (5,), (7,))


@pytest.mark.parametrize(
    ("layers", "shape"),
    [
        ((bp.InputLayer((7, 5)), bp.LSTM(3)), (3,)),
        ((bp.InputLayer((7, 5)), bp.LSTM(3, True)), (7, 3)),
        ((bp.InputLayer((7, 5)), bp.LSTM(3, bidirectional=True)), (6,)),
        ((bp.InputLayer((7, 5)), bp.GRU(3, return_full_seq=True, bidirectional=True)), (7, 6)),
        ((bp.InputLayer((7, 5)), bp.Flatten()), (35,)),
        ((bp.InputLayer((7, 5)), bp.Flatten(flatten_sequences=True)), (7, 5)),
        ((bp.InputLayer((7, 5)), bp.GlobalPooling("max")), (5,)),
        ((bp.InputLayer((7, 6)), bp.Attention(3, causal=True)), (7, 6)),
        ((bp.InputLayer((7,)), bp.Embedding(11, 4)), (7, 4)),
        ((bp.InputLayer((7, 6)), bp.LayerNormalization()), (7, 6)),
        ((bp.InputLayer((6,)), bp.BatchNormalization()), (6,)),
        ((bp.InputLayer((4, 4, 2)), bp.Pooling(3, "average", stride=2)), (2, 2, 2)),
        ((bp.InputLayer((6,)), bp.Residual(bp.FullyConnected(6), activation="relu")), (6,)),
        ((bp.InputLayer((6,)), bp.Residual(bp.FullyConnected(3), shortcut=[bp.FullyConnected(3)])), (3,)),
        ((bp.InputLayer((6,)), bp.Activation("gelu")), (6,)),
        ((bp.InputLayer((6,)), bp.Dropout(0.1)), (6,)),
    ],
    ids=lambda value: type(value[-1]).__name__ if isinstance(value[-1], bp.Layer) else str(value),
)
def test_every_layer_gives_its_shape_and_has_a_loss(
    layers: tuple[bp.Layer, ...], shape: tuple[int, ...]
) -> None:
    assert bp.model(*layers).shapes[-1] == shape
    for loss in ("cross_entropy", "mean_squared_error"):
        built = graph(*layers, loss=loss)
        assert built.loss is not None
        assert built.types[built.loss].shape == ()


def test_a_sequence_is_classified_word_by_word() -> None:
    built = graph(bp.InputLayer((7, 5)), bp.LSTM(3, True), bp.FullyConnected(4))
    (label,) = [i for i in built.inputs if i.name == "label"]
    assert (label.type.shape, label.type.dtype) == ((2, 7), "int64")


def test_inference_may_end_with_a_softmax() -> None:
    assert "softmax" not in graph(*PERCEPTRON).without_loss().operators
    assert "softmax" in graph(*PERCEPTRON, softmax=True).without_loss().operators


def test_layers_travel_as_json() -> None:
    layers = (
        *VGG[:-1],
        bp.Residual(bp.FullyConnected(256), bp.Dropout(0.2), shortcut=(bp.Dropout(),), activation="tanh"),
    )
    text = layers_to_text(layers)
    again = layers_from_json(json.loads(text))
    assert layers_to_text(again) == text
    assert again[-1] == layers[-1]
    assert graph(*again) == graph(*layers)
    assert " " not in text


IMPOSSIBLE: tuple[tuple[tuple[bp.Layer, ...], str], ...] = (
    (
        (bp.InputLayer((8,)), bp.Convolution(2, 3)),
        r"layer 2 \(Convolution\) needs an image, got features of 8; .* height, width, channels",
    ),
    (
        (bp.InputLayer((8, 8, 3)), bp.FullyConnected(2)),
        r"layer 2 \(FullyConnected\) needs features or a sequence, got an image of 8 x 8 x 3; put Flatten",
    ),
    ((bp.InputLayer((8,)), bp.LSTM(2)), r"layer 2 \(LSTM\) needs a sequence, got features of 8"),
    ((bp.InputLayer((4, 6)), bp.Attention(4)), r"layer 2 \(Attention\) .* multiple of its 4 heads, got 6"),
    ((bp.InputLayer((4, 6)), bp.BatchNormalization()), "a sequence takes LayerNormalization"),
    ((bp.InputLayer((2, 2, 1)), bp.LayerNormalization()), "an image takes BatchNormalization"),
    (
        (bp.InputLayer((8,)), bp.Residual(bp.Dropout(), bp.FullyConnected(4))),
        (
            r"layer 2 \(Residual\) adds values of one shape, but its layers give features of 4 and the layer "
            "before it gives features of 8"
        ),
    ),
    (
        (bp.InputLayer((8,)), bp.Residual(bp.Dropout(), bp.LSTM(4))),
        r"layer 2\.2 \(LSTM\) needs a sequence",
    ),
    (
        (bp.InputLayer((8,)), bp.Residual(bp.Dropout(), shortcut=[bp.Pooling(2)])),
        r"layer 2 shortcut 1 \(Pooling\) needs an image",
    ),
    (
        (bp.InputLayer((8,)), bp.Dropout(), bp.Embedding(3, 4)),
        r"layer 3 \(Embedding\) must follow the InputLayer",
    ),
    ((bp.InputLayer((8, 2)), bp.Embedding(3, 4)), r"layer 2 \(Embedding\) needs an input of one size"),
    (
        (bp.InputLayer((5, 5, 2)), bp.Convolution(2, 7, padding="valid")),
        r"layer 2 \(Convolution\) a window of 7 does not fit an axis of size 5",
    ),
    ((bp.InputLayer((5, 5, 3)), bp.Convolution(2, 3, groups=2)), "multiples of its 2 groups, got 3 before"),
)


@pytest.mark.parametrize(("layers", "message"), IMPOSSIBLE, ids=[message[:40] for _, message in IMPOSSIBLE])
def test_layers_that_do_not_fit_are_named_by_position(layers: tuple[bp.Layer, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        graph(*layers)
    with pytest.raises(UsageError, match=message):
        _ = bp.model(*layers).shapes


def test_every_fault_of_the_layers_is_told() -> None:
    found = layer_faults(
        [
            {"layer": "InputLayer", "shape": [0]},
            {"layer": "FulyConnected", "size": 3},
            {"layer": "Convolution", "chanel": 3, "kernel_size": [3, 3, 3]},
            5,
            {
                "layer": "Residual",
                "layers": [{"layer": "InputLayer", "shape": [2]}, {"layer": "Dropout", "ratio": 1}],
            },
            {"layer": "FullyConnected", "size": True, "activation": "rellu"},
            {"layer": "Flatten", "into": 2},
            {"layer": "Residual", "layers": []},
        ]
    )
    steps, messages = zip(*found)
    assert steps == (
        (0, "shape"),
        (1, "layer"),
        (2,),
        (2, "chanel"),
        (2, "kernel_size"),
        (3,),
        (4, "layers", 0),
        (4, "layers", 1, "ratio"),
        (5, "size"),
        (5, "activation"),
        (6, "into"),
        (7, "layers"),
    )
    text = "\n".join(messages)
    for part in (
        "layer 1 (InputLayer): 'shape' must be 1 to 3 whole numbers of at least 1, as a list, got [0]",
        "got 'FulyConnected'; did you mean 'FullyConnected'?",
        "layer 3 (Convolution) needs 'channel', a whole number of at least 1",
        "layer 3 (Convolution) has no 'chanel'; did you mean 'channel'?",
        "layer 4 must be a table whose 'layer' names it, got 5",
        "layer 5.1 must not be an InputLayer, which comes first and only once",
        "layer 5.2 (Dropout): 'ratio' must be a number of at least 0 and below 1, got 1",
        "layer 6 (FullyConnected): 'size' must be a whole number of at least 1, got true",
        "did you mean 'relu'?",
        "layer 7 (Flatten) has no 'into'",
        "layer 8 (Residual): 'layers' must be a list of layers, at least 1, got []",
    ):
        assert part in text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x", "the layers must be a list as JSON, got 'x'"),
        ("{}", "the layers must be a list of layers, got {}"),
        ("[]", "an InputLayer and at least one layer after it, got 0"),
        ('[{"layer":"Dropout"},{"layer":"Dropout"}]', "layer 1 must be an InputLayer, got Dropout"),
    ],
)
def test_a_text_that_is_no_architecture_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        registry.problem("architecture").graph(1, layers=text)
    assert message in str(error.value)


@pytest.mark.parametrize("name", ['["LSTM"]', '{"a": 1}', "3"])
def test_a_layer_that_is_not_named_by_a_text_is_refused(name: str) -> None:
    first = f'[{{"layer": {name}}}, {{"layer": "Dropout"}}]'
    with pytest.raises(UsageError, match=r"layer 1 must be 'InputLayer', .* or 'Residual', got "):
        registry.problem("architecture").graph(1, layers=first)


def test_layers_that_are_nested_without_end_are_refused() -> None:
    with pytest.raises(UsageError, match="the layers are nested too deeply"):
        registry.problem("architecture").graph(1, layers="[" * 99_999)


def test_labels_may_be_weights_of_classes_of_a_sample() -> None:
    (label,) = [i for i in graph(*PERCEPTRON, loss="soft_cross_entropy").inputs if i.name == "label"]
    assert (label.type.shape, label.type.dtype, label.distribution.kind) == ((2, 10), "float32", "one_hot")
    words = (bp.InputLayer((7, 5)), bp.LSTM(3, True), bp.FullyConnected(4))
    with pytest.raises(UsageError, match=r"needs a last layer with scores \(N, classes\), got \['N', 7, 4\]"):
        graph(*words, loss="soft_cross_entropy")


def test_a_residual_takes_its_layers_as_a_list_too() -> None:
    inside = (bp.FullyConnected(6), bp.Dropout())
    listed = bp.Residual(layers=inside, shortcut=(bp.Dropout(0.1),), activation="relu")
    assert listed == bp.Residual(*inside, shortcut=[bp.Dropout(0.1)], activation="relu")
    assert dataclasses.replace(listed, activation="tanh").layers == inside
    with pytest.raises(UsageError, match="one after the other or as layers"):
        bp.Residual(bp.Dropout(), layers=[bp.Dropout()])


def test_an_unknown_loss_is_refused() -> None:
    with pytest.raises(
        UsageError,
        match="the loss must be 'cross_entropy', 'mean_squared_error' or 'soft_cross_entropy', got 'l2'",
    ):
        graph(*PERCEPTRON, loss="l2")


EQUIVALENT: dict[str, tuple[tuple[bp.Layer, ...], str]] = {
    "words": (
        (
            bp.InputLayer((5,)),
            bp.Embedding(11, 6),
            bp.LayerNormalization(),
            bp.Residual(bp.Attention(2)),
            bp.GRU(4, True, True),
            bp.LSTM(3, False, True),
            bp.BatchNormalization(),
            bp.FullyConnected(3, "sigmoid"),
        ),
        "cross_entropy",
    ),
    "sequence": (
        (
            bp.InputLayer((5, 6)),
            bp.LSTM(4, True),
            bp.Dropout(0.2),
            bp.Activation("gelu"),
            bp.FullyConnected(4, "silu"),
            bp.GlobalPooling("max"),
        ),
        "mean_squared_error",
    ),
    "image": (
        (
            bp.InputLayer((7, 6, 3)),
            bp.Convolution(4, (3, 2), "tanh", stride=2),
            bp.Pooling(3, "average", stride=2),
            bp.Convolution(6, 2, padding="valid", groups=2),
            bp.GlobalPooling(),
            bp.FullyConnected(3),
        ),
        "cross_entropy",
    ),
    "every word": ((bp.InputLayer((5, 6)), bp.LSTM(4, True), bp.FullyConnected(3)), "cross_entropy"),
}


@pytest.mark.parametrize("name", EQUIVALENT)
def test_every_layer_computes_what_the_reference_does(name: str) -> None:
    framework = NumpyFramework()
    framework.configure(Device("cpu"), threads=1, seed=0)
    subject = Subject(framework, registry.framework("numpy"), Device("cpu"), 0)
    layers, loss = EQUIVALENT[name]
    values = {"layers": layers_to_text(layers), "loss": loss}
    small = SmallProblem(name, registry.problem("architecture"), values)
    for run in (problems._inference, problems._training):
        measured = run(small, subject)
        assert measured.error is not None
        assert measured.tolerance is not None
        assert measured.error <= measured.tolerance


def test_a_model_takes_layers_alone() -> None:
    with pytest.raises(UsageError, match="layer 2 of a model must be a layer, got int"):
        bp.model(bp.InputLayer((3,)), 4)  # type: ignore[arg-type]


def test_every_layer_can_be_imported_from_the_blueprint_module() -> None:
    assert all(getattr(bp, name) is kind for name, kind in LAYERS.items())
    assert set(LAYERS) <= set(bp.__all__)
