"""The Slurm that other tests run on: two nodes, and nothing left of it, whatever ended it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.conftest import ROOT
from tests.support.slurm_cluster import SlurmCluster, missing
from tests.support.waiting import wait_until


def test_a_job_runs_on_two_nodes(slurm: SlurmCluster) -> None:
    told = slurm.run("srun", "--nodes=2", "--ntasks=2", "printenv", "SLURMD_NODENAME")
    assert sorted(told.split()) == ["n1", "n2"]


def _of(configuration: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("SLURM_CONF") == configuration:
                found.append(process)
        except psutil.Error:
            continue
    return found


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_of_it(ending: signal.Signals) -> None:
    reason = missing()
    if reason:
        pytest.skip(reason)
    command = [sys.executable, "-m", "tests.support.slurm_cluster"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        configuration = process.stdout.readline().strip().partition("=")[2]
        assert len(_of(configuration)) >= 4
        environment = {**os.environ, "SLURM_CONF": configuration}
        subprocess.run(
            ["sbatch", "--output=/dev/null", "--wrap", "sleep 1000"],
            env=environment,
            check=True,
            capture_output=True,
        )
        process.send_signal(ending)
    # Daemons whose parent was killed end with it; a job is the node's, and outlives that as on a real node.
    names = "slurmd", "slurmctld"
    assert wait_until(lambda: not any(n in one.name() for one in _of(configuration) for n in names), 20)
    if ending != signal.SIGKILL:
        assert not _of(configuration)
        assert not Path(configuration).exists()
    for one in _of(configuration):
        one.kill()
    shutil.rmtree(Path(configuration).parent, ignore_errors=True)
