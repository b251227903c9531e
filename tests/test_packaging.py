"""What ``setup.cfg`` says agrees with the plugins and with what the code imports."""

from __future__ import annotations

import configparser
import functools
import importlib

import pytest

from benchmarker import registry
from benchmarker.api.options import option_types
from tests.conftest import ROOT
from tests.support.package_sources import (
    OWN_FRAMEWORK,
    PACKAGE,
    files,
    first,
    imports,
    is_third_party,
    name_of,
    tree,
)

DISTRIBUTIONS = {"PIL": "pillow", "cpuinfo": "py-cpuinfo", "pynvml": "nvidia-ml-py"}
"""Where the name of a distribution is not that of its module."""
OPTIONAL = {"PIL", "duckdb", "jinja2", "matplotlib", "pandas", "plotly", "polars", "pyarrow", "sklearn"}


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


@pytest.mark.parametrize(
    ("group", "name", "value"), ENTRY_POINTS, ids=[f"{g}-{n}" for g, n, _ in ENTRY_POINTS]
)
def test_every_entry_point_exists(group: str, name: str, value: str) -> None:
    module, _, attribute = value.partition(":")
    found = importlib.import_module(module)
    for part in filter(None, attribute.split(".")):
        found = getattr(found, part)
    assert found is not None


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


@pytest.mark.parametrize("name", FRAMEWORKS + PROBLEMS)
def test_options_have_types_that_text_can_give(name: str) -> None:
    options = registry.framework(name).options if name in FRAMEWORKS else registry.problem(name).parameters
    assert set(option_types(options).values()) <= {bool, int, float, str}
    assert options() == options()


def test_the_orchestrator_needs_python_3_10() -> None:
    assert setup().get("options", "python_requires") == ">=3.10"


def test_everything_that_is_imported_is_required() -> None:
    frameworks = set().union(*OWN_FRAMEWORK.values()) - {"numpy"}
    imported = {first(i.module) for p in files() for i in imports(tree(p)) if is_third_party(i.module)}
    needed = {DISTRIBUTIONS.get(name, name) for name in imported - frameworks - OPTIONAL}
    required = {line.partition(">=")[0] for line in lines("options", "install_requires")}
    assert needed == required


def test_every_package_is_a_package() -> None:
    folders = {p.parent for p in files()}
    assert [name_of(folder) for folder in sorted(folders) if not (folder / "__init__.py").is_file()] == []
