"""The script that looks at a GPU: a dry run without one, and parts that hang, crash or answer nonsense."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from benchmarker.records.schema import validate
from tests.conftest import ROOT

BENCHMARKS = ROOT / "benchmarks"


@pytest.fixture
def readiness(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    yield importlib.import_module("gpu_readiness")
    sys.modules.pop("gpu_readiness", None)


@pytest.mark.framework("numpy")
def test_a_dry_run_leaves_records_and_a_page(tmp_path: Path) -> None:
    asked = ("--device=cpu", "--quick", "--frameworks=numpy,nothing", f"--out={tmp_path}")
    only = "--only=fp32,bf16,profiler,energy,events,memory"
    script = str(BENCHMARKS / "gpu_readiness.py")
    done = subprocess.run([sys.executable, script, *asked, only], capture_output=True, text=True, check=False)
    page = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert done.returncode == 0, page
    assert done.stdout == page
    found = dict(line.split(" | ")[:2] for line in page.splitlines() if line.startswith("| numpy"))
    assert found == {
        "| numpy: product, fp32": "passed",
        "| numpy: product, bf16": "skipped",
        "| numpy: profiler": "passed",
        "| numpy: energy": found["| numpy: energy"],
        "| numpy: device events": "skipped",
        "| numpy: out of memory": "passed",
    }
    assert "framework 'numpy' has no bf16 on cpu" in page
    assert "| nothing: profiler | skipped | 0.0 | this interpreter has no nothing |" in page
    assert "A dry run without a GPU: it says nothing of one." in page
    records = [json.loads(path.read_text()) for path in (tmp_path / "results").glob("*.json")]
    assert sorted(record["status"] for record in records) == ["ok", "ok", "out_of_memory"]
    assert [validate(record) for record in records] == [[]] * 3


def script(folder: Path, name: str, text: str) -> tuple[str, ...]:
    (folder / name).write_text(text, encoding="utf-8")
    return (str(folder / name),)


def test_a_part_that_hangs_crashes_or_answers_nonsense_ends_itself_alone(
    readiness: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [
        (
            "hangs",
            script(tmp_path, "hangs.py", "import time\nprint('begun', flush=True)\ntime.sleep(600)"),
            1.0,
        ),
        ("crashes", script(tmp_path, "crashes.py", "import os\nos.abort()"), 60.0),
        ("nonsense", script(tmp_path, "nonsense.py", "print('{\"schema_version\": 1}')"), 60.0),
        ("right", script(tmp_path, "right.py", "print('all well')"), 60.0),
    ]

    def parts(asked: Any) -> Iterator[Any]:
        for name, command, limit in made:
            judge = readiness.by_status if name != "nonsense" else readiness.verified
            yield readiness.Part(f"numpy: {name}", command, limit, judge)

    monkeypatch.setattr(readiness, "parts", parts)
    asked = readiness.Asked("cpu", True, ("numpy",), tmp_path)
    found = {part.name: outcome for part, outcome, _ in readiness.outcomes(asked, 600.0, ())}
    assert [outcome.status for outcome in found.values()] == ["failed", "failed", "failed", "passed"]
    assert found["numpy: hangs"].text == "ended after 1 s, its limit: begun"
    assert "ended with status -6" in found["numpy: crashes"].text
    assert found["numpy: nonsense"].text.startswith("its answer could not be read (KeyError: 'status')")
    late = [(outcome.status, outcome.text) for _, outcome, _ in readiness.outcomes(asked, 0.5, ("right",))]
    assert late == [("skipped", "the 0.5 s of all parts were over")]


def test_what_is_not_as_it_should_be_fails(readiness: ModuleType) -> None:
    def finished(**changes: Any) -> Any:
        record = {
            "schema_version": "1.9",
            "status": "ok",
            "error": None,
            "verification": {"status": "passed", "reason": None},
            "timing": {"device_event_seconds": [0.5], "total_seconds": 1.0},
            **changes,
        }
        return readiness.Finished(0, json.dumps(record), "", 1.0)

    def events(found: Any) -> str:
        return str(readiness.verified(found, also=readiness.with_events).status)

    assert events(finished()) == "passed"
    assert events(finished(timing={"device_event_seconds": [2.0], "total_seconds": 1.0})) == "failed"
    assert events(finished(timing={"device_event_seconds": None, "total_seconds": 1.0})) == "skipped"
    assert events(finished(verification={"status": "failed", "reason": "wrong"})) == "failed"
    assert events(finished(status="crashed", error={"type": "Crash", "message": "gone"})) == "failed"
    assert readiness.out_of_memory(finished()).status == "failed"
    assert (
        readiness.out_of_memory(finished(status="out_of_memory", error={"message": "full"})).status
        == "passed"
    )
    assert readiness.by_status(readiness.Finished(1, "", "not well", 1.0)).text == "not well"
