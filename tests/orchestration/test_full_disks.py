"""Full and vanishing disks, closed and full streams, and what killed commands leave: nothing measured is lost."""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarker.cache import temporary_folder
from benchmarker.records.store import read_record
from benchmarker.records.validation import check_file
from tests.conftest import Command, Finished
from tests.support.small_disks import small_disk

pytestmark = pytest.mark.framework("numpy")

QUICK = ("--problem=mnist_mlp", "--batch-size=2", "--steps=3", "--warmup=1", "--no-verify")


@pytest.fixture
def small_results(tmp_path: Path) -> Iterator[Path]:
    """The results folder, on a file system of its own."""
    with small_disk(tmp_path / "results", "256k") as folder:
        yield folder


def rescued(finished: Finished) -> list[Path]:
    return [
        Path(path) for path in re.findall(r"^benchmarker: .*; it is kept as '(.*)'$", finished.stderr, re.M)
    ]


def three_runs(hostile: Command, home: Path, act: str, *options: str) -> Finished:
    """Run before, while and after the results folder becomes unusable."""
    own = Command(hostile.folder, {**hostile.environment, "BENCHMARKER_HOME": str(home)})
    return own("--framework=hostile", *QUICK, "--start=fork", f"--set=act=none,{act},names", *options)


def assert_nothing_is_lost(finished: Finished, reason: str, count: int) -> None:
    assert finished.status == 1
    assert "Traceback" not in finished.stderr
    kept = rescued(finished)
    assert len(kept) == count
    assert finished.stderr.count(reason) >= count
    for path in kept:
        assert check_file(path) == []
        assert read_record(path)["status"] == "ok"


def test_a_full_results_disk_loses_nothing(hostile: Command, small_results: Path, tmp_path: Path) -> None:
    finished = three_runs(hostile, tmp_path / "home", "fill")
    assert_nothing_is_lost(finished, "could not be written to 'results': No space left on device", 2)
    assert len(list(small_results.glob("*.json"))) == 1
    assert all(path.parent == tmp_path / "home" / "rescued" for path in rescued(finished))
    assert "3 records" in finished.stdout


def test_a_results_folder_that_vanishes_loses_nothing(hostile: Command, tmp_path: Path) -> None:
    finished = three_runs(hostile, tmp_path / "home", "vanish", "--json")
    assert_nothing_is_lost(finished, "could not be written to 'results': ", 2)
    assert [record["status"] for record in finished.records] == ["ok"] * 3
    assert {record["framework"]["options"]["act"] for record in finished.records} == {
        "none",
        "vanish",
        "names",
    }


def test_where_the_cache_folder_cannot_be_written_either_it_lies_beside_the_temporary_files(
    hostile: Command, tmp_path: Path
) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "rescued").write_text("no folder")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    with_folder = Command(hostile.folder, {**hostile.environment, "TMPDIR": str(temporary)})
    finished = three_runs(with_folder, tmp_path / "home", "vanish")
    assert_nothing_is_lost(finished, "could not be written to 'results': ", 2)
    assert {path.parent for path in rescued(finished)} == {temporary / "benchmarker-rescued"}


# --- standard streams ----------------------------------------------------------------------------


def shell(command: Command, redirections: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run NumPy in a shell that redirects as told."""
    words = (
        f"'{sys.executable}' -m tests.support.warm_command --framework=numpy {' '.join((*QUICK, *options))}"
    )
    return subprocess.run(
        ["bash", "-c", f"{words} {redirections}"],
        cwd=command.folder,
        env=command.environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("redirections", "options", "status"),
    [
        ("<&- >&- 2>&-", (), 0),
        (">&- 2>&-", ("--json", "--repeats=2"), 0),
        ("2>/dev/full", (), 0),
        (">/dev/full", (), 1),
        (">/dev/full 2>/dev/full", ("--json", "--repeats=2"), 1),
        ("| true; exit ${PIPESTATUS[0]}", ("--json", "--repeats=2"), 141),
        ("2>&1 >&- | true; exit ${PIPESTATUS[0]}", (), 0),
    ],
)
def test_records_are_there_whoever_reads_the_output(
    redirections: str, options: tuple[str, ...], status: int, command: Command
) -> None:
    finished = shell(command, redirections, *options)
    assert finished.returncode == status, finished.stderr
    assert "Traceback" not in finished.stderr
    records = sorted((command.folder / "results").glob("*.json"))
    assert [read_record(path)["status"] for path in records] == ["ok"] * (
        2 if "--repeats=2" in options else 1
    )


# --- leftovers -----------------------------------------------------------------------------------


def held(folder: Path) -> int:
    descriptor = os.open(folder, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    return descriptor


def test_what_a_killed_command_leaves_is_removed_by_the_next(hostile: Command, tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    (temporary / "benchmarker-of-others").mkdir()
    command = Command(hostile.folder, {**hostile.environment, "TMPDIR": str(temporary)})
    process = command.start("--framework=hostile", *QUICK, "--set=act=hang")
    while not (tmp_path / "hanging").exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    process.kill()
    process.communicate()
    (left,) = temporary.glob("benchmarker-held-*")
    assert command("--framework=numpy", *QUICK).status == 0
    assert not left.exists()
    assert [path.name for path in temporary.iterdir()] == ["benchmarker-of-others"]


def test_what_a_live_process_has_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    dead, live = tmp_path / "benchmarker-held-1", tmp_path / "benchmarker-held-2"
    for folder in (dead, live):
        folder.mkdir()
        (folder / "file").write_text("kept")
    (tmp_path / "benchmarker-held-3").symlink_to(tmp_path / "elsewhere")
    descriptor = held(live)
    with temporary_folder() as first, temporary_folder() as second:
        assert first.exists()
        assert second.exists()
        assert not dead.exists()
        assert (live / "file").exists()
    os.close(descriptor)
    assert not first.exists()
