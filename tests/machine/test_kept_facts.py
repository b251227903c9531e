"""Facts that earlier commands have kept: whatever is in their files, a command does without them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from benchmarker.analysis.comparison.resolution import Resolution, resolution_for
from benchmarker.analysis.comparison.resolution import keep as keep_resolution
from benchmarker.machine.peaks import Calibration, Machine, keep, peaks_for
from benchmarker.machine.speed import best_so_far
from benchmarker.records.keys import machine_name
from tests.support.records import make_record

HERE = Machine("A processor", 8, 32)
FOUND = {"kernel": "known work", "arithmetic_seconds": 1e-5, "memory_seconds": 1e-3}
CALIBRATION = Calibration(
    HERE, "cpu", "numpy", "2.0", 4, "fp32", 1e11, 2048, 2e10, 1 << 28, "clean", (), "2026-01-01T00:00:00Z"
)
RESOLUTION = Resolution(
    machine_name(make_record()), "work", "numpy", "mlp", 9, 0.01, 0.0, "equal", "2026-01-01T00:00:00Z"
)


def best(folder: Path) -> Any:
    return best_so_far(FOUND, {}, folder)


def peaks(folder: Path) -> Any:
    return peaks_for("cpu", 4, "fp32", machine=HERE, where=folder)


def resolution(folder: Path) -> Any:
    return resolution_for(make_record(), folder)


READERS: dict[str, tuple[Callable[[Path], Any], Callable[[Path], object]]] = {
    "speed": (best, best),
    "peaks": (peaks, lambda folder: keep(CALIBRATION, folder)),
    "resolution": (resolution, lambda folder: keep_resolution(RESOLUTION, folder)),
}
ODD = [
    "",
    "[]",
    "null",
    "5",
    "[" * 100_000,
    "9" * 5000,
    "\ufeff{}",
    '{"machine": 5, "arithmetic_seconds": []}',
]
VALUES = ['"text"', "null", "[]", "{}", "true", "-1", "0", "1e400", "-1e400", "NaN", "9" * 400, '"\\ud800"']


@pytest.mark.parametrize("reader", READERS)
def test_what_is_something_else_counts_as_nothing(reader: str, tmp_path: Path) -> None:
    read, make = READERS[reader]
    for number, text in enumerate(ODD):
        folder = tmp_path / str(number)
        make(folder)
        (path,) = folder.iterdir()
        path.write_text(text, encoding="utf-8")
        assert read(folder) is None, text[:40]
    os.mkfifo(tmp_path / "0" / "pipe.json")
    os.mkfifo(tmp_path / "0" / "\udc80.json")
    read(tmp_path / "0")


@pytest.mark.parametrize("reader", READERS)
def test_no_value_of_a_member_ends_a_command(reader: str, tmp_path: Path) -> None:
    read, make = READERS[reader]
    make(tmp_path)
    assert read(tmp_path) is not None
    (path,) = tmp_path.iterdir()
    whole = json.loads(path.read_text())
    for name in whole:
        for value in VALUES:
            members = {**whole, name: "HERE"}
            path.write_text(json.dumps(members).replace('"HERE"', value))
            found = read(tmp_path)
            if found is not None:
                json.dumps(asdict(found), allow_nan=reader == "resolution")
