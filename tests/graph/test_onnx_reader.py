"""ONNX models of other makers, imported: they compute what their own framework does."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from benchmarker import registry
from benchmarker.errors import UsageError
from benchmarker.orchestration.jobs import unpack_onnx
from tests.support.onnx_models import (
    KEPT,
    arrays_of,
    computed,
    graph_of,
    handmade,
    make,
    numpy_program,
    problem_of,
)

EXPORTS = sorted(path.name for path in KEPT.glob("*.onnx"))
MADE = (
    "attributes_9",
    "masked",
    "resize_10",
    "softmax_11",
    "tied",
    "transposed",
    "upsample_9",
    "view",
    "windows_same_lower",
    "windows_same_upper",
    "windows_valid",
)


@pytest.fixture(autouse=True)
def home(cache_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Models are unpacked, and the environment is made, where all tests have their cache."""
    monkeypatch.setenv("BENCHMARKER_HOME", str(cache_home))


def test_there_are_exports_of_both_frameworks_and_of_both_exporters_of_pytorch() -> None:
    assert {name.split("_")[0] for name in EXPORTS} == {"torch", "keras"}
    assert "torch_transformer.onnx" in EXPORTS
    assert "torch_transformer_older.onnx" in EXPORTS
    assert all((KEPT / name).stat().st_size < 100_000 for name in EXPORTS)


@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_computes_what_its_framework_does(name: str) -> None:
    path = KEPT / name
    np.testing.assert_allclose(computed(path), arrays_of(path)["y"], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", MADE)
def test_a_model_computes_what_onnx_runtime_does(name: str) -> None:
    path = handmade() / f"{name}.onnx"
    np.testing.assert_allclose(computed(path), arrays_of(path)["y"], rtol=1e-4, atol=1e-6)


def test_every_model_that_is_made_is_tested() -> None:
    assert {path.stem for path in handmade().glob("*.onnx")} == set(MADE)


# --- what a reader of the graph expects ------------------------------------------------------------


def test_nodes_and_parameters_keep_their_names_and_sizes_become_none() -> None:
    graph = graph_of(handmade() / "view.onnx")
    assert [node.operator for node in graph.nodes] == ["reshape", "affine", "affine"]
    assert [node.name for node in graph.nodes] == ["node_flat", "node_m", "node_y"]
    kept = graph_of(KEPT / "torch_convolutional.onnx")
    assert {"head.3.weight", "head.3.bias"} <= {p.name for p in kept.trainable}


def test_a_shared_table_is_one_parameter() -> None:
    graph = graph_of(handmade() / "tied.onnx")
    assert [p.name for p in graph.parameters] == ["table", "w", "r", "b"]


def test_a_mask_is_no_weight() -> None:
    (mask,) = graph_of(handmade() / "masked.onnx").parameters
    assert not mask.trainable


def test_indices_are_drawn_from_the_rows_they_choose() -> None:
    (tokens,) = graph_of(KEPT / "torch_recurrent.onnx").inputs
    assert (tokens.type.dtype, tokens.distribution.kind, tokens.distribution.scale) == (
        "int64",
        "integers",
        20,
    )


# --- training ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "loss"),
    [
        ("torch_convolutional.onnx", "softmax_cross_entropy"),
        ("torch_transformer.onnx", "mean_squared_error"),
        ("keras_dense_tensorflow.onnx", "binary_cross_entropy"),
        ("torch_recurrent.onnx", "softmax_cross_entropy"),
    ],
)
def test_training_with_a_named_loss_lowers_it(name: str, loss: str) -> None:
    from benchmarker.data.values import draw_batch

    graph = graph_of(KEPT / name, loss=loss)
    program = numpy_program(graph, "training")
    batch = program.load(draw_batch(graph, 0))
    losses = [float(program.fetch(program.train_step(batch))[0]) for _ in range(20)]
    assert np.isfinite(losses).all()
    assert losses[-1] < losses[0]


