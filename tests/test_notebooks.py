"""Notebooks and scripts of ``analysis/`` run from top to bottom over the kept records, with its extra alone."""

from __future__ import annotations

import configparser
import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient

from tests.conftest import ROOT
from tests.support.installing import kept_venv
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


@pytest.fixture(scope="module")
def analyst() -> Path:
    """Return the Python of an analyst: the extra ``analysis``, and what Jupyter needs to start a kernel."""
    parser = configparser.ConfigParser()
    assert parser.read(ROOT / "setup.cfg")
    needed = [parser["options"]["install_requires"], parser["options.extras_require"]["analysis"]]
    return kept_venv("analyst", *filter(None, "\n".join(needed).splitlines()), "ipykernel")


def test_neither_a_framework_nor_what_tests_need_is_there_to_help(analyst: Path) -> None:
    names = sorted({*FRAMEWORKS, "scipy", "sklearn", "polars"})
    code = f"from importlib.util import find_spec; print([name for name in {names} if find_spec(name)])"
    found = subprocess.run([analyst, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"


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
        "ranks",
    }


def pictures(notebook: Any) -> int:
    """Return how many pictures the outputs of a notebook show."""
    return sum(
        "image/png" in output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", ())
    )


@pytest.fixture(scope="module")
def kernel(clone: Path, analyst: Path) -> Iterator[KernelManager]:
    """One kernel for all notebooks, which imports what they share once."""
    specification = clone / "kernels" / "analyst" / "kernel.json"
    specification.parent.mkdir(parents=True)
    argv = [str(analyst), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    specification.write_text(json.dumps({"argv": argv, "display_name": "analyst", "language": "python"}))
    known = KernelSpecManager(kernel_dirs=[str(clone / "kernels")], ensure_native_kernel=False)
    manager = KernelManager(kernel_name="analyst", kernel_spec_manager=known)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        manager.start_kernel(cwd=str(clone / "analysis"))
    yield manager
    manager.shutdown_kernel(now=True)


EMPTIED = """
from IPython import get_ipython
get_ipython().run_line_magic("reset", "-f")
left = [name for name in dir() if not name.startswith("_") and name not in ("In", "Out", "exit", "quit", "open")]
assert [name for name in left if name != "get_ipython"] == [], left
"""


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_top_to_bottom(path: Path, kernel: KernelManager) -> None:
    notebook = nbformat.read(path, as_version=4)
    kept = pictures(notebook)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(EMPTIED))
    client = NotebookClient(notebook, timeout=600, km=kernel)
    client.execute()
    client.kc.stop_channels()
    assert pictures(notebook) == kept > 0


def test_the_script_draws_every_picture_that_the_records_have(clone: Path, analyst: Path) -> None:
    command = [str(analyst), "figures.py", "--output", "drawn"]
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
