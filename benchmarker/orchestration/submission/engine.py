"""Batch systems by PSI/J: the script of a job, its submission, its state in the engine's words, its end."""

from __future__ import annotations

import contextlib
import io
import subprocess
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from benchmarker.errors import BenchmarkerError, UsageError, missing_package, printable
from benchmarker.orchestration.submission.resources import Resources
from benchmarker.quick_dataclass import dataclass

BATCH_ENGINES = ("slurm", "pbs", "pbs_classic", "lsf")
"""Engines whose jobs are scripts."""
ENGINES = (*BATCH_ENGINES, "flux")
ARRAY_ENGINES = ("slurm",)
"""Engines that take all parts as one array."""
_UNSUPPORTED_RESOURCES = {
    "slurm": (),
    "pbs": ("gpus", "parallel"),
    "pbs_classic": ("parallel",),
    "lsf": ("exclusive", "parallel"),
    "flux": ("nodes", "memory_gib", "queue", "account", "exclusive", "parallel", "options"),
}
"""What PSI/J (0.9) drops on its way to an engine, and what an engine that takes no arrays has no word for."""
TIMEOUT = 60.0
"""Seconds that a command of an engine may take."""
_PENDING = {"PENDING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD", "CONFIGURING", "QUEUED"}
_OVER = {
    "BOOT_FAIL", "CANCELLED", "CANCELED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED",
    "REVOKED", "TIMEOUT",
}  # fmt: skip


@dataclass(frozen=True)
class EngineState:
    """A job's state in the engine's own words, e.g. ``PENDING`` and ``Resources``."""

    state: str
    reason: str = ""

    @property
    def is_over(self) -> bool:
        """Whether the job has ended."""
        return self.state in _OVER

    @property
    def is_queued(self) -> bool:
        """Whether the job has yet to begin."""
        return self.state in _PENDING


def check_resources(name: str, resources: Resources) -> None:
    """Refuse what an engine would never hear of.

    Parameters
    ----------
    name : str
        Of the engine; one that PSI/J does not serve takes everything here.
    resources : Resources
        What is asked for.

    Raises
    ------
    UsageError
        If something of it would be dropped.
    """
    default = Resources()
    for wrong in _UNSUPPORTED_RESOURCES.get(name, ()):
        if getattr(resources, wrong) != getattr(default, wrong):
            flag = "option" if wrong == "options" else wrong.replace("_", "-")
            raise UsageError(f"--{flag} does not apply to --to={name}: leave it out")
    if name == "lsf" and resources.gpus and resources.cores:
        raise UsageError("--to=lsf has GPUs for each core: give --gpus or --cores, and not both")