def test_a_loss_begins_before_the_last_softmax() -> None:
    graph = graph_of(KEPT / "keras_convolutional_tensorflow.onnx", loss="softmax_cross_entropy")
    (softmax,) = [node for node in graph.nodes if node.operator == "softmax"]
    (loss,) = [node for node in graph.nodes if node.operator == "softmax_cross_entropy_loss"]
    assert loss.inputs[0] == softmax.inputs[0]
    assert graph.outputs == softmax.outputs


# --- what is refused ------------------------------------------------------------------------------------

UNSUPPORTED = """
import sys
import onnx
from onnx import TensorProto, helper

nodes = [
    helper.make_node("Bernoulli", ["x"], ["a"], name="wave"),
    helper.make_node("Relu", ["a"], ["b"], name="fine"),
    helper.make_node("Bernoulli", ["x"], ["c"], name="wave2"),
    helper.make_node("Unique", ["b"], ["h"], name="behind"),
    helper.make_node("MaxPool", ["x"], ["d", "where"], name="pool", kernel_shape=[2, 2], storage_order=1),
    helper.make_node("Resize", ["x", "", "scales"], ["e"], name="size", mode="own"),
    helper.make_node("Own", ["x"], ["f"], name="mine", domain="my.domain"),
    helper.make_node("Identity", ["where"], ["g"]),
]
x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 1, 4, 4])
outputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [None] * 4) for n in "cdef"]
outputs.append(helper.make_tensor_value_info("g", TensorProto.INT64, [None] * 4))
scales = helper.make_tensor("scales", TensorProto.FLOAT, [4], [1, 1, 2, 2])
graph = helper.make_graph(nodes, "unsupported", [x], outputs, [scales])
opsets = [helper.make_opsetid("", 17), helper.make_opsetid("my.domain", 1)]
onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), sys.argv[1] + "/unsupported.onnx")
"""


def test_all_that_is_unsupported_is_told_in_one_sentence(tmp_path: Path) -> None:
    make(UNSUPPORTED, tmp_path)
    with pytest.raises(UsageError) as error:
        problem_of(tmp_path / "unsupported.onnx").graph(2)
    text = str(error.value)
    for part in (
        "without it) (2 times: wave, wave2)",
        "MaxPool with places in the order of columns (pool)",
        "Resize with mode own (size)",
        "my.domain.Own (mine)",
        "Unique (shapes must follow from those of the inputs: export with fixed sizes and eager attention) (behind)",
        "2 more, which use what these return, were not checked",
    ):
        assert part in text
    assert "Relu" not in text
    assert "\n" not in text


SINGLE = """
import sys
import onnx
from onnx import TensorProto, helper

FLOAT = TensorProto.FLOAT
nodes = [
    helper.make_node("Gemm", ["x", "w1", "b1"], ["a"]),
    helper.make_node("MatMul", ["x", "w2"], ["p"]),
    helper.make_node("Add", ["p", "b2"], ["b"]),
    helper.make_node("Add", ["b", "epsilon"], ["c"]),
    helper.make_node("Mul", ["c", "scale"], ["d"]),
    helper.make_node("PRelu", ["d", "slope"], ["e"]),
    helper.make_node("Mul", ["a", "e"], ["y"]),
]
tensors = [
    helper.make_tensor("w1", FLOAT, [3, 1], [1, 2, 3]),
    helper.make_tensor("b1", FLOAT, [1], [0.5]),
    helper.make_tensor("w2", FLOAT, [3, 1], [3, 2, 1]),
    helper.make_tensor("b2", FLOAT, [1], [0.25]),
    helper.make_tensor("epsilon", FLOAT, [1], [0.125]),
    helper.make_tensor("scale", FLOAT, [], [2.0]),
    helper.make_tensor("slope", FLOAT, [1], [0.1]),
]
x = helper.make_tensor_value_info("x", FLOAT, ["N", 3])
y = helper.make_tensor_value_info("y", FLOAT, ["N", 1])
graph = helper.make_graph(nodes, "single", [x], [y], tensors)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
onnx.save(model, sys.argv[1] + "/single.onnx")
"""


