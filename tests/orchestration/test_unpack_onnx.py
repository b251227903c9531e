"""Unpacked models are kept within a limit, and never taken from under a process that uses them."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarker import cache, registry
from benchmarker.errors import UsageError
from benchmarker.orchestration.jobs import unpack_onnx
from tests.support.onnx_models import KEPT


def models(root: Path) -> list[Path]:
    return [entry for entry in root.iterdir() if entry.is_dir()]


@pytest.mark.framework("numpy")
def test_unpacking_another_model_makes_room_and_a_removed_one_is_unpacked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unpack_onnx, "_folder", lambda: tmp_path)
    names = [f"onnx:{KEPT / name}" for name in ("keras_dense_torch.onnx", "torch_recurrent.onnx")]
    monkeypatch.setattr(unpack_onnx, "MAX_BYTES", 0)
    unpack_onnx.unpacked.cache_clear()
    first = registry.find("problems", names[0])
    registry.find("problems", names[1])
    assert len(models(tmp_path)) == 2  # this process uses both
    for folder in models(tmp_path):
        cache.release(folder)
        assert cache.discard(folder)
    # What is known in memory is not believed: the folder is looked for.
    assert registry.find("problems", names[0]) == first
    assert registry.problem(names[0]).graph(2).parameters


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-5])


def flip(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)


def to_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


@pytest.mark.parametrize("damage", [cut, flip, to_pipe, Path.unlink])
@pytest.mark.parametrize("name", ["model.json", "0.npy", "files.json"])
def test_damage_to_any_file_is_noticed(tmp_path: Path, damage: Callable[[Path], None], name: str) -> None:
    made, folder = tmp_path / "made", tmp_path / "kept"
    made.mkdir()
    for file in ("model.json", "0.npy"):
        (made / file).write_text("content", encoding="utf-8")
    unpack_onnx._publish(made, folder)
    assert unpack_onnx._is_whole(folder)
    os.utime(folder / "model.json", ns=(0, 0))
    assert not unpack_onnx._is_whole(folder)
    folder.rename(made)
    (made / "files.json").unlink()
    unpack_onnx._publish(made, folder)
    damage(folder / name)
    assert not unpack_onnx._is_whole(folder)


@pytest.mark.framework("numpy")
def test_a_damaged_model_is_unpacked_again_unless_another_process_uses_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unpack_onnx, "_folder", lambda: tmp_path)
    path = KEPT / "keras_dense_torch.onnx"
    unpack_onnx.unpacked.cache_clear()
    found = folder, _ = unpack_onnx.unpacked_model(path)
    weights = (folder / "0.npy").read_bytes()
    flip(folder / "0.npy")
    unpack_onnx.unpacked.cache_clear()  # as in the next command
    other = os.open(folder, os.O_RDONLY)
    fcntl.flock(other, fcntl.LOCK_SH)
    try:
        with pytest.raises(UsageError, match="another command uses it"):
            unpack_onnx.unpacked_model(path)
    finally:
        os.close(other)
    assert unpack_onnx.unpacked_model(path) == found
    assert (folder / "0.npy").read_bytes() == weights
