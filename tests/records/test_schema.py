from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from benchmarker.cli.validate import add_arguments, main
from benchmarker.errors import UsageError
from benchmarker.records import schema
from benchmarker.records.schema import Fault, load_schema, validate
from benchmarker.records.store import Store
from tests.support.records import PRESSURE, SAMPLES, make_failed_record, make_old_record, make_record, set_at

STATUSES = ("failed", "crashed", "out_of_memory", "timeout", "interrupted")

# Others read these names; they never change.
FIXED = {
    "": (
        "schema_version",
        "id",
        "status",
        "error",
        "started_at",
        "mode",
        "batch_size",
        "precision",
        "seed",
        "command",
        "benchmarker_version",
    ),
    "framework": ("name", "version", "full"),
    "problem": ("name", "parameters", "parameter_count", "flops_per_step", "task"),
    "device": ("type", "name", "count"),
    "platform": ("host", "cpu", "gpus", "memory", "os"),
    "environment": ("python", "packages"),
    "digests": ("parameters", "batch"),
    "timing": ("import_seconds", "build_seconds", "compile_seconds", "warmup_seconds", "samples_seconds"),
    "timing.step_seconds": ("median", "ci95", "mean", "std", "min", "max", "p5", "p95", "p99"),
    "metrics": ("throughput",),
    "verification": ("status", "reference", "tensors"),
}


