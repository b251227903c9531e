"""What ``setup.cfg`` says agrees with the plugins and with what the code imports."""

from __future__ import annotations

import configparser
import functools
import importlib
import re
import tarfile
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.metadata import Metadata

from benchmarker import registry
from benchmarker.api.options import option_types
from benchmarker.version import DISTRIBUTION, __version__
from tests.conftest import ROOT
from tests.support.installing import build_both
from tests.support.package_sources import (
    OWN_FRAMEWORK,
    PACKAGE,
    SOURCES,
    files,
    first,
    imports_of,
    is_third_party,
    name_of,
)

pytestmark = pytest.mark.xdist_group(SOURCES)

DISTRIBUTIONS = {"PIL": "pillow", "cpuinfo": "py-cpuinfo", "pynvml": "nvidia-ml-py"}
"""Where the name of a distribution is not that of its module."""
OPTIONAL = {
    "PIL",
    "duckdb",
    "fsspec",
    "jinja2",
    "matplotlib",
    "mpi4py",
    "pandas",
    "plotly",
    "polars",
    "psij",
    "pyarrow",
    "sklearn",
}


@functools.cache
def setup() -> configparser.ConfigParser:
    parser = configparser.ConfigParser()
    assert parser.read(ROOT / "setup.cfg")
    return parser


def lines(section: str, option: str) -> list[str]:
    return [line.strip() for line in setup().get(section, option).splitlines() if line.strip()]


ENTRY_POINTS = [
    (group, *(part.strip() for part in line.split("=", 1)))
    for group in setup().options("options.entry_points")
    for line in lines("options.entry_points", group)
]


@pytest.mark.parametrize("group", dict.fromkeys(group for group, _, _ in ENTRY_POINTS))
def test_every_entry_point_exists(group: str) -> None:
    for value in (value for of, _, value in ENTRY_POINTS if of == group):
        module, _, attribute = value.partition(":")
        found = importlib.import_module(module)
        for part in filter(None, attribute.split(".")):
            found = getattr(found, part)
        assert found is not None, value


FRAMEWORKS = [name for group, name, _ in ENTRY_POINTS if group == "benchmarker.frameworks"]
PROBLEMS = [name for group, name, _ in ENTRY_POINTS if group == "benchmarker.problems"]


def home(framework: str) -> str:
    """Return the package of a framework's plugin."""
    return registry.find("frameworks", framework).value.split(".")[2]


def test_every_built_in_plugin_has_an_entry_point() -> None:
    # Several plugins may share a package, as those over several backends do.
    assert {home(name) for name in FRAMEWORKS} == set(OWN_FRAMEWORK)
    # A family is a module with several; what makes problems of files is none.
    written = {p.stem for p in (PACKAGE / "problems").glob("*.py")} - {
        "__init__",
        "files",
        "onnx_file",
        "python_file",
    }
    named = {v.partition(":")[0] for g, _, v in ENTRY_POINTS if g == "benchmarker.problems"}
    assert {module.rpartition(".")[2] for module in named} == written


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_an_extra_gives_the_plugins_requirements(name: str) -> None:
    assert sorted(lines("options.extras_require", name)) == sorted(registry.framework(name).requirements)


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_a_plugin_names_an_implementation_of_its_own(name: str) -> None:
    module, _, attribute = registry.framework(name).implementation.partition(":")
    assert module.startswith(f"benchmarker.plugins.{home(name)}.")
    assert isinstance(getattr(importlib.import_module(module), attribute), type)


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_an_image_decoder_is_the_plugins_own(name: str) -> None:
    module, _, attribute = registry.framework(name).image_decoder.partition(":")
    if module:
        assert module.startswith(f"benchmarker.plugins.{home(name)}.")
        assert callable(getattr(importlib.import_module(module), attribute))


def test_options_have_types_that_text_can_give() -> None:
    every = {name: registry.framework(name).options for name in FRAMEWORKS}
    every.update({name: registry.problem(name).parameters for name in PROBLEMS})
    for name, options in every.items():
        assert set(option_types(options).values()) <= {bool, int, float, str}, name
        assert options() == options(), name


