"""``benchmarker submit``, ``jobs`` and ``collect`` on a real Slurm: arrays, states, cancelling, going on."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psij
import psutil
import pytest

from benchmarker.orchestration.submission.engine import processes
from benchmarker.orchestration.submission.resources import Resources
from benchmarker.orchestration.submission.state import save
from benchmarker.orchestration.submission.submit import new_submission
from tests.conftest import Command, Finished
from tests.support.slurm_cluster import SlurmCluster
from tests.support.waiting import wait_until

BLUEPRINT = """\
framework = "numpy"
problem = "mnist_mlp"
batch_size = [4, 8, 16, 32]
steps = 3
warmup = 1
threads = 1
verify = false
"""
TIMEOUT = 120.0


@pytest.fixture
def cluster(command: Command, slurm: SlurmCluster) -> Command:
    """The command in a folder with a blueprint of four cells, on the Slurm."""
    (command.folder / "four.toml").write_text(BLUEPRINT)
    return Command(command.folder, {**command.environment, "SLURM_CONF": slurm.environment["SLURM_CONF"]})


def well(finished: Finished) -> Any:
    assert finished.status == 0, finished.stderr
    return json.loads(finished.stdout)


def refused(finished: Finished) -> str:
    assert (finished.status, finished.stdout, finished.stderr.count("\n")) == (2, "", 1), finished
    return finished.stderr


def wait(
    cluster: Command, name: str, reached: Callable[[dict[int, str]], bool], member: str = "state"
) -> dict[int, dict[str, Any]]:
    """Return the parts of a submission by number, once a member of theirs is what a test waits for."""
    limit = time.monotonic() + TIMEOUT
    while True:
        parts = {part["part"]: part for part in well(cluster("jobs", name, "--json"))["parts"]}
        if reached({number: part[member] for number, part in parts.items()}):
            return parts
        assert time.monotonic() < limit, parts
        time.sleep(0.1)


def batch_sizes(folder: Path) -> list[int]:
    return sorted(json.loads(path.read_text())["batch_size"] for path in folder.glob("*.json"))


def submit(cluster: Command, *options: str) -> str:
    name = well(cluster("submit", "four.toml", "--to=slurm", "--cores=1", "--json", *options))["id"]
    assert isinstance(name, str)
    return name


@pytest.mark.framework("numpy")
def test_a_killed_task_of_an_array_is_submitted_again_and_all_records_come_home(
    cluster: Command, slurm: SlurmCluster
) -> None:
    name = submit(cluster, "--option=begin=now+1hour")
    # Slurm looks for a reason when it next schedules.
    parts = wait(cluster, name, lambda reasons: set(reasons.values()) == {"PENDING (BeginTime)"}, "reason")
    assert {part["state"] for part in parts.values()} == {"queued"}
    assert well(cluster("jobs", f"--cancel={name}/3", "--json"))["cancelled"] == [3]
    array = parts[1]["job"].partition("_")[0]
    slurm.run("scontrol", "update", f"jobid={array}", "StartTime=now")
    parts = wait(cluster, name, lambda states: set(states.values()) == {"done", "ended"})
    assert {number for number, part in parts.items() if part["state"] == "ended"} == {3}
    assert parts[3]["reason"] in ("cancelled by 'benchmarker jobs'", "CANCELLED")

    assert len(well(cluster("collect", "--json"))["added"]) == 3
    assert batch_sizes(cluster.folder / "results") == [4, 8, 32]
    again = well(cluster("submit", f"--resume={name}", "--option=begin=now", "--json"))
    assert again["parts"] == [3]
    wait(cluster, name, lambda states: set(states.values()) == {"done"})
    collected = well(cluster("collect", name, "--json"))
    assert (len(collected["added"]), len(collected["known"]), collected["damaged"]) == (1, 3, [])
    assert batch_sizes(cluster.folder / "results") == [4, 8, 16, 32]
    assert well(cluster("submit", f"--resume={name}", "--json"))["parts"] == []


@pytest.mark.framework("numpy")
def test_a_task_that_is_killed_while_it_runs_goes_on_with_what_is_missing(
    cluster: Command, slurm: SlurmCluster
) -> None:
    name = submit(cluster, "--cells-per-job=4", "--", "--steps=100000")
    first = cluster.folder / "results-submissions" / name / "part-1"
    wait(cluster, name, lambda states: states == {1: "running"})
    assert wait_until(lambda: "SLURM_JOB_ID" in str(environments(slurm)), TIMEOUT)
    assert well(cluster("jobs", f"--cancel={name}", "--json"))["cancelled"] == [1]
    parts = wait(cluster, name, lambda states: states[1] not in ("running", "queued"))
    assert parts[1]["state"] in ("ended", "failed")
    assert parts[1]["reason"]
    left = [json.loads(path.read_text())["status"] for path in (first / "results").glob("*.json")]
    assert "ok" not in left
    assert wait_until(lambda: not slurm.left(), TIMEOUT)


def environments(slurm: SlurmCluster) -> list[dict[str, str]]:
    """Return the variables of each of our processes that a job has, but for those that end meanwhile."""
    found = []
    for process in slurm.left():
        with contextlib.suppress(psutil.NoSuchProcess):
            if "benchmarker" in process.cmdline():
                found.append(process.environ())
    return found


@pytest.mark.framework("numpy")
def test_a_preempted_job_is_queued_again_and_goes_on_with_what_is_missing(
    cluster: Command, slurm: SlurmCluster
) -> None:
    name = submit(cluster, "--cells-per-job=4", "--option=partition=requeued", "--", "--steps=8000")
    results = cluster.folder / "results-submissions" / name / "part-1" / "results"
    assert wait_until(lambda: list(results.glob("*.json")), TIMEOUT)
    (first,) = results.glob("*.json")
    slurm.run("srun", "--partition=urgent", "--nodes=2", "--ntasks=2", "--exclusive", "true")
    parts = wait(cluster, name, lambda states: states == {1: "queued"})
    # Slurm lets a job that it queues again wait for two minutes; a node refuses one that it has just revoked.
    slurm.run("scontrol", "update", f"jobid={parts[1]['job']}", "StartTime=now+5")
    wait(cluster, name, lambda states: states == {1: "done"})
    records = [json.loads(path.read_text()) for path in results.glob("*.json")]
    measured = [record for record in records if record["status"] == "ok"]
    assert sorted(record["batch_size"] for record in measured) == [4, 8, 16, 32]
    assert json.loads(first.read_text())["id"] in [record["id"] for record in measured]
    assert {record["status"] for record in records} <= {"ok", "interrupted", "crashed"}


@pytest.mark.framework("numpy")
def test_a_blueprint_that_changes_after_it_was_submitted_is_not_run(cluster: Command) -> None:
    name = submit(cluster, "--option=begin=now+3", "--cells-per-job=2")
    blueprint = cluster.folder / "four.toml"
    blueprint.write_text(BLUEPRINT.replace("steps = 3", "steps = 4"))
    parts = wait(cluster, name, lambda states: set(states.values()) == {"failed"})
    assert parts[1]["reason"].startswith("exit status 2: the blueprint has changed since it was submitted")
    table = cluster("jobs", name)
    assert "exit status 2" in table.stdout
    assert "has changed since it was submitted" in refused(cluster("submit", f"--resume={name}"))
    blueprint.write_text(BLUEPRINT)
    assert well(cluster("submit", f"--resume={name}", "--option=begin=now", "--json"))["parts"] == [1, 2]
    wait(cluster, name, lambda states: set(states.values()) == {"done"})
    assert len(well(cluster("collect", "--json"))["added"]) == 4


def test_what_slurm_refuses_is_told_in_its_own_words_and_leaves_nothing(cluster: Command) -> None:
    told = refused(cluster("submit", "four.toml", "--to=slurm", "--queue=nope"))
    assert "invalid partition specified: nope" in told
    assert not list((cluster.folder / "results-submissions").glob("*"))


def test_dry_run_prints_the_scripts_and_writes_nothing(command: Command) -> None:
    (command.folder / "four.toml").write_text(BLUEPRINT)
    done = command(
        "submit", "four.toml", "--to=slurm", "--queue=fast", "--minutes=90", "--parallel=2", "--dry-run"
    )
    assert (done.status, done.stderr) == (0, "")
    assert '#SBATCH --array="1-4%2"' in done.stdout
    assert '#SBATCH --partition="fast"' in done.stdout
    assert "#SBATCH --time=1:30:0" in done.stdout
    assert '--part="$part/4"' in done.stdout
    assert [path.name for path in command.folder.iterdir()] == ["four.toml"]


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        ("pbs", ("#PBS -q fast", "walltime=", "select=2:ncpus=8:")),
        ("lsf", ('#BSUB -q "fast"', "#BSUB -W", "#BSUB -nnodes 2\n", "#BSUB -n 16\n")),
        ("pbs_classic", ("#PBS -q fast", "nodes=2:ppn=8")),
    ],
)
def test_other_engines_get_a_job_for_each_part(command: Command, engine: str, words: tuple[str, ...]) -> None:
    (command.folder / "four.toml").write_text(BLUEPRINT)
    asked = ("--queue=fast", "--nodes=2", "--cores=8", "--cells-per-job=2", "--dry-run")
    done = command("submit", "four.toml", f"--to={engine}", *asked)
    assert done.status == 0, done.stderr
    assert all(word in done.stdout for word in words)
    assert [line for line in done.stdout.splitlines() if line.startswith("# ---")] == [
        "# --- job.sh ---",
        f"# --- {engine}.1 ---",
        f"# --- {engine}.2 ---",
    ]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "submit takes a blueprint and --to=NAME"),
        (("four.toml",), "submit takes a blueprint and --to=NAME"),
        (("four.toml", "--to=slrm"), "did you mean 'slurm'"),
        (("absent.toml", "--to=slurm"), "absent.toml"),
        (("four.toml", "--to=slurm", "--", "steps=3"), "options of run as --NAME=VALUE"),
        (("four.toml", "--to=slurm", "--", "--stepz=3"), "did you mean '--steps'"),
        (("four.toml", "--to=slurm", "--", "--resume"), "--resume is not for"),
        (("four.toml", "--to=slurm", "--", "--batch-size=0"), "--batch-size must be"),
        (("four.toml", "--to=slurm", "--results=s3://a/b"), "must be a folder that all nodes share"),
        (("four.toml", "--to=slurm", "--image=x"), "--image is for kubernetes and aws-batch"),
        (("four.toml", "--to=slurm", "--option=x"), "--option must be KEY=VALUE"),
        (("four.toml", "--to=kubernetes", "--image=x"), "is only printed: give --dry-run"),
        (("four.toml", "--to=pbs", "--parallel=2"), "--parallel does not apply to --to=pbs"),
        (("four.toml", "--to=pbs", "--gpus=1", "--dry-run"), "--gpus does not apply to --to=pbs"),
        (("four.toml", "--to=pbs_classic", "--parallel=2"), "--parallel does not apply to --to=pbs_classic"),
        (("four.toml", "--to=lsf", "--parallel=2"), "--parallel does not apply to --to=lsf"),
        (("four.toml", "--to=lsf", "--exclusive"), "--exclusive does not apply to --to=lsf"),
        (("four.toml", "--to=lsf", "--gpus=1", "--cores=8"), "give --gpus or --cores, and not both"),
        (("four.toml", "--to=flux", "--parallel=2"), "--parallel does not apply to --to=flux"),
        (("four.toml", "--to=flux", "--memory-gib=2"), "--memory-gib does not apply to --to=flux"),
        (("four.toml", "--to=flux", "--option=a=b"), "--option does not apply to --to=flux"),
        (("--resume=absent",), "there is no submission 'absent'"),
        (("four.toml", "--resume=absent"), "give none of them"),
        (("--resume=absent", "--cells-per-job=2"), "give none of them"),
    ],
)
def test_what_makes_no_sense_is_refused(command: Command, arguments: tuple[str, ...], sentence: str) -> None:
    (command.folder / "four.toml").write_text(BLUEPRINT)
    assert sentence in refused(command("submit", *arguments))
    assert [path.name for path in command.folder.iterdir()] == ["four.toml"]


@pytest.mark.parametrize(
    ("engine", "asked", "refusal"),
    [
        ("pbs", ("--parallel=2",), "--parallel does not apply to --to=pbs"),
        ("slurm", ("--image=x",), "--image is for kubernetes and aws-batch"),
    ],
)
def test_what_an_engine_would_never_hear_of_is_refused_on_going_on_too(
    command: Command, engine: str, asked: tuple[str, ...], refusal: str
) -> None:
    (command.folder / "four.toml").write_text(BLUEPRINT)
    resources = Resources(cores=1)
    submission = new_submission(command.folder / "four.toml", (), engine, resources, cells=4, cells_per_job=2)
    save(command.folder / "results-submissions" / submission.id, submission)
    assert refusal in refused(command("submit", f"--resume={submission.id}", *asked))


def test_flux_is_told_of_one_process() -> None:
    asked = psij.ResourceSpecV1(**processes("flux", Resources(cores=8)))
    assert (asked.processes_per_node, asked.process_count, asked.cpu_cores_per_process) == (None, 1, 8)


def test_without_slurm_it_says_so(command: Command) -> None:
    (command.folder / "four.toml").write_text(BLUEPRINT)
    bare = Command(command.folder, {**command.environment, "PATH": "/nowhere"})
    assert "slurm cannot be used from here: 'sbatch' No such file" in refused(
        bare("submit", "four.toml", "--to=slurm")
    )


def test_jobs_of_nothing(command: Command) -> None:
    assert command("jobs").stdout == "no submissions\n"
    assert "there is no submission 'x'" in refused(command("jobs", "x"))
    assert "--cancel takes ID or ID/PART" in refused(command("jobs", "--cancel=x/y"))
    assert "there is no submission 'x'" in refused(command("collect", "x"))


def test_a_pipe_in_place_of_a_submission_is_one_sentence(command: Command) -> None:
    folder = command.folder / "results-submissions" / "one"
    folder.mkdir(parents=True)
    os.mkfifo(folder / "submission.json")
    assert "cannot be read (Not a file)" in refused(command("jobs", timeout=60))


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"id": 3}', '{"id": "x", "surplus": 1}', "[" * 100_000],
    ids=["empty", "cut", "list", "kind", "surplus", "nested"],
)
def test_a_damaged_submission_is_one_sentence(command: Command, text: str) -> None:
    folder = command.folder / "results-submissions" / "one"
    folder.mkdir(parents=True)
    (folder / "submission.json").write_text(text)
    for words in (("jobs",), ("jobs", "one"), ("collect",), ("submit", "--resume=one")):
        assert "must be a submission's file as this version writes it" in refused(command(*words))