def fields(node: dict[str, Any], path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, child in node.get("properties", {}).items():
        yield f"{path}.{name}".lstrip("."), child
        yield from fields(child, f"{path}.{name}")


def test_the_schema_is_valid_json_schema() -> None:
    Draft202012Validator.check_schema(load_schema())
    assert load_schema()["$schema"] == "https://json-schema.org/draft/2020-12/schema"


@pytest.mark.parametrize("group", FIXED)
def test_fixed_names_are_in_the_schema(group: str) -> None:
    assert {f"{group}.{name}".lstrip(".") for name in FIXED[group]} <= dict(fields(load_schema(), "")).keys()


def test_every_field_is_described_with_its_unit() -> None:
    units = {"_seconds": "second", "_bytes": "bytes", "bytes_": "bytes"}
    for path, node in fields(load_schema(), ""):
        assert node["description"].endswith("."), path
        for mark, unit in units.items():
            if mark in path.rpartition(".")[2] and "object" not in node["type"]:
                assert unit in node["description"].lower(), path


def test_objects_of_ours_are_closed() -> None:
    groups = {
        path: node
        for path, node in [("", load_schema()), *fields(load_schema(), "")]
        if "properties" in node and path not in ("platform", "metrics")
    }
    assert len(groups) > 30
    assert [path for path, node in groups.items() if node["additionalProperties"] is not False] == []


def test_versions_of_the_schema_and_its_history_agree() -> None:
    history = resources.files(schema).joinpath("README.md").read_text(encoding="utf-8")
    versions = load_schema()["properties"]["schema_version"]["enum"]
    assert versions[-1] == schema.NEWEST
    assert all(f"\n| {version} |" in history for version in versions)


def test_a_good_record_has_no_fault() -> None:
    assert validate(make_record()) == []


def test_a_base_record_knows_everything() -> None:
    """What the tests change one thing of has every member of the schema, but for what cannot stand together."""
    absent = {
        "execution.shared.",
        "imported",
        "inputs.data.",
        "learning.",
        "operator.",
        "profile.",
        "transformations.",
        "training.",
        "distributed.",
        "metrics.algorithmic_bandwidth",
        "metrics.bus_bandwidth",
        "metrics.one_way_seconds",
        "metrics.time_to_first_token",
        "metrics.time_per_output_token",
        "metrics.tokens_per_second",
        "metrics.single_stream_latency",
        "metrics.latency_bounded_throughput",
        "timing.generation",
        "timing.scenario",
        "verification.quantization",
        "acceptance.",
        "timing.step_seconds.ci95_coverage",
        "platform.",
        "environment.container",
        "error.",
        "optimizer.",
    }
    record = make_record()
    missing = [path for path, _ in fields(load_schema(), "") if not has(record, path)]
    assert [path for path in missing if not path.startswith(tuple(absent))] == []


def has(record: dict[str, Any], path: str) -> bool:
    value: Any = record
    for name in path.split("."):
        if not isinstance(value, dict) or name not in value:
            return False
        value = value[name]
    return True


OLD = ("1.0", "1.1")


@pytest.mark.parametrize("version", OLD)
def test_a_record_of_an_earlier_release_stays_valid(version: str) -> None:
    record = make_old_record(version)
    assert validate(record) == []
    assert ("specification" in record) is (version == "1.1")
    assert "trust" not in record
    # Its 99th percentile, which sixty samples do not bound, was stated then.
    assert record["timing"]["step_seconds"]["p99"] is not None


@pytest.mark.parametrize("version", OLD)
def test_a_record_of_an_earlier_release_is_held_to_its_own_statistics(version: str) -> None:
    record = make_old_record(version)
    record["timing"]["step_seconds"]["p99"] = None
    record["metrics"]["throughput"] *= 2
    assert [fault.path for fault in validate(record)] == [
        "$.timing.step_seconds.p99",
        "$.metrics.throughput",
    ]


def test_a_record_of_today_needs_what_earlier_ones_lack() -> None:
    found = {fault.path for fault in validate({**make_old_record("1.1"), "schema_version": "1.2"})}
    assert {"$.trust", "$.timing.steady_state", "$.timing.step_seconds.ci95_method"} <= found


@pytest.mark.parametrize("status", STATUSES)
def test_a_run_that_knows_nothing_has_no_fault(status: str) -> None:
    assert validate(make_failed_record(status)) == []


def test_free_maps_take_anything() -> None:
    record = make_record()
    record["platform"]["third_party"] = [1, {"deep": [None, "x"]}]
    record["metrics"]["energy_joules"] = 12.5
    record["problem"]["parameters"]["image_size"] = [64, 64]
    assert validate(record) == []


def test_names_that_are_no_unicode_are_looked_at_too() -> None:
    """An environment variable may be called anything."""
    record = make_record()
    record["execution"]["environment_variables"]["TF_\udcff"] = "1"
    assert validate(record) == []
    record["\udcff"] = 1
    assert [fault.message for fault in validate(record)] == ["is not a field of a record"]


@pytest.mark.parametrize(
    ("value", "said"),
    [({1, 2}, "must be JSON, got {1, 2}"), ({3: 1}, "must have names that are texts, got 3")],
)
def test_what_json_has_not_is_no_traceback(value: Any, said: str) -> None:
    assert validate(make_record(metrics__note=value)) == [Fault("$.metrics.note", said)]


def remove(path: str) -> Callable[[dict[str, Any]], None]:
    def change(record: dict[str, Any]) -> None:
        *parents, last = path.split(".")
        for name in parents:
            record = record[name]
        del record[last]

    return change


def put(path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    return lambda record: set_at(record, path, value)


def put_sample(value: Any) -> Callable[[dict[str, Any]], None]:
    return lambda record: record["timing"]["samples_seconds"].__setitem__(3, value)


@pytest.mark.parametrize(
    ("change", "path", "message"),
    [
        (put_sample("fast"), "$.timing.samples_seconds[3]", 'must be a number, got "fast"'),
        (put_sample(None), "$.timing.samples_seconds[3]", "must be a number, got null"),
        (put_sample(True), "$.timing.samples_seconds[3]", "must be a number, got true"),
        (put_sample(-1.0), "$.timing.samples_seconds[3]", "must be at least 0, got -1.0"),
        (put_sample(math.nan), "$.timing.samples_seconds[3]", "must be a finite number"),
        (put("metrics.loss_last", math.inf), "$.metrics.loss_last", "must be a finite number"),
        (put("metrics.loss_last", 10**400), "$.metrics.loss_last", "must be a finite number"),
        (put("status", "fine"), "$.status", 'must be one of "ok", "failed"'),
        (put("batch_size", 0), "$.batch_size", "must be at least 1, got 0"),
        (put("batch_size", 4.5), "$.batch_size", "must be a whole number, got 4.5"),
        (put("command", []), "$.command", "must have at least 1 item(s), got []"),
        (put("started_at", "yesterday"), "$.started_at", "must match"),
        (put("digests.batch", "sha256:xyz"), "$.digests.batch", "must match"),
        (put("timing.step_second", 1), "$.timing.step_second", "did you mean 'step_seconds'?"),
        (put("metrics.note", "good"), "$.metrics.note", 'must be a number or null, got "good"'),
        (put("environment.packages", {"a b": 1}), '$.environment.packages["a b"]', "must be a text or null"),
        (
            put("timing.step_seconds.ci95", [1.0]),
            "$.timing.step_seconds.ci95",
            "must have at least 2 item(s)",
        ),
        (put("timing.step_seconds.ci95_level", "all"), "$.timing.step_seconds.ci95_level", "must be 'within"),
        (put("execution.timeout_seconds", 0), "$.execution.timeout_seconds", "must be more than 0"),
        (remove("digests.batch"), "$.digests.batch", "is missing"),
        (remove("schema_version"), "$.schema_version", "is missing"),
        (put("schema_version", "1.99"), "$.schema_version", f"newer than '{schema.NEWEST}'"),
        (put("schema_version", "2.0"), "$.schema_version", "update benchmarker"),
        (put("schema_version", "0.9"), "$.schema_version", "never existed"),
        (put("schema_version", 1), "$.schema_version", f"must be a text like '{schema.NEWEST}', got 1"),
    ],
)
def test_a_fault_is_named_with_its_path(
    change: Callable[[dict[str, Any]], None], path: str, message: str
) -> None:
    record = make_record()
    change(record)
    faults = validate(record)
    assert [fault.path for fault in faults] == [path]
    assert message in faults[0].message


def test_each_missing_field_is_named_once() -> None:
    record = make_record()
    del record["digests"]["batch"], record["digests"]["parameters"]
    assert [str(f) for f in validate(record)] == [
        "$.digests.parameters is missing",
        "$.digests.batch is missing",
    ]


@pytest.mark.parametrize(
    ("change", "path"),
    [
        (put("status", "failed"), "$.error"),
        (put("error", {"stage": None, "type": None, "message": "x", "log_tail": None}), "$.error"),
        (put("digests.batch", None), "$.digests.batch"),
        (put("framework.version", None), "$.framework.version"),
        (put("metrics.throughput", None), "$.metrics.throughput"),
        (put("mode", "training"), "$.optimizer"),
        (put("ended_at", "2025-03-01T11:59:59.000000Z"), "$.ended_at"),
        (put("ended_at", "2025-02-30T11:59:59.000000Z"), "$.ended_at"),
        (put("timing.step_seconds", None), "$.timing.step_seconds"),
        (put("timing.step_seconds.count", 9), "$.timing.step_seconds.count"),
        (put("timing.step_seconds.p95", 0.0508), "$.timing.step_seconds.p95"),
        (put("timing.step_seconds.median", 0.0519), "$.timing.step_seconds.median"),
        (put("timing.step_seconds.std", None), "$.timing.step_seconds.std"),
        (put("timing.step_seconds.mean", 0.0513), "$.timing.step_seconds.mean"),
        (put("timing.step_seconds.ci95", [0.052, 0.053]), "$.timing.step_seconds.ci95"),
        (put("timing.step_seconds.ci95_reason", "none"), "$.timing.step_seconds.ci95_reason"),
        (put("metrics.throughput", 78.0), "$.metrics.throughput"),
        (put("verification.status", "failed"), "$.verification.status"),
        (put("verification.status", "skipped"), "$.verification.reason"),
        (put("verification.status", "inconclusive"), "$.verification.reason"),
        (put("verification.tensors", []), "$.verification.tensors"),
        (put("collectors.cpu.status", "failed"), "$.collectors.cpu.reason"),
        (put("collectors.my-own", {"status": "ok", "reason": None}), '$.platform["my-own"]'),
    ],
)
def test_fields_that_contradict_each_other_are_found(
    change: Callable[[dict[str, Any]], None], path: str
) -> None:
    record = make_record()
    change(record)
    assert path in [fault.path for fault in validate(record)]


def test_a_run_that_ended_well_has_samples() -> None:
    record = make_record()
    record["timing"].update(samples_seconds=[], step_seconds=None)
    assert "$.timing.samples_seconds" in [fault.path for fault in validate(record)]


def test_total_time_holds_the_samples() -> None:
    record = make_record()
    record["timing"]["total_seconds"] *= 0.9
    record["metrics"]["throughput"] /= 0.9
    assert [fault.path for fault in validate(record)] == ["$.timing.total_seconds"]


def test_statistics_are_of_the_steady_part() -> None:
    slow = (0.2,) * 10 + SAMPLES
    segments = [
        {"start": 0, "end": 10, "median_seconds": 0.2},
        {"start": 10, "end": 70, "median_seconds": 0.051615},
    ]
    steady = {"kind": "warmup", "start": 10, "segments": segments, "reason": "slower at first"}
    record = make_record(slow, timing__steady_state=steady)
    assert validate(record) == []
    assert record["timing"]["step_seconds"]["count"] == 60
    assert record["timing"]["step_seconds"]["max"] == max(SAMPLES)
    record["timing"]["steady_state"]["start"] = 0
    assert [fault.path for fault in validate(record)] == ["$.timing.step_seconds.count"]


BLOCKS = ((0.05,) * 6, {"block_steps": 10})
"""Six blocks of ten steps."""
SHORT = ((0.05,) * 5 + (0.06,), {"block_steps": 10, "steps": 53})
"""Five blocks of ten steps, and one of three."""


@pytest.mark.parametrize(("samples", "shape"), [BLOCKS, SHORT], ids=["whole", "shorter at the end"])
def test_throughput_times_time_is_the_samples_in_block_mode_too(
    samples: tuple[float, ...], shape: dict[str, int]
) -> None:
    steps = shape.get("steps", 60)
    record = make_record(samples, **shape)
    assert validate(record) == []
    total = record["timing"]["total_seconds"]
    assert record["metrics"]["throughput"] * total == pytest.approx(4 * steps)
    # A throughput as if each sample were one step, and one as if the last block were whole.
    for wrong in (len(samples), 60 if steps == 53 else 53):
        record["metrics"]["throughput"] = 4 * wrong / total
        assert [fault.path for fault in validate(record)] == ["$.metrics.throughput"]


def test_total_time_holds_the_blocks_and_the_shorter_last_one() -> None:
    samples, shape = SHORT
    record = make_record(samples, **shape)
    assert record["timing"]["total_seconds"] == pytest.approx(50 * 0.05 + 3 * 0.06)
    record["timing"]["total_seconds"] = total = 50 * 0.05 + 2 * 0.06
    record["metrics"]["throughput"] = 4 * 53 / total
    assert [fault.path for fault in validate(record)] == ["$.timing.total_seconds"]


@pytest.mark.parametrize("name", ["steps", "block_steps"])
def test_samples_without_their_number_of_steps_are_no_traceback(name: str) -> None:
    record = make_record()
    record["timing"][name] = None
    assert "$.timing.steps" in [fault.path for fault in validate(record)]


def test_a_reason_makes_the_grade() -> None:
    record = make_record(trust__reasons=[PRESSURE])
    assert [fault.path for fault in validate(record)] == ["$.trust.grade"]
    record["trust"]["grade"] = "noisy"
    assert validate(record) == []


def test_a_tensor_that_failed_contradicts_a_pass() -> None:
    record = make_record()
    record["verification"]["tensors"][0]["passed"] = False
    assert [fault.path for fault in validate(record)] == ["$.verification.tensors[0].passed"]


@pytest.mark.parametrize("value", [None, [], "record", 1])
def test_what_is_no_object_is_no_record(value: Any) -> None:
    assert [fault.path for fault in validate(value)] == ["$"]


def test_a_newer_schema_is_refused_in_words() -> None:
    with pytest.raises(ValueError, match="newer"):
        load_schema("3.0")


def test_messages_stay_short() -> None:
    record = make_record()
    record["status"] = "x" * 10_000
    assert len(str(validate(record)[0])) < 300


def run(*words: str) -> int:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return main(parser.parse_args(words))


def test_command_says_that_records_are_valid(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Store(tmp_path).save(make_record(), "log")
    Store(tmp_path / "more").save(make_failed_record())
    assert run(str(tmp_path)) == 0
    assert capsys.readouterr().out == "2 records: all valid\n"


def test_command_names_file_and_path_of_each_fault(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = Store(tmp_path).save(make_record())
    bad, torn = tmp_path / "bad.json", tmp_path / "torn.json"
    record = make_record()
    record["timing"]["samples_seconds"] = ["x"] * 30
    bad.write_text(json.dumps(record))
    torn.write_bytes(good.read_bytes()[:100])
    assert run(str(good), str(bad), str(torn), str(tmp_path)) == 1
    out = capsys.readouterr().out
    assert f"{bad}: $.timing.samples_seconds[3] must be a number" in out
    assert f"{bad}: and 10 more faults" in out
    assert f"{torn}: $ is not JSON" in out
    assert str(good) not in out
    assert out.endswith("3 records: 2 with faults\n")


def test_command_prints_all_faults_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "nan.json"
    path.write_text('{"schema_version": "9.0"}')
    assert run("--json", str(path)) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["records"] == 1
    assert [(f["file"], f["path"]) for f in answer["faults"]] == [(str(path), "$.schema_version")]


def test_command_refuses_a_path_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nowhere"):
        run(str(tmp_path / "nowhere"))


def test_command_looks_at_results_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="results"):
        run()
    Store().save(make_record())
    assert run() == 0


def test_a_fault_reads_as_a_sentence() -> None:
    assert str(Fault("$.a", "is missing")) == "$.a is missing"
