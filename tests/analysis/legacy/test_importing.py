"""Results of the earlier tool become valid records that claim no more than its files say."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarker.analysis.legacy import import_results
from benchmarker.analysis.results.collection import load_results
from benchmarker.analysis.text.experiment_table import comparison_table
from benchmarker.analysis.text.summary import record_summary
from benchmarker.errors import UsageError
from benchmarker.records.precision import excluded
from benchmarker.records.schema import validate
from benchmarker.records.store import read_record
from tests.conftest import Command
from tests.support.records import make_record, set_at

POSTER: dict[str, Any] = {
    "batch_size": 8,
    "framework": "Keras-2.0.2/theano_0.9.0",
    "device": "Tesla P100-PCIE-16GB",
    "hostname": "roma5.m.gsic.titech.ac.jp",
    "linux": "Linux-3.10.0-327.18.2.el7.x86_64",
    "nb_gpus": 1,
    "problem": "conv2d_2",
    "shape_x_train": [2048, 1, 128, 128],
    "time": 37.598225240285196,
}
"""As printed on the poster of Drozd & Matsuoka."""

NEWEST: dict[str, Any] = {
    "backend": "native",
    "batch_size": 8,
    "batch_size_per_device": 8,
    "channels_first": True,
    "device": "Tesla V100",
    "framework": "pytorch",
    "framework_full": "PyTorch-2.4.0+cu121",
    "gpus": [0],
    "mode": "training",
    "nb_epoch": 10,
    "nb_gpus": 1,
    "platform": {
        "cpu": {"brand": "Xeon", "physical_cores": 12},
        "gpus": [{"brand": "Tesla V100"}],
        "host": "kiev1",
        "os": "Linux-5.15",
        "ram": {"total": 1000},
    },
    "power": {"avg_watt_GPU": 200.0, "joules_GPU": 800.0, "joules_total": 0, "sampling_ms": 100},
    "preheat": True,
    "problem": {
        "cnt_batches_per_epoch": 8,
        "cnt_classes": 21,
        "cnt_samples": 64,
        "cnt_samples_per_epoch": 64,
        "name": "deepcam",
        "numerics": "fp32",
        "precision": "high",
        "sample_shape": [3, 512, 512],
    },
    "samples_per_second": 160.0,
    "start_time": "24.08.30_13.42.47",
    "tensor_layout": "native",
    "time_batch": 0.05,
    "time_epoch": 0.4,
    "time_sample": 0.00625,
    "time_total": 4.0,
}
"""The members that the earlier tool writes at its last revision."""

BETWEEN: dict[str, Any] = {
    "batch_size": 32,
    "framework": "tensorflow",
    "framework_full": "Keras-2.2.0/tensorflow_1.9.0",
    "device": "Xeon",
    "gpus": [],
    "misc": None,
    "nb_epoch": 10,
    "nb_gpus": 0,
    "platform": {"cpu": {"brand": "Xeon"}, "gpus": [], "host": "paris0", "os": "Linux-3.10.0"},
    "problem": {
        "cnt_batches_per_epoch": 2.0,
        "name": "resnet50",
        "shape_x_train": [64, 224, 224, 3],
        "size": 64,
    },
    "time": 13.9,
    "time_epoch": 13.9,
}
"""What it wrote in 2019, under Python 2."""


def changed(content: dict[str, Any], **changes: Any) -> dict[str, Any]:
    copy: dict[str, Any] = json.loads(json.dumps(content))
    for path, value in changes.items():
        set_at(copy, path.replace("__", "."), value)
    return copy


@pytest.fixture
def imported(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Return the record of a file with such a content."""

    def make(content: dict[str, Any], name: str = "result.json") -> dict[str, Any]:
        source = tmp_path / "earlier" / name
        source.parent.mkdir(exist_ok=True)
        source.write_text(json.dumps(content))
        outcome = import_results([source], tmp_path / "results")
        assert outcome.left == {}
        record = read_record(outcome.added[source])
        assert validate(record) == []
        return record

    return make


def kinds(record: dict[str, Any], *, excludes: bool) -> set[str]:
    return {one["kind"] for one in record["trust"]["findings"] if one["excludes"] == excludes}


