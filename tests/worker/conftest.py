"""What tests of workers share that run in this process."""

from __future__ import annotations

import pytest

from benchmarker.worker.measurement import speed_probe


@pytest.fixture(autouse=True)
def little_memory_to_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have runs find the machine's speed in a tenth of the time, which is more than most of them take themselves."""
    monkeypatch.setattr(speed_probe, "MEMORY_BYTES", 1 << 18)
