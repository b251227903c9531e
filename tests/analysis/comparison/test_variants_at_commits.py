"""Pairs of revisions: each side is the code of its commit, and nothing is left of the checkouts."""

from __future__ import annotations

import json
import re
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarker.analysis.comparison.sides import checked_out
from benchmarker.errors import BenchmarkerError
from benchmarker.records.store import read_record
from benchmarker.records.validation import check_file
from tests.analysis.comparison.test_sides import git
from tests.conftest import Command, Finished, write_distribution
from tests.support.command_lines import replaced
from tests.support.small_disks import small_disk

pytestmark = pytest.mark.framework("numpy")

# Of so few steps nothing is said of their course, on a noisy machine either.
WORDS = (
    *("--framework=paced", "--problem=mnist_mlp", "--mode=inference", "--batch-size=2", "--threads=1"),
    *("--no-verify", "--steps=8", "--warmup=1"),
)
PACED = """
import time
from benchmarker.api.framework import FrameworkPlugin
from benchmarker.plugins.numpy.framework import NumpyFramework

SECONDS = {seconds}

def benchmarker_framework():
    return FrameworkPlugin(
        name="paced", distribution="numpy", requirements=("numpy",), implementation="paced_framework:Paced"
    )

class Paced(NumpyFramework):
    def build(self, graph, parameters, **settings):
        program = super().build(graph, parameters, **settings)
        infer = program.infer
        program.infer = lambda batch: (time.sleep(SECONDS), infer(batch))[1]
        return program
"""
ODD_FROM_ROUND_1 = """
from benchmarker.records import store

format_record = store.format_record

def with_what_nobody_knows(record):
    return format_record({**record, "colour": "blue"} if record["replication"]["round"] else record)

store.format_record = with_what_nobody_knows
"""
"""Ends the hook of the commit, so that only the command is changed and not its worker."""


def commit(folder: Path, message: str, **files: str) -> None:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", message)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A framework plugin in three commits: 5 ms, 15 ms and one that is broken; a hook, and changes on top."""
    folder = tmp_path / "plugin"
    folder.mkdir()
    git(folder, "init", "-q")
    source = folder / "src"
    write_distribution(
        source,
        "paced",
        {"frameworks": ["paced = paced_framework"]},
        {"paced_framework": PACED.format(seconds=0.005)},
    )
    commit(folder, "quick")
    git(folder, "tag", "quick")
    commit(source, "slow", paced_framework=PACED.format(seconds=0.015))
    git(folder, "tag", "slow")
    commit(source, "broken", paced_framework="raise ValueError('not today')")
    git(folder, "tag", "broken")
    git(folder, "tag", "-a", "same", "-m", "another name", "slow^{commit}")
    hook = folder / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/hook-ran\n")
    hook.chmod(0o755)
    (source / "paced_framework.py").write_text("raise ValueError('not committed')")
    return folder


