"""What tests of analyses share."""

from __future__ import annotations

import pytest

from tests.support.kept_records import Kept


@pytest.fixture(scope="package")
def kept() -> Kept:
    """The kept records, for tests of one group; they take a quarter of a gigabyte while these run."""
    return Kept()
