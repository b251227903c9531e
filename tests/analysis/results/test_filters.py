"""What records are wanted: words, keywords, and what they let through."""

from __future__ import annotations

import json
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from benchmarker.analysis.results import Results
from benchmarker.analysis.results.collection import load_results
from benchmarker.analysis.results.filters import Range, Where, parse_filters
from benchmarker.errors import UsageError
from benchmarker.records.timestamps import as_written, beginning, end
from tests.support.records import make_failed_record, make_record


@pytest.fixture(name="results")
def made_results(tmp_path: Path) -> Results:
    """Records whose batch sizes name them: 1, 8, 64 and 128."""
    records = [
        make_record(
            batch_size=1,
            started_at="2025-03-01T00:00:00.000000Z",
            framework__version="1.10",
            problem__parameters={"image_size": 224, "shape": [2, 3]},
            environment__packages={"numpy": "1.26.4"},
        ),
        make_record(
            batch_size=8,
            started_at="2025-03-01T23:59:59.999999Z",
            framework__name="mxnet",
            problem__name="resnet50",
            framework__options={"fusion": True},
        ),
        make_record(
            batch_size=64,
            started_at="2025-03-02T00:00:00.000000Z",
            framework__name="chainer",
            problem__name="resnet101",
            problem__parameters={"image_size": "large"},
            platform__cpu={"model": "Über, 3*", "flags": []},
        ),
        make_failed_record(batch_size=128, started_at="2025-03-03T00:00:00.000000Z"),
    ]
    for record in records:
        (tmp_path / f"{record['batch_size']:03}.json").write_text(json.dumps(record))
    return load_results(tmp_path)


