"""Whatever a worker sends or leaves behind, each command that starts workers ends with one sentence of ours."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from benchmarker.records.validation import check_file
from tests.conftest import Command, Finished
from tests.orchestration.test_hostile_workers import is_harmless
from tests.support.mpi import mpi_interpreter

pytestmark = pytest.mark.framework("numpy")

PROTOCOL = "the worker broke the protocol: "
SAID = {
    "nested": f"{PROTOCOL}it sent an event that is nested too deeply",
    "endless_line": f"{PROTOCOL}it sent a line of more than 64 MiB as an event",
    "stage_name": f"{PROTOCOL}its event 'stage' is wrong at $.name",
    "stage_type": f"{PROTOCOL}its event 'stage' is wrong at $.name: expected str, got object",
    "endless_log": f"{PROTOCOL}it printed more than 256 MiB",
    "message": "characters left out)",
    "signal": "the worker was ended by SIGSEGV in stage ",
    "leave": "the worker ended with exit status 0 in stage ",
}
MAX_COMPLAINT = 15_000


def ended(finished: Finished, said: str, status: int = 1) -> None:
    """See that a command ended with a status and a sentence, and without a traceback of its own."""
    assert finished.status == status, finished.stderr
    assert said in finished.stdout + finished.stderr
    assert "orchestration" not in finished.stderr
    assert len(finished.stderr) < MAX_COMPLAINT
    assert is_harmless(finished.stdout + finished.stderr)


def acting(command: Command, act: str) -> Command:
    return replace(command, environment={**command.environment, "HOSTILE_ACT": act})


@pytest.mark.parametrize("act", ["nested", "endless_log", "message", "leave"])
def test_a_calibration_ends_in_a_sentence(hostile: Command, act: str) -> None:
    finished = acting(hostile, act)("calibrate", "--framework=hostile", "--threads=1", "--quiet")
    ended(finished, SAID[act])
    assert finished.stderr.count("benchmarker: ") == 1
    assert "the calibration in fp32 did not finish" in finished.stderr


@pytest.mark.parametrize("act", ["endless_line", "stage_name", "message", "signal"])
def test_a_check_ends_in_a_sentence(hostile: Command, act: str) -> None:
    finished = hostile("check", "hostile", f"--set=act={act}", "--only=forward/relu/zeros")
    ended(finished, SAID[act])


@pytest.mark.parametrize("act", ["nested", "leave"])
def test_a_verification_goes_on_to_the_next_framework(hostile: Command, act: str) -> None:
    finished = hostile(
        *("verify", "--problem=trapped", "--framework=hostile,numpy", f"--set=hostile.act={act}"),
        *("--size=reduced", "--steps=1", "--optimizer=sgd", "--json", "--quiet"),
    )
    ended(finished, SAID[act])
    bad, good = json.loads(finished.stdout)["verdicts"]
    assert SAID[act] in bad["failure"]
    assert good["failure"] is None
    assert good["quantities"]


FILES = {
    "pipe": "OSError",
    "no_archive": "BadZipFile",
    "nested_head": "RecursionError",
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("act", [*FILES, "signal"])
def test_a_verification_without_a_reference_ends_in_a_sentence(hostile: Command, act: str) -> None:
    finished = hostile(
        *("verify", "--problem=trapped", "--framework=numpy", f"--set=trapped.act={act}"),
        *("--size=reduced", "--steps=1", "--optimizer=sgd", "--quiet"),
    )
    if act in FILES:
        ended(finished, f"the file that numpy left 'probes1.npz' was damaged ({FILES[act]})")
    else:
        ended(finished, f"the reference of 'trapped' could not be computed: {SAID[act]}")
    assert len(finished.stderr.splitlines()) == 1


@pytest.mark.timeout(60)
@pytest.mark.parametrize("act", ["no_file", "pipe", "nested_head"])
def test_a_run_without_a_reference_is_a_record_that_says_so(hostile: Command, act: str) -> None:
    finished = hostile(
        *("--framework=numpy", "--problem=trapped", "--mode=inference", f"--set=act={act}"),
        *("--steps=3", "--warmup=1", "--monitors=none", "--json"),
    )
    ended(finished, "reference")
    (record,) = finished.records
    assert record["status"] == "failed"
    assert not [fault for path in hostile.folder.glob("results/*.json") for fault in check_file(path)]
    said = "could not be computed: its worker said that it was done, but left no file of it"
    if act == "nested_head":
        said = "was damaged (RecursionError) and has been removed; run again"
    assert said in record["error"]["message"]


RECIPE = """\
data = "digits"
batch_size = 64
optimizer = { kind = "sgd", learning_rate = 0.1 }
[problem]
layers = [
    { layer = "InputLayer", shape = [64] },
    { layer = "FullyConnected", size = 10 },
]
[training]
target = { metric = "accuracy", value = 0.5 }
limits = { steps = 5 }
"""


def statuses(finished: Finished, command: Command, acts: Sequence[str]) -> None:
    """See that each act has made one valid record that says what was wrong."""
    assert finished.status == 1, finished.stderr
    assert "Traceback" not in finished.stderr
    bad = [record for record in finished.records if record["framework"]["name"] == "hostile"]
    assert [record["framework"]["options"]["act"] for record in bad] == list(acts)
    for act, record in zip(acts, bad, strict=True):
        said = SAID[act].replace("the worker ", "")
        assert record["status"] in ("failed", "crashed"), act
        assert said in record["error"]["message"], act
        assert is_harmless(record["error"]["message"] + (record["error"]["log_tail"] or "")), act
    assert not [fault for path in command.folder.glob("results/*.json") for fault in check_file(path)]


def test_a_training_is_one_record_and_the_next_is_made(hostile: Command) -> None:
    (hostile.folder / "tiny.toml").write_text(RECIPE)
    finished = hostile(
        *("train", "tiny.toml", "--framework=hostile,numpy", f"--set=hostile.act={','.join(SAID)}"),
        *("--seed=0", "--threads=1", "--monitors=none", "--start=fork", "--json"),
    )
    statuses(finished, hostile, list(SAID))
    assert [r["status"] for r in finished.records if r["framework"]["name"] == "numpy"] == ["ok"]


@pytest.mark.framework
@pytest.mark.timeout(120)
def test_ranks_are_one_record_and_the_next_run_is_made(hostile: Command) -> None:
    acts = ["nested", "endless_log", "message", "signal", "leave"]
    finished = hostile(
        *("--framework=hostile", "--problem=mnist_mlp", "--batch-size=4", f"--set=act={','.join(acts)},none"),
        *(
            "--ranks=2",
            "--exchange=mpi",
            "--threads=1",
            "--steps=3",
            "--warmup=1",
            "--monitors=none",
            "--json",
        ),
        f"--env={mpi_interpreter()}",
    )
    *bad, good = finished.records
    statuses(replace(finished, stdout="\n".join(map(json.dumps, bad))), hostile, acts)
    assert all("rank 0 of 2" in r["error"]["message"] or "rank 1 of 2" in r["error"]["message"] for r in bad)
    assert good["status"] == "ok"


# --- the other commands ---------------------------------------------------------------------------

EXPORTED = {
    "nested": SAID["nested"],
    "message": SAID["message"],
    "no_file": f"{PROTOCOL}it wrote no file 'm.onnx'",
    "pipe": f"{PROTOCOL}it wrote no file 'm.onnx'",
    "other_files": f"{PROTOCOL}it wrote files that it was not asked for: m.onnx, important.txt",
    "no_errors": f"{PROTOCOL}its event 'result' is wrong at $.tensors[0]: object missing required field name",
}


@pytest.mark.framework
@pytest.mark.parametrize("act", EXPORTED)
def test_an_export_writes_nothing_and_replaces_nothing(hostile: Command, act: str) -> None:
    (hostile.folder / "important.txt").write_text("mine")
    before = set(hostile.folder.iterdir())
    finished = hostile("export", "trapped", f"--set=act={act}", "-o", "m.onnx", "--force", "--quiet")
    ended(finished, EXPORTED[act])
    assert finished.stderr.startswith("benchmarker: the model was not written: ")
    assert set(hostile.folder.iterdir()) == before
    assert (hostile.folder / "important.txt").read_text() == "mine"
