"""Gradient mode, float64, micro-batches and profiles of the frameworks that have environments of their own."""

from __future__ import annotations

import functools
import importlib
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarker.environments import resolve
from benchmarker.framework import FrameworkPlugin
from tests.conftest import ROOT
from tests.native_modes import checks_of

FRAMEWORKS = ("tensorflow", "mxnet", "chainer")


def plugin_of(name: str) -> FrameworkPlugin:
    plugin: FrameworkPlugin = importlib.import_module(f"benchmarker.plugins.{name}").benchmarker_framework()
    return plugin


@pytest.fixture(scope="module")
def failures(cache_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, str]]:
    """Return what runs every check in a framework's environment, once, and tells why each failed."""

    @functools.cache
    def of_framework(name: str) -> dict[str, str]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("BENCHMARKER_HOME", str(cache_home))
            python = resolve(plugin_of(name)).path
        finished = subprocess.run(
            [python, "-m", "tests.native_modes", name],
            cwd=tmp_path_factory.mktemp(name),
            env={**os.environ, **plugin_of(name).environment, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert finished.returncode == 0, finished.stderr
        return dict(json.loads(line) for line in finished.stdout.splitlines())

    return of_framework


@pytest.mark.parametrize(
    ("framework", "check"), [(name, check) for name in FRAMEWORKS for check in checks_of(plugin_of(name))]
)
def test_native_modes(failures: Callable[[str], dict[str, str]], framework: str, check: str) -> None:
    assert failures(framework)[check] == ""
