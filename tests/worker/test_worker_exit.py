"""A worker ends without taking its modules down, yet what a framework leaves for its exit is done."""

from __future__ import annotations

from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import pytest

from benchmarker.worker import facts
from tests.conftest import Command

LEAVING = """
import atexit, ctypes, os
from pathlib import Path
from benchmarker.api.framework import FrameworkPlugin
from benchmarker.plugins.numpy.framework import NumpyFramework

def benchmarker_framework():
    return FrameworkPlugin(name="leaving", distribution="numpy", requirements=("numpy",),
                           implementation="leaving_framework:Leaving")


class Leaving(NumpyFramework):
    def configure(self, device, *, threads, seed):
        atexit.register(Path(os.environ["BENCHMARKER_TEST_FOLDER"], "exit function").touch)
        ctypes.CDLL(None).puts(b"buffered by C")
        return super().configure(device, threads=threads, seed=seed)
"""


@pytest.mark.framework("numpy")
def test_exit_functions_run_and_buffers_are_written(
    command: Command, distribution: Callable[..., Path], tmp_path: Path
) -> None:
    folder = distribution(
        "leaving", {"frameworks": ["leaving = leaving_framework"]}, {"leaving_framework": LEAVING}
    )
    finished = command.with_path(folder)(
        "--framework=leaving", "--problem=mnist_mlp", "--steps=2", "--warmup=1", "--json"
    )
    assert finished.status == 0, finished.stderr
    assert (tmp_path / "exit function").exists()
    log = tmp_path / "results" / finished.records[0]["log"]
    assert "buffered by C" in log.read_text()


def test_packages_are_those_that_importlib_tells() -> None:
    found = facts.packages()
    assert found["numpy"] == metadata.version("numpy")
    assert set(found) == {distribution.metadata["Name"] for distribution in metadata.distributions()}
