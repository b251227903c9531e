"""What tells of NVIDIA's driver, in planted files."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarker.execution.environments.gpu_driver import gpu_count, nvidia_driver_present


def test_the_driver_and_its_gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not nvidia_driver_present(tmp_path)
    assert gpu_count(tmp_path) is None
    driver = tmp_path / "proc/driver/nvidia"
    for address in ("0000:00:06.0", "0000:00:07.0"):
        (driver / "gpus" / address).mkdir(parents=True)
    (driver / "version").touch()
    assert nvidia_driver_present(tmp_path)
    assert gpu_count(tmp_path) == 2


def test_a_container_without_the_driver_s_files_may_have_its_device(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/nvidiactl").touch()
    assert nvidia_driver_present(tmp_path)
    assert gpu_count(tmp_path) is None
