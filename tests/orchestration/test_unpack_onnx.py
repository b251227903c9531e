"""Unpacked models are kept within a limit, and never taken from under a process that uses them."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarker import cache, registry
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
