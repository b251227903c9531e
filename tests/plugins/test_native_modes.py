"""Gradient mode, float64, micro-batches and profiles of the frameworks that have environments of their own."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarker.api.framework import FrameworkPlugin
from tests.in_framework.native_modes import checks_of
from tests.support.framework_process import verdicts

FRAMEWORKS = ("tensorflow", "mxnet", "chainer")


def plugin_of(name: str) -> FrameworkPlugin:
    plugin: FrameworkPlugin = importlib.import_module(f"benchmarker.plugins.{name}").benchmarker_framework()
    return plugin


@pytest.fixture(scope="module")
def failures(cache_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, str]]:
    """Return what runs every check in a framework's environment, once, and tells why each failed."""
    return functools.cache(
        lambda name: verdicts(name, "native_modes", name, folder=tmp_path_factory.mktemp(name))
    )


@pytest.mark.parametrize(
    ("framework", "check"), [(name, check) for name in FRAMEWORKS for check in checks_of(plugin_of(name))]
)
def test_native_modes(failures: Callable[[str], dict[str, str]], framework: str, check: str) -> None:
    assert failures(framework)[check] == ""
