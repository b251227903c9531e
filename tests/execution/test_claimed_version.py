"""A framework that says another version than the metadata of its package: found in runs, ``verify`` and ``check``."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarker import registry
from benchmarker.execution.claimed_version import check_version, version_failure
from tests.conftest import Command

SHADOWED = '''
from dataclasses import replace

from benchmarker.plugins import numpy
from benchmarker.plugins.numpy.framework import NumpyFramework


class Shadowed(NumpyFramework):
    """Another copy than the one that is installed."""

    def version(self):
        return "9.9.9"


class ShadowedPlugin:
    def benchmarker_framework(self):
        described = numpy.benchmarker_framework()
        return replace(described, name="shadowed", implementation="shadowed_framework:Shadowed")


class UnlistedPlugin:
    def benchmarker_framework(self):
        return replace(numpy.benchmarker_framework(), name="unlisted", distribution="no-such-package")
'''
QUICK = ("--problem=mnist_mlp", "--batch-size=2", "--steps=3", "--warmup=1")
TOLD = "framework 'shadowed' says that it is version 9.9.9, but its interpreter has numpy "


@pytest.fixture
def shadowed(command: Command, distribution: Callable[..., Path]) -> Command:
    points = [f"{name.lower()} = shadowed_framework:{name}Plugin" for name in ("Shadowed", "Unlisted")]
    return command.with_path(
        distribution("shadowed", {"frameworks": points}, {"shadowed_framework": SHADOWED})
    )


@pytest.mark.parametrize(
    ("said", "claimed", "same"),
    [
        ("2.13.0", "2.13.0", True),
        ("2.13.0+cpu", "2.13.0", True),
        ("2.13.0", "2.13.0+cu126", True),
        ("2.13.0+cpu", "2.13.0+cu126", True),
        ("2.21.0-rc1", "2.21.0rc1", True),
        ("v2.0", "2.0.0", True),
        ("2.13.1", "2.13.0", False),
        ("2.13.0rc1", "2.13.0", False),
        ("trunk", "trunk", True),
        ("trunk", "2.0", False),
    ],
)
def test_versions_are_compared_without_their_local_parts(said: str, claimed: str, same: bool) -> None:
    found = check_version(registry.framework("pytorch"), said, {"numpy": "1.0", "Torch": claimed})
    assert found.installed == claimed
    assert (found.contradiction is None) is same


def test_any_distribution_that_holds_the_framework_may_claim_it() -> None:
    plugin = registry.framework("tensorflow")
    assert "tensorflow" in plugin.cuda_requirements[0]
    packages = {"tensorflow": "2.21.0", "tensorflow_cpu": "2.20.0"}
    assert check_version(plugin, "2.21.0", packages).contradiction is None
    assert check_version(plugin, "2.19.0", packages).contradiction is not None


def test_what_a_worker_did_not_tell_is_not_held_against_it() -> None:
    plugin = replace(registry.framework("numpy"), distribution="no-such-package")
    prepared = {"event": "prepared", "version": "1.0"}
    assert version_failure(plugin, {"prepared": prepared}) is None
    assert (
        version_failure(plugin, {"prepared": prepared, "result": {"event": "result", "packages": {}}}) is None
    )


@pytest.mark.framework("numpy")
def test_a_run_fails(shadowed: Command) -> None:
    finished = shadowed("--framework=shadowed,numpy", *QUICK, "--json")
    assert finished.status == 1
    bad, good = finished.records
    assert (bad["status"], bad["error"]["stage"], bad["verification"]["status"]) == (
        "failed",
        "verify",
        "failed",
    )
    assert bad["error"]["message"].startswith(TOLD)
    assert bad["verification"]["reason"] == bad["error"]["message"]
    assert good["framework"]["installed_version"] == good["framework"]["version"]
    unproven = shadowed("--framework=shadowed", *QUICK, "--no-verify", "--json")
    (record,) = unproven.records
    assert (record["status"], record["verification"]["status"]) == ("failed", "skipped")


@pytest.mark.framework("numpy")
def test_a_run_says_that_nothing_was_compared(shadowed: Command) -> None:
    finished = shadowed("--framework=unlisted", *QUICK)
    assert finished.status == 0, finished.stderr
    assert "is not checked: its interpreter has no metadata of no-such-package" in finished.stderr
    (record,) = shadowed("--framework=unlisted", *QUICK, "--json").records
    assert record["framework"]["installed_version"] is None


@pytest.mark.framework("numpy")
def test_verify_and_check_fail(shadowed: Command) -> None:
    options = ("--size=reduced", "--optimizer=sgd", "--json")
    verified = shadowed("verify", "--problem=mnist_mlp", "--framework=shadowed", *options)
    assert verified.status == 1
    assert json.loads(verified.stdout)["verdicts"][0]["failure"].startswith(TOLD)
    checked = shadowed("check", "shadowed", "--gradients", "--problem=layer_norm", "--json")
    assert checked.status == 1
    assert json.loads(checked.stdout)["failure"].startswith(TOLD)
