"""Where PyTorch's own index cannot be reached, its CUDA build needs permission: real uv, an index made here."""

from __future__ import annotations

import hashlib
import json
import os
import pty
import random
import re
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from benchmarker.api.framework import FrameworkPlugin
from benchmarker.errors import EnvironmentCreationError
from benchmarker.execution.environments import ManagedEnvironment, list_managed, recipe, resolve
from benchmarker.execution.environments.downloads import downloads
from benchmarker.execution.environments.permission import VARIABLE
from benchmarker.execution.environments.screen import Screen
from benchmarker.execution.environments.status import SECONDS_BETWEEN, Pacer, Status, byte_count, size
from tests.conftest import ROOT
from tests.execution.test_environments import left_in, make_wheel, own_home  # noqa: F401 - a fixture

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the usual index has the CPU build")
PYTORCH = FrameworkPlugin("pytorch", "torch", ("torch==2.13.0", "numpy"), "nowhere:Nothing")
PATIENCE_SECONDS = 60
PROGRAM = """
import sys
from benchmarker.execution.environments import recipe
recipe.nvidia_driver_present = lambda: False
from benchmarker.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


class Index(SimpleHTTPRequestHandler):
    """A package index; the second half of a wheel waits for the gate."""

    gate = threading.Event()

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def copyfile(self, source: Any, outputfile: Any) -> None:
        data = source.read()
        half = len(data) // 2 if self.path.endswith(".whl") else 0
        try:
            outputfile.write(data[:half])
            outputfile.flush()
            if half:
                self.gate.wait(PATIENCE_SECONDS)
            outputfile.write(data[half:])
        except ConnectionError:
            return


def publish(folder: Path, name: str, version: str, payload: int, *requires: str) -> int:
    """Add a wheel to the index with its metadata beside it, and return its size."""
    wheel = make_wheel(folder / name, name, version, *requires)
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr(f"{name.replace('-', '_')}.bin", random.Random(name).randbytes(payload))
        (metadata,) = (member for member in archive.namelist() if member.endswith("/METADATA"))
        wheel.with_name(f"{wheel.name}.metadata").write_bytes(archive.read(metadata))
    # As indexes have it: where a digest is missing, uv loads the wheel to find it before it tells of any download.
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    index = f'<a href="{wheel.name}#sha256={digest}" data-dist-info-metadata="true">{wheel.name}</a>'
    (folder / name / "index.html").write_text(index)
    return wheel.stat().st_size


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, int]]:
    """The user's index, which has the CUDA build alone, while no other host can be reached: sizes by name."""
    folder = tmp_path / "simple"
    sizes = {
        "torch": publish(folder, "torch", "2.13.0", 3_000_000, "nvidia-cublas==13.0"),
        "numpy": publish(folder, "numpy", "2.4.6", 10_000),
        "nvidia-cublas": publish(folder, "nvidia-cublas", "13.0", 2_000_000),
    }
    gate = threading.Event()
    gate.set()
    handler = type("Gated", (Index,), {"gate": gate})
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(tmp_path)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for name in ("http_proxy", "all_proxy", "HTTP_PROXY", "ALL_PROXY", "PIP_NO_INDEX", "PIP_FIND_LINKS"):
        monkeypatch.delenv(name, raising=False)
    for name in ("https_proxy", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.server_port}/simple")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(recipe, "nvidia_driver_present", lambda: False)
    monkeypatch.setattr(sys.modules[__name__], "GATE", gate)
    yield sizes
    gate.set()
    server.shutdown()
    server.server_close()


GATE = threading.Event()


def env_create(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", PROGRAM, "env", "create", "pytorch", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=PATIENCE_SECONDS * 2, **options
    )


