"""Engines that only infer: what each says of itself without being imported, and what it refuses."""

from __future__ import annotations

import pytest

from benchmarker import registry
from benchmarker.api.options import parse_options
from benchmarker.errors import UsageError
from tests.conftest import Command

PRECISIONS = {
    "iree": ("fp32",),
    "onnxruntime": ("fp32", "int8"),
    "opencv": ("fp32",),
    "openvino": ("fp32", "bf16", "fp16", "int8"),
}


@pytest.mark.parametrize("engine", PRECISIONS)
def test_what_it_can_do_is_said_without_importing_it(engine: str) -> None:
    plugin = registry.framework(engine)
    assert plugin.modes == ("inference", "generation")
    assert plugin.precisions["cpu"] == PRECISIONS[engine]


@pytest.mark.parametrize("engine", PRECISIONS)
def test_training_is_refused_with_a_sentence(command: Command, engine: str) -> None:
    finished = command(f"--framework={engine}", "--problem=mnist_mlp", "--mode=training")
    assert finished.status == 2
    assert finished.stderr.startswith(f"benchmarker: framework '{engine}' cannot do training")
    assert finished.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("engine", "option", "allowed"),
    [
        ("iree", "optimization", "'O0', 'O1', 'O2' or 'O3'"),
        ("onnxruntime", "optimization", "'all', 'extended', 'basic' or 'none'"),
        ("openvino", "hint", "'latency' or 'throughput'"),
    ],
)
def test_an_unknown_value_of_an_option_is_refused(engine: str, option: str, allowed: str) -> None:
    with pytest.raises(UsageError, match=f"'{option}' must be {allowed}"):
        parse_options(registry.framework(engine).options, {option: "fast"}, f"framework '{engine}'")
