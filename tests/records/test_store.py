from __future__ import annotations

import copy
import json
import math
import multiprocessing
import os
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import benchmarker
from benchmarker.analysis.results.collection import load_results
from benchmarker.errors import BenchmarkerError, StoreError, UsageError
from benchmarker.records.schema import NEWEST, validate
from benchmarker.records.store import Store, format_record, iter_records, read_record, record_name
from benchmarker.worker.measurement.profile import unprofiled
from tests.support.records import make_failed_record, make_record

WRITERS, PROCESSES = 1000, 20

ROOT = Path(__file__).parents[2]


def run_python(code: str, *words: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-c", code, *words],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_record_comes_back_as_it_was(tmp_path: Path) -> None:
    record = make_record()
    before = copy.deepcopy(record)
    path = Store(tmp_path / "deep" / "results").save(record)
    assert read_record(path) == record == before
    assert validate(read_record(path)) == []
    assert names(path.parent) == [path.name]


def test_a_name_can_be_read() -> None:
    name = record_name(make_record(id="20250301T120000Z-0123456789ab"))
    assert name == "2025-03-01T120000Z_pytorch-2.13.0_mnist_mlp_inference_456789ab"


def test_a_name_is_a_safe_file_name() -> None:
    record = make_failed_record(framework__name="../a b/ü", problem__name="x" * 300)
    name = record_name(record)
    assert re.fullmatch(r"[A-Za-z0-9.+_-]{1,200}", name)
    assert "unknown" in name


def test_the_log_lies_beside_the_record(tmp_path: Path) -> None:
    path = Store(tmp_path).save(make_record(), "zwölf\n\udc80\n")
    log = tmp_path / read_record(path)["log"]
    assert log == path.with_suffix(".log")
    assert log.read_text(encoding="utf-8") == "zwölf\n\\udc80\n"
    assert names(tmp_path) == [path.name, log.name]


def test_nothing_is_written_over(tmp_path: Path) -> None:
    record = make_record()
    store = Store(tmp_path)
    paths = [store.save(record, f"log {i}") for i in range(5)]
    paths += [store.save(record) for _ in range(5)]
    assert len(set(paths)) == 10
    assert [p.with_suffix(".log").read_text() for p in paths[:5]] == [f"log {i}" for i in range(5)]
    assert [read_record(p)["log"] for p in paths[5:]] == [None] * 5


def test_a_log_of_another_program_is_not_written_over(tmp_path: Path) -> None:
    record = make_record()
    other = tmp_path / f"{record_name(record)}.log"
    other.write_text("mine")
    path = Store(tmp_path).save(record, "yours")
    assert other.read_text() == "mine"
    assert path.with_suffix(".log").read_text() == "yours"


def test_schema_version_comes_first_and_lists_stay_on_a_line(tmp_path: Path) -> None:
    record = make_record()
    shuffled = dict(reversed(record.items()))
    text = Store(tmp_path).save(shuffled).read_text()
    assert text.startswith(f'{{\n  "schema_version": "{NEWEST}",\n')
    assert re.search(r'"samples_seconds": \[0.0507, .*\],\n', text)


@pytest.mark.parametrize(
    "value",
    [{}, [], None, 1.5, {"a": {}}, {"a": [[]]}, [[1, 2], {"b": "ü\udc80"}], {"x" * 99: [1, {"y": []}]}],
)
def test_what_is_formatted_is_the_same_json(value: Any) -> None:
    data = format_record({"value": value}).encode("utf-8", "backslashreplace")
    assert json.loads(data) == {"value": value}


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_not_finite_become_null(tmp_path: Path, number: float) -> None:
    record = make_record(metrics__loss_last=number, platform__cpu={"clock": [number]})
    record["verification"]["tensors"][0]["max_absolute_error"] = number
    path = Store(tmp_path).save(record)
    assert "NaN" not in path.read_text()
    assert "Infinity" not in path.read_text()
    stored = read_record(path)
    assert stored["metrics"]["loss_last"] is None
    assert stored["platform"]["cpu"] == {"clock": [None]}
    assert record["metrics"]["loss_last"] is number


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_a_sample_that_is_not_finite_is_refused(tmp_path: Path, number: float) -> None:
    record = make_record()
    record["timing"]["samples_seconds"][2] = number
    with pytest.raises(ValueError, match=r"\$\.timing\.samples_seconds\[2\] must be a number, got null"):
        Store(tmp_path).save(record)
    assert names(tmp_path) == []


def test_a_record_that_is_not_valid_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"\$\.status"):
        Store(tmp_path).save(make_record(status="fine"))
    assert names(tmp_path) == []