def test_the_orchestrator_needs_python_3_10() -> None:
    assert setup().get("options", "python_requires") == ">=3.10"


def test_everything_that_is_imported_is_required() -> None:
    frameworks = set().union(*OWN_FRAMEWORK.values()) - {"numpy"}
    imported = {first(i.module) for p in files() for i in imports_of(p) if is_third_party(i.module)}
    needed = {DISTRIBUTIONS.get(name, name) for name in imported - frameworks - OPTIONAL}
    required = {line.partition(">=")[0] for line in lines("options", "install_requires")}
    assert needed == required


def test_every_package_is_a_package() -> None:
    folders = {p.parent for p in files()}
    assert [name_of(folder) for folder in sorted(folders) if not (folder / "__init__.py").is_file()] == []


# --- what is published ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return build_both(ROOT, tmp_path_factory.mktemp("built"))


def described(built: tuple[Path, Path]) -> Metadata:
    """Return the wheel's metadata, every field of which must be valid."""
    with ZipFile(built[1]) as wheel:
        (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        return Metadata.from_email(wheel.read(name), validate=True)


def test_the_source_distribution_holds_what_a_reader_needs_and_no_more(built: tuple[Path, Path]) -> None:
    with tarfile.open(built[0]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames() if not archive.getmember(name).isdir()}
    for folder in ("docs", "blueprints", "examples", "benchmarker"):
        ignored = {"__pycache__", ".mypy_cache"}
        there = (
            path for path in (ROOT / folder).rglob("*") if path.is_file() and not ignored & {*path.parts}
        )
        assert {path.relative_to(ROOT).as_posix() for path in there} <= names
    assert {"CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "README.md", "mkdocs.yml"} <= names
    assert {"pyproject.toml", "setup.cfg"} <= names
    tops = {name.partition("/")[0] for name in names}
    assert not tops & {"tests", "results", "benchmarks", "analysis", ".ci"}
    assert not [name for name in names if name.endswith((".pyc", ".pyo"))]


def test_a_wheel_of_the_source_distribution_is_whole(built: tuple[Path, Path]) -> None:
    with ZipFile(built[1]) as wheel:
        names = {name for name in wheel.namelist() if not name.partition("/")[0].endswith(".dist-info")}
    assert {path.relative_to(ROOT).as_posix() for path in files()} <= names
    data = {
        path.relative_to(ROOT).as_posix()
        for path in PACKAGE.rglob("*")
        if path.suffix in (".json", ".h", ".toml")
    }
    assert len(data) > 5
    assert data <= names


def test_the_metadata_are_valid_and_say_where_to_look(built: tuple[Path, Path]) -> None:
    found = described(built)
    assert (found.name, str(found.version)) == (DISTRIBUTION, __version__)
    assert found.license_expression == "Apache-2.0"
    assert found.license_files == ["LICENSE"]
    assert str(found.requires_python) == setup().get("options", "python_requires")
    assert {"Source", "Documentation", "Changelog", "Issues"} <= set(found.project_urls or {})
    assert all(url.startswith("https://") for url in (found.project_urls or {}).values())
    assert {"benchmark", "deep learning"} <= set(found.keywords or [])
    classifiers = found.classifiers or []
    assert "Operating System :: POSIX :: Linux" in classifiers
    assert [text for text in classifiers if text.startswith("Development Status ::")]
    assert "Programming Language :: Python :: 3.10" in classifiers


def test_the_description_is_the_readme_and_needs_nothing_beside_it(built: tuple[Path, Path]) -> None:
    """Links and pictures of the repository's own would lead nowhere on the package index."""
    found = described(built)
    assert found.description_content_type == "text/markdown"
    assert found.description == (ROOT / "README.md").read_text()
    assert re.findall(r"\]\((?!https?://|#)[^)]*\)", found.description) == []
