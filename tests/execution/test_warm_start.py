"""Runs that a warm server forks: the same results and the same isolation as those of new interpreters."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from benchmarker import registry
from benchmarker.api.framework import Device
from benchmarker.api.launcher import Outcome, WorkerCommand
from benchmarker.api.problem_scheme import ProblemReference
from benchmarker.errors import UnsupportedError
from benchmarker.execution.isolated import EventLog
from benchmarker.execution.launchers import forked as warm_launcher
from benchmarker.execution.launchers.forked import WarmServers
from benchmarker.execution.launchers.local import LocalLauncher
from benchmarker.execution.outcomes import failure, log_tail
from benchmarker.execution.variables import ProcessSettings, worker_environment
from benchmarker.experiment.progress import Progress
from benchmarker.experiment.spec import RunSpec
from benchmarker.experiment.suitability import unsupported_reason
from benchmarker.orchestration.events import RunEvents
from benchmarker.worker import warm_server
from benchmarker.worker.job import RunJob, to_json
from tests.conftest import DISTRIBUTIONS, ROOT, Command, write_distribution
from tests.support.framework_process import interpreter
from tests.support.waiting import gone_soon, is_alive, wait_until

pytestmark = [pytest.mark.framework("numpy"), pytest.mark.cold]

TENANT, TORCH, IMPORTING = (f"tenant_framework:{name}" for name in ("OnNumpy", "OnTorch", "Importing"))
TENANTS = DISTRIBUTIONS / "tenant"
MIB = 1 << 20


@dataclass(frozen=True)
class Run:
    """A run that has ended, however it did."""

    outcome: Outcome
    events: dict[str, Any]
    stage: str
    log: str

    @property
    def found(self) -> dict[str, Any]:
        """What the framework found in its process, from the worker's result."""
        found: dict[str, Any] = json.loads(self.events["result"]["libraries"]["tenant"])
        return found

    @property
    def shared(self) -> dict[str, Any]:
        found: dict[str, Any] = self.events["forked"]["shared"]
        return found

    @property
    def status(self) -> str:
        failed = failure(
            self.outcome,
            self.stage,
            self.events,
            self.log,
            False,
            1.0,
        )
        return failed.status if failed else "ok"


class Tenants:
    """Launches runs of the framework that changes its process, one after the other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.launcher = LocalLauncher()
        self._count = 0

    def command(self, start: str, framework: str, change: str, **settings: Any) -> WorkerCommand:
        self._count += 1
        threads = settings.pop("threads", 1)
        variables = settings.pop("variables", {})
        job = RunJob(
            framework=framework,
            device=Device("cpu"),
            threads=threads,
            seed=0,
            problem="benchmarker.problems.mnist_mlp",
            problem_parameters={},
            mode="training",
            batch_size=4,
            precision="fp32",
            framework_options={"change": change},
            steps=3,
            warmup=0,
            orchestrator=os.getpid(),
        )
        process = ProcessSettings(start=start)
        plugin = registry.framework("numpy")
        environment = worker_environment(plugin, process, threads=threads, seed=42)
        packages = {"benchmarker": str(ROOT), "tenant_framework": str(TENANTS)}
        log = self.folder / f"run{self._count}.log"
        command = WorkerCommand(
            sys.executable, to_json(job), packages, {**environment, **variables}, (), log, 120.0, start
        )
        return replace(command, **settings)

    def __call__(
        self,
        change: str = "none",
        *,
        start: str = "fork",
        framework: str = TENANT,
        at: Callable[[dict[str, Any]], None] = lambda event: None,
        **settings: Any,
    ) -> Run:
        command = self.command(start, framework, change, **settings)
        heard = EventLog("run", RunEvents(Progress()).handle)

        def handle(event: dict[str, Any]) -> str | None:
            at(event)
            answer: str | None = heard.handle(event)
            return answer

        outcome = self.launcher.launch(command, handle)
        return Run(outcome, heard.events, heard.stage, log_tail(command.log))


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Tenants]:
    tenants = Tenants(tmp_path)
    yield tenants
    tenants.launcher.close()
    assert wait_until(lambda: workers(tmp_path) == [])


def workers(folder: Path) -> list[int]:
    """Return the processes that have a file below the folder open: workers and servers, and what they started."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        if int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            links = [str(link.readlink()) for link in (entry / "fd").iterdir()]
            marked = f"BENCHMARKER_TEST_FOLDER={folder}".encode() in (entry / "environ").read_bytes()
            words = (entry / "cmdline").read_bytes().split(b"\0")
            started = words[0] == b"sleep" or any(word.endswith(b"/bootstrap.py") for word in words)
            if any(link.startswith(f"{folder}/") for link in links) or (marked and started):
                found.append(int(entry.name))
    return found


