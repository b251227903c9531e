"""Workers in real containers: what they see, what their records say, how they end, and what is refused."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import benchmarker
from benchmarker.api.launcher import Enclosure
from benchmarker.execution.environments.containers import opening
from benchmarker.execution.environments.containers.bubblewrap import Bubblewrap, arguments
from benchmarker.execution.environments.containers.container import Mounts
from benchmarker.execution.environments.containers.engine import StreamingEngine
from benchmarker.execution.environments.containers.folder_image import layout
from benchmarker.orchestration.rerun import experiment_from_record, interpreter_of
from tests.conftest import ROOT, Command, Finished
from tests.support.container_image import missing_engine
from tests.support.mirror_framework import seen, with_mirror
from tests.support.waiting import wait_until

pytestmark = pytest.mark.framework("numpy")

QUICK = ("--problem=mnist_mlp", "--batch-size=2", "--steps=3", "--warmup=1", "--json")
NUMBER = "--set=faulty.number="


def failed(faulty: Command, container: str, fault: str, *options: str) -> dict[str, Any]:
    finished = faulty("--framework=faulty", *QUICK, f"--env={container}", f"--set=fault={fault}", *options)
    assert finished.status == 1, finished.stderr
    assert "Traceback" not in finished.stderr
    (record,) = finished.records
    return record


def inside(command: Command) -> list[int]:
    """Return the processes whose command line says that they work for a test, found by its plug-in's folder."""
    mark, own, found = str(command.folder).encode(), b"bootstrap.py", []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and own in (entry / "cmdline").read_bytes():
                mounts = (entry / "mountinfo").read_bytes()
                if mark in mounts or mark in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
        except OSError:
            continue
    return found


def test_nothing_of_the_hosts_python_is_inside(
    command: Command, container: str, container_image: Path
) -> None:
    mirror = with_mirror(command, command.folder)
    mirror.environment["LD_LIBRARY_PATH"] = "/nowhere"
    finished = mirror("--framework=mirror", *QUICK, f"--env={container}")
    (record,) = finished.records
    facts = seen(record)
    assert facts["prefix"] == "/usr"
    assert facts["leaked"] == sorted(
        {"PYTHONHASHSEED", *facts["leaked"]} & {"PYTHONHASHSEED", "PYTHONDONTWRITEBYTECODE"}
    )
    ours = (str(ROOT / "benchmarker"), str(command.folder / "mirror/mirror_framework.py"))
    strangers = [file for file in facts["files"].values() if not file.startswith((*ours, "/usr/lib/python3"))]
    assert strangers == []
    assert facts["origins"]["numpy"].startswith("/usr/lib/python3/dist-packages")
    # All of these are installed beside the orchestrator.
    assert [facts["origins"][name] for name in ("msgspec", "pluggy", "psutil", "uv")] == [None] * 4
    assert "LD_LIBRARY_PATH" not in record["execution"]["environment_variables"]


def test_a_record_names_the_image(command: Command, container: str, container_image: Path) -> None:
    before = {path: path.lstat().st_ctime_ns for path in container_image.rglob("*")}
    options = ("--framework=numpy", *QUICK, "--breakdown", f"--env={container}")
    (record,) = command(*options).records
    assert record["status"] == "ok", record["error"]
    environment, engine = record["environment"], container.split(":")[1]
    assert environment["kind"] == "container"
    assert environment["packages"] == {"numpy": "1.24.2"}
    assert environment["python"].startswith("3.11.")
    told = environment["container"]
    assert (told["engine"], told["image"]) == (engine, str(container_image))
    assert any(figure.isdigit() for figure in told["engine_version"])
    assert told["system"] == {"name": "Debian GNU/Linux 12 (bookworm)", "id": "debian", "version": "12"}
    assert told["system_packages"]["python3-numpy"].startswith("1:1.24.2")
    assert f"--env={container}" in record["command"]
    assert record["monitors"], "collectors found the worker by its number"
    assert record["profile"]["trace"]
    assert (command.folder / "results" / record["profile"]["trace"]).exists()
    (path,) = (command.folder / "results").glob("*.json")
    assert command("validate", str(path)).status == 0
    assert {path: path.lstat().st_ctime_ns for path in container_image.rglob("*")} == before


def test_a_signal_is_a_crash_that_says_where(faulty: Command, container: str) -> None:
    record = failed(faulty, container, "signal", f"--set=number={int(signal.SIGSEGV)}")
    assert (record["status"], record["error"]["type"]) == ("crashed", "SIGSEGV")
    assert "go_wrong" in record["error"]["log_tail"]


def test_a_hang_ends_at_the_timeout_with_its_stacks(faulty: Command, container: str) -> None:
    record = failed(faulty, container, "ignore_sigterm", "--timeout=6")
    assert record["status"] == "timeout"
    assert "go_wrong" in record["error"]["log_tail"]
    assert not inside(faulty)


