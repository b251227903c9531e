"""What pages and docstrings name is there: files and folders of this repository, dotted names, commands."""

from __future__ import annotations

import ast
import contextlib
import importlib
import io
import re
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest

from benchmarker.cli import main as cli
from tests.conftest import ROOT
from tests.support.package_sources import PACKAGE, SOURCES, files, name_of, nodes_of
from tests.support.page_snippets import commands_in, inline_commands, snippets

pytestmark = pytest.mark.xdist_group(SOURCES)

PAGES = sorted(
    path
    for pattern in (
        "*.md",
        "docs/**/*.md",
        "analysis/*.md",
        "examples/**/*.md",
        "benchmarker/**/*.md",
        "benchmarks/*.md",
    )
    for path in ROOT.glob(pattern)
    if path.name != "CHANGELOG.md"  # tells of names that were
)
"""The pages that tell how things are today."""
GENERATED = {
    ROOT / "docs" / "reference" / name
    for name in re.findall(r'"(\w+\.md)":', (ROOT / "docs" / "hooks" / "reference.py").read_text())
}
"""The pages that are made when the site is built (``tests/test_site.py``)."""
TOPS = {path.name for path in (*ROOT.iterdir(), *PACKAGE.iterdir()) if path.is_dir()}
MADE = ("results/", ".venv/", "build/")
"""Folders whose files a reader makes."""
DOTTED = re.compile(r"(?<![\w./\[])benchmarker(?:\.[A-Za-z_]\w*)+")
ROLE = re.compile(r":(?:mod|func|class|data|attr|meth|exc):`~?(benchmarker[\w.]*)`")


def entry_point_groups() -> set[str]:
    parser = ConfigParser()
    parser.read(ROOT / "setup.cfg")
    return {name for name in parser["options.entry_points"] if name.startswith("benchmarker.")}


def exists(path: str) -> bool:
    """Tell whether there is a file or folder of the repository or of the package: a module without its ending too."""
    pattern = re.sub(r"\b[A-Z]{3,}\b", "*", path.rstrip("/"))
    return any(
        any(top.glob(name)) for top in (ROOT, PACKAGE, ROOT / "tests") for name in (pattern, f"{pattern}.py")
    )


def paths_in(text: str) -> list[str]:
    """Return what stands between backticks, outside of code blocks, and reads like a path of this repository."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    words = [word.split(":")[0] for word in re.findall(r"`([\w./*{}-]+)`", prose)]
    return [
        word
        for word in dict.fromkeys(words)
        if not word.startswith(MADE)
        and (("/" in word and word.split("/")[0] in TOPS) or re.fullmatch(r"[a-z_]\w*\.py", word))
    ]


def is_there(path: str) -> bool:
    if "/" not in path:
        return path in EXAMPLES or path in NAMES
    return exists(path)


NAMES = {
    path.name
    for top in ("benchmarker", "tests", "benchmarks", "analysis", "examples")
    for path in (ROOT / top).rglob("*.py")
}
EXAMPLES = {"my_problem.py"}
"""Files that a reader is told to write."""


def resolves(name: str) -> bool:
    """Tell whether a dotted name is a module of the package, or an attribute or field in one."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError as error:
            if not (error.name or "").startswith("benchmarker"):
                raise
            continue
        return all(_has(parent, part) for parent, part in _steps(found, parts[length:]))
    return False


def _steps(found: Any, parts: list[str]) -> list[tuple[Any, str]]:
    steps = []
    for part in parts:
        steps.append((found, part))
        found = getattr(found, part, None)
    return steps