def test_it_is_refused_in_one_sentence_that_says_how_large_it_is(
    index: dict[str, int], tmp_path: Path
) -> None:
    lines: list[str] = []
    with pytest.raises(EnvironmentCreationError) as raised:
        resolve(PYTORCH, choice="managed", progress=lines.append)
    message = str(raised.value)
    assert "\n" not in message
    assert f"3 packages of {size(sum(index.values()))} to download" in message
    assert "--allow-cuda-build" in message
    assert "PyTorch's own index gave no CPU build (" in message
    assert "the environment for 'pytorch' was not made" in message
    assert not [line for line in lines if line.startswith(("Downloading", "downloading"))]
    assert left_in(tmp_path / "home") == []


def test_the_command_refuses_and_makes_it_where_it_is_allowed(index: dict[str, int]) -> None:
    refused = env_create()
    assert refused.returncode == 1
    assert "3 packages of" in refused.stderr.splitlines()[-1]
    assert "--allow-cuda-build" in refused.stderr.splitlines()[-1]
    made = env_create("--allow-cuda-build")
    assert made.returncode == 0, made.stderr
    assert (
        f"installing the usual index's CUDA build: 3 packages of {size(sum(index.values()))} to download"
        in (made.stderr)
    )
    assert "\x1b" not in made.stderr
    assert "\r" not in made.stderr
    (environment,) = list_managed()
    assert made.stdout.strip() == environment.python
    again = env_create()  # it is there now, and no run is asked again
    assert (again.returncode, again.stdout, again.stderr) == (0, made.stdout, "")


def test_a_run_is_refused_likewise(index: dict[str, int], tmp_path: Path) -> None:
    words = ("--framework=pytorch", "--problem=mnist_mlp", "--env=managed", "--steps=1", "--json")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "run", *words],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS * 2,
    )
    assert done.returncode == 1
    (record,) = map(json.loads, done.stdout.splitlines())
    assert record["status"] == "failed"
    assert record["error"]["message"].startswith("the environment for 'pytorch' was not made: ")
    assert "--allow-cuda-build" in record["error"]["message"]


def test_where_there_is_no_terminal_lines_say_it_from_time_to_time(index: dict[str, int]) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", PROGRAM, "env", "create", "pytorch", "--allow-cuda-build"]
    GATE.clear()
    lines = []
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as made:
        assert made.stderr is not None
        for line in made.stderr:
            lines.append(line)
            if line.startswith("downloading"):
                GATE.set()
    assert made.returncode == 0, lines
    (told,) = (line for line in lines if line.startswith("downloading"))  # the others are paced
    of = r"[\d.]+ (Ki|Mi)?B of [\d.]+ MiB"
    assert re.fullmatch(rf"downloading \d packages?: {of} \((torch|nvidia-cublas) .*\)\n", told)
    done = lines.index(next(line for line in lines if line.startswith("downloaded ")))
    assert lines[done] == f"downloaded 3 packages, {size(sum(index.values()))}\n"
    assert lines[done + 1].startswith(("Prepared", "Installed"))


@pytest.mark.parametrize("option", ["--quiet", "--json"])
def test_nothing_is_said_where_nothing_is_to_be_said(index: dict[str, int], option: str) -> None:
    made = env_create("--allow-cuda-build", option)
    assert (made.returncode, made.stderr) == (0, "")
    (environment,) = list_managed()
    printed = json.loads(made.stdout)["path"] if option == "--json" else made.stdout.strip()
    assert printed == environment.python


def made_while_watched(monkeypatch: pytest.MonkeyPatch) -> tuple[list[Status], ManagedEnvironment]:
    """Make the environment; what is to be downloaded goes on only when half of it has been told."""
    monkeypatch.setenv(VARIABLE, "1")
    GATE.clear()
    found: list[Status] = []

    def progress(line: str) -> None:
        if isinstance(line, Status) and line.startswith("downloading"):
            found.append(line)
            if " of 2.9 MiB" in line:
                GATE.set()

    resolve(PYTORCH, choice="managed", progress=progress)
    (environment,) = list_managed()
    return found, environment