def test_what_a_worker_leaves_is_ended(faulty: Command, container: str) -> None:
    (record,) = faulty("--framework=faulty", *QUICK, f"--env={container}", "--set=fault=child").records
    assert record["status"] == "ok", record["error"]
    assert not inside(faulty)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_outlives_the_orchestrator(faulty: Command, container: str, number: signal.Signals) -> None:
    process = faulty.start("--framework=faulty", *QUICK, f"--env={container}", "--set=fault=hang_in_c")
    assert wait_until(lambda: inside(faulty) or process.poll() is not None)
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=60)
    assert wait_until(lambda: not inside(faulty), 10.0)
    if number == signal.SIGTERM:
        assert [one["status"] for one in Finished(0, stdout, stderr).records] == ["interrupted"], stderr


def test_the_kernels_kill_is_out_of_memory(faulty: Command, container: str) -> None:
    roots = {"/sys/fs/cgroup/memory": "memory.limit_in_bytes", "/sys/fs/cgroup": "memory.max"}
    group = None
    for root, limit in roots.items():
        made = Path(root, f"benchmarker-container-{os.getpid()}")
        try:
            made.mkdir()
            (made / limit).write_text(str(400 << 20))
        except OSError:
            continue
        group = made
        break
    if group is None:
        pytest.skip("no right to make a control group with a memory limit")
    options = ("--framework=faulty", *QUICK, f"--env={container}", "--set=fault=memory", "--set=number=2000")
    try:
        process = faulty.start(
            *options, preexec_fn=lambda: (group / "cgroup.procs").write_text(str(os.getpid()))
        )
        stdout, stderr = process.communicate(timeout=120)
    finally:
        group.rmdir()
    (record,) = Finished(process.returncode, stdout, stderr).records
    assert record["status"] == "out_of_memory", record["error"]
    assert "kernel" in record["error"]["message"]


def test_a_training_keeps_its_checkpoints_outside_and_is_run_again(command: Command, container: str) -> None:
    train = ("train", "digits_mlp", "--framework=numpy", f"--env={container}", "--max-steps=20", "--json")
    finished = command(*train, "--checkpoint-every=1")
    (record,) = finished.records
    assert record["training"]["checkpoints"]["written"], record["error"]
    again = experiment_from_record(record)
    assert interpreter_of(record, again) == container


class Streams(StreamingEngine):
    """Bubblewrap, told to pass standard streams alone, as Docker does."""

    name = "docker"
    program = "bwrap"

    def takes(self, image: str) -> bool:
        return Path(image).is_dir()

    def digest(self, image: str) -> str:
        return Bubblewrap().digest(image)

    def command(
        self, image: str, mounts: Mounts, variables: Sequence[str], *, cuda: bool, name: str
    ) -> list[str]:
        # Bubblewrap itself closes no descriptors that we leave open, and we leave none.
        return [str(self.path), *arguments(layout(Path(image), mounts.every), mounts), "--"]

    @contextmanager
    def enclosure(
        self, image: str, mounts: Mounts, variables: Mapping[str, str], *, cuda: bool
    ) -> Iterator[Enclosure]:
        with super().enclosure(image, mounts, {**variables, "PATH": "/usr/bin:/bin"}, cuda=cuda) as enclosure:
            yield enclosure


@pytest.mark.parametrize("options", [{}, {"timeout": 8, "steps": 50_000_000}])
def test_an_engine_may_pass_standard_streams_alone(
    container_image: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: dict[str, int],
) -> None:
    reason = missing_engine("bubblewrap")
    if reason:
        pytest.skip(reason)
    monkeypatch.setitem(opening.ENGINE, "docker", Streams())
    asked: dict[str, Any] = {"steps": 5, "batch_size": 2, "results": tmp_path, **options}
    (record,) = benchmarker.run(
        framework="numpy",
        problem="mnist_mlp",
        env=f"container:docker:{container_image}",
        **asked,
    )
    assert record["status"] == ("timeout" if options else "ok"), record["error"]
    assert record["environment"]["container"]["engine"] == "docker"


def test_an_image_without_what_is_needed_is_refused(
    command: Command, container: str, container_image: Path, tmp_path: Path
) -> None:
    empty = tmp_path / "empty"
    (empty / "usr/bin").mkdir(parents=True)
    (empty / "etc").mkdir()
    engine = container.split(":")[1]
    cases = {
        f"container:{engine}:{empty}": "there is no python3 in the image",
        f"container:{engine}:{tmp_path / 'absent'}": "there is no image",
        f"container:{engine}:{tmp_path}": "is not a root file system",
        "container:": "got no image",
        f"container:{tmp_path}/absent.sif": "needs apptainer"
        if not shutil.which("apptainer")
        else "there is no image",
    }
    for choice, sentence in cases.items():
        finished = command("--framework=numpy", *QUICK, f"--env={choice}")
        assert finished.status == 2
        assert sentence in finished.stderr.replace("\n", " ")
    lacking = command("--framework=pytorch", *QUICK, f"--env={container}")
    assert lacking.status == 2
    assert "has no torch, which 'pytorch' needs" in " ".join(lacking.stderr.split())
    newer = command("--framework=numpy==2.1", *QUICK, f"--env={container}")
    assert (newer.status, "has 1.24.2" in newer.stderr) == (2, True)
    several = command("--framework=numpy", *QUICK, f"--env={container}", "--start=fork")
    assert "for single workers that are spawned" in " ".join(several.stderr.split())
