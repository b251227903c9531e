"""Workers as steps of a real Slurm job: a run as locally, its end by Slurm, and what is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support.slurm_cluster import SlurmCluster
from tests.support.waiting import wait_until

RUN = (sys.executable, "-m", "benchmarker", "--framework=numpy", "--problem=mnist_mlp", "--env=current")


def run(
    slurm: SlurmCluster, folder: Path, *before: str, options: tuple[str, ...] = ()
) -> tuple[str, list[dict[str, Any]]]:
    command = [*before, *RUN, "--launcher=slurm", "--batch-size=8", f"--results={folder}", *options]
    done = subprocess.run(
        command,
        env=slurm.environment,
        cwd=folder.parent,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return done.stderr, [json.loads(path.read_text()) for path in folder.glob("*.json")]


def assert_nothing_is_left(slurm: SlurmCluster) -> None:
    assert wait_until(lambda: not slurm.left() and not slurm.jobs(), 30), slurm.left()


def test_a_run_is_a_step_of_the_job(slurm: SlurmCluster, tmp_path: Path) -> None:
    told, records = run(slurm, tmp_path / "r", "srun", "-N1", "-n1", options=("--steps=20", "--warmup=2"))
    assert [record["status"] for record in records] == ["ok"], told
    assert records[0]["execution"]["launcher"] == "slurm"
    assert_nothing_is_left(slurm)


def test_outside_of_a_job_it_says_what_to_do(slurm: SlurmCluster, tmp_path: Path) -> None:
    told, records = run(slurm, tmp_path / "r", options=("--steps=20",))
    (sentence,) = told.strip().splitlines()
    assert sentence.endswith("run benchmarker with salloc or sbatch")
    assert records == []


def test_outside_of_a_job_it_asks_for_one(slurm: SlurmCluster, tmp_path: Path) -> None:
    asked = ("--set=slurm.partition=requeued", "--set=slurm.nodes=2", "--set=slurm.time=10")
    told, records = run(slurm, tmp_path / "r", options=(*asked, "--steps=20", "--warmup=2", "--seed=3"))
    assert [record["status"] for record in records] == ["ok"], told
    assert records[0]["execution"]["launcher"] == "slurm"
    # What was asked of Slurm is of the queue, not of the run.
    assert not any("slurm." in word for word in records[0]["command"])
    assert_nothing_is_left(slurm)


def test_what_slurm_does_not_grant_is_told_in_its_words(slurm: SlurmCluster, tmp_path: Path) -> None:
    told, records = run(slurm, tmp_path / "r", options=("--set=slurm.partition=absent", "--steps=20"))
    assert "invalid partition specified: absent" in told
    assert "Traceback" not in told
    assert records == []
    assert_nothing_is_left(slurm)


def test_an_unknown_wish_is_refused_before_anything_is_asked(slurm: SlurmCluster, tmp_path: Path) -> None:
    told, records = run(slurm, tmp_path / "r", options=("--set=slurm.partitoin=work", "--steps=20"))
    assert "has a parameter 'slurm.partitoin'; did you mean 'slurm.partition'?" in told
    assert records == []
