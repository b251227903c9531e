"""The structs are the one source: the published schema, the decoder and the words for faults all say what they say."""

import functools
import json
import pickle
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pytest
from jsonschema import Draft202012Validator

from benchmarker.analysis.results import columns
from benchmarker.records.migration import newest
from benchmarker.records.reading import read_record
from benchmarker.records.schema import decoding, load_schema, published, validate
from benchmarker.records.schema.__main__ import PUBLISHED, published_text
from benchmarker.records.schema.decoding import convert, decode
from benchmarker.records.schema.faults import find_faults
from benchmarker.records.schema.kinds import NonNegative, Number, members, since, unit
from benchmarker.records.schema.members import members_of, value_of
from benchmarker.records.schema.metrics import Metrics
from benchmarker.records.schema.record import Record
from benchmarker.records.schema.versions import NEWEST, VERSIONS
from tests.conftest import ROOT
from tests.support.records import make_failed_record, make_old_record, make_record

Steps = tuple[Any, ...]
KEPT = [ROOT / "tests" / "data" / "old_records", *(ROOT / "results").iterdir()]
VERSION = re.compile(rb'\{\s*"schema_version": "([^"]+)",')
OTHERS: tuple[Any, ...] = (None, True, 0, -1, 1.5, -0.5, "", "x", [], ["x"], [-1.0, 2], {}, {"name": "x"})


@pytest.fixture(scope="module", name="published_schema")
def made_validator() -> Any:
    return Draft202012Validator(load_schema())


def test_the_published_schema_is_that_of_the_structs() -> None:
    """``python -m benchmarker.records.schema`` writes it."""
    assert PUBLISHED.read_text(encoding="utf-8") == published_text()


def kept_records() -> list[Path]:
    """Return a kept record of each version and folder."""
    found: dict[tuple[str, Path], Path] = {}
    for folder in KEPT:
        for file in [folder] if folder.suffix == ".json" else sorted(folder.rglob("*.json")):
            version = version_of(file)
            found.setdefault((version, folder.parent), file)
            found[version, folder] = file
    return sorted(set(found.values()))


def version_of(file: Path) -> str:
    """Return the version that a record begins with, without the rest: there are many, and each process collects."""
    with file.open("rb") as stream:
        version = VERSION.match(stream.read(64))
    assert version, file
    return version[1].decode()


def test_kept_records_are_of_every_version_but_one() -> None:
    versions = {version_of(file) for file in kept_records()}
    assert versions >= {*VERSIONS[:-1]} - {"1.1"}


@pytest.mark.parametrize("file", kept_records(), ids=lambda file: file.name)
def test_a_kept_record_is_what_the_published_schema_says(file: Path, published_schema: Any) -> None:
    data = file.read_bytes()
    typed, record = decode(data), json.loads(data)
    assert typed is not None
    assert typed.schema_version == record["schema_version"]
    assert typed.timing.samples_seconds == record["timing"]["samples_seconds"]
    assert validate(record) == []
    assert [error.message for error in published_schema.iter_errors(record)] == []


@pytest.mark.parametrize("version", VERSIONS)
def test_a_record_of_every_version_is_migrated_and_read(version: str, published_schema: Any) -> None:
    record = make_old_record(version) if version < "1.2" else make_record(schema_version=version)
    assert [error.message for error in published_schema.iter_errors(record)] == []
    migrated = newest(record)
    typed = convert(migrated)
    assert typed is not None
    assert typed.schema_version == NEWEST
    assert [error.message for error in published_schema.iter_errors(migrated)] == []


def places(value: Any, steps: Steps = ()) -> Iterator[Steps]:
    """Yield where members are, and the last item of each list."""
    if isinstance(value, dict):
        for name, member in value.items():
            yield (*steps, name)
            yield from places(member, (*steps, name))
    elif isinstance(value, list) and value:
        yield (*steps, len(value) - 1)
        yield from places(value[-1], (*steps, len(value) - 1))


def changed(record: dict[str, Any], part: str | None) -> Iterator[dict[str, Any]]:
    """Yield a record with one thing (of a part) changed: a member gone, one more, another value in its place."""
    inside = [steps for steps in places(record) if part in (None, steps[0])]
    pickled = pickle.dumps(record)  # which is copied in a tenth of the time that deepcopy takes
    for number, steps in enumerate(inside):
        for other in ("gone", "more", OTHERS[number % len(OTHERS)], OTHERS[(3 * number + 5) % len(OTHERS)]):
            result = pickle.loads(pickled)
            parent = result
            for step in steps[:-1]:
                parent = parent[step]
            if other == "gone":
                del parent[steps[-1]]
            elif other == "more" and isinstance(parent, dict):
                parent["one_more"] = OTHERS[number % len(OTHERS)]
            else:
                parent[steps[-1]] = other
            yield result


