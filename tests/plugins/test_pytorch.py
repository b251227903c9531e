"""PyTorch's programs, seen from inside: what is overwritten, what is shared, what type and layout things have."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.in_framework.pytorch_programs import CHECKS
from tests.support.framework_process import verdicts


@pytest.fixture(scope="module")
def failures(cache_home: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Run every check in PyTorch's environment; return why each failed, or an empty text."""
    return verdicts("pytorch", "pytorch_programs", folder=tmp_path_factory.mktemp("pytorch"))


@pytest.mark.parametrize("name", CHECKS)
def test_program(failures: dict[str, str], name: str) -> None:
    assert failures[name] == ""


@pytest.mark.framework
def test_a_kernel_that_overwrites_other_memory_is_not_called(command: Command) -> None:
    """Without wide vectors oneDNN's gradient of few channels, of which it skips elements, ends the process."""
    narrow = replace(command, environment={**command.environment, "ONEDNN_MAX_CPU_ISA": "AVX2"})
    finished = narrow(
        "--framework=pytorch", "--problem=res10ssd", "--set=width=0.125", "--set=image_size=96", "--set=positives=4",
        "--batch-size=2", "--mode=training", "--threads=1", "--steps=3", "--warmup=1", "--json",
    )  # fmt: skip
    assert finished.status == 0, finished.stderr
    (record,) = finished.records
    assert record["verification"]["status"] == "passed"
