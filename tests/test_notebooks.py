"""Notebooks and scripts of ``analysis/`` run from top to bottom over the kept records, without any framework."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from tests.conftest import ROOT
from tests.support.package_sources import OWN_FRAMEWORK

pytestmark = pytest.mark.timeout(600)

NOTEBOOKS = sorted((ROOT / "analysis").glob("*.ipynb"))
FRAMEWORKS = set().union(*OWN_FRAMEWORK.values()) - {"numpy"}


@pytest.fixture(autouse=True)
def this_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have kernels and scripts import the package that is tested, wherever they start."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with copies of the analysis and its records."""
    folder = tmp_path_factory.mktemp("analysis")
    for part in ("analysis", "results"):
        shutil.copytree(ROOT / part, folder / part)
    return folder


def test_no_framework_is_there_to_help() -> None:
    assert [name for name in FRAMEWORKS if importlib.util.find_spec(name)] == []


def test_there_are_the_questions_of_analysts() -> None:
    assert {notebook.stem for notebook in NOTEBOOKS} == {
        "which_framework",
        "batch_size",
        "where_time_goes",
        "what_intervals_allow",
        "poster",
        "rysia",
        "operators",
        "training",
    }


def pictures(notebook: Any) -> int:
    """Return how many pictures the outputs of a notebook show."""
    return sum(
        "image/png" in output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", ())
    )


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_top_to_bottom(path: Path, clone: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    kept = pictures(notebook)
    folder = {"metadata": {"path": str(clone / "analysis")}}
    NotebookClient(notebook, timeout=600, kernel_name="python3", resources=folder).execute()
    assert pictures(notebook) == kept > 0


def test_the_script_draws_every_picture_that_the_records_have(clone: Path) -> None:
    command = [sys.executable, "figures.py", "--output", "drawn"]
    done = subprocess.run(command, cwd=clone / "analysis", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    drawn = {file.stem for file in (clone / "analysis" / "drawn").glob("*.svg")}
    assert drawn >= {"frameworks", "batch_size", "threads", "learning", "breakdown", "roofline", "speedup"}
    assert drawn >= {
        "training_curves",
        "time_to_target",
        "performance_profile",
        "divergence",
        "divergence_map",
    }