def test_the_posters_result(imported: Callable[..., dict[str, Any]]) -> None:
    record = imported(POSTER)
    assert record["problem"]["name"] == "conv2d_2"
    assert record["problem"]["parameters"] == {"sample_shape": [1, 128, 128]}
    assert (record["framework"]["name"], record["framework"]["version"]) == ("keras", "2.0.2")
    assert record["framework"]["libraries"] == {"theano": "0.9.0"}
    assert record["device"] == {"type": "cuda", "name": "Tesla P100-PCIE-16GB", "count": 1}
    assert record["platform"]["host"] == {"name": "roma5.m.gsic.titech.ac.jp"}
    assert record["timing"]["steps"] == record["timing"]["block_steps"] == 256
    assert record["metrics"]["epoch_seconds"] == pytest.approx(37.598225240285196)
    assert record["metrics"]["throughput"] == pytest.approx(54.4706959)
    assert record["timing"]["step_seconds"]["median"] == pytest.approx(37.598225240285196 / 256)


def test_nothing_is_made_up_for_it(imported: Callable[..., dict[str, Any]]) -> None:
    record = imported(POSTER)
    assert record["timing"]["step_seconds"]["ci95"] is None
    assert record["timing"]["steady_state"]["kind"] is None
    assert record["verification"]["status"] == "skipped"
    assert record["verification"]["tensors"] == []
    for path in ("optimizer", "seed", "execution.threads", "problem.flops_per_step", "digests.batch", "replication",
                 "environment.packages", "memory.peak_bytes", "metrics.joules", "trust.evidence"):  # fmt: skip
        value: Any = record
        for name in path.split("."):
            value = value[name]
        assert value is None, path
    assert (record["precision"], record["mode"]) == ("unknown", "training")
    assert any("'training' is what the earlier tool did by default" in n for n in record["imported"]["notes"])
    assert record["trust"]["grade"] == "noisy"
    assert [reason["kind"] for reason in record["trust"]["reasons"]] == ["unknown"]
    assert kinds(record, excludes=False) == {"one_number", "warmup"}


def test_its_newest_form(imported: Callable[..., dict[str, Any]]) -> None:
    record = imported(NEWEST)
    assert (record["framework"]["name"], record["framework"]["version"]) == ("pytorch", "2.4.0+cu121")
    assert record["problem"]["parameters"] == {"cnt_classes": 21, "sample_shape": [3, 512, 512]}
    assert record["timing"]["steps"] == 80
    assert record["timing"]["samples_seconds"] == [pytest.approx(0.05)]
    assert record["metrics"]["throughput"] == pytest.approx(160)
    assert record["precision"] == "fp32 (high)"
    assert record["ended_at"] == "2024-08-30T13:42:47.000000Z"
    assert record["started_at"] == "2024-08-30T13:42:43.000000Z"
    assert record["metrics"]["earlier_joules_gpu"] == 800
    assert "earlier_joules_total" not in record["metrics"]  # 0 there is what was not measured
    assert record["imported"]["form"] == "total"
    assert "not taken over: channels_first, tensor_layout" in record["imported"]["notes"]
    assert kinds(record, excludes=True) == set()


def test_a_form_between_them(imported: Callable[..., dict[str, Any]]) -> None:
    record = imported(BETWEEN, "resnet50_tensorflow_Xeon_18.08.04_00.26.47.json")
    assert (record["framework"]["name"], record["framework"]["version"]) == ("tensorflow", "1.9.0")
    assert record["framework"]["libraries"] == {"keras": "2.2.0"}
    assert record["timing"]["steps"] == 2
    assert record["metrics"]["throughput"] == pytest.approx(64 / 13.9)
    assert record["ended_at"] == "2018-08-04T00:26:47.000000Z"
    assert record["device"]["type"] == "cpu"