def test_tuples_and_numbers_as_names_are_made_json(tmp_path: Path) -> None:
    record = make_record(execution__affinity=(0, 1), platform__gpus=({"clocks": {0: 1}},))
    stored = read_record(Store(tmp_path).save(record))
    assert stored["execution"]["affinity"] == [0, 1]
    assert stored["platform"]["gpus"] == [{"clocks": {"0": 1}}]


def test_what_json_cannot_hold_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"\$\.platform\.cpu\.x must be JSON, got <object"):
        Store(tmp_path).save(make_record(platform__cpu={"x": object()}), "log")
    assert names(tmp_path) == []


def test_the_folder_is_made_and_left_empty_by_the_check(tmp_path: Path) -> None:
    Store(tmp_path / "a" / "b").check_writable()
    assert names(tmp_path / "a" / "b") == []


@pytest.mark.parametrize("folder", ["file", "file/below"])
def test_a_folder_that_is_none_is_refused_in_a_sentence(tmp_path: Path, folder: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"must go to a folder .*--results"):
        Store(tmp_path / folder).check_writable()


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    # Root may write there all the same, but not among the kernel's own files.
    folder = Path("/sys/results") if os.geteuid() == 0 else tmp_path
    with pytest.raises(UsageError, match=r"Permission denied|Operation not permitted|Read-only file system"):
        Store(folder).check_writable()


def test_a_folder_of_the_kernel_is_refused() -> None:
    if not Path("/proc/self").exists():
        pytest.skip("no /proc")
    with pytest.raises(UsageError, match="/proc/results"):
        Store("/proc/results").check_writable()


def test_a_folder_that_went_away_is_made_again(tmp_path: Path) -> None:
    store = Store(tmp_path / "results")
    store.check_writable()
    (tmp_path / "results").rmdir()
    assert store.save(make_record()).exists()


_FULL_DISK = """
import resource, sys
sys.dont_write_bytecode = True
from tests.support.records import make_record
from benchmarker.errors import StoreError
from benchmarker.records.store import Store
import encodings.idna
import benchmarker.records.schema.decoding
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
try:
    Store(sys.argv[1]).save(make_record(), "log\\n" * 100)
except StoreError as error:
    print(error)
"""


@pytest.mark.parametrize("room", [0, 100, 1000])
def test_a_write_that_fails_halfway_leaves_nothing(tmp_path: Path, room: int) -> None:
    """The log of 400 bytes fits into 1000, the record does not."""
    out, _ = run_python(_FULL_DISK, str(tmp_path), str(room)).communicate(timeout=60)
    assert re.fullmatch(r"the record could not be written to '.*': File too large\n", out)
    assert names(tmp_path) == []


def test_a_file_system_without_links_works_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    record = make_record()
    paths = [Store(tmp_path).save(record, "log") for _ in range(3)]
    assert len(set(paths)) == 3
    assert all(read_record(path)["id"] == record["id"] for path in paths)
    assert len(names(tmp_path)) == 6


def _write_at_once(folder: Path, records: list[dict[str, Any]], gate: Any) -> None:
    def write(record: dict[str, Any]) -> Path:
        gate.wait()
        return Store(folder).save(record, record["error"] and "log")

    with ThreadPoolExecutor(len(records)) as pool:
        list(pool.map(write, records))