def found(results: Results, *words: str) -> list[int]:
    return [record["batch_size"] for record in results.filter(**parse_filters(words))]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], [1, 8, 64, 128]),
        (["framework=mxnet"], [8]),
        (["framework.name=mxnet"], [8]),
        (["framework__name=mxnet"], [8]),
        (["framework=mxnet,chainer"], [8, 64]),
        (["framework!=mxnet"], [1, 64, 128]),
        (["framework!=mxnet,chainer", "framework!=x"], [1, 128]),
        (["problem=resnet*"], [8, 64]),
        (["problem=resnet*", "problem!=resnet101"], [8]),
        (["problem=resnet?0"], [8]),
        (["problem=resnet5"], []),
        (["problem=RESNET50"], []),
        (["problem=resnet[15]*"], []),
        (["batch_size=8"], [8]),
        (["batch_size=8.0"], [8]),
        (["batch_size=8..64"], [8, 64]),
        (["batch_size=..8"], [1, 8]),
        (["batch_size=64.."], [64, 128]),
        (["batch_size=1,100..1e3"], [1, 128]),
        (["batch_size!=8..64"], [1, 128]),
        (["framework.version=1.10"], [1]),
        (["framework.version=1.1"], []),
        (["framework.version=null"], [128]),
        (["framework.version!=null"], [1, 8, 64]),
        (["status=ok"], [1, 8, 64]),
        (["trust=clean"], [1, 8, 64]),
        (["trust=null"], [128]),
        (["trust!=contaminated"], [1, 8, 64, 128]),
        (["error=null"], [1, 8, 64]),
        (["error!=null"], [128]),
        (["error.type=SIG*"], [128]),
        (["learning=null"], [1, 8, 64, 128]),
        (["learning!=null"], []),
        (["threads=1..1000"], [1, 8, 64, 128]),
        (["threads=null"], []),
        (["problem.parameters.image_size=224"], [1]),
        (["problem.parameters.image_size=large"], [64]),
        (["problem.parameters.image_size=null"], [8, 128]),
        (["problem.parameters.shape=2, 3"], []),  # the comma stands between alternatives
        (["problem.parameters.shape=2? 3"], [1]),
        (["problem.parameters.nothing=1"], []),
        (["framework.options.fusion=true"], [8]),
        (["framework.options.fusion=1"], []),
        (["timing.step_seconds.ci95.low=0..1"], [1, 8, 64]),
        (["platform.cpu.flags=*fma*"], [1, 8, 128]),
        (["platform.cpu.model=Über? 3?"], [64]),
        (["since=2025-03-02"], [64, 128]),
        (["until=2025-03-01"], [1, 8]),
        (["until=2025-03-02T00:00Z"], [1, 8]),
        (["since=2025-03-01T23:59:59.999999Z", "until=2025-03-02"], [8, 64]),
        (["since=2025-03-02T02:00+02:00"], [64, 128]),
        (["since=7d"], []),
        (["until=7d"], [1, 8, 64, 128]),
        (["started_at=2025-03-01*"], [1, 8]),
        # What is in the records and in no table.
        (["environment.packages.numpy=1.26*"], [1]),
        (["environment.packages.numpy=null"], [128]),
        (["error.log_tail=*fault"], [128]),
        (["verification.tensors.0.kind=output", "batch_size=..8"], [1, 8]),
        (["timing.samples_seconds=null"], [128]),
    ],
    ids=lambda value: " ".join(map(str, value)),
)
def test_words_let_records_through(results: Results, words: list[str], expected: list[int]) -> None:
    assert found(results, *words) == expected


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"framework": "m*"}, [8]),
        ({"framework": "mxnet,chainer"}, [8, 64]),
        ({"problem": "resnet*"}, [8, 64]),
        ({"batch_size": "8..64"}, [8, 64]),
        ({"batch_size": "1,100.."}, [1, 128]),
        ({"batch_size": ["1", "100.."]}, [1, 128]),
        ({"batch_size": range(8, 65)}, [8, 64]),
        ({"batch_size": [range(0, 100, 8), 1]}, [1, 8, 64]),
        ({"batch_size": Where(none_of=(8, Range(100, None)))}, [1, 64]),
        ({"platform__cpu__model": ["Über, 3?"]}, [64]),
        ({"framework__version": "null"}, [128]),
        ({"threads": "1.."}, [1, 8, 64, 128]),
        ({"framework": ["mxnet", "chainer"]}, [8, 64]),
        ({"batch_size": 8}, [8]),
        ({"batch_size": {8, 64}}, [8, 64]),
        ({"batch_size": Range(2, None)}, [8, 64, 128]),
        ({"framework__version": None}, [128]),
        ({"framework.version": ("1.10",)}, [1]),
        ({"problem__parameters__image_size": 224}, [1]),
        ({"framework__options__fusion": True}, [8]),
        ({"framework__options__fusion": 1}, []),
        ({"since": date(2025, 3, 2)}, [64, 128]),
        ({"until": date(2025, 3, 2)}, [1, 8, 64]),
        ({"since": datetime(2025, 3, 2)}, [64, 128]),
        ({"since": "2025-03-03"}, [128]),
        ({"started_at": datetime(2025, 3, 2, tzinfo=timezone.utc)}, [64]),
    ],
)
def test_keywords_let_records_through(results: Results, filters: dict[str, Any], expected: list[int]) -> None:
    assert [record["batch_size"] for record in results.filter(**filters)] == expected


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["framwork=x"], "a filter must name a field of a record, got 'framwork'; did you mean 'framework'"),
        (["sincee=7d"], "did you mean 'since'"),
        (["path=x"], "got 'path'"),
        (["self=x"], "got 'self'"),
        (["timing.step_second.median=1"], r"got 'step_second' \(in 'timing.step_second.median'\)"),
        (["framework"], "a filter must be KEY=VALUE or KEY!=VALUE, got 'framework'"),
        (["framework="], "KEY=VALUE"),
        (["=x"], "KEY=VALUE"),
        (["framework=a", "framework=b"], "with commas between alternatives; 'framework' is there twice"),
        (["since=yesterday"], "7d, 12h, 2026-11-01 or 2026-11-01T12:00Z, got 'yesterday'"),
        (["since=99999999999d"], "a point in time must be like"),
        (["since=999999w"], "a point in time must be like"),
        (["since!=7d"], "since=MOMENT"),
        (["until=7d", "until=8d"], "given once"),
        (
            ["status.ne=ok"],
            r"got 'status.ne', and 'status' has no 'ne'; what is not wanted is written status!=VALUE",
        ),
        (["batch_size.0=1"], "'batch_size' has no '0'"),
        (["status=okk"], "'status' must be one of ok, failed, .*, got 'okk'; did you mean 'ok'?"),
        (["trust!=cleen"], "'trust.grade' must be one of clean, .*, got 'cleen'; did you mean 'clean'?"),
        (["status=k*"], "'status' must be one of"),
        (
            ["verification=passed"],
            "'verification' is a group of them, .*name one in it, such as verification.status$",
        ),
        (["framework.options=fusion"], "such as framework.options.NAME"),
        (["batch_size=64..8"], "from the smaller number to the larger, got '64..8'"),
        (["batch_size=abc..2"], "'batch_size' is a number, .*8..64.*got 'abc..2'"),
        (["threads=many"], "'execution.threads' is a number"),
        (["seed=true"], "'seed' is a number, .*got 'true'"),
        (["framework.version=1..2"], "'framework.version' is not one, got '1..2'"),
        (["verification.passed=true"], "did you mean|known"),
    ],
)
def test_what_is_no_filter_is_refused_in_a_sentence(words: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_filters(words)


def test_keywords_are_checked_too(results: Results) -> None:
    with pytest.raises(UsageError, match="did you mean 'framework'"):
        results.filter(framwork="pytorch")
    with pytest.raises(UsageError, match="a point in time"):
        results.filter(since="soon")
    with pytest.raises(UsageError, match=r"status__ne|status=Where\(none_of"):
        results.filter(status__ne="ok")
    with pytest.raises(UsageError, match="did you mean 'clean'"):
        results.filter(trust=["cleen"])
    with pytest.raises(UsageError, match="must not be empty"):
        results.filter(batch_size=range(8, 8))


def test_a_group_without_columns_is_known_by_its_records(tmp_path: Path) -> None:
    curve = {"steps": [10], "seconds": [1.0], "losses": [2.0]}
    for name, learning in (("curve", curve), ("none", None)):
        (tmp_path / f"{name}.json").write_text(json.dumps(make_record(learning=learning)))
    results = load_results(tmp_path)
    assert [path.stem for path in results.filter(learning=None).paths] == ["none"]
    assert [path.stem for path in results.filter(**parse_filters(["learning!=null"])).paths] == ["curve"]
    assert [value is None for value in results.values("learning")] == [False, True]


def test_a_day_ends_when_the_next_begins() -> None:
    assert as_written(beginning("2026-11-01")) == "2026-11-01T00:00:00.000000Z"
    assert as_written(end("2026-11-01")) == "2026-11-02T00:00:00.000000Z"
    assert end("2026-11-01T12:00Z") == beginning("2026-11-01T12:00Z")


@pytest.mark.parametrize(
    ("text", "ago"),
    [
        ("30m", timedelta(minutes=30)),
        ("12h", timedelta(hours=12)),
        ("7d", timedelta(days=7)),
        ("2w", timedelta(days=14)),
    ],
)
def test_a_time_ago_counts_from_now(text: str, ago: timedelta) -> None:
    before = datetime.now(timezone.utc)
    moment = beginning(text)
    assert before - ago <= moment <= datetime.now(timezone.utc) - ago


def test_filtering_reads_no_record(results: Results) -> None:
    for path in results.paths:
        path.unlink()
    assert len(results.filter(framework="mxnet", since="2025-03-01")) == 1
    assert len(results.filter(framework="mxnet").to_frame()) == 1
