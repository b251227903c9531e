"""Quantized inference: scales that belong to the job, a reference that is quantized alike, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from benchmarker import registry
from benchmarker.data.values import draw_batch, draw_parameters
from benchmarker.graph.graph import Graph
from benchmarker.records.keys import differences
from benchmarker.worker.loading import problem_graph
from benchmarker.worker.quantization import SAMPLES, measured
from benchmarker.worker.verification import reference
from tests.conftest import Command
from tests.support.framework_process import answer
from tests.support.processor import adds_bytes_exactly
from tests.worker.test_verified_start import JOB

INT8 = replace(JOB, mode="inference", precision="int8")


def steps(graph: Graph) -> dict[str, tuple[float, ...]]:
    return {n.name: n.attributes["scale"] for n in graph.nodes if n.operator == "quantize_dequantize"}


def test_scales_are_those_of_the_job_whatever_the_number_of_samples() -> None:
    few, many = (steps(problem_graph(INT8, samples)) for samples in (1, 16))
    assert few == many
    assert few != steps(problem_graph(replace(INT8, seed=INT8.seed + 1), 1))
    assert steps(problem_graph(replace(INT8, precision="fp32"), 1)) == {}


def test_ranges_are_those_of_weights_by_channel_and_of_tensors_on_the_mini_batch() -> None:
    problem = registry.problem("mnist_mlp")
    graph = problem.graph(SAMPLES, **problem.reduced).without_loss()
    parameters, batch = draw_parameters(graph, 3), draw_batch(graph, 3)
    found = {operand.value: (operand, scale) for operand, scale in measured(graph, parameters, batch).items()}
    weight = next(p.name for p in graph.parameters if len(p.type.shape) == 2)
    operand, scale = found[weight]
    assert operand.axis is not None
    largest = np.abs(parameters[weight]).max(axis=1 - operand.axis) / 127
    np.testing.assert_allclose(scale.scale, largest, rtol=2.0**-11)
    assert np.all(np.asarray(scale.scale) >= largest)
    image = graph.inputs[0].name
    _, scale = found[image]
    array = batch[image]
    low, high = min(array.min(), 0), max(array.max(), 0)
    assert scale.scale[0] == pytest.approx((high - low) / 255, rel=2.0**-11)
    assert scale.zero_point == round(-low / scale.scale[0])


@pytest.mark.framework
@pytest.mark.parametrize("framework", ["onnxruntime", "openvino", "pytorch"])
def test_a_scale_that_is_wrong_is_found(framework: str) -> None:
    """The tolerance has room for rounding, and none for a scale that is off by a twentieth."""
    found = answer(framework, "-m", "tests.in_framework.quantized", framework)
    assert found["right"] is adds_bytes_exactly()
    assert len(found["wrong"]) == 9
    assert [name for name, passed in found["wrong"].items() if passed] == []


def assert_not_timed(record: dict[str, Any]) -> None:
    """See that a processor whose sums of bytes saturate has no number to show."""
    assert (record["status"], record["verification"]["status"]) == ("failed", "failed")
    assert record["timing"]["samples_seconds"] == []


RUN = ("--mode=inference", "--batch-size=8", "--steps=2", "--warmup=1", "--json")


@pytest.mark.framework
@pytest.mark.parametrize("framework", ["openvino", "pytorch"])
def test_every_product_is_computed_in_integers(command: Command, framework: str) -> None:
    (record,) = command(*RUN, f"--framework={framework}", "--problem=simple_cnn", "--precision=int8").records
    if not adds_bytes_exactly():
        assert_not_timed(record)
        return
    assert (record["status"], record["verification"]["status"]) == ("ok", "passed")
    told = record["verification"]["quantization"]
    assert (told["products"], told["integer_products"]) == (4, 4)


@pytest.mark.framework
def test_what_only_rounds_and_computes_no_integers_is_no_int8(command: Command) -> None:
    options = ("--framework=onnxruntime", "--problem=mnist_mlp", "--precision=int8")
    (record,) = command(*RUN, *options, "--set=optimization=basic").records
    assert record["status"] == "failed"
    assert record["error"]["message"].startswith("none of the 3 products is computed in integers here")


@pytest.mark.framework
def test_a_run_in_int8_is_verified_and_says_how_far_it_is_from_the_exact_model(command: Command) -> None:
    full, quantized = command(
        *RUN, "--framework=onnxruntime", "--problem=simple_cnn", "--precision=fp32,int8"
    ).records
    if not adds_bytes_exactly():
        assert_not_timed(quantized)
        return
    assert (quantized["status"], quantized["verification"]["status"]) == ("ok", "passed")
    assert "quantization" not in full["verification"]
    told = quantized["verification"]["quantization"]
    assert told["calibration_samples"] == SAMPLES
    assert told["operands"] == 14
    # The last layer it takes out of the integers, as nothing rounds its result.
    assert (told["products"], told["integer_products"]) == (4, 3)
    # What 8 bits change is far more than what is left between the framework and the quantized reference.
    assert 1e-3 < told["norm_error"] < 0.1
    assert quantized["verification"]["worst"]["norm_error"] < 1e-5
    assert "steps of 1/255" in quantized["verification"]["tolerance_reason"]
    assert quantized["digests"] == full["digests"]
    assert differences(quantized["comparable"], full["comparable"]) == {"precision": ("int8", "fp32")}


@pytest.mark.parametrize("command_line", [("verify", "--problem=mnist_mlp"), ("calibrate",)])
def test_what_is_no_run_has_no_int8(command: Command, command_line: tuple[str, ...]) -> None:
    finished = command(*command_line, "--framework=onnxruntime", "--precision=int8")
    assert finished.status == 2
    assert "int8 is for runs" in finished.stderr


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--framework=numpy", "--mode=inference"), "framework 'numpy' has no int8 on cpu"),
        (("--framework=onnxruntime", "--mode=inference", "--fold-batch-norm"), "without --fold-batch-norm"),
        (
            ("--framework=onnxruntime", "--mode=generation", "--problem=gpt2"),
            "--precision=int8 is for --mode=inference",
        ),
    ],
)
def test_what_cannot_be_quantized_is_refused(command: Command, options: tuple[str, ...], told: str) -> None:
    problem = () if any(o.startswith("--problem") for o in options) else ("--problem=mnist_mlp",)
    finished = command(*options, *problem, "--precision=int8")
    assert finished.status == 2
    assert told in finished.stderr


def test_the_reference_of_int8_is_the_quantized_graph() -> None:
    graph = problem_graph(INT8, 4)
    exact = problem_graph(replace(INT8, precision="fp32"), 4)
    parameters, batch = draw_parameters(exact, INT8.seed), draw_batch(exact, INT8.seed)
    found = reference.compute(graph, parameters, batch, "inference", "int8")
    plain = reference.compute(exact, parameters, batch, "inference", "fp32")
    for one, other in zip(found, plain):
        assert not np.allclose(one.tensor_sample.values, other.tensor_sample.values, rtol=1e-4)
        np.testing.assert_allclose(
            one.tensor_sample.values,
            other.tensor_sample.values,
            atol=0.1 * np.abs(other.tensor_sample.values).max(),
        )