def test_a_thousand_parallel_writers_lose_nothing(tmp_path: Path) -> None:
    """Twenty processes with fifty threads each begin at once and want the same name; half write a log."""
    fork = multiprocessing.get_context("fork")
    gate = fork.Event()
    kinds = (make_record(), {**make_failed_record(), "framework": make_record()["framework"]})
    records = [{**kinds[number % 2], "id": f"{number:04}-same-name"} for number in range(WRITERS)]
    validate(records[0])
    shares = [records[start::PROCESSES] for start in range(PROCESSES)]
    writers = [fork.Process(target=_write_at_once, args=(tmp_path, share, gate)) for share in shares]
    for writer in writers:
        writer.start()
    gate.set()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0] * PROCESSES
    results = load_results(tmp_path)
    assert not results.damaged
    found = list(results)
    assert sorted(record["id"] for record in found) == sorted(record["id"] for record in records)
    logs = [record["log"] for record in found if record["log"]]
    assert sorted([*logs, *(path.name for path in results.paths)]) == names(tmp_path)
    assert len(logs) == WRITERS // 2


_KILLED_HALFWAY = """
import resource, signal, sys
sys.dont_write_bytecode = True
from tests.support.records import make_record
from benchmarker.records.store import Store
store = Store(sys.argv[1])
store.save(make_record(), "log")
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
store.save(make_record(), sys.argv[2])
"""


@pytest.mark.parametrize("log", ["short enough", "too long" * 1000])
def test_a_writer_that_is_killed_halfway_leaves_whole_files(tmp_path: Path, log: str) -> None:
    """The kernel ends the process in the middle of writing byte 1001 of the record or of the log."""
    writer = run_python(_KILLED_HALFWAY, str(tmp_path), log)
    _, complaint = writer.communicate(timeout=60)
    assert (writer.returncode, complaint) == (-signal.SIGXFSZ, "")
    results = load_results(tmp_path)
    assert not results.damaged
    assert [validate(record) for record in results] == [[]]
    logs = {path.read_text() for path in tmp_path.glob("[!.]*.log")}
    assert logs == {"log", log} if len(log) < 1000 else logs == {"log"}


def damage(folder: Path) -> dict[str, str]:
    whole = Store(folder).save(make_record()).read_bytes()
    (folder / "torn.json").write_bytes(whole[:200])
    (folder / "binary.json").write_bytes(b"\xff\xfe\x00")
    (folder / "empty.json").write_bytes(b"")
    (folder / "nan.json").write_bytes(whole.replace(b'"seed": 42', b'"seed": NaN'))
    (folder / "other.json").write_text("[1]")
    (folder / "newer.json").write_bytes(whole.replace(f'"{NEWEST}"'.encode(), b'"7.0"'))
    (folder / "deep.json").write_text("[" * 200_000)
    (folder / ".hidden.json").write_text("no record")
    return {
        "torn.json": "is not JSON",
        "binary.json": "is not JSON",
        "empty.json": "is not JSON",
        "nan.json": "NaN is not a JSON number",
        "other.json": "has no schema_version",
        "newer.json": "update benchmarker",
        "deep.json": "nested too deeply",
    }


def test_damaged_files_are_skipped_and_named(tmp_path: Path) -> None:
    expected = damage(tmp_path)
    results = load_results(tmp_path)
    assert len(results) == 1
    assert {path.name for path in results.damaged} == set(expected)
    for path, reason in results.damaged.items():
        assert expected[path.name] in reason
        assert str(path) not in reason


def test_damaged_files_are_warned_of_without_anyone_to_tell(tmp_path: Path) -> None:
    Store(tmp_path).save(make_record())
    (tmp_path / "torn.json").write_text("{")
    with pytest.warns(UserWarning, match=r"torn\.json"):
        assert len(list(iter_records(tmp_path))) == 1


def test_one_damaged_file_is_an_error_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"'.*missing\.json' cannot be read: No such file"):
        read_record(tmp_path / "missing.json")


def test_results_of_a_missing_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nowhere"):
        load_results(tmp_path / "nowhere")


@pytest.fixture(name="folder")
def made_folder(tmp_path: Path) -> Path:
    store = Store(tmp_path)
    store.save(make_record(started_at="2025-03-01T12:00:01.000000Z"))
    Store(tmp_path / "below").save(
        make_record(framework__name="mxnet", framework__version="1.9.1", problem__parameters={"inputs": 64})
    )
    store.save(make_failed_record("timeout", started_at="2025-03-01T11:00:00.000000Z"))
    return tmp_path