def _has(parent: Any, part: str) -> bool:
    # A field without a default is no attribute of its class.
    return hasattr(parent, part) or part in getattr(parent, "__annotations__", {})


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_paths_in_the_pages_exist(page: Path) -> None:
    missing = [path for path in paths_in(page.read_text()) if not is_there(path)]
    assert not missing, missing


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_dotted_names_in_the_pages_resolve(page: Path) -> None:
    # The first column of a table of what moved has names that were.
    text = re.sub(r"^\| `from benchmarker[^|]*\|", "|", page.read_text(), flags=re.MULTILINE)
    named = set(DOTTED.findall(text)) - entry_point_groups()
    assert sorted(name for name in named if not resolves(name)) == []


def test_the_changelog_says_where_things_are_now() -> None:
    rows = re.findall(
        r"^\| (`benchmarker.*) \| (`benchmarker.*) \|$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE
    )
    assert len(rows) > 8
    now = {name for _, new in rows for name in DOTTED.findall(new)}
    before = {name for old, _ in rows for name in DOTTED.findall(old)}
    assert sorted(name for name in now if not resolves(name)) == []
    assert sorted(name for name in before if name != "benchmarker.blueprint" and resolves(name)) == []


def test_dotted_names_in_docstrings_resolve() -> None:
    missing = {}
    seen = 0
    for path in files():
        constants = [node for node in nodes_of(path) if isinstance(node, ast.Constant)]
        texts = [node.value for node in constants if isinstance(node.value, str)]
        named = {name for text in texts for name in ROLE.findall(text)}
        seen += len(named)
        wrong = sorted(name for name in named if not resolves(name))
        if wrong:
            missing[name_of(path)] = wrong
    assert missing == {}
    assert seen > 20


def test_links_between_pages_lead_somewhere() -> None:
    missing = [
        (name_of(page), target)
        for page in PAGES
        for target in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text())
        if not (page.parent / target).exists() and (page.parent / target).resolve() not in GENERATED
    ]
    assert missing == []


def refusal(arguments: list[str]) -> str:
    """Return what the command line's parser says against arguments; nothing if it takes them."""
    is_run = not arguments or arguments[0].startswith("-") or arguments[0].endswith((".toml", ".py"))
    name, *rest = ["run", *arguments] if is_run else arguments
    if name not in cli.COMMANDS:
        return f"no command {name}"
    parser = cli._Parser(prog=name, allow_abbrev=False)
    cli.command_module(name).add_arguments(parser)
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        try:
            parser.parse_args(rest)
        except SystemExit as ended:
            return said.getvalue() if ended.code else ""
    return ""


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_in_the_pages_are_taken(page: Path) -> None:
    """What the tutorials run is run too, in ``tests/test_tutorials.py``."""
    text = page.read_text()
    blocks = [block.text for block in snippets(text) if block.language == "sh"]
    calls = [call for block in blocks for call in commands_in(block)]
    refused = {" ".join(call): refusal(call) for call in (*calls, *inline_commands(text))}
    assert {call: said for call, said in refused.items() if said} == {}


def test_a_command_that_is_not_taken_would_be_found() -> None:
    lines = (
        "ls && benchmarker --problem=gemm --frame=numpy  # so\nfor i in 1; do benchmarker lst; done > there\n"
    )
    first, second = commands_in(lines)
    assert "unknown option '--frame'" in refusal(first)
    assert refusal(second) == "no command lst"
    assert list(inline_commands("`benchmarker list` and `benchmarker list operators`")) == [
        ["list", "operators"]
    ]
    assert refusal(["list", "operators"]) == ""


def test_what_is_not_there_would_be_found() -> None:
    text = "`worker/nothing.py`, `records/`, `tests/data/no_such_folder`, `nothing_of_the_kind.py`, `plugins/NAME/`"
    found = paths_in(text)
    assert [path for path in found if not is_there(path)] == [
        "worker/nothing.py",
        "tests/data/no_such_folder",
        "nothing_of_the_kind.py",
    ]
    assert not resolves("benchmarker.experiment.spec.NoSuchThing")
    assert not resolves("benchmarker.report.page")
    assert resolves("benchmarker.experiment.spec.RunSpec.framework")
