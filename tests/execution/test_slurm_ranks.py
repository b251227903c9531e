"""Groups of ranks as a step of a real Slurm job over two nodes, and each way that Slurm ends them."""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from benchmarker.execution.launchers.spawned import BOOTSTRAP
from tests.conftest import CACHE_HOME
from tests.support import launched_runs
from tests.support.command_lines import replaced
from tests.support.launched_runs import ended, measuring
from tests.support.slurm_cluster import NODES, SlurmCluster
from tests.support.waiting import wait_until

pytestmark = pytest.mark.framework
BRIEF, ENDLESS = "--steps=6", "--steps=1000000"


@contextmanager
def allocation(slurm: SlurmCluster, *options: str) -> Iterator[dict[str, str]]:
    """Yield the variables of a job on both nodes, in which this process stands."""
    command = ("salloc", "--no-shell", "--nodes=2", "--ntasks-per-node=1", *options)
    done = subprocess.run(command, env=slurm.environment, capture_output=True, text=True, check=True)
    (job,) = re.findall(r"Granted job allocation (\d+)", done.stderr)
    try:
        yield {**slurm.environment, "BENCHMARKER_HOME": str(CACHE_HOME)} | {
            "SLURM_JOB_ID": job,
            "SLURM_JOB_NUM_NODES": "2",
        }
    finally:
        slurm.run("scancel", job, check=False)


def start(environment: dict[str, str], folder: Path, *options: str) -> subprocess.Popen[str]:
    return launched_runs.start(environment, folder, "--launcher=slurm", *replaced(("--ranks=2",), *options))


def job_of(process: psutil.Process) -> str | None:
    try:
        return process.environ().get("SLURM_JOB_ID")
    except psutil.Error:  # it has just ended
        return None


def assert_nothing_is_left(slurm: SlurmCluster, job: str) -> None:
    is_over = wait_until(lambda: all(job_of(process) != job for process in slurm.left()), 30)
    assert is_over, slurm.left()


def test_two_ranks_on_two_nodes_are_one_mpi_world(slurm: SlurmCluster, tmp_path: Path) -> None:
    with allocation(slurm) as environment:
        record = ended(start(environment, tmp_path, BRIEF), tmp_path)
        assert record["status"] == "ok", record["error"]
        assert record["verification"]["after_timing"]["status"] == "passed"
        assert record["execution"]["launcher"] == "slurm"
        found = record["distributed"]
        assert [member["node"] for member in found["members"]] == [0, 1]
        assert found["exchange"] == "mpi"
        assert "placed them on" in found["network"]["reason"]
        assert_nothing_is_left(slurm, environment["SLURM_JOB_ID"])


def test_a_cancelled_job_is_a_record_with_slurms_reason(slurm: SlurmCluster, tmp_path: Path) -> None:
    with allocation(slurm) as environment:
        process = start(environment, tmp_path, ENDLESS)
        measuring(process)
        slurm.run("scancel", environment["SLURM_JOB_ID"])
        record = ended(process, tmp_path)
        assert record["status"] == "crashed"
        assert re.search(
            r"rank [01] of 2 .* in stage '(warmup|measure)'.*CANCELLED AT", record["error"]["message"]
        )
        assert_nothing_is_left(slurm, environment["SLURM_JOB_ID"])


def test_a_preempted_job_is_a_record_with_slurms_reason(slurm: SlurmCluster, tmp_path: Path) -> None:
    with allocation(slurm) as environment:
        process = start(environment, tmp_path, ENDLESS)
        measuring(process)
        slurm.run("srun", "--partition=urgent", "--nodes=2", "--ntasks=2", "--exclusive", "true")
        record = ended(process, tmp_path)
        assert record["status"] == "crashed"
        assert "DUE TO PREEMPTION" in record["error"]["message"]
        assert_nothing_is_left(slurm, environment["SLURM_JOB_ID"])