# --- a server for each environment, a process for each run ---------------------------------------


def test_a_server_imports_once_and_forks_a_process_of_its_own_for_each_run(run: Tenants) -> None:
    first, second = run(), run()
    assert [found.shared["server_processes"] for found in (first, second)] == [1, 2]
    assert first.found["parent"] == second.found["parent"] != os.getpid()
    assert first.found["process"] != second.found["process"]
    assert first.shared["import_seconds"] == second.shared["import_seconds"] > 0.02
    taken = [found.events["result"]["seconds"] for found in (first, second)]
    # The lesser, as one that is interrupted takes longer.
    assert min(seconds["import"] for seconds in taken) < first.shared["import_seconds"]
    assert 0 < min(seconds["process_start"] for seconds in taken) < 5


def test_what_they_share_is_told_and_true(run: Tenants) -> None:
    first, second = run(), run()
    assert first.shared["hash_seed"] == second.shared["hash_seed"]
    assert first.found["hash"] == second.found["hash"]
    assert first.shared["address_layout"] is True
    plugin, settings = registry.framework("numpy"), ProcessSettings(start="fork")
    seed = worker_environment(plugin, settings, threads=1, seed=42)
    assert str(first.shared["hash_seed"]) == seed["PYTHONHASHSEED"]


def test_a_run_imports_nothing_of_the_worker_that_its_server_has_not(run: Tenants) -> None:
    later = {
        name for name in run().found["imported_later"] if name.partition(".")[0] in ("benchmarker", "numpy")
    }
    assert later == {"benchmarker.problems.mnist_mlp"}


def test_another_environment_has_another_server(run: Tenants) -> None:
    parents = [run().found["parent"], run(threads=2).found["parent"]]
    parents += [run(variables={"OTHER": "1"}).found["parent"], run(affinity=(0,)).found["parent"]]
    assert len(set(parents)) == 4
    assert run().found["parent"] == parents[0]


def test_the_longest_unused_server_makes_room(run: Tenants, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm_launcher, "KEPT_SERVERS", 2)
    first = run(variables={"OTHER": "1"}).found["parent"]
    second = run(variables={"OTHER": "2"}).found["parent"]
    run(variables={"OTHER": "3"})
    assert gone_soon(first)
    assert is_alive(second)


def test_closing_ends_the_servers(run: Tenants) -> None:
    server = run().found["parent"]
    assert is_alive(server)
    run.launcher.close()
    assert not is_alive(server)
    assert run().shared["server_processes"] == 1


# --- a forked worker is as much on its own as a spawned one ---------------------------------------


def test_the_process_is_set_up_like_a_spawned_one(run: Tenants) -> None:
    spawned, forked = run(start="spawn"), run()
    for name in ("state", "variable", "error_handling", "folder", "dumps", "affinity"):
        assert forked.found[name] == spawned.found[name], name
    for found in (spawned.found, forked.found):
        assert found["session"] == [found["process"], found["process"]]
        events, control = map(int, found["arguments"])
        assert set(found["descriptors"]) == {0, 1, 2, events, control}
        assert found["threads"] == 2  # the lifeline and itself
    assert "forked" not in spawned.events


def test_a_binding_to_cpus_is_kept(run: Tenants) -> None:
    assert run(affinity=(0,)).found["affinity"] == [0]