def test_a_weight_of_a_single_number_is_trained_and_a_constant_is_not(tmp_path: Path) -> None:
    make(SINGLE, tmp_path)
    graph = problem_of(tmp_path / "single.onnx").graph(2)
    assert {p.name for p in graph.trainable} == {"w1", "b1", "w2", "b2", "slope"}
    trained = problem_of(tmp_path / "single.onnx").graph(2, loss="mean_squared_error")
    assert {p.name for p in trained.trainable} == {"w1", "b1", "w2", "b2", "slope"}


def test_a_symbolic_dimension_needs_a_size_and_takes_it() -> None:
    problem = problem_of(handmade() / "tied.onnx")
    with pytest.raises(UsageError, match="need sizes of at least 1: --set length=N"):
        problem.graph(2)
    assert problem.graph(2, length=5).inputs[0].type.shape == (2, 5)


FIXED = """
import sys
import onnx
from onnx import TensorProto, helper

x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 4])
y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [3, 4])
graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "fixed", [x], [y])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
onnx.save(model, sys.argv[1] + "/fixed.onnx")
"""


def test_a_fixed_first_axis_is_the_batch_size(tmp_path: Path) -> None:
    make(FIXED, tmp_path)
    problem = problem_of(tmp_path / "fixed.onnx")
    assert problem.graph().batch_size == 3
    with pytest.raises(UsageError, match="the batch size must be 3, got 2"):
        problem.graph(2)


# --- files -----------------------------------------------------------------------------------------------


def test_a_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.onnx").write_text("no model")
    with pytest.raises(UsageError, match="is not an ONNX model"):
        registry.find("problems", f"onnx:{tmp_path / 'text.onnx'}")
    with pytest.raises(UsageError, match="needs the path of a model that exists"):
        registry.find("problems", f"onnx:{tmp_path / 'absent.onnx'}")


EXTERNAL = """
import sys
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 40])
y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 50])
w = numpy_helper.from_array(np.arange(2000, dtype=np.float32).reshape(40, 50), "w")
graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "external", [x], [y], [w])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
onnx.save_model(
    model, sys.argv[1] + "/external.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0
)
"""


def test_external_data_belong_to_the_model(tmp_path: Path) -> None:
    make(EXTERNAL, tmp_path)
    path = tmp_path / "external.onnx"
    first = problem_of(path)
    (weight,) = first.graph(2).parameters
    np.testing.assert_array_equal(np.load(weight.initializer.source).reshape(-1), np.arange(2000))
    assert weight.name == "w"
    before = registry.find("problems", f"onnx:{path}")
    (tmp_path / "weights.bin").write_bytes(np.ones(2000, np.float32).tobytes())
    unpack_onnx.unpacked.cache_clear()
    assert registry.find("problems", f"onnx:{path}").value != before.value
    assert problem_of(path).semantics != first.semantics


def test_external_data_are_taken_from_the_models_folder_only(tmp_path: Path) -> None:
    make(EXTERNAL, tmp_path)
    inner = tmp_path / "inner"
    inner.mkdir()
    shutil.move(tmp_path / "external.onnx", inner / "external.onnx")
    (inner / "weights.bin").symlink_to(tmp_path / "weights.bin")
    with pytest.raises(UsageError, match=r"inside its own folder, got 'weights\.bin'"):
        registry.find("problems", f"onnx:{inner / 'external.onnx'}")


def test_a_model_is_unpacked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = handmade() / "view.onnx"
    entry = registry.find("problems", f"onnx:{path}")
    copy = tmp_path / "copy.onnx"
    shutil.copy(path, copy)
    unpack_onnx.unpacked.cache_clear()
    monkeypatch.setattr(unpack_onnx, "resolve", None)  # no worker can be started
    again = registry.find("problems", f"onnx:{copy}")
    assert (again.name, again.version) == ("onnx:copy.onnx", entry.version)
    assert problem_of(copy).semantics == problem_of(path).semantics
