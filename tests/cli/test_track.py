"""``benchmarker track`` as a person calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarker.cli.main import main
from benchmarker.records.store import Store
from tests.analysis.history.test_history import measured, series
from tests.cli.test_compare import DISTURBED
from tests.support.records import make_failed_record


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a history of 24 days that changed once, and two points of another; the current one."""
    store = Store(tmp_path / "results")
    for day, seconds in enumerate(series((0.050, 0.055), 12, 0.005)):
        store.save(measured(day, seconds))
    store.save(measured(3, 0.2, framework__name="mxnet"))
    store.save(measured(4, 0.2, framework__name="mxnet"))
    store.save(make_failed_record())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_histories_are_shown_with_their_changes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["track"]) == 0
    out = capsys.readouterr().out
    assert "Level changed by +10" in out or "Level changed by +9" in out
    assert "at 2026-01-13 03:00" in out
    assert "Too few points" in out
    assert out.index("2026-01-01 03:00") < out.index("2026-01-24 03:00")
    assert max(map(len, out.splitlines())) <= 80


def test_filters_choose_the_records(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["track", "framework=mxnet", "since=2026-01-05", "--json"]) == 0
    (history,) = json.loads(capsys.readouterr().out)["histories"]
    assert history["framework"]["name"] == "mxnet"
    assert [point["time"] for point in history["points"]] == ["2026-01-05T03:00:00Z"]


def test_json_is_all_that_is_printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "results" / "torn.json").write_text('{"schema_version": "1.')
    assert main(["track", "--json", "--results=results"]) == 0
    printed = capsys.readouterr()
    assert [len(history["points"]) for history in json.loads(printed.out)["histories"]] == [24, 2]
    assert "torn.json" in printed.err


def test_disturbed_runs_count_where_that_is_asked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Store(folder / "results").save(measured(5, 0.4, framework__name="mxnet", **DISTURBED))
    assert main(["track", "framework=mxnet", "--json"]) == 0
    (history,) = json.loads(capsys.readouterr().out)["histories"]
    assert (len(history["points"]), history["left_out"]) == (2, 1)
    assert main(["track", "framework=mxnet", "--include-contaminated", "--json"]) == 0
    (history,) = json.loads(capsys.readouterr().out)["histories"]
    assert (len(history["points"]), history["left_out"]) == (3, 0)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["status=crashed"], "none of the 1 records asked for in 'results'"),
        (["framework=chainer"], "none of the 0 records"),
        (["nothing=1"], "nothing"),
        (["--results=nowhere"], "nowhere"),
    ],
)
def test_what_cannot_be_shown_is_said_in_a_sentence(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    assert main(["track", *words]) == 2
    printed = capsys.readouterr()
    assert said in printed.err
    assert printed.out == ""
    assert len(printed.err.splitlines()) == 1