def test_changed_globals_variables_and_settings_of_one_run_are_not_the_next_ones(run: Tenants) -> None:
    before, _, after = run(), run("globals"), run()
    for name in ("state", "variable", "error_handling", "folder", "dumps", "affinity", "hash"):
        assert after.found[name] == before.found[name], name
    assert after.found["state"] == "as imported"
    for one, other in zip(before.found["random"], after.found["random"]):
        assert one != other


def test_a_leak_of_a_gigabyte_is_not_the_next_ones(run: Tenants) -> None:
    before, leaked, after = run(), run("leak"), run()
    assert leaked.events["result"]["memory"]["peak_bytes"] > 1024 * MIB
    assert after.found["resident"] < before.found["resident"] + 20 * MIB
    assert after.events["result"]["memory"]["peak_bytes"] < 512 * MIB
    server = Path(f"/proc/{after.found['parent']}/status").read_text()
    assert int(server.split("VmRSS:")[1].split()[0]) < 512 << 10


@pytest.mark.parametrize(("change", "status"), [("segfault", -signal.SIGSEGV), ("exit", 7)])
def test_a_crash_is_not_the_next_ones(run: Tenants, change: str, status: int) -> None:
    before, crashed, after = run(), run(change), run()
    assert (crashed.outcome, crashed.status) == (Outcome(status), "crashed")
    assert crashed.stage == "build"
    assert after.status == "ok"
    assert (after.found["parent"], after.shared["server_processes"]) == (before.found["parent"], 3)
    if change == "segfault":
        assert "segmentation_fault" in crashed.log


def test_what_a_run_prints_is_in_its_own_log(run: Tenants) -> None:
    before, crashed, after = run(), run("segfault"), run()
    assert "Segmentation fault" in crashed.log
    assert (before.log, after.log) == ("", "")


# --- ends ----------------------------------------------------------------------------------------


def test_what_a_run_leaves_behind_is_ended_and_not_waited_for(run: Tenants) -> None:
    run()
    assert run("child").status == "ok"
    # Both had the log open.
    assert wait_until(lambda: workers(run.folder) == [])


@pytest.mark.parametrize("change", ["session", "forked_session"])
def test_a_session_that_a_run_leaves_behind_is_ended(run: Tenants, change: str) -> None:
    assert run(change, start="spawn").status == "ok"
    assert wait_until(lambda: workers(run.folder) == [])


def test_a_session_that_a_forked_run_leaves_behind_is_ended_and_the_server_is_not(run: Tenants) -> None:
    server = run().found["parent"]
    assert run("session").status == "ok"
    assert wait_until(lambda: workers(run.folder) == [])
    assert run().found["parent"] == server


def test_a_session_that_a_forked_run_forks_is_ended_with_the_server(run: Tenants) -> None:
    run("forked_session")
    run.launcher.close()
    assert wait_until(lambda: workers(run.folder) == [])


def test_a_timeout_shows_the_stacks_and_ends_the_whole_group(run: Tenants) -> None:
    run()
    seen: list[list[int]] = []

    def watch() -> None:
        # The log is open in the worker and in what it has started.
        wait_until(lambda: len(workers(run.folder)) >= 2)
        seen.append(workers(run.folder))

    def look(event: dict[str, Any]) -> None:
        if event.get("name") == "build":
            threading.Thread(target=watch).start()

    hung = run("hang", timeout=5.0, at=look)
    assert (hung.outcome.ended_by, hung.status) == ("timeout", "timeout")
    assert "in hang" in hung.log
    assert len(seen[0]) >= 2
    assert wait_until(lambda: [p for p in seen[0] if is_alive(p)] == [])
    assert run().shared["server_processes"] == 3


def test_an_interrupt_ends_the_whole_group(run: Tenants) -> None:
    run()

    def interrupt(event: dict[str, Any]) -> None:
        if event.get("name") == "build":
            threading.Timer(0.5, os.kill, [os.getpid(), signal.SIGINT]).start()

    hung = run("hang", at=interrupt)
    assert hung.status == "interrupted"
    assert wait_until(lambda: workers(run.folder) == [])