@pytest.mark.parametrize(
    ("changes", "kind", "text"),
    [
        (
            {"framework": "opencv", "mode": "inference", "nb_gpus": 0},
            "epochs",
            "times are 10 times too small",
        ),
        ({"framework": "tflite", "mode": "inference", "nb_gpus": 0}, "epochs", "ran one epoch with tflite"),
        (
            {"nb_gpus": 4, "batch_size": 32},
            "gpus",
            "with 4 GPUs the earlier tool counted the mini-batches of one",
        ),
        ({"samples_per_second": 80.0}, "rate", "its file says 80 samples per second"),
        (
            {"framework": "chainer", "framework_full": "Chainer-7.7.0"},
            "training",
            "never updated the parameters",
        ),
        ({"framework": "torch"}, "synchronisation", "did not wait for its warm-up"),
    ],
)
def test_known_defects_are_told_and_not_corrected(
    imported: Callable[..., dict[str, Any]], changes: dict[str, Any], kind: str, text: str
) -> None:
    record = imported(changed(NEWEST, **changes))
    assert excluded(record) == kind
    assert kinds(record, excludes=True) == {kind}
    assert text in record["trust"]["findings"][0]["text"]
    # The time of a step is still the one that the file gives.
    assert record["timing"]["samples_seconds"] == [pytest.approx(0.05)]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"preheat": False}, "timed from the first step on"),
        ({"framework": "tensorflow", "framework_full": "TensorFlow-2.4.1"}, "warmed up by inference alone"),
        ({"nb_gpus": 0}, "oneDNN was turned off"),
    ],
)
def test_what_makes_a_number_doubtful_is_told(
    imported: Callable[..., dict[str, Any]], changes: dict[str, Any], told: str
) -> None:
    without = {finding["text"] for finding in imported(NEWEST)["trust"]["findings"]}
    record = imported(changed(NEWEST, **changes))
    assert record["trust"]["grade"] == "noisy"
    (added,) = {finding["text"] for finding in record["trust"]["findings"]} - without
    assert told in added


def test_a_matrix_product_has_no_mini_batches(imported: Callable[..., dict[str, Any]]) -> None:
    content = {
        "framework": "cblas",
        "nb_epoch": 4,
        "nb_gpus": 0,
        "problem": {"name": "gemm", "size": [1024, 1024, 1024], "precision": "FP32", "gflop_estimated": 2.1},
        "time_total": 2.0,
        "time_epoch": 0.5,
        "path_out": "./logs",
    }
    record = imported(content)
    assert (record["mode"], record["batch_size"], record["precision"]) == ("inference", 1, "fp32")
    assert record["timing"]["samples_seconds"] == [0.5]
    assert any("each repetition counts as a step" in note for note in record["imported"]["notes"])


def test_the_same_content_is_imported_once(tmp_path: Path) -> None:
    first, second = tmp_path / "first.json", tmp_path / "below" / "second.json"
    second.parent.mkdir()
    first.write_text(json.dumps(NEWEST))
    second.write_text(json.dumps(dict(reversed(NEWEST.items())), indent=4))
    os.utime(second, (0, 0))
    folder = tmp_path / "results"
    once = import_results([first, second], folder)
    assert (len(once.added), once.known) == (1, [second])
    again = import_results([first, second], folder)
    assert (again.added, again.known) == ({}, [first, second])
    assert len(load_results(folder)) == 1


def test_other_files_are_named_and_left(tmp_path: Path) -> None:
    contents = {
        "broken.json": "{",
        "list.json": "[1]",
        "package.json": '{"name": "x", "problem": "y"}',
        "record.json": json.dumps(make_record()),
        "timeless.json": json.dumps(changed(POSTER, time=None)),
        "endless.json": json.dumps(changed(POSTER, time=0)),
        "nameless.json": json.dumps(changed(POSTER, problem=None)),
        "batchless.json": json.dumps(changed(POSTER, batch_size="many")),
        "good.json": json.dumps(POSTER),
    }
    for name, text in contents.items():
        (tmp_path / name).write_text(text)
    outcome = import_results([tmp_path], tmp_path / "results")
    assert [path.name for path in outcome.added] == ["good.json"]
    reasons = {path.name: reason for path, reason in outcome.left.items()}
    assert reasons == {
        "broken.json": "is not JSON",
        "list.json": "has no framework and problem, so it is not a result of the earlier tool",
        "package.json": "has no framework and problem, so it is not a result of the earlier tool",
        "record.json": "is a record already: results merge takes it",
        "timeless.json": "has no time",
        "endless.json": "has no time",
        "nameless.json": "has a problem without a name",
        "batchless.json": "does not tell how many mini-batches were timed",
    }


