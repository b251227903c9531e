"""What tests of workers share that run in this process."""

from __future__ import annotations

import functools

import pytest

from benchmarker.worker import facts
from benchmarker.worker.measurement import speed_probe

installed_packages = functools.cache(facts.packages)


@pytest.fixture(autouse=True)
def little_memory_to_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have runs find the machine's speed in a tenth of the time, which is more than most of them take themselves."""
    monkeypatch.setattr(speed_probe, "MEMORY_BYTES", 1 << 18)


@pytest.fixture(autouse=True)
def packages_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have what is installed, which is the same in each test, be read from the disk for the first run alone."""
    monkeypatch.setattr(facts, "packages", installed_packages)
