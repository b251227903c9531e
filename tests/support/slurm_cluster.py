"""A real Slurm of two virtual nodes on this machine, for tests and for a shell.

``python -m tests.support.slurm_cluster -- COMMAND ...`` runs a command in it and ends it; without a command it prints
``SLURM_CONF`` and stays until it is interrupted. Needs root and Debian's ``slurm-wlm`` and ``munge``.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil

NODES = ("n1", "n2")
DAEMONS = ("munged", "slurmctld", "slurmd")
START_TIMEOUT = 60.0
"""Seconds until all nodes must be idle."""
STOP_TIMEOUT = 10.0
_PR_SET_PDEATHSIG = 1
_CONFIGURATION = """\
ClusterName=virtual
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/linux
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,bf_interval=1,sched_min_interval=0
PreemptType=preempt/partition_prio
PreemptMode=CANCEL
JobRequeue=1
ReturnToService=2
MessageTimeout=5
SlurmdTimeout=10
KillWait=2
MinJobAge=600
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={first_port} CPUs=2 RealMemory=4000
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={second_port} CPUs=2 RealMemory=4000
PartitionName=work Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP PriorityTier=1 PreemptMode=CANCEL
PartitionName=requeued Nodes=n1,n2 MaxTime=INFINITE State=UP PriorityTier=1 PreemptMode=REQUEUE
PartitionName=urgent Nodes=n1,n2 MaxTime=INFINITE State=UP PriorityTier=10 PreemptMode=OFF
"""


def missing() -> str | None:
    """Return why no cluster can be started here; None if one can."""
    if os.geteuid() != 0:
        return "a Slurm of virtual nodes is set up as root only"
    absent = [daemon for daemon in DAEMONS if _daemon(daemon) is None]
    assert not absent, f"{', '.join(absent)} not found: install Debian's slurm-wlm and munge, as .ci/run does"
    return None


def _daemon(name: str) -> str | None:
    return shutil.which(name, path=f"/usr/sbin:/usr/local/sbin:{os.environ.get('PATH', '')}")


def _end_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def _node_of(process: psutil.Process) -> str | None:
    try:
        return process.environ().get("SLURMD_NODENAME")
    except psutil.Error:
        return None


@dataclass
class SlurmCluster:
    """A running Slurm; its clients find it by ``environment``.

    Its partitions are ``work`` (default), ``requeued`` and ``urgent``, whose jobs preempt those of the others: they are
    cancelled in ``work`` and queued again in ``requeued``.
    """

    folder: Path
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def configuration(self) -> Path:
        """The file that ``SLURM_CONF`` names."""
        return self.folder / "slurm.conf"

    @property
    def environment(self) -> dict[str, str]:
        """Variables of this process, and the one that names this Slurm."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("SLURM_")}
        return {**kept, "SLURM_CONF": str(self.configuration)}

    def start(self) -> None:
        """Start all daemons and wait until both nodes are idle."""
        for name in ("state", *(f"spool-{node}" for node in NODES)):
            (self.folder / name).mkdir(parents=True)
        controller_port, first_port, second_port = _free_ports(3)
        self.configuration.write_text(
            _CONFIGURATION.format(
                host=socket.gethostname(),
                folder=self.folder,
                controller_port=controller_port,
                first_port=first_port,
                second_port=second_port,
            )
        )
        self._start_munge()
        self._start("slurmctld", "-D")
        for node in NODES:
            self.start_node(node)
        self.wait_idle()

    def wait_idle(self, seconds: float = START_TIMEOUT) -> None:
        """Return once both nodes take jobs."""
        self._wait(lambda: self.idle_nodes() == list(NODES), seconds, "the nodes are not idle")

    def _start_munge(self) -> None:
        key = self.folder / "munge.key"
        key.touch(mode=0o600)
        key.write_bytes(secrets.token_bytes(1024))
        files = {"socket": "socket", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
        options = [f"--{option}={self.folder}/munge.{suffix}" for option, suffix in files.items()]
        self._start("munged", "--foreground", "--force", f"--key-file={key}", *options)
        found = (self.folder / "munge.socket").exists
        self._wait(found, START_TIMEOUT, "munged has no socket")

    def _start(self, daemon: str, *arguments: str, name: str | None = None) -> None:
        program = _daemon(daemon)
        assert program, daemon
        with (self.folder / f"{name or daemon}.output").open("ab") as output:
            self.processes[name or daemon] = subprocess.Popen(
                [program, *arguments],
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                preexec_fn=_end_with_parent,
            )

    def _wait(self, reached: Callable[[], bool], seconds: float, otherwise: str) -> None:
        limit = time.monotonic() + seconds
        while not reached():
            ended = [name for name, process in self.processes.items() if process.poll() is not None]
            if ended or time.monotonic() > limit:
                logs = [*self.folder.glob("*.output"), *self.folder.glob("*.log")]
                told = "\n".join(f"{log.name}: {log.read_text(errors='replace')[-2000:]}" for log in logs)
                raise RuntimeError(f"{otherwise}, ended: {ended}\n{told}")
            time.sleep(0.05)

    def run(self, *command: str, check: bool = True, timeout: float = 60) -> str:
        """Run a client, such as ``squeue``, and return its output."""
        done = subprocess.run(
            command, env=self.environment, capture_output=True, text=True, timeout=timeout, check=False
        )
        if check and done.returncode:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr}")
        return done.stdout

    def idle_nodes(self) -> list[str]:
        """Return the names of the nodes that are idle."""
        told = self.run("sinfo", "--Node", "--noheader", "--partition=work", "--format=%N %T", check=False)
        return [name for name, state in map(str.split, told.splitlines()) if state == "idle"]

    def jobs(self) -> list[str]:
        """Return the numbers of all jobs that are not over."""
        return self.run("squeue", "--noheader", "--array", "--format=%i", check=False).split()

    def start_node(self, node: str) -> None:
        """Start the daemon of a node, also after it was killed."""
        self._start("slurmd", "-D", "-N", node, name=node)

    def kill_node(self, node: str) -> None:
        """Kill a node: its daemon and all that runs on it."""
        daemon = self.processes.pop(node)
        daemon.kill()
        daemon.wait()
        tasks = [process for process in self.left() if _node_of(process) == node]
        steps = {task.ppid(): task.parent() for task in tasks}
        for process in (*steps.values(), *tasks):
            if process is not None and (process in tasks or process.name() == "slurmstepd"):
                with contextlib.suppress(psutil.Error):
                    process.kill()

    def left(self) -> list[psutil.Process]:
        """Return what this Slurm started and that still runs, without its daemons."""
        daemons = {process.pid for process in self.processes.values()} | {os.getpid()}
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                variables = process.environ()
                ours = variables.get("SLURM_CONF") == str(self.configuration)
                started = "SLURM_JOB_ID" in variables or process.name() == "slurmstepd"
                if ours and started and process.pid not in daemons:
                    found.append(process)
        return found

    def stop(self) -> None:
        """Cancel all jobs and end all that this Slurm started."""
        with contextlib.suppress(Exception):
            self.run("scancel", "--user=root", check=False, timeout=STOP_TIMEOUT)
            limit = time.monotonic() + STOP_TIMEOUT
            while self.left() and time.monotonic() < limit:
                time.sleep(0.1)
        for name in (*NODES, "slurmctld", "munged"):
            process = self.processes.pop(name, None)
            if process is not None:
                process.terminate()
                try:
                    process.wait(STOP_TIMEOUT)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
        for one in self.left():
            with contextlib.suppress(psutil.Error):
                one.kill()


@contextlib.contextmanager
def slurm_cluster(folder: Path | None = None) -> Iterator[SlurmCluster]:
    """Run a Slurm of two nodes, ``n1`` and ``n2``, in a folder of its own, which is removed afterwards."""
    # A socket's path may have 107 characters, which pytest's own folders may exceed.
    folder = folder or Path(tempfile.mkdtemp(prefix="slurm-"))
    cluster = SlurmCluster(folder)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _main(arguments: list[str]) -> int:
    reason = missing()
    if reason:
        print(reason, file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with slurm_cluster() as cluster:
        if arguments:
            return subprocess.run(arguments, env=cluster.environment, check=False).returncode
        print(f"export SLURM_CONF={cluster.configuration}", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            signal.pause()
        return 0


if __name__ == "__main__":
    sys.exit(_main([argument for argument in sys.argv[1:] if argument != "--"]))
