"""Verdicts in fp64, bf16 and fp16: what only rounds passes, and faults that rounding must not hide are found."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from benchmarker import registry
from benchmarker.worker.verification import reference
from benchmarker.worker.verification.equivalence import compare
from benchmarker.worker.verification.low_precision import FRACTION_BITS, rounded
from benchmarker.worker.verification.probes import ProbeResults, ProbeSpec, compute
from benchmarker.worker.verification.stable_batches import stable_seeds
from benchmarker.worker.verification.tolerances import Expected
from tests.conftest import Command

Array = npt.NDArray[Any]


def spec_of(problem: str, precision: str) -> ProbeSpec:
    """Return what is asked at a problem's reduced size."""
    found = registry.problem(problem)
    graph = found.graph(found.reduced_batch_size, **found.reduced)
    asked = ProbeSpec(graph, 42, (), 3, found.optimizer)
    return replace(asked, seeds=stable_seeds(asked, precision), precision=precision)


def every_second(precision: str) -> Callable[[Array], Array]:
    """Return what rounds every second result of an operator, as none of the reference's trials does."""
    calls: Iterator[bool] = iter(bool(number % 2) for number in range(10**6))

    def rounds(array: Array) -> Array:
        if array.size == 1 or array.dtype != np.float32 or not next(calls):
            return array
        return rounded({"x": array}, precision)["x"]

    return rounds


def statuses(expected: list[Expected], found: ProbeResults, precision: str) -> dict[str, str]:
    """Return the status of each kind of tensor."""
    return {q.kind: q.status for q in compare(expected, reference.without_errors(found), precision)}


def scaled(found: ProbeResults, kinds: tuple[str, ...], factor: float = 1.05) -> ProbeResults:
    """Return findings with those of some kinds off by a share."""
    return {name: (kind, array * factor if kind in kinds else array) for name, (kind, array) in found.items()}


PASSED = {"output": "passed", "loss": "passed", "gradient": "passed"}


@pytest.mark.parametrize(
    ("problem", "precision"),
    [
        ("mnist_mlp", "bf16"),
        ("mnist_mlp", "fp16"),
        ("bert_base", "bf16"),
        ("bert_base", "fp16"),
        ("resnet18", "bf16"),
    ],
)
def test_what_only_rounds_passes_and_5_percent_are_found(problem: str, precision: str) -> None:
    spec = spec_of(problem, precision)
    expected = reference.expected_probes(spec)
    found = compute(spec, reference.build("fp32", 0.0, every_second(precision)))
    assert statuses(expected, found, precision) == PASSED
    for kind in PASSED:
        assert statuses(expected, scaled(found, (kind,)), precision) == {**PASSED, kind: "failed"}
        assert statuses(expected, scaled(found, (kind,), 0.95), precision) == {**PASSED, kind: "failed"}


@pytest.mark.parametrize(
    ("problem", "tensor"), [("mnist_mlp", "fc2.weight"), ("bert_base", "head.norm.weight")]
)
def test_one_gradient_off_by_5_percent_is_found(problem: str, tensor: str) -> None:
    spec = spec_of(problem, "bf16")
    found = compute(spec, reference.build("fp32", 0.0, every_second("bf16")))
    kind, array = found[tensor]
    wrong = {**found, tensor: (kind, 1.05 * array)}
    assert statuses(reference.expected_probes(spec), wrong, "bf16")["gradient"] == "failed"


@pytest.mark.parametrize("problem", ["mnist_mlp", "bert_base", "resnet18"])
def test_float32_in_disguise_fails_in_fp64(problem: str) -> None:
    spec = spec_of(problem, "fp64")
    expected = reference.expected_probes(spec)
    assert statuses(expected, compute(spec, reference.build("fp64")), "fp64") == PASSED
    single = compute(spec, reference.build("fp32"))
    assert set(statuses(expected, single, "fp64").values()) == {"failed"}


def test_the_trials_of_rounding_are_the_same_each_time() -> None:
    spec = spec_of("mnist_mlp", "bf16")
    first, second = (reference.expected_probes(spec) for _ in range(2))
    assert [e.rounding for e in first] == [e.rounding for e in second]
    assert min(len(e.trials) for e in first) == 5
    assert max(e.rounding.norm for e in first) > 2.0 ** -(FRACTION_BITS["bf16"] + 1)


SECRET = '''
from dataclasses import replace

import numpy as np

from benchmarker.plugins import numpy
from benchmarker.plugins.numpy.framework import NumpyFramework
from benchmarker.plugins.numpy.program import NumpyProgram


class SingleProgram(NumpyProgram):
    """Computes in float32 and hands float64 out."""

    def gradients(self, batch):
        loss, gradients = super().gradients(batch)
        return loss, {name: array.astype(np.float64) for name, array in gradients.items()}

    def parameters(self):
        return {name: array.astype(np.float64) for name, array in super().parameters().items()}

    def fetch(self, output):
        return tuple(array.astype(np.float64) for array in super().fetch(output))


class Secret(NumpyFramework):
    def build(self, *arguments, **keywords):
        program = super().build(*arguments, **{**keywords, "precision": "fp32"})
        program.__class__ = SingleProgram
        return program


class SecretPlugin:
    def benchmarker_framework(self):
        return replace(numpy.benchmarker_framework(), name="secret", implementation="secret_framework:Secret")
'''


@pytest.mark.framework("numpy")
def test_a_framework_that_computes_in_float32_fails_in_fp64(
    command: Command, distribution: Callable[..., Path]
) -> None:
    points = ["secret = secret_framework:SecretPlugin"]
    asked = command.with_path(distribution("secret", {"frameworks": points}, {"secret_framework": SECRET}))
    options = ("--problem=mnist_mlp", "--precision=fp64")
    finished = asked(
        "verify", *options, "--framework=secret,numpy", "--size=reduced", "--optimizer=sgd", "--json"
    )
    secret, right = json.loads(finished.stdout)["verdicts"]
    assert (secret["status"], right["status"]) == ("failed", "passed")
    quick = ("--batch-size=2", "--steps=3", "--warmup=1", "--json")
    for mode in ("training", "inference"):
        records = asked("--framework=secret,numpy", *options, *quick, f"--mode={mode}").records
        assert [record["verification"]["status"] for record in records] == ["failed", "passed"]
