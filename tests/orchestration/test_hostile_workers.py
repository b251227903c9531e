"""Whatever a worker sends costs its run one valid record that says so, and the next run is made."""

from __future__ import annotations

import json

import pytest

from benchmarker.records.validation import check_file
from tests.conftest import Command

pytestmark = pytest.mark.framework("numpy")

QUICK = ("--problem=mnist_mlp", "--batch-size=2", "--steps=3", "--warmup=1", "--json")
SAID = {
    "nested": "an event that is nested too deeply",
    "nested_less": "its event 'result' is wrong: expected at most 16 levels, got more",
    "endless_line": "a line of more than 64 MiB as an event",
    "digits": "a number of too many digits",
    "unknown": r"an event of the unknown kind '\\x1b[2J\\x00\\u202e\\ud800\\x9b31m",
    "stage_name": "its event 'stage' is wrong at $.name: expected str matching regex",
    "stage_type": "its event 'stage' is wrong at $.name: expected str, got object",
    "stage_members": "its event 'stage' is wrong: object contains unknown field more",
    "no_members": "its event 'error' is wrong: object missing required field stage",
    "result_first": "it sent the event 'result' before 'timed'",
    "ready_first": "it sent the event 'ready' before 'prepared'",
    "many_stages": "events, 'stage' the last",
    "many_lines": "more than 100,000 lines that are not events",
    "endless_log": "it printed more than 256 MiB",
    "nan": "its event 'progress' is wrong at $.step_seconds: expected float >= 0.0",
    "infinite": "its event 'progress' is wrong at $.step_seconds: expected float <= ",
    "negative": "its event 'progress' is wrong at $.step_seconds: expected float >= 0.0",
    "huge": "its event 'progress' is wrong: expected whole numbers of at most 64 bits",
    "ready_often": "it sent the event 'ready' a second time",
    "prepared_again": "it sent the event 'prepared' a second time",
    "timed_first": "it sent the event 'timed' before 'ready'",
    "evidence": "its event 'result' is wrong at $.evidence",
    "checkpoints": "its event 'result' is wrong at $.checkpoints",
    "no_samples": "its event 'result' is wrong at $.samples_nanoseconds: expected array of length >= 1",
    "samples": "its event 'result' is wrong: expected 7 samples of 7 steps in blocks of 1, got 2",
    "negative_sample": "its event 'result' is wrong at $.samples_nanoseconds[1]: expected int >= 0",
    "learning": "its event 'result' is wrong at $.learning",
    "libraries": "its event 'result' is wrong at $.libraries: expected at most 1,048,576 bytes",
    "clock": "its event 'result' is wrong at $.clock: expected str, got null",
    "texts": "its event 'prepared' is wrong: expected texts of at most 8,388,608 characters together",
    "verdict": "its event 'verification' is wrong at $.status: invalid enum value 'surely'",
    "tensors": "its event 'verification' is wrong at $.tensors",
    "after_the_result": "it sent the event 'stage' after 'result'",
    "result_again": "it sent the event 'result' after 'result'",
}


def is_harmless(text: str) -> bool:
    return all(line.isprintable() for part in text.split("\n") for line in part.split("\t"))


def test_each_costs_its_run_one_record_that_says_so(hostile: Command) -> None:
    finished = hostile("--framework=hostile,numpy", *QUICK, "--start=fork", f"--set=act={','.join(SAID)}")
    assert finished.status == 1, finished.stderr
    assert "Traceback" not in finished.stderr
    *bad, good = finished.records
    assert good["status"] == "ok"
    assert good["framework"]["name"] == "numpy"
    assert len(bad) == len(SAID)
    for record in bad:
        act, error = record["framework"]["options"]["act"], record["error"]
        assert (act, record["status"], error["type"]) == (act, "failed", "ProtocolError")
        assert error["message"].startswith("the worker broke the protocol: "), act
        assert SAID[act].replace("\\\\", "\\") in error["message"], act
        assert len(json.dumps(record)) < 100_000, act
        assert is_harmless(error["message"] + (error["log_tail"] or "")), act
    assert not [fault for file in hostile.folder.glob("results/*.json") for fault in check_file(file)]
    assert all(is_harmless(line) for line in finished.stderr.splitlines())


def test_lines_that_are_no_events_are_passed_over_and_texts_are_made_harmless(hostile: Command) -> None:
    acts = "half_a_character,no_events,names,beyond,pid_of_nobody,pid_of_init"
    finished = hostile("--framework=hostile", *QUICK, "--start=fork", f"--set=act={acts}")
    assert finished.status == 0, finished.stderr
    assert is_harmless(finished.stdout.replace("\n", ""))
    assert [record["status"] for record in finished.records] == ["ok"] * 6
    assert finished.records[2]["framework"]["libraries"] == {EVIL: EVIL}


def test_a_version_is_made_harmless_before_it_is_judged(hostile: Command) -> None:
    finished = hostile("--framework=hostile", *QUICK, "--start=fork", "--set=act=version")
    (record,) = finished.records
    assert record["status"] == "failed"
    assert f"version 1{EVIL}" in record["error"]["message"]
    assert is_harmless(record["error"]["message"])


def test_whatever_is_in_the_place_of_a_log_is_waited_for_by_nobody(hostile: Command) -> None:
    acts = "log_pipe,log_folder,log_device,log_gone"
    finished = hostile("--framework=hostile", *QUICK, "--start=fork", f"--set=act={acts}")
    assert "Traceback" not in finished.stderr
    assert len(finished.records) == 4
    for record in finished.records:
        assert (record["status"], record["error"]["message"]) == ("failed", "nobody finds my log")
        assert (record["error"]["log_tail"], record["log"]) == (None, None)


EVIL = r"\x1b[2J\x00\u202e\ud800\x9b31m"


def test_a_message_of_ten_megabytes_is_cut_and_says_so(hostile: Command) -> None:
    finished = hostile("--framework=hostile", *QUICK, "--set=act=message")
    (record,) = finished.records
    assert (record["status"], record["error"]["type"]) == ("failed", "ValueError")
    message = record["error"]["message"]
    assert message.startswith(EVIL)
    assert message.endswith("characters left out)")
    assert len(message) < 5000
