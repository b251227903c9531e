"""Paddle's programs, seen from inside, in runs, and what of the plugin needs no Paddle: the native form of a graph."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarker.graph.graph import Graph
from benchmarker.graph.network import Network
from benchmarker.graph.types import Distribution
from benchmarker.plugins.paddle.lowering import native_form
from tests.conftest import Command
from tests.in_framework.paddle_programs import CHECKS
from tests.support.framework_process import verdicts

# --- the native form -----------------------------------------------------------------------------


def scored(*, shared: bool) -> Graph:
    """Return words that a dense layer scores, by a weight of its own or by their table."""
    net = Network("words", 2)
    words = net.input("words", (), "int64")
    table = net.parameter("table", (7, 5), Distribution("normal"))
    weight = table if shared else net.parameter("weight", (7, 5), Distribution("normal"))
    net.output(net.gemm(net.gather(table, words), weight, trans_b=True))
    return net.graph()


def test_the_weight_of_a_dense_layer_stands_as_paddles_own() -> None:
    graph, layouts = native_form(scored(shared=False))
    weight = np.arange(35.0).reshape(7, 5)
    (native,) = layouts["weight"].encode(weight)
    assert np.array_equal(native, weight.T)
    assert np.array_equal(layouts["weight"].decode([native]), weight)
    assert layouts["table"].encode(weight)[0] is weight
    assert transposed(graph) == [False]


def test_a_weight_that_is_also_a_table_stays_as_it_is() -> None:
    graph, layouts = native_form(scored(shared=True))
    assert layouts["table"].name == "plain"
    assert transposed(graph) == [True]


def transposed(graph: Graph) -> list[bool]:
    return [node.keywords["product"].trans_b for node in graph.nodes if node.operator == "gemm"]


# --- in Paddle's environment ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def failures(cache_home: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Run every check in Paddle's environment; return why each failed, or an empty text."""
    return verdicts(
        "paddle", "paddle_programs", folder=tmp_path_factory.mktemp("paddle"), OMP_NUM_THREADS="1"
    )


@pytest.mark.parametrize("name", CHECKS)
def test_program(failures: dict[str, str], name: str) -> None:
    assert failures[name] == ""


# --- runs ----------------------------------------------------------------------------------------


@pytest.mark.framework
def test_a_problem_runs_in_each_mode_traced_or_not(command: Command) -> None:
    finished = command(
        "--framework=paddle",
        "--problem=resnet18",
        *("--set=image_size=32", "--set=width=0.125", "--set=classes=10", "--batch-size=2"),
        "--mode=inference,gradient,training",
        "--set=to_static=false,true",
        *("--threads=2", "--start=fork", "--steps=2", "--warmup=1", "--json"),
    )
    assert finished.status == 0, finished.stderr
    told = [
        (r["mode"], r["framework"]["options"]["to_static"], r["verification"]["status"])
        for r in finished.records
    ]
    modes = ("inference", "gradient", "training")
    assert sorted(told) == sorted((mode, traced, "passed") for mode in modes for traced in (False, True))
    for record in finished.records:
        # Paddle itself would set it to 1.
        assert record["execution"]["environment_variables"]["OMP_NUM_THREADS"] == "2"
        assert record["framework"]["libraries"]["executor"] == "serial"
        assert record["framework"]["composed_operators"] == []
        compiled = record["execution"]["compile_cache"]["compilations"] or {}
        assert bool(sum(compiled.values())) == record["framework"]["options"]["to_static"]