def test_it_is_told_how_much_has_been_downloaded(
    index: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    found, _ = made_while_watched(monkeypatch)
    parts = [re.findall(r"([\d.]+ (?:[KMG]i)?B) of ([\d.]+ [KMG]iB)", line)[0] for line in found]
    assert any(0 < byte_count(done) < byte_count(whole) for done, whole in parts)
    assert byte_count(parts[-1][1]) == pytest.approx(sum(index.values()), rel=0.05)
    assert any("torch " in line for line in found)


def test_a_terminal_shows_it_on_one_line(index: dict[str, int]) -> None:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"}
    words = ("env", "create", "pytorch", "--allow-cuda-build")
    GATE.clear()
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, *words], env=environment, stderr=theirs)
    os.close(theirs)
    drawn = b""
    while True:
        try:
            drawn += os.read(ours, 4096)
        except OSError:
            break
        if b"downloading" in drawn:
            GATE.set()
    os.close(ours)
    assert process.wait(PATIENCE_SECONDS) == 0
    text = drawn.decode()
    assert "downloading" in text
    # Each is erased before the next one, and nothing of it is left at the end.
    assert set(re.findall(r"[^\n]{0,4}downloading", text)) <= {"downloading", "\r\x1b[Kdownloading"}
    assert not any(line.startswith("downloading") for line in last_drawn(text))


def last_drawn(text: str) -> list[str]:
    return [line.rstrip("\r").rpartition("\x1b[K")[2] for line in text.split("\n")]


def test_the_cpu_build_of_the_usual_index_needs_no_permission(index: dict[str, int], tmp_path: Path) -> None:
    """As on processors for which there is no CUDA build."""
    publish(tmp_path / "simple", "torch", "2.13.0", 1000)
    lines: list[str] = []
    assert resolve(PYTORCH, choice="managed", progress=lines.append).kind == "managed"
    assert any("installing the usual index's build" in line for line in lines)


LOCK = """
lock-version = "1.0"
[[packages]]
name = "torch"
version = "1.12.0"
wheels = [{ url = "https://nowhere.invalid/torch.whl", size = 800000000 }]
[[packages]]
name = "Type_Words"
version = "1"
sdist = { url = "ftp://nowhere.invalid/words.tar.gz" }
"""


def test_what_nobody_tells_is_not_guessed() -> None:
    found = downloads(LOCK)
    assert found.sizes == {"torch": 800_000_000, "type-words": None}
    assert str(found) == "2 packages of at least 762.9 MiB"
    assert found.has_cuda  # within the wheel
    assert str(downloads(LOCK.replace(", size = 800000000", "").replace("https", "ftp"))) == (
        "2 packages of an unknown size"
    )
    assert not downloads(LOCK.replace("800000000", "180000000")).has_cuda


def test_lines_that_stay_are_told_from_what_is_redrawn() -> None:
    screen = Screen()
    assert screen.feed("⠋ Resolving dependencies...   \r\x1b[2KResolved 2 pack".encode()) == []
    assert screen.feed(b"ages in 1s\r\n\x1b]8;;a\x1b\\linked\x1b]8;;\x1b\\\r\n") == [
        "Resolved 2 packages in 1s",
        "linked",
    ]
    assert screen.status == ""
    screen.feed(b"\x1b[1A\r\x1b[2Ktorch   ------  1.50 MiB/3.00 MiB   ")
    screen.feed(b"\x1b[1A\r\x1b[2Knumpy   ------  512 B/1.00 KiB")
    assert screen.status == (
        "downloading 2 packages: 1.5 MiB of 3.0 MiB (torch 1.5 MiB of 3.0 MiB, numpy 512 B of 1.0 KiB)"
    )
    screen.feed(b"torch   ------  3.00 MiB/3.00 MiB \r\n")
    assert screen.status == "downloading 2 packages: 3.0 MiB of 3.0 MiB (numpy 512 B of 1.0 KiB)"


def test_a_status_passes_from_time_to_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    pacer = Pacer()
    assert pacer.lets_pass(Status("a"))
    assert not pacer.lets_pass(Status("b"))
    assert not pacer.lets_pass(Status())
    assert pacer.lets_pass("stays")
    now[0] += SECONDS_BETWEEN
    assert pacer.lets_pass(Status("c"))
