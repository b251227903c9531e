"""What tests of analysis share: the records that the repository keeps, and no knowledge of this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarker.analysis.comparison import resolution
from benchmarker.cache import home
from tests.conftest import CACHE_HOME
from tests.support.kept_records import Kept


@pytest.fixture(scope="package")
def kept() -> Kept:
    """The kept records, for tests of one group; they take a quarter of a gigabyte while these run."""
    return Kept()


@pytest.fixture(autouse=True)
def nothing_resolved(monkeypatch: pytest.MonkeyPatch, session_folder: Path) -> None:
    """Leave out what ``compare --aa`` has kept for the user: it may be of the machine of the kept records."""
    usual, nothing = resolution.folder, session_folder / "nothing-resolved"
    monkeypatch.setattr(resolution, "folder", lambda: nothing if home() == CACHE_HOME else usual())
