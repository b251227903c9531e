"""PyTorch's programs, seen from inside: what is overwritten, what is shared, what type and layout things have."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from benchmarker.environments import resolve
from benchmarker.plugins.pytorch import benchmarker_framework
from tests.conftest import ROOT
from tests.pytorch_programs import CHECKS


@pytest.fixture(scope="module")
def failures(cache_home: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Run every check in PyTorch's environment; return why each failed, or an empty text."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BENCHMARKER_HOME", str(cache_home))
        python = resolve(benchmarker_framework()).path
    finished = subprocess.run(
        [python, "-m", "tests.pytorch_programs"],
        cwd=tmp_path_factory.mktemp("pytorch"),
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    return dict(json.loads(line) for line in finished.stdout.splitlines())


@pytest.mark.parametrize("name", CHECKS)
def test_program(failures: dict[str, str], name: str) -> None:
    assert failures[name] == ""
