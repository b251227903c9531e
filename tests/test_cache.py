"""The cache: entries are there whole or not at all, held while in use, evicted least recently used first."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import subprocess
import sys
import threading
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO

import pytest

from benchmarker import cache
from benchmarker.errors import UsageError
from tests.conftest import ROOT

HOLDER = """
import sys
from pathlib import Path
from benchmarker.cache import hold

assert hold(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""
MAKER = """
import sys
from pathlib import Path
from benchmarker.cache import staged_folder

with staged_folder(Path(sys.argv[1])) as folder:
    print(folder, flush=True)
    sys.stdin.read()
"""
LOCKER = """
import sys
from pathlib import Path
from benchmarker.cache import lock

with lock(Path(sys.argv[1]), lambda: None, 1):
    print("locked", flush=True)
    sys.stdin.read()
"""


def child(script: str, path: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", script, str(path)]
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def folder_entry(root: Path, name: str, size: int, age: float) -> Path:
    """Make a folder that was used some seconds ago."""
    folder = root / name
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / "w.npy").write_bytes(bytes(size))
    os.utime(folder, (time.time() - age,) * 2)
    return folder


def file_entries(root: Path, sizes: list[int]) -> list[Path]:
    """Make files, the first one used longest ago."""
    files = [root / f"{chr(ord('a') + i)}.npz" for i in range(len(sizes))]
    for age, (file, size) in enumerate(zip(files, sizes)):
        file.write_bytes(bytes(size))
        os.utime(file, (1000 + age, 1000 + age))
    return files


def interrupt(staged: AbstractContextManager[BinaryIO | Path]) -> None:
    with staged as made:
        if isinstance(made, Path):
            (made / "half").touch()
        else:
            made.write(b"half")
        raise KeyboardInterrupt


def present(root: Path) -> set[str]:
    return {entry.name for entry in root.iterdir()}


# --- place ---------------------------------------------------------------------------------------


def test_the_cache_folder_is_the_named_one_or_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCHMARKER_HOME", "~/kept")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.home() == tmp_path / "kept"
    monkeypatch.delenv("BENCHMARKER_HOME")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    assert cache.home() == tmp_path / "caches" / "benchmarker"
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setattr(sys, "platform", "linux")
    assert cache.home() == tmp_path / ".cache" / "benchmarker"


@pytest.mark.parametrize("name", ["BENCHMARKER_HOME", "XDG_CACHE_HOME"])
def test_a_cache_folder_of_nobody_is_one_sentence(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BENCHMARKER_HOME", raising=False)
    monkeypatch.setenv(name, "~nobody-of-this-name/kept")
    with pytest.raises(UsageError, match=r"got '~nobody-of-this-name/kept', .*BENCHMARKER_HOME"):
        cache.home()


def test_a_key_follows_from_the_values_alone() -> None:
    assert cache.key({"a": 1, "b": [2]}) == cache.key({"b": [2], "a": 1})
    assert cache.key({"a": 1}) != cache.key({"a": 2})
    assert len(cache.key(None, 24)) == 24


# --- publish -------------------------------------------------------------------------------------


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "made" / "facts.json"
    cache.store_json(target, {"a": 1})
    with pytest.raises(KeyboardInterrupt):
        interrupt(cache.staged_file(target))
    assert cache.load_json(target) == {"a": 1}
    cache.store_json(target, {"a": 2})
    assert cache.load_json(target) == {"a": 2}
    assert present(target.parent) == {"facts.json"}
    target.write_text('{"a": ')
    assert cache.load_json(target) is cache.load_json(tmp_path / "none") is None


def test_a_folder_is_published_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "made" / "entry"
    with pytest.raises(KeyboardInterrupt):
        interrupt(cache.staged_folder(target))
    assert present(target.parent) == set()
    with cache.staged_folder(target) as folder, cache.staged_folder(target) as slower:
        (folder / "first").touch()
        (slower / "second").touch()
        cache.publish_folder(folder, target)
        cache.publish_folder(slower, target)
    assert present(target) == {"first"}
    assert present(target.parent) == {"entry"}


def test_a_folder_that_cannot_be_published_is_told(tmp_path: Path) -> None:
    target = tmp_path / "entry"
    target.write_text("a file")
    with cache.staged_folder(target) as folder, pytest.raises(OSError, match="entry"):
        cache.publish_folder(folder, target)
    assert present(tmp_path) == {"entry"}


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    folder = tmp_path / "file" / "models"
    with (
        pytest.raises(
            UsageError, match=r"models are kept in a folder that can be written, got '.*/models' \(Not a dir"
        ),
        cache.explain_unwritable(folder, "models"),
    ):
        cache.store_json(folder / "a", 1)


# --- hold ----------------------------------------------------------------------------------------


def test_what_another_process_uses_remains_until_that_ends(tmp_path: Path) -> None:
    folder = folder_entry(tmp_path, "busy", 1 << 20, 300)
    (file,) = file_entries(tmp_path, [100])
    with child(HOLDER, folder) as one, child(HOLDER, file) as other:
        assert first_line(one) == first_line(other) == "held"
        cache.evict(tmp_path, max_bytes=0)
        assert present(tmp_path) == {"busy", "a.npz"}
        one.kill()
        other.kill()
    cache.evict(tmp_path, max_bytes=0)
    assert present(tmp_path) == set()


def test_what_this_process_holds_remains_until_it_is_released(tmp_path: Path) -> None:
    used = folder_entry(tmp_path, "used", 1 << 20, 300)
    folder_entry(tmp_path, "other", 1 << 20, 100)
    assert cache.hold(used)
    assert cache.hold(used)
    cache.evict(tmp_path, max_bytes=0)
    assert present(tmp_path) == {"used"}
    cache.release(used)
    cache.evict(tmp_path, max_bytes=0)
    assert present(tmp_path) == set()


def test_what_is_no_entry_is_waited_for_by_nobody(tmp_path: Path) -> None:
    """A pipe, links that lead nowhere, and what belongs to somebody else."""
    os.mkfifo(tmp_path / "pipe")
    os.mkfifo(tmp_path / ".pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "nothing").symlink_to(tmp_path / "nowhere")
    for name in ("pipe", "loop", "nothing"):
        assert not cache.hold(tmp_path / name)
        assert not cache.discard(tmp_path / name)
        assert cache.load_json(tmp_path / name) is None
    cache.evict(tmp_path, max_entries=0)
    assert present(tmp_path) == {"pipe", ".pipe", "loop", "nothing"}


def test_using_an_entry_makes_it_the_newest(tmp_path: Path) -> None:
    used = folder_entry(tmp_path, "used", 1 << 20, 300)
    folder_entry(tmp_path, "other", 1 << 20, 100)
    assert cache.hold(used)
    cache.release(used)
    cache.evict(tmp_path, max_bytes=3 << 19)
    assert present(tmp_path) == {"used"}


def test_an_entry_that_is_gone_is_not_held_and_a_new_one_is(tmp_path: Path) -> None:
    folder = folder_entry(tmp_path, "gone", 1, 0)
    assert cache.hold(folder)
    shutil.rmtree(folder)
    assert not cache.hold(folder)
    folder_entry(tmp_path, "gone", 1, 0)
    assert cache.hold(folder)
    cache.evict(tmp_path, max_bytes=0)
    assert present(tmp_path) == {"gone"}
    cache.release(folder)


def test_one_process_at_a_time_has_the_lock(tmp_path: Path) -> None:
    target = tmp_path / "entry"
    with child(LOCKER, target) as other:
        assert first_line(other) == "locked"
        # Told twice that it is waited for, the other ends; whether it is alive then is what is told.
        waited: list[bool] = []

        def tell() -> None:
            waited.append(other.poll() is None)
            if len(waited) == 2:
                other.kill()

        with cache.lock(target, tell, 0.1):
            assert waited[:2] == [True, True]
    told: list[None] = []
    with cache.lock(target, lambda: told.append(None), 0.1):
        assert told == []
    assert present(tmp_path) == {".locks"}


def test_without_locks_nothing_is_evicted_and_all_else_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsupported(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", unsupported)
    target = tmp_path / "entry"
    with cache.lock(target, lambda: None, 1), cache.staged_folder(target) as folder:
        cache.publish_folder(folder, target)
    assert cache.hold(target)
    cache.release(target)
    cache.evict(tmp_path, max_entries=0)
    assert present(tmp_path) == {"entry", ".locks"}


# --- evict ---------------------------------------------------------------------------------------


def test_the_least_recently_used_folders_go_first(tmp_path: Path) -> None:
    for name, age in (("old", 300), ("middle", 200), ("new", 100)):
        folder_entry(tmp_path, name, 1 << 20, age)
    cache.evict(tmp_path, max_bytes=4 << 20)
    assert present(tmp_path) == {"old", "middle", "new"}
    cache.evict(tmp_path, max_bytes=5 << 19)
    assert present(tmp_path) == {"middle", "new"}
    cache.evict(tmp_path, max_entries=1)
    assert present(tmp_path) == {"new"}


def test_the_least_recently_used_files_go_first(tmp_path: Path) -> None:
    files = file_entries(tmp_path, [100, 100, 100, 100])
    cache.evict(tmp_path, max_bytes=250)
    assert present(tmp_path) == {"c.npz", "d.npz"}
    files[2].touch()
    cache.evict(tmp_path, max_bytes=150)
    assert present(tmp_path) == {"c.npz"}


def test_nothing_goes_below_the_limit_and_nothing_else_ever(tmp_path: Path) -> None:
    file_entries(tmp_path, [100, 100])
    (tmp_path / "notes.txt").write_bytes(bytes(1000))
    cache.evict(tmp_path, "*.npz", max_bytes=200)
    assert present(tmp_path) == {"a.npz", "b.npz", "notes.txt"}
    cache.evict(tmp_path, "*.npz", max_bytes=0)
    assert present(tmp_path) == {"notes.txt"}
    cache.evict(tmp_path / "missing", max_bytes=0)


def test_what_is_being_made_remains_and_leftovers_go(tmp_path: Path) -> None:
    with child(MAKER, tmp_path / "killed") as killed, child(MAKER, tmp_path / "living") as living:
        names = [Path(first_line(process)).name for process in (killed, living)]
        killed.kill()
        killed.wait()
        for name, age in ((".old.npz.1", 2 * cache.LEFTOVER_SECONDS), (".new.npz.2", 0)):
            (tmp_path / name).touch()
            os.utime(tmp_path / name, (time.time() - age,) * 2)
        cache.evict(tmp_path, max_bytes=0)
        assert present(tmp_path) == {names[1], ".new.npz.2"}
        living.kill()


def test_several_may_tidy_at_once(tmp_path: Path) -> None:
    faults: list[BaseException] = []

    def tidy() -> None:
        try:
            for _ in range(20):
                cache.evict(tmp_path, "*.npz", max_bytes=2000)
        except BaseException as fault:
            faults.append(fault)

    for _ in range(5):
        for number in range(200):
            (tmp_path / f"{number}.npz").write_bytes(bytes(100))
        threads = [threading.Thread(target=tidy) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert faults == []
    assert len(present(tmp_path)) == 20