def test_a_server_that_is_killed_in_mid_run_is_a_crash_and_the_next_run_has_a_new_one(run: Tenants) -> None:
    server = run().found["parent"]

    def kill(event: dict[str, Any]) -> None:
        if event.get("name") == "build":
            threading.Timer(0.5, os.kill, [server, signal.SIGKILL]).start()

    killed = run("hang", at=kill)
    assert (killed.status, killed.outcome.exit_status) == ("crashed", -signal.SIGKILL)
    assert "the warm server of this run was ended by SIGKILL" in killed.log
    assert wait_until(lambda: workers(run.folder) == [])
    after = run()
    assert (after.status, after.shared["server_processes"]) == ("ok", 1)
    assert after.found["parent"] != server


def test_a_server_that_is_killed_between_runs_is_replaced(run: Tenants) -> None:
    server = run().found["parent"]
    os.kill(server, signal.SIGKILL)
    assert gone_soon(server)
    assert run().shared["server_processes"] == 1


def test_a_server_that_stands_still_does_not_hold_off_a_timeout(run: Tenants) -> None:
    server = run().found["parent"]

    def stop(event: dict[str, Any]) -> None:
        if event.get("name") == "build":
            os.kill(server, signal.SIGSTOP)

    assert run("hang", timeout=4.0, at=stop).outcome.ended_by == "timeout"
    assert not is_alive(server)


def test_an_error_of_the_handler_ends_the_worker(run: Tenants) -> None:
    def fail(event: dict[str, Any]) -> None:
        if event.get("name") == "build":
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run("hang", at=fail)
    assert wait_until(lambda: workers(run.folder) == [])
    assert run().status == "ok"


def test_many_runs_leave_no_descriptor_no_thread_and_no_process(run: Tenants) -> None:
    run()
    before = len(os.listdir("/proc/self/fd")), threading.active_count()  # noqa: PTH208
    server = run().found["parent"]
    kept = len(os.listdir(f"/proc/{server}/fd"))  # noqa: PTH208
    for number in range(10):
        run("exit" if number % 3 else "none")
    assert (len(os.listdir("/proc/self/fd")), threading.active_count()) <= before  # noqa: PTH208
    assert len(os.listdir(f"/proc/{server}/fd")) == kept  # noqa: PTH208
    children = Path(f"/proc/{server}/task/{server}/children").read_text()
    assert children.split() == []


# --- imports that go wrong, and what cannot be forked ----------------------------------------------


def importing(run: Tenants, how: str, **settings: Any) -> Run:
    return run(framework=IMPORTING, variables={"TENANT_IMPORT": how}, **settings)


def test_an_import_that_fails_is_told_as_by_a_spawned_worker(run: Tenants) -> None:
    spawned, forked = importing(run, "error", start="spawn"), importing(run, "error")
    assert forked.events["error"] == spawned.events["error"]
    assert forked.events["error"]["stage"] == "import"
    assert "libnothing.so" in forked.events["error"]["message"]


def test_an_import_that_crashes_is_a_crash_each_time(run: Tenants) -> None:
    for _ in range(2):
        crashed = importing(run, "crash")
        assert (crashed.outcome.exit_status, crashed.status) == (-signal.SIGSEGV, "crashed")
        assert crashed.stage == "import"
        assert "string_at" in crashed.log


def test_an_import_that_hangs_is_ended_in_time_and_shows_where(run: Tenants) -> None:
    hung = importing(run, "hang", timeout=5.0)
    assert (hung.outcome.ended_by, hung.stage) == ("timeout", "import")
    assert "in importing" in hung.log
    assert "was ended by" not in hung.log


def test_an_import_that_leaves_a_thread_running_is_refused(run: Tenants) -> None:
    for _ in range(2):
        with pytest.raises(UnsupportedError, match=r"1 of its threads .* --start=spawn"):
            importing(run, "thread")
    assert wait_until(lambda: workers(run.folder) == [])


def test_threads_that_a_library_ends_itself_are_counted(run: Tenants) -> None:
    runs = [run(threads=2), run(threads=2), run(threads=2, start="spawn")]
    assert [found.status for found in runs] == ["ok", "ok", "ok"]
    # OpenBLAS starts its threads as it is loaded, ends them before a fork, and starts them when it computes.
    assert runs[0].shared["threads_ended"] in (0, 1)
    assert runs[1].shared["threads_ended"] == 0
    assert len({found.events["result"]["loss_last"] for found in runs}) == 1


