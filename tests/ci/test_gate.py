"""The regression gate that other projects adopt: its scripts pass a change that is as quick, and fail a slower one."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from benchmarker.version import __version__
from tests.analysis.comparison.test_sides import git
from tests.analysis.comparison.test_variants_at_commits import PACED, WORDS, commit
from tests.conftest import CACHE_HOME, ROOT, write_distribution
from tests.support.ci_jobs import ACTION, GITLAB, action_step, run_action, run_gitlab
from tests.support.installing import build_wheel

PAGE = (ROOT / "docs" / "gate.md").read_text()
RUN = "\n  ".join(WORDS)
Gate = Callable[..., tuple[int, str, str]]
"""Runs a gate with inputs of the action; returns status, log and summary."""


def variable(name: str) -> str:
    """Return what an input of the action is called in GitLab."""
    return f"BENCHMARKER_{name.upper().replace('-', '_')}"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plain_home: Path) -> Path:
    """A framework plugin whose step takes 5 ms, then a commit that changes a page, and one with steps of 15 ms."""
    folder = tmp_path / "plugin"
    folder.mkdir()
    git(folder, "init", "-q")
    quick = {"paced_framework": PACED.format(seconds=0.005)}
    write_distribution(folder / "src", "paced", {"frameworks": ["paced = paced_framework"]}, quick)
    commit(folder, "quick")
    (folder / "README.md").write_text("A page.\n")
    commit(folder, "page")
    git(folder, "tag", "page")
    commit(folder / "src", "slow", paced_framework=PACED.format(seconds=0.015))
    git(folder, "tag", "slow")
    monkeypatch.setenv("BENCHMARKER_HOME", str(plain_home))
    monkeypatch.setenv("OMP_WAIT_POLICY", "passive")
    return folder


@pytest.fixture(scope="module", params=["action", "gitlab"])
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A service with the package of this checkout installed by its own script, and where."""
    temporary = tmp_path_factory.mktemp("runner")
    build_wheel(ROOT, temporary / "wheels")
    (wheel,) = (temporary / "wheels").glob("*.whl")
    what = str(wheel)
    if request.param == "action":
        status, log = run_action("Install", {"install": what}, temporary, temporary)
    else:
        variables = {variable("install"): what, "BENCHMARKER_VENV": str(temporary / "benchmarker")}
        status, log = run_gitlab("before_script", variables, temporary)
    assert status == 0, log
    return request.param, temporary


@pytest.fixture
def gate(service: tuple[str, Path], repository: Path) -> Gate:
    def run(**inputs: str) -> tuple[int, str, str]:
        name, temporary = service
        values = {"run": RUN, "pairs": "4", "fail-if-slower": "50%"}
        values.update({key.replace("_", "-"): value for key, value in inputs.items()})
        if name == "action":
            (repository.parent / "output").unlink(missing_ok=True)
            (repository.parent / "step-summary.md").unlink(missing_ok=True)
            status, log = run_action("Compare", values, repository, temporary)
            assert (repository.parent / "output").read_text() == f"status={status}\n"
            shown = (repository.parent / "step-summary.md").read_text()
        else:
            variables = {variable(key): value for key, value in values.items()}
            variables["BENCHMARKER_VENV"] = str(temporary / "benchmarker")
            status, log = run_gitlab("script", variables, repository)
            shown = (repository / "benchmarker-summary.md").read_text()
        assert (repository / "benchmarker-summary.md").read_text() == shown
        return status, log, shown

    return run


@pytest.mark.framework("numpy")
@pytest.mark.timeout(900)
def test_a_planted_slowdown_fails_and_is_named(gate: Gate, repository: Path) -> None:
    status, log, summary = gate()
    assert status == 1, log
    assert "**Failed**: shown to be slower by more than 50 %: 1 of 1 row." in summary
    assert re.search(r"'git:HEAD' is slower than 'git:HEAD(\\)?\^': ratio [23]\.", summary)
    assert len(list((repository / "benchmarker-results").glob("*.json"))) == 8


