"""Memory of a process tree: real processes that hold known amounts."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmarker.collectors import tree_memory as tree_memory_collector
from benchmarker.collectors.tree_memory import tree_memory
from benchmarker.machine.process_tree import process_tree
from benchmarker.orchestration.collector_session import CollectorSession
from tests.support.collectors import RUN, built_in

MIB = 1 << 20
CHILD = """
import resource, sys
held = []
for line in sys.stdin:
    command, *amount = line.split()
    if command == "hold":
        block = bytearray(int(amount[0]) << 20)
        block[::4096] = bytes(len(block[::4096])).replace(b"\\0", b"\\1")
        held.append(block)
    elif command == "drop":
        held, block = [], None
    elif command == "maxrss":
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, flush=True)
    print("done", flush=True)
"""
PARENT = f"""
import subprocess, sys
CHILD = {CHILD!r}
megabytes = int(sys.argv[1])
block = bytearray(megabytes << 20)
block[::4096] = bytes(len(block[::4096])).replace(b"\\0", b"\\1")
child = subprocess.Popen([sys.executable, "-c", CHILD])
print(child.pid, flush=True)
child.wait()
"""


class Holder:
    """A process that holds as much memory as it is told."""

    def __init__(self, *command: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def ask(self, command: str) -> str:
        """Return what it says before ``done``."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{command}\n")
        self.process.stdin.flush()
        said = ""
        while (line := self.line()) != "done":
            assert line, "it has ended"
            said = line
        return said


@contextmanager
def holder(*command: str) -> Iterator[Holder]:
    held = Holder(*command)
    try:
        yield held
    finally:
        assert held.process.stdin is not None
        held.process.stdin.close()
        held.process.wait()
        assert held.process.stdout is not None
        held.process.stdout.close()


def near(value: int, megabytes: int) -> bool:
    """Tell whether it is so much, within 2 %."""
    return abs(value - megabytes * MIB) <= 0.02 * megabytes * MIB


@contextmanager
def watched(pid: int, held: Holder) -> Iterator[CollectorSession]:
    """Collect over process ``pid`` from when the one that answers has started, which takes memory too."""
    held.ask("start")
    with CollectorSession(RUN, built_in("tree_memory"), {}) as collection:
        assert collection.untimed_pass_begins(pid)
        yield collection
        collection.untimed_pass_ends()


def test_memory_that_the_worker_takes_is_reported() -> None:
    with holder("-c", CHILD) as worker, watched(worker.process.pid, worker) as collection:
        worker.ask("hold 600")
    readings = collection.monitors["tree_memory"]
    assert near(readings["peak_above_baseline_bytes"], 600)
    assert readings["peak_bytes"] == readings["baseline_bytes"] + readings["peak_above_baseline_bytes"]
    assert readings["baseline_bytes"] < 40 * MIB
    assert collection.statuses["tree_memory"]["status"] == "ok"


def test_memory_that_the_worker_s_child_takes_is_reported() -> None:
    with holder("-c", PARENT, "100") as worker:
        worker.line()
        with watched(worker.process.pid, worker) as collection:
            worker.ask("hold 600")
        readings = collection.monitors["tree_memory"]
        assert near(readings["peak_above_baseline_bytes"], 600)
        assert readings["processes_at_peak"] == 2
        assert 100 * MIB < readings["baseline_bytes"] < 140 * MIB


def test_a_peak_that_is_over_at_the_end_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def noted(pid: int) -> tree_memory_collector.TreeMemory:
        memory = tree_memory(pid)
        seen.append(memory.bytes)
        return memory

    monkeypatch.setattr(tree_memory_collector, "tree_memory", noted)
    with holder("-c", CHILD) as worker, watched(worker.process.pid, worker) as collection:
        worker.ask("hold 300")
        deadline = time.monotonic() + 60
        while max(seen) < 300 * MIB and time.monotonic() < deadline:
            time.sleep(0.01)
        worker.ask("drop")
        assert tree_memory(worker.process.pid).bytes < 40 * MIB
    readings = collection.monitors["tree_memory"]
    assert near(readings["peak_above_baseline_bytes"], 300)


def test_what_the_parent_holds_is_not_the_worker_s() -> None:
    """``ru_maxrss`` of a child starts with its parent's; the proportional set size does not (D3)."""
    with holder("-c", PARENT, "800") as parent:
        pid = int(parent.line())
        with watched(pid, parent) as collection:
            parent.ask("hold 256")
        readings = collection.monitors["tree_memory"]
        assert int(parent.ask("maxrss")) > 700 * 1024
        assert near(readings["peak_above_baseline_bytes"], 256)
        assert readings["peak_bytes"] < 300 * MIB
        assert tree_memory(parent.process.pid).bytes > 1056 * MIB


FORKING = """
import os, sys
block = bytes(range(1, 256)) * (200 * 4112)
child = os.fork()
if child == 0:
    os.read(0, 1)
    os._exit(0)
print(child, flush=True)
os.read(0, 1)
"""


def test_what_processes_share_counts_once() -> None:
    with holder("-c", FORKING) as worker:
        worker.line()
        memory = tree_memory(worker.process.pid)
    assert memory.processes == 2
    assert 200 * MIB < memory.bytes < 220 * MIB


def test_a_process_that_is_gone_has_no_memory() -> None:
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    with CollectorSession(RUN, built_in("tree_memory"), {}) as collection:
        assert collection.untimed_pass_begins(done.pid) is False
    assert collection.statuses["tree_memory"]["status"] == "absent"
    assert "smaps_rollup cannot be read" in str(collection.statuses["tree_memory"]["reason"])


@pytest.mark.parametrize("lists_children", [True, False])
def test_a_tree_is_found_with_and_without_the_kernel_s_lists(tmp_path: Path, lists_children: bool) -> None:
    parents = {10: 1, 11: 10, 12: 10, 13: 12, 99: 1}
    for pid, parent in parents.items():
        for thread in (pid, pid + 1000):
            folder = tmp_path / f"proc/{pid}/task/{thread}"
            folder.mkdir(parents=True)
            # Children belong to the thread that started them, here the second.
            children = [str(p) for p, of in parents.items() if of == pid and thread > 1000]
            if lists_children:
                (folder / "children").write_text(" ".join(children) + " ")
        (tmp_path / f"proc/{pid}/stat").write_text(f"{pid} (a (b) c) S {parent} " + "0 " * 40)
    assert sorted(process_tree(10, tmp_path)) == [10, 11, 12, 13]
    assert process_tree(13, tmp_path) == [13]
