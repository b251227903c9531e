"""The tutorials do what they say: each is followed from its first block to its last, in an empty folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import ROOT, Command
from tests.support.page_snippets import reader_environment, run_as_reader, snippets

DOCS = ROOT / "docs"
TUTORIALS = [DOCS / "start.md", *sorted((DOCS / "tutorials").glob("*.md"))]
INSTALLS = "python3 -m venv "
"""How a block begins that ``.ci/run`` runs (the README's lines)."""


@pytest.mark.timeout(900)
@pytest.mark.framework
@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_can_be_followed(page: Path, command: Command) -> None:
    found = [block for block in snippets(page.read_text()) if not block.text.startswith(INSTALLS)]
    assert any(block.language == "sh" for block in found)
    environment = reader_environment(command.environment, command.folder)
    for block in found:
        fault = run_as_reader(block, command.folder, environment)
        assert not fault, fault


def test_every_tutorial_is_followed() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text()
    for page in TUTORIALS:
        assert f": {page.relative_to(DOCS)}\n" in navigation


def test_a_block_that_goes_wrong_would_be_found(command: Command) -> None:
    blocks = [
        "```sh\ntrue\n```",
        "<!-- status 0 3 -->\n```sh\nexit 3\n```",
        "```sh\nexit 3\n```",
        "```python\n1 / 0\n```",
    ]
    page = "\n\n".join(blocks)
    environment = reader_environment(command.environment, command.folder)
    faults = [run_as_reader(block, command.folder, environment) for block in snippets(page)]
    assert faults[:2] == ["", ""]
    assert "ended with 3, not (0,)" in faults[2]
    assert "ZeroDivisionError" in faults[3]
