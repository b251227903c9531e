"""The stages of a run: announced, timed apart, and added up where one comes twice."""

from __future__ import annotations

import time
from typing import Any

import pytest

from benchmarker.worker.stages import Stages


class Channel:
    def __init__(self) -> None:
        self.sent: list[Any] = []

    def send(self, event: str, **fields: Any) -> None:
        self.sent.append((event, fields))


def test_a_stage_that_comes_twice_is_added_up() -> None:
    channel = Channel()
    stages = Stages(channel)  # type: ignore[arg-type]
    for name in ("verify", "compile", "verify"):
        with stages.stage(name):
            time.sleep(0.02)
    assert stages.seconds["verify"] >= 0.04
    assert stages.seconds["compile"] >= 0.02
    assert channel.sent == [("stage", {"name": name}) for name in ("verify", "compile", "verify")]


def test_what_fails_is_the_current_stage_and_has_no_time() -> None:
    stages = Stages(Channel())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no"), stages.stage("build"):
        raise ValueError("no")
    assert stages.current == "build"
    assert "build" not in stages.seconds