@pytest.mark.framework("numpy")
@pytest.mark.timeout(900)
def test_a_change_that_is_as_quick_passes(gate: Gate) -> None:
    status, log, summary = gate(base="git:page^", head="git:page")
    assert status == 0, log
    assert "**Passed**: shown to be slower by more than 50 %: none of 1 row" in summary


@pytest.mark.framework
@pytest.mark.timeout(900)
def test_two_versions_of_a_framework_are_compared(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHMARKER_HOME", str(CACHE_HOME))
    words = " ".join(word for word in WORDS if not word.startswith("--framework"))
    inputs = {"run": words, "pairs": "3", "fail_if_slower": "90%"}
    status, log, summary = gate(base="numpy==2.2.6", head="numpy==2.3.5", **inputs)
    assert status == 0, log
    assert "**Passed**" in summary
    assert "baseline numpy 2.2.6, other numpy 2.3.5, 3 pairs" in summary


@pytest.mark.framework("numpy")
@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({"head": "git:nowhere"}, "**Not compared**: 'git:nowhere' must name one commit"),
        (
            {"run": "--framework=paced --problem=mnist_mpl"},
            "**Not compared**: the run is not valid at",
        ),
        ({"margin": "60%"}, "--fail-if-slower must be at least the margin"),
        ({"pairs": "many"}, "status 2; its log says why"),
        ({"base": "git:page; touch planted"}, "**Not compared**: 'git:page; touch planted' must name one"),
        ({"run": "$(touch planted) `touch planted` ; touch planted *"}, "**Not compared**"),
    ],
)
def test_what_cannot_be_compared_fails_and_is_told(
    gate: Gate, repository: Path, inputs: dict[str, str], said: str
) -> None:
    status, log, summary = gate(**inputs)
    assert status == 2, log
    assert said in re.sub(r"\\([\\`*|~])", r"\1", summary)
    assert not (repository / "planted").exists()


@pytest.mark.framework("numpy")
def test_each_input_reaches_the_command(gate: Gate) -> None:
    """Each is refused by the command's own words where it makes no sense, so it arrived."""
    for name in ("margin", "pairs", "fail-if-slower"):
        status, log, _ = gate(**{name: "planted"})
        assert status == 2
        assert f"--{name}" in log
        assert "planted" in log


def test_both_templates_take_the_same_options() -> None:
    script, variables = action_step("Compare", {"run": ""})
    (own,) = GITLAB["script"]
    assert set(re.findall(r"--[a-z-]+", script)) == set(re.findall(r"--[a-z-]+", own))
    defaults = {variable(key): declared.get("default", "") for key, declared in ACTION["inputs"].items()}
    others = {variable(key) for key in ("base", "artifact", "python")}
    theirs = {key: value for key, value in GITLAB["variables"].items() if key.startswith("BENCHMARKER_")}
    assert {**theirs, "BENCHMARKER_BASE": "", "BENCHMARKER_VENV": ""} == {
        **{key: value for key, value in defaults.items() if key not in others},
        "BENCHMARKER_BASE": "",
        "BENCHMARKER_VENV": "",
    }
    declared = {key for step in ACTION["runs"]["steps"] for key in re.findall(r"inputs\.([\w-]+)", str(step))}
    assert declared == set(ACTION["inputs"])
    assert all(f"${name}" in script or f"${{{name}" in script for name in variables)


def test_the_page_adopts_it_in_five_lines_and_tells_every_input() -> None:
    github, gitlab = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    for block in (github, gitlab):
        assert len(block.splitlines()) == 5
        assert f"v{__version__}" in block
    _, used = yaml.safe_load(github)
    assert set(used["with"]) <= set(ACTION["inputs"])
    (job,) = [value for key, value in yaml.safe_load(gitlab).items() if key != "include"]
    assert set(job["variables"]) <= set(GITLAB["variables"])
    told = {name for name in re.findall(r"`([a-z-]+)`", PAGE) if name in ACTION["inputs"]}
    assert set(ACTION["inputs"]) - told <= {"artifact", "python"}
    assert {variable(name) for name in told} <= set(re.findall(r"`(BENCHMARKER_\w+)`", PAGE))
