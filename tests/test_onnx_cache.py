"""Unpacked models are kept within a limit, and never taken from under a process that uses them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarker import onnx_cache, onnx_files, registry
from benchmarker.onnx_cache import hold, remove_least_recently_used
from tests.conftest import ROOT
from tests.onnx_made import KEPT

HOLDER = """
import sys, time
from pathlib import Path
from benchmarker.onnx_cache import hold

assert hold(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def model(root: Path, name: str, size: int, age: float) -> Path:
    """Make an unpacked model that was used some seconds ago."""
    folder = root / name
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / "w.npy").write_bytes(bytes(size))
    os.utime(folder, (time.time() - age,) * 2)
    return folder


def present(root: Path) -> set[str]:
    return {folder.name for folder in root.iterdir() if folder.is_dir()}


def test_the_least_recently_used_models_go_first(tmp_path: Path) -> None:
    for name, age in (("old", 300), ("middle", 200), ("new", 100)):
        model(tmp_path, name, 1 << 20, age)
    remove_least_recently_used(tmp_path, 4 << 20)
    assert present(tmp_path) == {"old", "middle", "new"}
    remove_least_recently_used(tmp_path, 5 << 19)
    assert present(tmp_path) == {"middle", "new"}


def test_using_a_model_makes_it_the_newest(tmp_path: Path) -> None:
    used = model(tmp_path, "used", 1 << 20, 300)
    model(tmp_path, "other", 1 << 20, 100)
    assert hold(used)
    os.close(onnx_cache._held.pop(used))
    remove_least_recently_used(tmp_path, 3 << 19)
    assert present(tmp_path) == {"used"}


def test_what_another_process_uses_remains_until_that_ends(tmp_path: Path) -> None:
    folder = model(tmp_path, "busy", 1 << 20, 300)
    command = [sys.executable, "-c", HOLDER, str(folder)]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        remove_least_recently_used(tmp_path, 0)
        assert present(tmp_path) == {"busy"}
        holder.kill()
    remove_least_recently_used(tmp_path, 0)
    assert present(tmp_path) == set()


def test_what_is_being_made_remains_and_leftovers_go(tmp_path: Path) -> None:
    model(tmp_path, ".making", 1 << 20, 60)
    model(tmp_path, ".killed", 1 << 20, 3 * 24 * 3600)
    remove_least_recently_used(tmp_path, 0)
    assert present(tmp_path) == {".making"}


def test_a_folder_that_is_gone_is_not_held(tmp_path: Path) -> None:
    folder = model(tmp_path, "gone", 1, 0)
    assert hold(folder)
    (folder / "inner" / "w.npy").unlink()
    (folder / "inner").rmdir()
    folder.rmdir()
    assert not hold(folder)


def test_unpacking_another_model_makes_room_and_a_removed_one_is_unpacked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onnx_files, "_folder", lambda: tmp_path)
    names = [f"onnx:{KEPT / name}" for name in ("keras_dense_torch.onnx", "torch_recurrent.onnx")]
    monkeypatch.setattr(onnx_cache.remove_least_recently_used, "__defaults__", (0,))
    onnx_files.unpacked.cache_clear()
    first = registry.find("problems", names[0])
    registry.find("problems", names[1])
    assert len(present(tmp_path)) == 2  # this process uses both
    for folder in [folder for folder in onnx_cache._held if folder.parent == tmp_path]:
        os.close(onnx_cache._held.pop(folder))
    remove_least_recently_used(tmp_path)
    assert present(tmp_path) == set()
    # What is known in memory is not believed: the folder is looked for.
    assert registry.find("problems", names[0]) == first
    assert registry.problem(names[0]).graph(2).parameters
