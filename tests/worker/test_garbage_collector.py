"""``--gc``: Python's garbage collector in the timed part, from the option to the worker and into the record."""

from __future__ import annotations

import gc
import json
from pathlib import Path

import pytest

from benchmarker.records.keys import differences
from benchmarker.worker.measurement.sampling import garbage_collector
from tests.conftest import Command
from tests.support.timed_frameworks import with_clockwork

WARM_UP, STEPS = 2, 20


def test_it_is_off_inside_alone() -> None:
    with garbage_collector("off"):
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(RuntimeError), garbage_collector("off"):
        raise RuntimeError
    assert gc.isenabled()
    frozen, new = gc.get_freeze_count(), [list[int]() for _ in range(100)]
    with garbage_collector("on"):
        assert gc.isenabled()
        assert gc.get_freeze_count() >= frozen + len(new)


@pytest.mark.framework("numpy")
def test_it_is_off_among_the_timed_steps_alone_and_its_record_says_so(
    command: Command, tmp_path: Path
) -> None:
    finished = with_clockwork(command, tmp_path)(
        "--framework=clockwork", "--problem=mnist_mlp", "--mode=inference", "--batch-size=2", "--threads=1",
        f"--warmup={WARM_UP}", f"--steps={STEPS}", "--gc=on,off", "--no-verify", "--json",
    )  # fmt: skip
    records = {record["specification"]["garbage_collector"]: record for record in finished.records}
    collected = {state: json.loads(r["framework"]["libraries"]["collected"]) for state, r in records.items()}
    before = 1 + WARM_UP
    assert all(collected["on"])
    assert collected["off"][:before] == [True] * before
    assert collected["off"][before : before + STEPS] == [False] * STEPS
    assert all(collected["off"][before + STEPS :])
    found = differences(records["on"]["comparable"], records["off"]["comparable"])
    assert found == {"garbage_collector": (None, "off")}
    assert "--gc=off" in records["off"]["command"]
    assert not any(part.startswith("--gc") for part in records["on"]["command"])
