"""The documentation's site: builds without a warning, loads nothing from elsewhere, has what the code has."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest
from playwright.sync_api import Browser

import benchmarker
import benchmarker.api
from benchmarker import registry
from benchmarker.cli.main import COMMANDS
from benchmarker.experiment.options import OPTIONS
from benchmarker.graph.operators import OPERATORS
from benchmarker.records.schema.members import members_of
from benchmarker.records.schema.record import Record
from tests.conftest import ROOT

NAVIGATION = (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2]


def build(folder: Path, configuration: Path = ROOT / "mkdocs.yml") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(configuration), "-d", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    finished = build(folder)
    assert finished.returncode == 0, finished.stderr
    return folder


def text_of(page: Path) -> str:
    return unescape(re.sub(r"<[^>]+>", "", page.read_text(encoding="utf-8")))


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    loaded = re.compile(
        r"<(?:script|img|iframe|source)[^>]*\ssrc=\"?(?:https?:)?//|<link[^>]*href=\"?(?:https?:)?//"
    )
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 20
    assert [page.name for page in pages if loaded.search(page.read_text(encoding="utf-8"))] == []
    sheets = [sheet.read_text(encoding="utf-8") for sheet in site.rglob("*.css")]
    assert sheets
    assert [
        found for sheet in sheets for found in re.findall(r"(?:url\(|@import )[\"']?https?://\S+", sheet)
    ] == []


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("commands", [f"usage: benchmarker {name}" for name in COMMANDS]),
        ("options", [option.flag for option in OPTIONS.values()]),
        ("record", [*members_of(Record), "timing.step_seconds.median", "platform.cpu"]),
        ("operators", list(OPERATORS)),
        ("problems", list(registry.names("problems", ours=True))),
        ("plugins", list(registry.names("schemes", ours=True))),
        ("python", [name for name in benchmarker.__all__ if not name.startswith("_")]),
        ("api", benchmarker.api.__all__),
    ],
)
def test_the_reference_has_what_the_code_has(site: Path, page: str, names: list[str]) -> None:
    text = text_of(site / "reference" / f"{page}.html")
    assert names
    assert [name for name in names if name not in text] == []


def test_the_reference_tells_units(site: Path) -> None:
    html = (site / "reference" / "record.html").read_text(encoding="utf-8")
    row = re.search(r"<td><code>timing.step_seconds.median</code>.*?</tr>", html, re.DOTALL)
    assert row is not None
    assert "<td>s</td>" in row[0]


def test_every_kept_page_is_in_the_navigation() -> None:
    kept = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    assert sorted(page for page in kept if f": {page}\n" not in NAVIGATION) == []


def test_a_link_that_leads_nowhere_fails_the_build(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "index.md").write_text("# Home\n\n[nowhere](nowhere.md)\n")
    (tmp_path / "mkdocs.yml").write_text("site_name: planted\n")
    finished = build(tmp_path / "site", tmp_path / "mkdocs.yml")
    assert finished.returncode != 0
    assert "nowhere.md" in finished.stderr


def test_search_works_in_a_page_opened_as_a_file(site: Path, browser: Browser) -> None:
    page = browser.new_page()
    page.goto((site / "index.html").as_uri())
    page.locator("[data-md-component=search-query]").click()
    page.keyboard.type("autocorrelation", delay=20)
    found = page.locator(".md-search-result__link[href*='results.html']").first
    found.wait_for(state="visible")
    assert found.is_visible()
    page.close()
