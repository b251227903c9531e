"""``report`` as a command: what it writes, says and refuses."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarker import load_results
from benchmarker.analysis.page import assets, make_page
from benchmarker.analysis.page.build import write_page
from benchmarker.errors import BenchmarkerError, UsageError
from tests.conftest import Command
from tests.support.records import make_record


@pytest.fixture
def results(command: Command) -> Path:
    """Two records, one damaged file, and one that is no record."""
    folder = command.folder / "results"
    (folder / "deeper").mkdir(parents=True)
    for name, record in (
        ("a.json", make_record(framework__name="pytorch")),
        ("deeper/b.json", make_record(framework__name="mxnet")),
    ):
        (folder / name).write_text(json.dumps(record))
    (folder / "damaged.json").write_text('{"schema_version": "1.3", ')
    return folder


def test_it_writes_the_page_and_says_where_and_how_large(command: Command, results: Path) -> None:
    done = command("report", "--results", str(results), "-o", "page.html", "--title", "Mine & <yours>")
    assert done.status == 0
    # Where it takes long, it says before what it is doing.
    told = done.stderr.splitlines()[-1]
    assert told.startswith(f"left out: {results / 'damaged.json'}: is not JSON")
    assert done.stderr.count("damaged.json") == 1
    assert done.stdout.startswith("page.html: 2 runs, ")
    assert "1 file left out and named in it" in done.stdout
    page = (command.folder / "page.html").read_text(encoding="utf-8")
    assert "<title>Mine &amp; &lt;yours&gt;</title>" in page
    assert "deeper/b.json" in page
    assert "damaged.json" in page
    assert str(results) not in page


def test_a_record_that_vanishes_meanwhile_is_named(results: Path) -> None:
    found = load_results(results)
    found.paths[0].unlink()
    page = make_page(found, files=["a.json", "b.json"])
    assert (page.runs, page.skipped) == (1, (("a.json", "it cannot be read any more"),))


def test_filters_choose_and_json_tells(command: Command, results: Path) -> None:
    done = command("report", "framework=mx*", "-o", "page.html", "--json")
    (told,) = done.records
    assert (told["page"], told["runs"]) == ("page.html", 1)
    assert told["bytes"] == (command.folder / "page.html").stat().st_size
    assert list(told["left_out"]) == ["damaged.json"]


def test_a_file_is_replaced_only_by_force(command: Command, results: Path) -> None:
    page = command.folder / "page.html"
    page.write_text("mine")
    done = command("report", "-o", "page.html")
    assert done.status == 2
    assert "'page.html' exists: --force replaces it" in done.stderr
    assert page.read_text() == "mine"
    assert command("report", "-o", "page.html", "--force").status == 0
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["framework=nothing", "-o", "page.html"], "a page needs at least one valid record"),
        (["-o", "."], "got the folder '.'"),
        (["-o", "nowhere/page.html"], "a page goes to a folder that exists"),
        (["--results", "nowhere", "-o", "page.html"], "got 'nowhere'"),
        (["frame=x", "-o", "page.html"], "'frame'"),
    ],
)
def test_what_cannot_be_is_one_sentence(
    command: Command, results: Path, arguments: list[str], told: str
) -> None:
    before = sorted(command.folder.rglob("*"))
    done = command("report", *arguments)
    assert done.status == 2
    assert told in done.stderr
    assert done.stderr.count("\n") == 1
    assert sorted(path for path in command.folder.rglob("*") if not _is_cache(path)) == [
        path for path in before if not _is_cache(path)
    ]


def _is_cache(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts[1:]) or path.suffix == ".pyc"


@pytest.mark.parametrize("place", ["/proc/page.html", "x" * 300])
def test_a_page_that_cannot_be_written_is_one_sentence(tmp_path: Path, place: str) -> None:
    with pytest.raises(UsageError, match="must go where it can be written"):
        write_page(tmp_path / place, "<!doctype html>", force=False)
    assert list(tmp_path.iterdir()) == []


def test_a_page_that_is_not_finished_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(UsageError, match="No space left on device"):
        write_page(tmp_path / "page.html", "<!doctype html>", force=False)
    assert list(tmp_path.iterdir()) == []


def test_a_title_that_is_no_utf8_is_written_all_the_same(tmp_path: Path) -> None:
    assert write_page(tmp_path / "page.html", "a \udcff b", force=False) == 5
    assert (tmp_path / "page.html").read_text() == "a ? b"


def test_a_picture_whose_plugin_fails_is_named_and_the_others_are_drawn(
    command: Command, results: Path, distribution: Callable[..., Path]
) -> None:
    source = (
        "from benchmarker.api import ChartKind\n"
        "KIND = ChartKind('torn', 'none', 'torn_chart:chart')\n"
        "def chart(records):\n    raise KeyError('<weight>')\n"
    )
    folder = distribution("torn", {"charts": ["torn = torn_chart:KIND"]}, {"torn_chart": source})
    done = command.with_path(folder)("report", "-o", "page.html", "--json")
    (told,) = done.records
    assert done.status == 0
    assert "frameworks" in told["pictures"]
    (sentence,) = told["broken"]
    assert "'torn' (torn_chart:KIND, from torn 1.0) failed in chart(): KeyError: '<weight>'" in sentence
    assert done.stderr.splitlines()[-1] == f"benchmarker: {sentence}"
    page = (command.folder / "page.html").read_text(encoding="utf-8")
    assert "failed in chart(): KeyError: &#39;&lt;weight&gt;&#39; (" in page


@pytest.mark.parametrize("package", ["jinja2", "plotly"])
def test_a_missing_library_is_named(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    assets.plotly_script.cache_clear()
    with pytest.raises(BenchmarkerError, match=rf"needs {package}.*pip install 'benchmarker-dl\[analysis\]'"):
        assets.plotly_script() if package == "plotly" else assets.render("page.html")
