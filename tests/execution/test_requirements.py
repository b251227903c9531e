"""Which requirements an interpreter satisfies, and how a version asked for changes them."""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.specifiers import SpecifierSet

from benchmarker.api.framework import FrameworkPlugin
from benchmarker.errors import PluginError, UsageError
from benchmarker.execution.distributions import (
    distributions,
    installed_points,
    installed_version,
    name_and_version,
    normalised,
)
from benchmarker.execution.environments.requirements import (
    faults,
    holds_plainly,
    own_distributions,
    python_suits,
    satisfies_version,
    wanted,
    with_version,
)


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


SPECIFIERS = ("==2.13.0", "==2.13", ">=3.9", ">=3.9,<3.12", "<1.24", "<=2.13.0", ">2.13.0", ">=2", "<2.13.0")
VERSIONS = (
    "2.13.0",
    "2.13",
    "2.13.0+cpu",
    "2.13.1",
    "1.23.5",
    "1.24",
    "3.9",
    "3.11.7",
    "3.12.0",
    "10.0",
    "2",
)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("specifiers", SPECIFIERS)
def test_plain_specifiers_are_answered_as_packaging_does(specifiers: str, version: str) -> None:
    expected = SpecifierSet(specifiers).contains(version, prereleases=True)
    assert holds_plainly(specifiers, version) is expected


@pytest.mark.parametrize(
    ("specifiers", "version"),
    [
        ("~=2.1", "2.3"),
        ("!=2.1", "2.3"),
        ("==2.*", "2.3"),
        ("==2.1+cpu", "2.1"),
        (">=2.1", "2.3rc1"),
        (">=1!2", "3"),
    ],
)
def test_others_are_left_to_packaging(specifiers: str, version: str) -> None:
    assert holds_plainly(specifiers, version) is None
    assert python_suits(specifiers, version) is SpecifierSet(specifiers).contains(version, prereleases=True)


@pytest.mark.parametrize("name", ["numpy", "pluggy", "packaging", "pytest"])
def test_name_and_version_are_those_of_the_metadata(name: str) -> None:
    found = metadata.distribution(name)
    assert name_and_version(found) == (found.name, found.version)
    assert installed_version(name) == found.version


def known() -> dict[str, list[tuple[str, str, str]]]:
    found: dict[str, list[tuple[str, str, str]]] = {
        normalised(own[0]): [] for distribution in distributions() if (own := name_and_version(distribution))
    }
    groups = {point.group for distribution in metadata.distributions() for point in distribution.entry_points}
    for point, (name, _) in installed_points(groups):
        found[normalised(name)].append((point.group, point.name, point.value))
    return {name: sorted(points) for name, points in found.items()}


def known_to_importlib() -> dict[str, list[tuple[str, str, str]]]:
    found: dict[str, list[tuple[str, str, str]]] = {}
    for distribution in metadata.distributions():
        points = sorted((point.group, point.name, point.value) for point in distribution.entry_points)
        found.setdefault(normalised(distribution.name), points)
    return found


def test_distributions_and_entry_points_are_those_of_importlib() -> None:
    assert len(known()) > 20
    assert any(known().values())
    assert known() == known_to_importlib()


def test_points_of_other_groups_are_left_out() -> None:
    asked = {point.group for point, _ in installed_points({"benchmarker.frameworks"})}
    assert asked == {"benchmarker.frameworks"}


def test_a_distribution_installed_later_or_in_a_zip_file_is_found(installed: Path) -> None:
    assert installed_version("bench.later") is None
    install(installed, "bench_later", "1.0")
    assert installed_version("bench.later") == "1.0"
    with ZipFile(installed / "packages.zip", "w") as archive:
        archive.writestr("bench_zipped-2.0.dist-info/METADATA", "Name: bench-zipped\nVersion: 2.0\n")
        archive.writestr("bench_zipped-2.0.dist-info/entry_points.txt", "[a]\n# no\nb = c:d\n")
    assert installed_version("bench-zipped") is None
    sys.path.insert(0, str(installed / "packages.zip"))
    try:
        assert installed_version("bench-zipped") == "2.0"
        assert known()["bench-zipped"] == [("a", "b", "c:d")]
        assert known() == known_to_importlib()
    finally:
        sys.path.remove(str(installed / "packages.zip"))


def test_the_first_distribution_of_a_name_on_the_path_counts(
    installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = installed / "other"
    other.mkdir()
    install(installed, "bench_twice", "1.0")
    install(other, "bench_twice", "2.0")
    monkeypatch.syspath_prepend(str(other))
    assert installed_version("bench-twice") == "2.0"
    versions = [
        found[1] for found in map(name_and_version, distributions()) if found and found[0] == "bench_twice"
    ]
    assert versions == ["2.0"]