@pytest.fixture
def compare(command: Command, repository: Path, tmp_path: Path) -> Command:
    """The command in the repository, which is on the path as after an editable installation."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environment = {**command.environment, "TMPDIR": str(temporary)}
    return replace(command, folder=repository, environment=environment).with_path(repository / "src")


def run(compare: Command, *words: str, sides: tuple[str, ...] = ("git:quick", "git:slow")) -> Finished:
    return compare(
        "compare", "--run", *sides, "--pairs=3", f"--results={compare.folder.parent / 'r'}", *words
    )


def records(compare: Command) -> list[dict[str, Any]]:
    """Return the records in the order of their runs, of which several may start in one second."""
    found = [json.loads(path.read_text()) for path in (compare.folder.parent / "r").glob("*.json")]
    return sorted(found, key=lambda record: str(record["started_at"]))


def assert_nothing_is_left(compare: Command) -> None:
    assert len(git(compare.folder, "worktree", "list").splitlines()) == 1
    assert list((compare.folder.parent / "temporary").iterdir()) == []
    assert not (compare.folder.parent / "hook-ran").exists()
    assert git(compare.folder, "status", "--porcelain").split() == ["M", "src/paced_framework.py"]


def test_each_side_is_the_code_of_its_commit(compare: Command) -> None:
    found = run(compare, "--include-contaminated", "--json", "--", *WORDS)
    assert found.status == 0, found.stderr
    assert found.stderr == ""
    (row,) = json.loads(found.stdout)["rows"]
    assert row["ratio"] > 1.5
    assert (row["first"]["side"], row["other"]["side"]) == ("git:quick", "git:slow")
    assert row["paired"]["pairs"] == 3
    made = records(compare)
    assert len({record["replication"]["campaign"] for record in made}) == 1
    commits = [record["platform"]["source_control"]["working_directory"] for record in made]
    assert [facts["dirty"] for facts in commits] == [False] * 6
    expected = {git(compare.folder, "rev-parse", f"{name}^{{commit}}") for name in ("quick", "slow")}
    rounds = [record["replication"]["round"] for record in made]
    assert rounds == [0, 0, 1, 1, 2, 2]
    assert [record["replication"]["position"] for record in made] == [0, 1] * 3
    assert {record["replication"]["cells"] for record in made} == {2}
    for pair in (commits[0:2], commits[2:4], commits[4:6]):
        assert {facts["commit"] for facts in pair} == expected
    assert len({record["execution"]["environment_variables"]["PYTHONHASHSEED"] for record in made}) == 3
    assert all((compare.folder.parent / "r" / record["log"]).exists() for record in made if record["log"])
    assert_nothing_is_left(compare)
    again = compare(
        *("compare", "git:quick", "git:slow", "--include-contaminated", "--json"),
        f"--results={compare.folder.parent / 'r'}",
    )
    assert json.loads(again.stdout)["rows"][0]["ratio"] == row["ratio"]


@pytest.mark.parametrize(
    ("sides", "words", "said"),
    [
        (("git:quick", "git:slow"), (), "must be told what to run, after --"),
        (("git:quick", "git:slow"), ("--", *WORDS, "--repeats=3"), "got '--repeats'"),
        (
            ("git:quick", "git:slow"),
            ("--", *WORDS, "--monitors=none"),
            "must include source_control, got none",
        ),
        (
            ("git:quick", "git:slow"),
            ("--", *replaced(WORDS, "--steps=5,6")),
            "one run must be asked for, got 2",
        ),
        (
            ("git:quick", "git:slow"),
            ("--", "--framework=unpaced", "--problem=mnist_mlp"),
            "'git:quick': unknown f",
        ),
        (("git:quick", "git:slow"), ("--profile=quick", "--", *WORDS), "not allowed with argument"),
        (
            ("git:quick", "git:broken"),
            ("--", *WORDS),
            "the run is not valid at 'git:broken': framework 'paced'",
        ),
        (("git:quick", "git:later"), ("--", *WORDS), "'git:later' must name one commit"),
        (("git:slow", "git:same"), ("--", *WORDS), "are the same commit"),
        (("git:quick", "framework=numpy"), ("--", *WORDS), "all of one kind"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_runs(
    compare: Command, sides: tuple[str, ...], words: tuple[str, ...], said: str
) -> None:
    found = run(compare, *words, sides=sides)
    assert found.status == 2
    assert said in found.stderr
    assert len(found.stderr.splitlines()) == 1
    assert records(compare) == []
    assert_nothing_is_left(compare)


def test_outside_of_a_repository_nothing_can_be_checked_out(compare: Command, tmp_path: Path) -> None:
    found = run(replace(compare, folder=tmp_path), "--", *WORDS)
    assert found.status == 2
    assert found.stderr.endswith("but the working directory is in no git checkout\n")


def test_a_run_that_does_not_end_well_ends_the_comparison(compare: Command) -> None:
    found = run(compare, "--", *WORDS, "--timeout=0.2")
    assert found.status == 2
    assert "did not end well, so no more pairs are made" in found.stderr.splitlines()[-1]
    assert [record["status"] for record in records(compare)] == ["timeout"]
    assert_nothing_is_left(compare)


def test_records_for_which_the_results_disk_has_no_room_are_kept_elsewhere_and_compared(
    compare: Command, tmp_path: Path
) -> None:
    own = replace(compare, environment={**compare.environment, "BENCHMARKER_HOME": str(tmp_path / "home")})
    with small_disk(tmp_path / "r", "128k") as folder:
        found = run(own, "--include-contaminated", "--json", "--", *WORDS)
        stored = list(folder.glob("*.json"))
    assert found.status == 1, found.stderr
    assert json.loads(found.stdout)["rows"][0]["paired"]["pairs"] == 3
    assert "Traceback" not in found.stderr
    kept = rescued(found)
    assert 1 <= len(stored) < 6
    assert len(stored) + len(kept) == 6
    assert found.stderr.count(f"could not be written to '{folder}': No space left on device") == len(kept)
    for path in kept:
        assert path.parent == tmp_path / "home" / "rescued"
        assert check_file(path) == []
        assert read_record(path)["replication"]["cells"] == 2
    assert_nothing_is_left(own)


def test_records_that_are_not_valid_are_kept_elsewhere_and_do_not_count(
    compare: Command, tmp_path: Path
) -> None:
    own = replace(compare, environment={**compare.environment, "BENCHMARKER_HOME": str(tmp_path / "home")})
    source = own.folder / "src"
    indented = ODD_FROM_ROUND_1.replace("\n", "\n    ")
    odd = PACED.format(seconds=0.005).replace(
        "def benchmarker_framework():", f"def benchmarker_framework():{indented}"
    )
    commit(source, "odd", paced_framework=odd)
    git(own.folder, "tag", "odd")
    (source / "paced_framework.py").write_text("raise ValueError('not committed')")
    found = run(own, "--include-contaminated", "--json", "--", *WORDS, sides=("git:slow", "git:odd"))
    assert found.status == 1, found.stderr
    (row,) = json.loads(found.stdout)["rows"]
    assert (row["paired"], row["other"]["processes"]) == (None, 1)
    for number, path in enumerate(rescued(found), 1):
        assert f"the record of round {number} at 'git:odd' is not valid: $.colour" in found.stderr
        assert read_record(path)["colour"] == "blue"
    assert len(rescued(found)) == 2
    assert [record["status"] for record in records(own)] == ["ok"] * 4
    assert_nothing_is_left(own)


def rescued(found: Finished) -> list[Path]:
    told = re.findall(r"^benchmarker: .*; it is kept as '(.*)'$", found.stderr, re.M)
    return [Path(path) for path in told]


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_what_was_made_before_an_interrupt_is_kept_and_nothing_else(
    compare: Command, sent: signal.Signals
) -> None:
    folder = compare.folder.parent / "r"
    process = compare.start(
        *("compare", "--run", "git:quick", "git:slow", "--pairs=500", "--include-contaminated"),
        *(f"--results={folder}", "--", *WORDS),
    )
    while len(list(folder.glob("*.json"))) < 6 and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(sent)
    found, told = process.communicate()
    assert process.returncode == 130, told
    assert "ratio" in found
    assert "Traceback" not in told
    assert {record["status"] for record in records(compare)} == {"ok"}
    assert_nothing_is_left(compare)


def test_checkouts_are_gone_also_where_one_cannot_be_made(repository: Path) -> None:
    head = git(repository, "rev-parse", "HEAD")
    with checked_out(repository, [head]) as (place,):
        assert (place / "src" / "paced_framework.py").read_text() == "raise ValueError('not today')"
    assert not place.parent.exists()
    with (
        pytest.raises(BenchmarkerError, match="cannot be checked out"),
        checked_out(repository, [head, "0" * 40]),
    ):
        raise AssertionError("there is no such commit")
    assert len(git(repository, "worktree", "list").splitlines()) == 1