def test_values_of_the_wrong_kind_are_not_known(imported: Callable[..., dict[str, Any]]) -> None:
    record = imported(
        changed(
            NEWEST,
            device=["x"],
            mode="sideways",
            preheat="yes",
            platform="none",
            power=[1],
            random_seed="abc",
            start_time="yesterday",
            problem__sample_shape=["a"],
            problem__cnt_classes={"a": 1},
            samples_per_second=True,
        )
    )
    assert record["device"]["name"] is None
    assert record["mode"] == "training"
    assert record["seed"] is None
    assert record["problem"]["parameters"] == {}
    assert any("the last change of its file" in note for note in record["imported"]["notes"])


def test_a_reading_that_was_no_number_is_not_known(tmp_path: Path) -> None:
    source = tmp_path / "nan.json"
    source.write_text(json.dumps(changed(NEWEST, power__avg_watt_GPU=float("nan"))))
    (path,) = import_results([source], tmp_path / "results").added.values()
    assert "earlier_watts_gpu" not in read_record(path)["metrics"]
    assert "NaN" not in path.read_text()


def test_an_import_of_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"needs files that end in \.json, got none"):
        import_results([tmp_path], tmp_path / "results")
    with pytest.raises(UsageError, match="exists"):
        import_results([tmp_path / "nowhere"], tmp_path / "results")
    assert not (tmp_path / "results").exists()


def test_only_an_imported_record_may_lack_what_a_run_here_knows(
    imported: Callable[..., dict[str, Any]],
) -> None:
    record = imported(NEWEST)
    faults = {fault.path for fault in validate({**record, "imported": None})}
    assert {"$.seed", "$.trust.evidence", "$.optimizer", "$.digests.parameters"} <= faults
    for name in ("seed", "trust.evidence"):
        ours = make_record()
        set_at(ours, name, None)
        assert [fault.path for fault in validate(ours)] == [f"$.{name}"]
    for name in ("timing.total_seconds", "metrics.throughput"):
        lacking = changed(record)
        set_at(lacking, name, None)
        assert f"$.{name}" in {fault.path for fault in validate(lacking)}


def test_imported_records_stand_in_the_same_tables(imported: Callable[..., dict[str, Any]]) -> None:
    records = [imported(POSTER), imported(NEWEST), make_record()]
    text = comparison_table(records)
    assert "keras" in text
    assert "54.47" in text
    assert "imported: nothing is known of what the machine did" in text
    summary = record_summary(records[0])
    assert "'result.json' of benchmarker (Drozd & Matsuoka)" in " ".join(summary.split())


def test_keys_of_comparison_are_shared_with_no_run_of_ours(imported: Callable[..., dict[str, Any]]) -> None:
    first, second = imported(NEWEST), imported(changed(NEWEST, time_total=5.0, framework="tensorflow"))
    assert first["comparable"]["hash"] == second["comparable"]["hash"]
    assert "measured_by" in first["comparable"]["keys"]
    assert "measured_by" not in make_record()["comparable"]["keys"]


def test_the_command_tells_counts_and_is_not_run_again(command: Command) -> None:
    (command.folder / "poster.json").write_text(json.dumps(POSTER))
    (command.folder / "other.json").write_text("{}")
    finished = command("results", "import", "poster.json", "other.json")
    assert finished.status == 1
    assert finished.stdout == "1 record imported into 'results', 0 there already, 1 left\n"
    assert finished.stderr.startswith("left out: other.json: has no framework and problem")
    again = command("results", "import", "poster.json", "--json")
    assert again.status == 0
    assert json.loads(again.stdout) == {"imported": [], "known": ["poster.json"], "left": []}
    refused = command("rerun", "last")
    assert refused.status == 2
    assert "cannot be run again: another program measured it" in refused.stderr