def test_results_are_filtered(folder: Path) -> None:
    assert len(load_results(folder)) == 3
    assert [r["status"] for r in load_results(folder, framework="pytorch")] == ["timeout", "ok"]
    assert len(load_results(folder, framework=["pytorch", "mxnet"], status="ok")) == 2
    assert len(load_results(folder, framework__version="1.9.1")) == 1
    assert len(load_results(folder, problem__parameters__inputs=64)) == 1
    assert len(load_results(folder, problem__parameters__hidden2=64)) == 0
    assert len(load_results(folder, framework__name={"chainer"})) == 0


def test_an_unknown_filter_is_refused(folder: Path) -> None:
    with pytest.raises(UsageError, match="got 'framwork'; did you mean 'framework'"):
        load_results(folder, framwork="pytorch")


def test_results_are_a_list_that_knows_its_files(folder: Path) -> None:
    results = benchmarker.load_results(folder)
    assert [read_record(path) for path in results.paths] == list(results)
    last = results[-2:]
    assert list(last) == list(results)[-2:]
    assert last.paths == results.paths[-2:]
    assert load_results(results.paths[0])[0] == results[0]
    assert repr(results) == "<3 records, 0 damaged files>"


def test_results_become_a_flat_table(folder: Path) -> None:
    frame = load_results(folder).to_frame()
    assert len(frame) == 3
    row = frame[frame["framework.name"] == "mxnet"].iloc[0]
    record = read_record(row["path"])
    assert row["timing.step_seconds.median"] == record["timing"]["step_seconds"]["median"]
    assert row["timing.step_seconds.ci95.low"] == record["timing"]["step_seconds"]["ci95"][0]
    assert row["timing.step_seconds.ci95.high"] == record["timing"]["step_seconds"]["ci95"][1]
    assert row["command"] == "python -m benchmarker --framework=pytorch --problem=mnist_mlp"
    assert row["platform.cpu.flags"] == "avx2, fma"
    assert not any(isinstance(cell, (list, dict)) for cell in frame.to_numpy().ravel())
    long = "samples_seconds|tensors|packages|log_tail|checkpoints|segments|columns"
    assert not [name for name in frame.columns if re.search(long, name)]
    assert row["timing.breakdown.parts.forward.median_seconds"] == 0.051
    assert row["trust.grade"] == "clean"
    assert frame.groupby("status")["metrics.throughput"].count().to_dict() == {"ok": 2, "timeout": 0}


def test_no_results_are_an_empty_table(tmp_path: Path) -> None:
    assert load_results(tmp_path).to_frame().shape == (0, 1)


def test_a_table_without_pandas_is_refused_in_a_sentence(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(BenchmarkerError, match="pip install"):
        load_results(folder).to_frame()


def test_reading_few_records_needs_neither_pandas_nor_arrow(folder: Path) -> None:
    code = (
        "import sys, benchmarker; r = benchmarker.load_results(sys.argv[1]); "
        "print(len(r), *sorted({'pandas', 'pyarrow', 'numpy'} & set(sys.modules)))"
    )
    out, _ = run_python(code, str(folder)).communicate(timeout=60)
    assert out.strip() == "3"


# --- traces ----------------------------------------------------------------------------------------


def profiled_record() -> dict[str, Any]:
    return make_record(profile=unprofiled("only its trace matters here"))


def test_a_trace_lies_beside_its_record_and_is_named_in_it(tmp_path: Path) -> None:
    path = Store(tmp_path).save(profiled_record(), "log", b"trace")
    record = read_record(path)
    assert record["profile"]["trace"] == f"{path.stem}.trace.json.gz"
    assert (tmp_path / record["profile"]["trace"]).read_bytes() == b"trace"
    assert (tmp_path / record["log"]).read_text() == "log"
    assert read_record(Store(tmp_path).save(profiled_record()))["profile"]["trace"] is None


def test_a_trace_of_another_program_is_not_written_over(tmp_path: Path) -> None:
    record = profiled_record()
    theirs = tmp_path / f"{record_name(record)}.trace.json.gz"
    theirs.write_bytes(b"mine")
    path = Store(tmp_path).save(record, "log", b"trace")
    assert theirs.read_bytes() == b"mine"
    assert path.with_suffix(".trace.json.gz").read_bytes() == b"trace"
    assert {p.name for p in tmp_path.glob("*.log")} == {path.with_suffix(".log").name}
