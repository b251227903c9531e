"""PyTorch's programs, seen from inside: what is overwritten, what is shared, what type and layout things have."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.in_framework.pytorch_programs import CHECKS
from tests.support.framework_process import verdicts


@pytest.fixture(scope="module")
def failures(cache_home: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Run every check in PyTorch's environment; return why each failed, or an empty text."""
    return verdicts("pytorch", "pytorch_programs", folder=tmp_path_factory.mktemp("pytorch"))


@pytest.mark.parametrize("name", CHECKS)
def test_program(failures: dict[str, str], name: str) -> None:
    assert failures[name] == ""