def test_a_server_beside_an_open_gpu_driver_forks_nothing(tmp_path: Path) -> None:
    (tmp_path / "3").symlink_to("/tmp/other")
    assert warm_server.open_driver(tmp_path) is None
    (tmp_path / "4").symlink_to("/dev/nvidiactl")
    assert "--start=spawn" in str(warm_server.open_driver(tmp_path))


def test_a_fork_for_a_gpu_is_refused_when_planning() -> None:
    assert unsupported_reason(RunSpec("pytorch", ProblemReference("mnist_mlp"), start="fork")) is None
    assert unsupported_reason(RunSpec("pytorch", ProblemReference("mnist_mlp"), device="cuda")) is None
    reason = unsupported_reason(
        RunSpec("pytorch", ProblemReference("mnist_mlp"), device="cuda", start="fork")
    )
    assert reason is not None
    assert "--start=spawn" in reason


def test_a_launcher_that_only_spawns_is_refused_a_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LocalLauncher, "starts", ("spawn",))
    assert unsupported_reason(RunSpec("numpy", ProblemReference("mnist_mlp"), start="spawn")) is None
    assert "launcher 'local' cannot fork" in str(
        unsupported_reason(RunSpec("numpy", ProblemReference("mnist_mlp"), start="fork"))
    )


def test_no_server_is_left_when_its_interpreter_does_not_start(run: Tenants) -> None:
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    servers = WarmServers()
    with pytest.raises(Exception, match="could not be started"):
        servers.obtain(run.command("fork", TENANT, "none", interpreter="/nowhere/python"))
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


# --- hash seeds (D9) -----------------------------------------------------------------------------


def hash_seed(*, seed: int = 42, threads: int = 1, **settings: Any) -> int:
    plugin, process = registry.framework("numpy"), ProcessSettings(**settings)
    return int(worker_environment(plugin, process, threads=threads, seed=seed)["PYTHONHASHSEED"])


def test_hash_seeds_vary_over_repetitions_and_are_equal_within_one() -> None:
    seeds = [hash_seed(repetition=number) for number in range(20)]
    assert len(set(seeds)) == 20
    assert all(0 <= seed < 2**32 for seed in seeds)
    assert seeds == [hash_seed(repetition=number) for number in range(20)]
    assert hash_seed(repetition=3, threads=2, affinity=(0,)) == seeds[3]
    assert hash_seed(repetition=3, seed=7) != seeds[3]


def test_forked_runs_of_every_seed_and_repetition_have_their_servers() -> None:
    assert len({hash_seed(start="fork", seed=seed, repetition=seed) for seed in range(5)}) == 1


# --- whole experiments ----------------------------------------------------------------------------


def tenants_installed(command: Command, folder: Path) -> Command:
    names = {"tenant": "OnNumpy", "tenant_torch": "OnTorch"}
    points = [f"{name} = tenant_framework:{value}" for name, value in names.items()]
    modules = {"tenant_framework": (TENANTS / "tenant_framework.py").read_text()}
    where = write_distribution(folder / "tenants", "benchmarker-tenants", {"frameworks": points}, modules)
    return command.with_path(where)


QUICK = ("--problem=mnist_mlp", "--batch-size=8", "--steps=5", "--warmup=1", "--threads=1", "--json")