class Engine:
    """A batch system that PSI/J knows.

    Parameters
    ----------
    name : str
        As PSI/J names it.
    folder : Path
        Where PSI/J keeps the scripts, shared by all nodes.

    Raises
    ------
    UsageError
        If PSI/J, or what it needs for this engine, is not installed.
    """

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        try:
            import psij
            from psij.executors.batch.batch_scheduler_executor import BatchSchedulerExecutorConfig
        except ImportError:
            raise UsageError(missing_package("submit", "psij-python", "cluster")) from None
        self._psij: Any = psij
        # Files are kept: PSI/J's own polling, which nothing here waits for, would remove them.
        config: Any = BatchSchedulerExecutorConfig(work_directory=folder / "psij", keep_files=True)
        try:
            self._executor: Any = psij.JobExecutor.get_instance(
                name, config=config if name in BATCH_ENGINES else None
            )
        except (ImportError, ValueError) as error:
            raise UsageError(f"PSI/J cannot use '{name}' here ({printable(str(error))})") from None

    def _job(self, script: Path, arguments: Sequence[str], resources: Resources, name: str) -> Any:
        psij = self._psij
        resource_spec = psij.ResourceSpecV1(
            **processes(self.name, resources),
            gpu_cores_per_process=resources.gpus,
            exclusive_node_use=resources.exclusive,
            memory=resources.memory_gib and resources.memory_gib * 2**30,
        )
        attributes = psij.JobAttributes(
            duration=timedelta(minutes=resources.minutes),
            queue_name=resources.queue,
            account=resources.account,
            custom_attributes={f"{self.name}.{key}": value for key, value in resources.options.items()},
        )
        spec = psij.JobSpec(
            name=name,
            executable="/bin/bash",
            arguments=[str(script), *arguments],
            directory=script.parent,
            resources=resource_spec,
            attributes=attributes,
            launcher="single",
        )
        return psij.Job(spec)

    def script(self, script: Path, arguments: Sequence[str], resources: Resources, name: str) -> str:
        """Return what the engine would be given for a job.

        Raises
        ------
        UsageError
            If the engine's jobs are no scripts.
        """
        if self.name not in BATCH_ENGINES:
            raise UsageError(
                f"--dry-run prints scripts, but jobs of {self.name} are not scripts; choose another --to"
            )
        job = self._job(script, arguments, resources, name)
        text = io.StringIO()
        self._executor.generate_submit_script(job, self._executor._create_script_context(job), text)
        return text.getvalue()

    def submit(self, script: Path, arguments: Sequence[str], resources: Resources, name: str) -> str:
        """Give the engine a job and return the name that it has there.

        Raises
        ------
        UsageError
            With the engine's own reason if it refuses it.
        """
        job = self._job(script, arguments, resources, name)
        with self._engine_errors():
            self._executor.submit(job)
            if job.native_id is None:
                job.wait(timeout=timedelta(seconds=TIMEOUT), target_states=[self._psij.JobState.QUEUED])
        return str(job.native_id)

    def cancel(self, job: str) -> None:
        """End a job; one that is over is left alone.

        Raises
        ------
        UsageError
            With the engine's own reason if it refuses.
        """
        if self.name in BATCH_ENGINES:
            self._call(self._executor.get_cancel_command(job))
            return
        attached = self._psij.Job(self._psij.JobSpec(executable="/bin/true"))
        with self._engine_errors():
            self._executor.attach(attached, job)
            self._executor.cancel(attached)

    def states(self, jobs: Sequence[str]) -> dict[str, EngineState]:
        """Return the state of each job that the engine still knows, asked for now.

        Raises
        ------
        UsageError
            With the engine's own reason if it does not tell.
        """
        if not jobs:
            return {}
        if self.name == "slurm":
            return self._slurm_states(jobs)
        if self.name not in BATCH_ENGINES:
            return {}
        with self._engine_errors():
            status_output = self._call(self._executor.get_status_command(jobs))
            found = self._executor.parse_status_output(0, status_output)
        return {
            job: EngineState(status.state.name, status.message or "")
            for job, status in found.items()
            if job in jobs
        }

    def _slurm_states(self, jobs: Sequence[str]) -> dict[str, EngineState]:
        # PSI/J's own reading knows no arrays, and has no reason of a job that waits.
        squeue_output = self._call(
            ["squeue", "--noheader", "--array", "--states=all", "--me", "--format=%i|%T|%r"]
        )
        lines = [line.split("|", 2) for line in squeue_output.splitlines() if line.count("|") >= 2]
        found = {job: EngineState(state, "" if reason == "None" else reason) for job, state, reason in lines}
        missing = [job for job in jobs if job not in found]
        if missing:
            found.update(self._accounted(missing))
        return {job: found[job] for job in jobs if job in found}

    def _accounted(self, jobs: Sequence[str]) -> dict[str, EngineState]:
        """Return what Slurm's accounting knows of jobs that the queue has forgotten, where there is one."""
        whole = sorted({job.partition("_")[0] for job in jobs})
        command = ["sacct", "--noheader", "--parsable2", "--allocations", f"--jobs={','.join(whole)}"]
        try:
            sacct_output = self._call([*command, "--format=JobID,State,Reason"])
        except UsageError:
            return {}
        lines = [line.split("|", 2) for line in sacct_output.splitlines() if line.count("|") >= 2]
        return {
            job: EngineState(state.partition(" ")[0], "" if reason == "None" else reason)
            for job, state, reason in lines
        }

    def _call(self, command: Sequence[str]) -> str:
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
        except OSError as error:
            raise _absent(self.name, error) from None
        except subprocess.TimeoutExpired:
            raise UsageError(f"{self.name}: '{command[0]}' did not answer within {TIMEOUT:.0f} s") from None
        if done.returncode:
            raise UsageError(f"{self.name}: {_reason(done.stderr or done.stdout)}")
        return done.stdout

    @contextlib.contextmanager
    def _engine_errors(self) -> Iterator[None]:
        """Turn what PSI/J raises into a sentence with the engine's own reason."""
        try:
            yield
        except BenchmarkerError:
            raise
        except OSError as error:
            raise _absent(self.name, error) from None
        except Exception as error:  # of PSI/J and of whatever bindings an executor has
            raise UsageError(f"{self.name}: {_reason(str(error))}") from None


def processes(name: str, resources: Resources) -> dict[str, int | None]:
    """Return nodes and cores in the words that PSI/J passes on to an engine."""
    if name == "slurm":
        return {
            "node_count": resources.nodes,
            "processes_per_node": 1,
            "cpu_cores_per_process": resources.cores,
        }
    if name == "flux":
        return {"process_count": 1, "cpu_cores_per_process": resources.cores}
    # PSI/J does not tell the others how many cores a process has, but each asks for one core per process. The job's
    # program is started only once all the same.
    return {"node_count": resources.nodes, "processes_per_node": resources.cores or 1}


def _absent(name: str, error: OSError) -> UsageError:
    missing = error.filename or "its client"
    return UsageError(
        f"{name} cannot be used from here: '{missing}' {error.strerror}; submit from a host that has its clients"
    )


def _reason(text: str) -> str:
    """Return an engine's lines as one."""
    return (
        printable("; ".join(line.strip() for line in text.splitlines() if line.strip())) or "no reason given"
    )
