"""Which requirements an interpreter satisfies, and how a version asked for changes them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarker.environments.requirements import (
    faults,
    own_distributions,
    python_suits,
    satisfies_version,
    wanted,
    with_version,
)
from benchmarker.errors import PluginError, UsageError
from benchmarker.framework import FrameworkPlugin


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the path that holds the metadata of distributions."""
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def install(folder: Path, name: str, version: str, *metadata: str) -> None:
    information = folder / f"{name}-{version}.dist-info"
    information.mkdir()
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *metadata]
    (information / "METADATA").write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize(
    ("version", "specifier", "satisfied"),
    [
        ("2.13.0+cpu", "==2.13.0", True),
        ("2.13.0+cu130", "==2.13.0", True),
        ("2.13.0", "==2.13.0+cpu", False),
        ("2.13.1", "==2.13.0", False),
        ("2.14.0.dev20260101", ">=2.13", True),
        ("1.23.5", "<1.24", True),
        ("1.24.0", "<1.24", False),
    ],
)
def test_installed_versions_against_specifiers(
    installed: Path, version: str, specifier: str, satisfied: bool
) -> None:
    install(installed, "bench_torch", version)
    assert (faults([f"bench-torch{specifier}"]) == []) is satisfied


def test_each_fault_names_what_is_required_and_what_is_there(installed: Path) -> None:
    install(installed, "bench_old", "1.0")
    assert faults(["bench-old>=2", "bench-absent==3", "bench-old"]) == [
        "bench-old>=2 is required, 1.0 is installed",
        "bench-absent==3 is not installed",
    ]


def test_requirements_whose_marker_does_not_hold_are_left_out() -> None:
    assert faults(['bench-absent; python_version < "3"', 'bench-absent; sys_platform == "nowhere"']) == []
    assert faults(['bench-absent; python_version >= "3"']) == ["bench-absent is not installed"]


def test_an_extra_requires_what_it_adds(installed: Path) -> None:
    install(
        installed,
        "bench_base",
        "1.0",
        'Requires-Dist: bench-cuda>=2; extra == "and-cuda"',
        'Requires-Dist: bench-docs; extra == "docs"',
        "Requires-Dist: bench-own",
    )
    assert faults(["bench-base"]) == []
    assert faults(["bench-base[and-cuda]"]) == ["bench-cuda>=2 is not installed"]


def test_a_requirement_that_is_none_names_itself() -> None:
    with pytest.raises(PluginError, match="'numpy ==' is not a PEP 508 requirement"):
        faults(["numpy =="])


def test_a_version_replaces_only_the_frameworks_own_specifier() -> None:
    requirements = ("torch==2.13.0", "numpy<3", 'Torch_Vision==1; python_version > "3"')
    assert with_version(requirements, "torch", "2.12.0")[:2] == ("torch==2.12.0", "numpy<3")
    assert with_version(requirements, "torch-vision", "2.0")[2] == 'Torch_Vision==2.0; python_version > "3"'
    assert with_version(("tensorflow[and-cuda]>=2",), "tensorflow", "2.20.0") == (
        "tensorflow[and-cuda]==2.20.0",
    )
    assert with_version(("numpy<3",), "torch", "2.12.0") == ("numpy<3", "torch==2.12.0")
    assert requirements[0] == "torch==2.13.0"


@pytest.mark.parametrize("version", ["newest", ">=2", "2.13.0; import os", ""])
def test_a_version_that_is_none_is_refused(version: str) -> None:
    with pytest.raises(UsageError, match=r"must look like 2\.13\.0"):
        with_version(("torch==2.13.0",), "torch", version)


def test_asked_and_installed_version() -> None:
    assert satisfies_version("2.13.0", "2.13.0+cpu")
    assert satisfies_version("2.13", "2.13.0")
    assert not satisfies_version("2.13.0", "2.13.1")
    assert not satisfies_version("2.13.0+cpu", "2.13.0+cu130")


def test_the_cuda_build_may_be_a_distribution_of_its_own() -> None:
    plugin = FrameworkPlugin(
        name="tensorflow",
        distribution="tensorflow-cpu",
        requirements=("tensorflow-cpu==2.21.0", "numpy"),
        cuda_requirements=("tensorflow[and-cuda]==2.21.0", "numpy"),
        implementation="nowhere:Nothing",
    )
    assert own_distributions(plugin) == ("tensorflow-cpu", "tensorflow")
    assert wanted(plugin, None, True) == plugin.cuda_requirements
    assert wanted(plugin, "2.20.0", True) == ("tensorflow[and-cuda]==2.20.0", "numpy")
    assert wanted(plugin, "2.20.0", False) == ("tensorflow-cpu==2.20.0", "numpy")


def test_python_specifiers() -> None:
    assert python_suits(">=3.9,<3.12", "3.11.7")
    assert not python_suits(">=3.9,<3.12", "3.12.1")
    assert python_suits(">=3.9", ".".join(map(str, sys.version_info[:3])))
    with pytest.raises(PluginError, match="is not a PEP 440 specifier"):
        python_suits("three", "3.11.7")