@pytest.mark.parametrize("framework", ["numpy", pytest.param("pytorch", marks=pytest.mark.framework)])
def test_both_starts_compute_the_same_bit_for_bit(command: Command, framework: str) -> None:
    finished = command(f"--framework={framework}", *QUICK, "--repeats=2", "--start=spawn,fork")
    assert finished.status == 0, finished.stderr
    spawned, forked = (
        [r for r in finished.records if r["execution"]["start"] == s] for s in ("spawn", "fork")
    )
    assert [len(spawned), len(forked)] == [2, 2]
    results = [
        {
            "digests": record["digests"],
            "losses": [record["metrics"][name] for name in ("loss_first", "loss_last")],
            "verification": {**record["verification"], "after_timing": None},
            "framework": record["framework"],
            "packages": record["environment"]["packages"],
        }
        for record in (*spawned, *forked)
    ]
    assert results == results[:1] * 4
    assert results[0]["verification"]["status"] == "passed"
    assert [record["execution"]["shared"] for record in spawned] == [None, None]
    assert [record["execution"]["shared"]["server_processes"] for record in forked] == [1, 2]
    assert all("--start=fork" in record["command"] for record in forked)
    assert not any("--start" in part for record in spawned for part in record["command"])
    assert forked[0]["specification"]["start"] == "fork"
    hashes = [int(r["execution"]["environment_variables"]["PYTHONHASHSEED"]) for r in finished.records]
    assert len({hashes[finished.records.index(record)] for record in spawned}) == 2
    shared = {record["execution"]["shared"]["hash_seed"] for record in forked}
    assert shared == {hashes[finished.records.index(record)] for record in forked}


@pytest.mark.framework
def test_a_changed_default_type_of_pytorch_is_not_the_next_runs(command: Command, tmp_path: Path) -> None:
    python = interpreter("pytorch")
    finished = tenants_installed(command, tmp_path)(
        "--framework=tenant_torch", *QUICK, f"--env={python}", "--start=fork", "--repeats=3", "--no-verify",
        "--set=change=torch,none",
    )  # fmt: skip
    assert finished.status == 0, finished.stderr
    found = [json.loads(record["framework"]["libraries"]["tenant"]) for record in finished.records]
    assert len({one["parent"] for one in found}) == 1
    assert sorted(one["execution"]["shared"]["server_processes"] for one in finished.records) == [
        *range(1, 7)
    ]
    assert {(one["dtype"], one["deterministic"]) for one in found} == {("torch.float32", False)}
    plain = [r for r in finished.records if r["framework"]["options"]["change"] == "none"]
    assert len({record["metrics"]["loss_last"] for record in plain}) == 1


def test_a_crash_leaves_the_other_runs_of_an_experiment_alone(command: Command, tmp_path: Path) -> None:
    tenants = tenants_installed(command, tmp_path)
    finished = tenants(
        "--framework=tenant", *QUICK, "--start=fork", "--set=change=segfault,none", "--repeats=2"
    )
    assert finished.status == 1
    by_change = {(r["framework"]["options"]["change"], r["status"]) for r in finished.records}
    assert by_change == {("segfault", "crashed"), ("none", "ok")}
    assert workers(command.folder) == []


def start_hanging(command: Command, start: str, change: str = "hang") -> subprocess.Popen[str]:
    process = command.start(
        "--framework=tenant", *QUICK, f"--start={start}", f"--set=change={change}", "--no-verify"
    )
    # The server, if there is one, the worker, and what the worker has started.
    count = {"spawn": 2, "fork": 3}[start] + (change == "hang_with_session")
    assert wait_until(lambda: len(workers(command.folder)) == count, 60)
    return process


@pytest.mark.parametrize("start", ["spawn", "fork"])
def test_an_interrupted_command_leaves_a_record_and_no_process(
    command: Command, tmp_path: Path, start: str
) -> None:
    process = start_hanging(tenants_installed(command, tmp_path), start)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    assert json.loads(stdout)["status"] == "interrupted"
    assert wait_until(lambda: workers(command.folder) == [])


@pytest.mark.parametrize("start", ["spawn", "fork"])
@pytest.mark.parametrize("change", ["hang", "hang_with_session"])
def test_nothing_outlives_a_killed_command(command: Command, tmp_path: Path, start: str, change: str) -> None:
    process = start_hanging(tenants_installed(command, tmp_path), start, change)
    process.kill()
    process.communicate(timeout=60)
    assert wait_until(lambda: workers(command.folder) == [])


def test_an_unknown_start_is_one_sentence(command: Command) -> None:
    finished = command("--framework=numpy", *QUICK, "--start=forkserver")
    assert finished.status == 2
    assert "--start must be 'spawn' or 'fork', got 'forkserver'" in finished.stderr
    assert "Traceback" not in finished.stderr