def with_part(name: str) -> dict[str, Any]:
    """Return a made record with a part of a kept one."""
    files = sorted((ROOT / "results").rglob("*.json"), key=lambda file: file.stat().st_size)
    return make_record(**{name: next(record[name] for record in map(read_record, files) if record.get(name))})


TRANSFORMED = {
    "micro_batch": {"samples": 2, "parts": 2, "statistics": None},
    "fold_batch_norm": {"folded": 3},
    "memory": {"predicted_bytes": 10, "predicted_bytes_without": 20},
}
NODE = {
    "node": "conv1",
    "operator": "conv",
    "native": ["aten::conv2d"],
    "forward_seconds": 0.01,
    "backward_seconds": 0.02,
    "share": 0.5,
    "calls": 2.5,
}
PROFILE = {
    "source": "torch.profiler",
    "steps": 5,
    "step_seconds": 0.06,
    "slowdown": 1.2,
    "nodes": [NODE],
    "update_seconds": None,
    "unexplained_seconds": 0.03,
    "unexplained_share": 0.5,
    "reason": None,
    "trace": None,
}
IMPORTED = {
    "tool": "rysia",
    "form": "time",
    "file": "a.json",
    "digest": f"sha256:{64 * '0'}",
    "notes": ["an epoch is 1,000 samples"],
}
BASES: dict[str, Callable[[], dict[str, Any]]] = {
    "made": make_record,
    "failed": make_failed_record,
    "oldest": lambda: make_old_record("1.0"),
    "transformations": lambda: make_record(transformations=TRANSFORMED),
    "profile": lambda: make_record(profile=PROFILE),
    "imported": lambda: make_record(imported=IMPORTED),
    **{part: functools.partial(with_part, part) for part in ("operator", "learning")},
}


@pytest.mark.parametrize("base", BASES)
def test_the_decoder_refuses_what_the_published_schema_refuses(base: str, published_schema: Any) -> None:
    counts = {True: 0, False: 0}
    part = base if base in Record.__struct_fields__ else None
    for number, record in enumerate(changed(BASES[base](), part)):
        is_valid = not find_faults(record, load_schema())
        counts[is_valid] += 1
        assert (convert(record) is not None) is is_valid, find_faults(record, load_schema())
        assert (decode(msgspec.json.encode(record)) is not None) is is_valid
        if number % 100 == 0:
            assert published_schema.is_valid(record) is is_valid
    assert counts[False] > counts[True] > 0


def test_a_whole_number_may_be_written_as_a_fraction() -> None:
    """JSON Schema knows no difference; the decoder leaves such a record to what does."""
    record = make_record(batch_size=4.0)
    assert decode(json.dumps(record).encode()) is None
    assert validate(record) == []


def test_every_member_is_described() -> None:
    assert [f"{group.__name__}.{name}" for group in groups(Record) for name in undescribed(group)] == []


def groups(group: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct]]:
    yield group
    for member in members_of(group).values():
        for value in (member.value, member.value.items, member.value.others):
            if value and value.group:
                yield from groups(value.group)


def undescribed(group: type[msgspec.Struct]) -> list[str]:
    return [name for name, member in members_of(group).items() if not member.description.endswith(".")]


class MoreMetrics(Metrics, frozen=True, kw_only=True):
    tokens_per_second: Annotated[NonNegative | None, unit("tokens/s")] = since("1.4")
    """Tokens that a second has."""


class MoreRecord(Record, frozen=True, kw_only=True):
    metrics: Annotated[dict[str, Number | None], members(MoreMetrics)]


@pytest.fixture(name="planted")
def planted_metric(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A metric is one member of a struct, with its text."""
    caches = (columns.member_at, columns.field, columns.always, columns.place)
    monkeypatch.setattr(columns, "_RECORD", value_of(MoreRecord))
    monkeypatch.setattr(decoding, "Record", MoreRecord)
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


def test_a_new_metric_is_one_member_and_where_it_is_computed(planted: None) -> None:
    name = "metrics.tokens_per_second"
    assert columns.field(name) == columns.Field(columns.NUMBER, "tokens/s", "Tokens that a second has.")
    assert name in columns.always()
    assert published.json_schema_of(MoreRecord)["properties"]["metrics"]["properties"][
        "tokens_per_second"
    ] == {
        "description": "Tokens that a second has.",
        "type": ["number", "null"],
        "unit": "tokens/s",
        "minimum": 0,
    }
    record = make_record()
    assert convert(record) is None
    for value, is_right in ((2.5, True), (None, True), (-1.0, False), ("fast", False)):
        record["metrics"]["tokens_per_second"] = value
        assert (convert(record) is not None) is is_right