@pytest.mark.timeout(600)  # a minute of waiting: Slurm counts in these
def test_slurm_ends_one_worker_and_two_ranks_at_the_time_limit_of_their_step(
    slurm: SlurmCluster, tmp_path: Path
) -> None:
    with allocation(slurm) as environment:
        limited = {**environment, "SLURM_TIMELIMIT": "1"}
        places = {ranks: tmp_path / str(ranks) for ranks in (1, 2)}
        begun = {}
        for ranks, place in places.items():
            place.mkdir()
            begun[ranks] = start(limited, place, ENDLESS, f"--ranks={ranks}")
        for process in begun.values():
            measuring(process)
        rest(slurm, environment["SLURM_JOB_ID"])
        for ranks, place in places.items():
            record = ended(begun[ranks], place)
            assert record["status"] == "crashed"
            assert "DUE TO TIME LIMIT" in record["error"]["message"]
        assert_nothing_is_left(slurm, environment["SLURM_JOB_ID"])


def rest(slurm: SlurmCluster, job: str) -> None:
    """Stop the workers and what stands beside them in a step, so that a minute of waiting is none of computing."""
    for process in slurm.left():
        with contextlib.suppress(psutil.NoSuchProcess):
            beside = "SLURM_PROCID" in process.environ()
            if job_of(process) == job and (beside or str(BOOTSTRAP) in process.cmdline()):
                process.suspend()


def give_up(slurm: SlurmCluster, job: str) -> None:
    """Have the ranks that are left abort, as their MPI does sooner or later, long before Slurm misses a node."""
    for process in slurm.left():
        with contextlib.suppress(psutil.NoSuchProcess):
            if job_of(process) == job and str(BOOTSTRAP) in process.cmdline():
                process.send_signal(signal.SIGABRT)


def test_a_killed_node_is_a_record_with_slurms_reason(slurm: SlurmCluster, tmp_path: Path) -> None:
    with allocation(slurm) as environment:
        process = start(environment, tmp_path, ENDLESS)
        measuring(process)
        slurm.kill_node(NODES[1])
        give_up(slurm, environment["SLURM_JOB_ID"])
        try:
            record = ended(process, tmp_path)
            assert record["status"] == "crashed"
            assert "NODE FAIL" in record["error"]["message"].upper()
            assert_nothing_is_left(slurm, environment["SLURM_JOB_ID"])
        finally:
            slurm.start_node(NODES[1])
    slurm.wait_idle()


def test_an_interrupted_run_leaves_nothing(slurm: SlurmCluster, tmp_path: Path) -> None:
    with allocation(slurm) as environment:
        process = start(environment, tmp_path, ENDLESS)
        measuring(process)
        process.send_signal(signal.SIGINT)
        assert ended(process, tmp_path)["status"] == "interrupted"
        assert_nothing_is_left(slurm, environment["SLURM_JOB_ID"])


def test_a_killed_command_leaves_nothing(slurm: SlurmCluster, tmp_path: Path) -> None:
    with allocation(slurm) as environment:
        process = start(environment, tmp_path, ENDLESS)
        measuring(process)
        process.kill()
        process.communicate()
        assert_nothing_is_left(slurm, environment["SLURM_JOB_ID"])


def test_more_nodes_than_there_are_ranks_and_more_ranks_than_cores(
    slurm: SlurmCluster, tmp_path: Path
) -> None:
    with allocation(slurm) as environment:
        record = ended(start(environment, tmp_path, BRIEF, "--ranks=8"), tmp_path)
        assert record["status"] == "ok", record["error"]
        assert {member["node"] for member in record["distributed"]["members"]} == {0, 1}


def test_a_network_of_its_own_is_refused(slurm: SlurmCluster, tmp_path: Path) -> None:
    with allocation(slurm) as environment:
        record = ended(start(environment, tmp_path, BRIEF, "--network=100mbit"), tmp_path)
        assert "is for ranks that benchmarker itself starts" in record["error"]["message"]


def test_a_job_that_is_over_is_one_sentence_in_slurms_words(slurm: SlurmCluster, tmp_path: Path) -> None:
    with allocation(slurm) as environment:
        slurm.run("scancel", environment["SLURM_JOB_ID"])
        record = ended(start(environment, tmp_path, BRIEF), tmp_path)
        assert re.search("could not start 2 ranks: srun: error: .*job", record["error"]["message"])
