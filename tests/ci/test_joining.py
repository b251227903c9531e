"""What those who join use says the same as what is checked: hooks, words, workflow, templates, policies."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
import yaml

from benchmarker.version import __version__
from tests.conftest import ROOT
from tests.support.package_sources import SOURCES, files, name_of, nodes_of
from tests.test_architecture import ROOMS

pytestmark = pytest.mark.xdist_group(SOURCES)

CI = (ROOT / ".ci" / "run").read_text()
SCHEMAS = {
    "action.yml": "github-actions",
    ".github/workflows/ci.yml": "github-workflows",
    ".github/ISSUE_TEMPLATE/bug.yml": "github-issue-forms",
    ".github/ISSUE_TEMPLATE/feature.yml": "github-issue-forms",
    ".github/ISSUE_TEMPLATE/config.yml": "github-issue-config",
    "CITATION.cff": "citation-file-format",
    "ci/gitlab.yml": "gitlab-ci",
}


def read(name: str) -> str:
    return (ROOT / name).read_text()


def tool(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a tool of this environment."""
    script = Path(sys.executable).parent / name
    return subprocess.run([script, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_file_is_valid_by_its_published_schema(name: str) -> None:
    more = ("--data-transform", "gitlab-ci") if "gitlab" in name else ()
    found = tool("check-jsonschema", "--builtin-schema", f"vendor.{SCHEMAS[name]}", *more, str(ROOT / name))
    assert found.returncode == 0, found.stdout


def test_a_file_that_is_not_is_found(tmp_path: Path) -> None:
    (tmp_path / "CITATION.cff").write_text(read("CITATION.cff").replace("title:", "name:"))
    words = ("--builtin-schema", "vendor.citation-file-format", str(tmp_path / "CITATION.cff"))
    assert tool("check-jsonschema", *words).returncode == 1


def test_every_template_is_held_to_a_schema() -> None:
    there = {path.relative_to(ROOT).as_posix() for path in (ROOT / ".github").rglob("*.y*ml")}
    assert there <= set(SCHEMAS)


def test_hooks_run_the_checks_of_the_ci() -> None:
    found = tool("pre-commit", "validate-config", ".pre-commit-config.yaml")
    assert found.returncode == 0, found.stdout
    (repository,) = yaml.safe_load(read(".pre-commit-config.yaml"))["repos"]
    checks = re.findall(r"^\.venv/bin/(?!pip).*$", CI, re.MULTILINE)
    assert [hook["entry"] for hook in repository["hooks"]] == checks
    assert not any(hook["pass_filenames"] for hook in repository["hooks"])
    assert len(checks) >= 3


def test_the_workflow_runs_what_there_is() -> None:
    jobs = yaml.safe_load(read(".github/workflows/ci.yml"))["jobs"]
    commands = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    assert ".ci/run" in commands
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111
    assert any(re.search(r"\.venv/bin/pre-commit run --all-files", command) for command in commands)


def test_words_of_the_task_runner() -> None:
    def planned(word: str) -> str:
        done = subprocess.run(["make", "-n", word], cwd=ROOT, capture_output=True, text=True, check=True)
        return done.stdout.strip().splitlines()[-1]

    assert planned("test") == '.venv/bin/python -m pytest -m "not framework and not browser"'
    assert planned("test-all") == ".venv/bin/python -m pytest"
    assert planned("docs") == ".venv/bin/mkdocs build --strict"
    contributing = read("CONTRIBUTING.md")
    words = re.findall(r"^make ([\w-]+)", contributing, re.MULTILINE)
    declared = re.search(r"^\.PHONY: (.*)$", read("Makefile"), re.MULTILINE)
    assert declared
    assert words == declared[1].split()


def test_contributing_maps_every_room_and_reads_in_ten_minutes() -> None:
    text = read("CONTRIBUTING.md")
    (drawn,) = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    rooms = [line[2:].split()[0] for line in drawn.splitlines()]
    assert rooms == [room for room in ROOMS if (ROOT / "benchmarker" / room).is_dir()]
    assert len(text.split()) <= 2000, "two hundred words a minute"


def test_versions_agree() -> None:
    citation = yaml.safe_load(read("CITATION.cff"))
    assert citation["version"] == __version__
    assert f"\n## [{__version__}]" in read("CHANGELOG.md")
    # One tag where the action is used, one where the template is.
    assert re.findall(r"\bv(\d+\.\d+\.\d+)\b", read("docs/gate.md")) == [__version__] * 2
    assert f"\nlicense_expression = {citation['license']}\n" in read("setup.cfg")
    assert f"\nurl = {citation['repository-code']}\n" in read("setup.cfg")


def test_addresses_are_of_the_project() -> None:
    (home,) = re.findall(r"^url = (.*)$", read("setup.cfg"), re.MULTILINE)
    for name in ("SECURITY.md", ".github/ISSUE_TEMPLATE/config.yml"):
        assert f"{home}/security/advisories/new" in read(name)
    owner = home.removeprefix("https://github.com/")
    assert f"uses: {owner}@" in read("docs/gate.md")
    assert f"githubusercontent.com/{owner}/" in read("docs/gate.md")


PICKLES = {"pickle", "cPickle", "cloudpickle", "dill", "joblib", "marshal", "shelve"}


def unpickling(nodes: Iterable[ast.AST]) -> list[int]:
    """Return the lines that may read a pickle."""
    found = []
    for node in nodes:
        if isinstance(node, ast.Import):
            names = {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names = {(node.module or "").partition(".")[0]}
        else:
            names = set()
        if names & PICKLES or (isinstance(node, ast.Call) and _loads_pickles(node)):
            found.append(getattr(node, "lineno", 0))
    return found


def _loads_pickles(call: ast.Call) -> bool:
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "load":
        return False
    function = ast.unparse(call.func)
    if function == "torch.load":
        return True
    refused = any(
        word.arg == "allow_pickle" and isinstance(word.value, ast.Constant) and word.value.value is False
        for word in call.keywords
    )
    return function in ("np.load", "numpy.load") and not refused


def test_no_module_reads_a_pickle() -> None:
    assert [f"{name_of(path)}: {lines}" for path in files() if (lines := unpickling(nodes_of(path)))] == []


@pytest.mark.parametrize(
    "source", ["import pickle", "from joblib import load", "np.load(path)", "torch.load(f)"]
)
def test_what_reads_a_pickle_is_found(source: str) -> None:
    assert unpickling(ast.walk(ast.parse(source))) == [1]
    assert unpickling(ast.walk(ast.parse("np.load(path, allow_pickle=False)"))) == []
