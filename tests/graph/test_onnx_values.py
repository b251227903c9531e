"""ONNX models over truth values and integers, with branches and loops: the reference returns what ONNX Runtime does."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarker.errors import UsageError
from benchmarker.graph.graph import Graph
from tests.support.onnx_models import assert_as_onnx_runtime, parsed, problem_of

MODELS = {
    "masked": """agraph (float[2, 4] x, bool[2, 4] mask) => (float[N, M] y) {
        zero = Constant <value = float {0.0}> ()
        low = Constant <value = float {-3.0e38}> ()
        scores = Where (mask, x, low)
        p = Softmax <axis = -1> (scores)
        bad = IsNaN (p)
        y = Where (bad, zero, p)
    }""",
    "lengths": """agraph (float[2, 4] x, int64[2, 1] length) => (float[N, M] y, bool[N, M] seen) {
        steps = Constant <value = int64[4] {0, 1, 2, 3}> ()
        one = Constant <value = int64 {1}> ()
        two = Constant <value = int64 {2}> ()
        seen = Less (steps, length)
        other = Not (seen)
        odd = Mod (steps, two)
        far = GreaterOrEqual (steps, two)
        isodd = Equal (odd, one)
        both = And (far, isodd)
        either = Or (both, other)
        numbers = Cast <to = 1> (either)
        y = Add (x, numbers)
    }""",
    "places": """agraph (float[3, 4] x) => (float[N, M] y, int64[N, M] best, float[K] chosen, float[K] last) {
        k = Constant <value = int64[1] {2}> ()
        axis = Constant <value = int64 {1}> ()
        y, best = TopK <axis = 1, largest = 0> (x, k)
        rows = Constant <value = int64[2, 2] {0, -1, 2, 1}> ()
        chosen = GatherND (x, rows)
        place = ArgMax <axis = 1, keepdims = 1> (x)
        sums = CumSum <exclusive = 1, reverse = 1> (x, axis)
        there = GatherElements <axis = 1> (sums, place)
        first = Constant <value = int64 {0}> ()
        last = Gather <axis = 1> (there, first)
    }""",
    "scattered": """agraph (float[3, 4] x, float[2, 4] rows) => (float[N, M] y, float[N, M] z) {
        places = Constant <value = int64[2, 1] {2, -3}> ()
        y = ScatterND (x, places, rows)
        columns = Constant <value = int64[2, 4] {0, 1, 2, 0, 2, 2, 1, 1}> ()
        z = ScatterElements <axis = 0> (x, columns, rows)
    }""",
    "backwards": """agraph (float[3, 4] x) => (float[N, M] y) {
        start = Constant <value = int64[2] {-1, 3}> ()
        stop = Constant <value = int64[2] {-9, 0}> ()
        axes = Constant <value = int64[2] {0, 1}> ()
        steps = Constant <value = int64[2] {-1, -2}> ()
        y = Slice (x, start, stop, axes, steps)
    }""",
    "computed": """agraph (float[3, 4] x, int64[3] shift) => (float[N, M] y, int64[K] q) {
        two = Constant <value = int64 {2}> ()
        one = Constant <value = int64 {1}> ()
        before = Sub (shift, one)
        y = Gather <axis = 0> (x, before)
        q = Div (before, two)
    }""",
    "branch": """agraph (float[2, 3] x) => (float[N, M] y) {
        shape = Shape (x)
        first = Constant <value = int64 {0}> ()
        rows = Gather (shape, first)
        two = Constant <value = int64 {2}> ()
        even = Equal (rows, two)
        y = If (even) <
            then_branch = yes () => (float[N, M] a) { a = Neg (x) },
            else_branch = no () => (float[N, M] b) { b = Abs (x) }
        >
    }""",
    "loop": """agraph (float[2, 3] x) => (float[N, M] y, float[T, N, M] all) {
        trips = Constant <value = int64 {3}> ()
        go = Constant <value = bool {1}> ()
        y, all = Loop (trips, go, x) <
            body = step (int64 i, bool c, float[N, M] s) => (bool c_out, float[N, M] s_out, float[N, M] row) {
                c_out = Identity (c)
                f = Cast <to = 1> (i)
                s_out = Add (s, f)
                row = Mul (s_out, s_out)
            }
        >
    }""",
}
UNKNOWN = """agraph (float[2, 3] x, bool[1] c) => (float[N, M] y, int64[N, K] z) {
    y = If (c) <
        then_branch = yes () => (float[N, M] a) { a = Neg (x) },
        else_branch = no () => (float[N, M] b) { b = Abs (x) }
    >
    z = NonZero (x)
}"""


@pytest.fixture(scope="module")
def folder() -> Path:
    return parsed(MODELS, {"unknown": UNKNOWN})


def graph_of(path: Path) -> Graph:
    problem = problem_of(path)
    return problem.graph(problem.batch_size)


@pytest.mark.parametrize("name", MODELS)
def test_the_reference_returns_what_onnx_runtime_does(name: str, folder: Path) -> None:
    assert_as_onnx_runtime(folder / f"{name}.onnx")


def test_loops_and_branches_are_written_out(folder: Path) -> None:
    assert [node.operator for node in graph_of(folder / "branch.onnx").nodes] == ["affine"]
    operators = [node.operator for node in graph_of(folder / "loop.onnx").nodes]
    assert operators.count("mul") == 3
    assert "concat" in operators


def test_truth_values_of_a_mini_batch_are_drawn(folder: Path) -> None:
    graph = graph_of(folder / "masked.onnx")
    assert {i.name: i.type.dtype for i in graph.inputs} == {"x": "float32", "mask": "bool"}


def test_indices_that_may_count_from_the_back_are_brought_to_the_front(folder: Path) -> None:
    operators = [node.operator for node in graph_of(folder / "computed.onnx").nodes]
    assert operators.index("where") < operators.index("gather")


def test_what_a_run_decides_is_refused_with_what_would_help(folder: Path) -> None:
    with pytest.raises(UsageError) as error:
        graph_of(folder / "unknown.onnx")
    assert "If with a condition that only a run decides" in str(error.value)
    assert "NonZero" in str(error.value)
