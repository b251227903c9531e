"""Users' own operators: shapes, costs, what runs them where, and compiled source."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarker.api.framework import Device, NoOptions
from benchmarker.api.optimizer import Optimizer
from benchmarker.api.program import Program
from benchmarker.errors import UnsupportedError, UsageError
from benchmarker.graph.cost import graph_cost
from benchmarker.graph.custom import (
    ANY,
    Body,
    CppSource,
    CustomOperator,
    NativeFunction,
    NumpyFunction,
    custom_kinds,
    registered,
)
from benchmarker.graph.graph import Graph
from benchmarker.graph.network import Network
from benchmarker.graph.support import composed_operators, missing_operators
from benchmarker.graph.transformations.expand_composites import expand_composites
from benchmarker.graph.types import TensorType
from benchmarker.plugins.chainer.operators import ChainerOperators
from benchmarker.plugins.common.custom.compiler import compiled, kept_libraries
from benchmarker.plugins.mxnet.operators import MxnetOperators
from benchmarker.plugins.numpy.framework import MeasuredNumpyFramework, NumpyFramework
from benchmarker.plugins.numpy.operators import MeasuredOperators, NumpyOperators
from benchmarker.plugins.pytorch.operators import PytorchOperators
from benchmarker.worker.conformance.derivatives import gradient_check
from benchmarker.worker.conformance.subject import draw_batch, draw_parameters
from tests.conftest import ROOT, Command

EXAMPLE = ROOT / "examples" / "operators" / "hard_swish.py"


def forward(x: Any, y: Any) -> Any:
    return x * y, x + y


def backward(inputs: Any, outputs: Any, gradients: Any) -> Any:
    (x, y), (dp, ds) = inputs, gradients
    return dp * y + ds, dp * x + ds


def same(x: TensorType, y: TensorType) -> tuple[TensorType, TensorType]:
    return x, x


def product_and_sum(name: str, **fields: Any) -> CustomOperator:
    """Two inputs and two outputs, for which there is no body."""
    return CustomOperator(name, NumpyFunction(forward, backward), same, outputs=2, **fields)


def graph_of(operator: CustomOperator) -> Graph:
    net = Network(operator.name, 3)
    found = operator(net, net.input("x", (4,)), net.input("y", (4,)))
    for output in found if isinstance(found, tuple) else (found,):
        net.output(output)
    return net.graph()


def program(
    graph: Graph, mode: str = "gradient", framework: type[NumpyFramework] = NumpyFramework, **parameters: Any
) -> Program:
    return framework().build(
        graph,
        parameters or draw_parameters(graph, 0),
        mode=mode,
        device=Device("cpu"),
        precision="fp64",
        optimizer=Optimizer(),
        options=NoOptions(),
    )


# --- in the graph ----------------------------------------------------------------------------------


def test_an_operator_computes_its_reference_and_its_gradients_are_the_derivatives() -> None:
    graph = graph_of(product_and_sum("test.product_and_sum"))
    batch = draw_batch(graph, 0)
    built = program(graph, "inference")
    product, total = built.infer(built.load(batch))
    np.testing.assert_allclose(product, batch["x"].astype(float) * batch["y"])
    np.testing.assert_allclose(total, batch["x"].astype(float) + batch["y"])
    backward_graph = graph.for_gradient()
    checked = gradient_check(
        lambda values: program(backward_graph, **values),
        backward_graph,
        draw_parameters(backward_graph, 0),
        draw_batch(backward_graph, 0),
    )
    assert checked.passed
    assert {d.operand for d in checked.derivatives} == {"x", "y"}


def test_a_wrong_backward_function_is_caught() -> None:
    wrong = NumpyFunction(
        forward, lambda inputs, outputs, gradients: backward(inputs[::-1], outputs, gradients)
    )
    graph = graph_of(CustomOperator("test.wrong", wrong, same, outputs=2)).for_gradient()
    checked = gradient_check(
        lambda values: program(graph, **values), graph, draw_parameters(graph, 0), draw_batch(graph, 0)
    )
    assert not checked.passed
    assert checked.worst.error > 0.01


def test_numpy_as_a_framework_runs_its_implementation_and_the_reference_does_not() -> None:
    other = NumpyFunction(lambda x, y: (x - y, x), backward)
    graph = graph_of(product_and_sum("test.other", implementations={"numpy": other}))
    batch = draw_batch(graph, 0)
    for framework, expected in (
        (NumpyFramework, batch["x"] * batch["y"]),
        (MeasuredNumpyFramework, batch["x"] - batch["y"]),
    ):
        built = program(graph, "inference", framework)
        np.testing.assert_allclose(built.infer(built.load(batch))[0], expected, rtol=1e-5)


def test_the_cost_is_the_authors_count_else_that_of_the_body() -> None:
    counted = graph_of(product_and_sum("test.counted", flops=lambda x, y: 7 * x.elements))
    assert graph_cost(counted).elementwise_flops == 7 * 12
    assert graph_cost(graph_of(product_and_sum("test.uncounted"))).elementwise_flops == 0
    body = CustomOperator("test.body", Body(lambda o, x, y: o.add(o.mul(x, y), y)))
    assert graph_cost(graph_of(body)).elementwise_flops == 2 * 12


def test_a_body_is_written_out_where_a_framework_has_no_implementation() -> None:
    operator = CustomOperator(
        "test.two",
        Body(lambda o, x, y: (o.mul(x, y), o.add(x, y))),
        same,
        {"pytorch": NumpyFunction(forward, backward)},
        outputs=2,
    )
    graph = graph_of(operator)
    native = {"custom", "mul", "add"}
    assert expand_composites(graph, native, "pytorch") == graph
    flat = expand_composites(graph, native, "chainer")
    assert [node.operator for node in flat.nodes] == ["mul", "add"]
    assert set(flat.outputs) == {node.outputs[0] for node in flat.nodes}
    assert composed_operators(graph, PytorchOperators) == ()
    assert composed_operators(graph, ChainerOperators) == ("custom",)
    assert missing_operators(graph, MxnetOperators) == {}
    assert custom_kinds(graph.nodes, "pytorch") == {"test.two": "python"}
    assert custom_kinds(graph.nodes, MxnetOperators.framework) == {"test.two": "composed"}


def test_an_operator_without_a_body_is_missing_where_nothing_runs_it() -> None:
    alone = graph_of(product_and_sum("test.alone", implementations={"pytorch": NumpyFunction(forward)}))
    missing = {"custom 'test.alone'": ["custom_1"]}
    assert missing_operators(alone, MxnetOperators) == missing
    assert missing_operators(alone, ChainerOperators) == missing
    assert missing_operators(alone, PytorchOperators) == {}
    assert missing_operators(alone, MeasuredOperators) == missing_operators(alone, NumpyOperators) == {}
    bridged = graph_of(product_and_sum("test.bridged", implementations={ANY: NumpyFunction(forward)}))
    assert missing_operators(bridged, ChainerOperators) == {}
    assert missing_operators(bridged, MxnetOperators) == {"custom 'test.bridged'": ["custom_1"]}


def test_what_makes_no_sense_is_refused_in_a_sentence() -> None:
    with pytest.raises(UsageError, match="needs a shape function"):
        CustomOperator("test.shapeless", NumpyFunction(forward))
    with pytest.raises(UsageError, match="must return 1 TensorType"):
        graph_of(CustomOperator("test.several", NumpyFunction(forward), same))
    body = Body(lambda o, x, y: o.mul(x, y))
    with pytest.raises(UsageError, match="its body has"):
        graph_of(CustomOperator("test.unlike", body, lambda x, y: TensorType((1,))))
    with pytest.raises(UsageError, match=r"there is no custom operator 'test\.unknown'"):
        registered("test.unknown")
    native = {"numpy": NativeFunction(lambda: forward)}
    graph = graph_of(product_and_sum("test.native", implementations=native))
    with pytest.raises(UnsupportedError, match="is a NativeFunction for numpy"):
        program(graph, "inference", MeasuredNumpyFramework)


def test_two_files_cannot_share_a_name() -> None:
    graph_of(product_and_sum("test.shared"))
    graph_of(product_and_sum("test.shared"))
    elsewhere: dict[str, Any] = {}
    exec(compile("def forward(x, y): return x, y", "elsewhere.py", "exec"), elsewhere)
    with pytest.raises(UsageError, match=r"two custom operators are named 'test\.shared'"):
        graph_of(CustomOperator("test.shared", NumpyFunction(elsewhere["forward"]), same, outputs=2))


# --- compiled source -------------------------------------------------------------------------------

SOURCE = """
#include <benchmarker_operator.h>
extern "C" int forward(const benchmarker_tensor *in, const benchmarker_tensor *out) {
    if (in[0].type != BENCHMARKER_FLOAT64 || in[0].rank != 2) return 3;
    for (int64_t i = 0; i < benchmarker_elements(in); ++i) {
        double x = ((double *)in[0].data)[i], y = ((double *)in[1].data)[i];
        ((double *)out[0].data)[i] = x * y;
        ((double *)out[1].data)[i] = x + y;
    }
    return 0;
}
"""


@pytest.fixture
def libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BENCHMARKER_HOME", str(tmp_path / "home"))
    return kept_libraries()


def source(folder: Path, text: str = SOURCE, **fields: Any) -> CppSource:
    path = folder / "operator.cpp"
    path.write_text(text)
    return CppSource((path,), "forward", **fields)


def test_source_is_compiled_once_and_again_when_it_changes(libraries: Path, tmp_path: Path) -> None:
    first = compiled(source(tmp_path))
    made = first.stat().st_mtime_ns
    assert compiled(source(tmp_path)) == first
    assert first.stat().st_mtime_ns == made
    assert "operator.cpp" in (first.parent / "compiler.log").read_text()
    assert compiled(source(tmp_path, SOURCE + "// changed\n")) != first
    assert compiled(source(tmp_path, flags=("-O0",))) != first
    assert all((folder / "operator.so").is_file() for folder in libraries.iterdir())


def test_compiled_functions_run_on_the_arrays_themselves(libraries: Path, tmp_path: Path) -> None:
    graph = graph_of(product_and_sum("test.compiled", implementations={ANY: source(tmp_path)}))
    batch = draw_batch(graph, 0)
    built = program(graph, "inference", MeasuredNumpyFramework)
    assert len(list(libraries.iterdir())) == 1  # compiled when it was built
    product, total = built.infer(built.load(batch))
    np.testing.assert_array_equal(product, batch["x"].astype(float) * batch["y"])
    np.testing.assert_array_equal(total, batch["x"].astype(float) + batch["y"])


def test_what_a_compiled_operator_lacks_is_told(libraries: Path, tmp_path: Path) -> None:
    graph = graph_of(
        product_and_sum("test.forward_only", implementations={ANY: source(tmp_path)})
    ).for_gradient()
    built = program(graph, framework=MeasuredNumpyFramework)
    with pytest.raises(UnsupportedError, match="has no backward function"):
        built.gradients(built.load(draw_batch(graph, 0)))
    absent = product_and_sum("test.absent", implementations={ANY: source(tmp_path, backward="missing")})
    with pytest.raises(UsageError, match="must define the function 'missing'"):
        program(graph_of(absent), "inference", MeasuredNumpyFramework)


def test_a_compile_error_is_a_sentence_with_the_compilers_message(libraries: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"operator.cpp' does not compile: .*error: .*nonsense") as told:
        compiled(source(tmp_path, "int forward() { return nonsense; }"))
    assert "\n" not in str(told.value)
    (log,) = libraries.iterdir()  # and nothing half made
    assert str(log) in str(told.value)
    assert "nonsense" in log.read_text()


def test_a_missing_compiler_or_file_is_told(
    libraries: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match="must be a file that can be read"):
        compiled(CppSource((tmp_path / "absent.cpp",), "forward"))
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(UnsupportedError, match="'no-such-compiler', which is not there"):
        compiled(source(tmp_path))


def test_the_cuda_example_compiles_where_there_is_a_compiler(libraries: Path) -> None:
    example = CppSource((EXAMPLE.with_suffix(".cu"),), "hard_swish_forward", "hard_swish_backward")
    assert example.kind == "cuda"
    if shutil.which("nvcc") is None:
        with pytest.raises(UnsupportedError, match="'nvcc', which is not there"):
            compiled(example)
    else:
        assert compiled(example).is_file()


# --- the example -----------------------------------------------------------------------------------


@pytest.mark.framework
@pytest.mark.parametrize("framework", ["numpy", "pytorch", "chainer"])
def test_the_examples_run_beside_each_other(framework: str, command: Command) -> None:
    ways = ["composed", "python", "c++"] + (["native"] if framework == "pytorch" else [])
    done = command(
        "run",
        f"--problem={EXAMPLE}",
        f"--framework={framework}",
        "--mode=gradient",
        f"--set=implementation={','.join(ways)}",
        "--batch-size=4",
        "--steps=5",
        "--json",
        "--quiet",
    )
    assert done.status == 0, done.stderr
    records = done.records
    assert [r["verification"]["status"] for r in records] == ["passed"] * len(ways)
    assert [r["problem"]["custom_operators"] for r in records] == [{f"hard_swish.{way}": way} for way in ways]
    composed = [r["framework"]["composed_operators"] for r in records]
    assert [bool(found) for found in composed] == [way == "composed" for way in ways]


@pytest.mark.framework
@pytest.mark.parametrize("way", ["composed", "python", "native", "c++"])
def test_the_examples_gradients_are_derivatives(way: str, command: Command) -> None:
    arguments = ("--gradients", f"--problem={EXAMPLE}", f"--set=implementation={way}", "--json")
    done = command("check", "pytorch", *arguments)
    assert done.status == 0, done.stderr
    (result,) = json.loads(done.stdout)["results"]
    assert result["status"] == "passed"
    assert result["error"] < 1e-8
