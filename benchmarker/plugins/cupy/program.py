"""A program of CuPy: NumPy's, with its arrays on the device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarker.plugins.cupy import devices
from benchmarker.plugins.numpy.profiler import Recording
from benchmarker.plugins.numpy.program import NumpyProgram

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

_SOURCE = "own clock around each call, which waits for the device"


class CupyProgram(NumpyProgram):
    """A graph on CuPy's arrays: each operator is a call, whose kernels run in the order of the calls."""

    def held(self, array: Array) -> Any:
        return devices.put(array)

    def to_numpy(self, array: Any) -> Array:
        return devices.take(array)

    def fetch_gradients(self, gradients: dict[str, Any]) -> dict[str, Array]:
        return {name: self.to_numpy(gradient) for name, gradient in gradients.items()}

    def recording(self) -> Recording:
        return Recording(devices.wait, _SOURCE)

    def synchronize(self, output: Any) -> None:
        """Return when the device has done all that the step asked for."""
        devices.wait()

    def memory(self) -> dict[str, int]:
        return devices.memory()

    def reset_memory(self) -> None:
        devices.release_memory()

    def device_event(self) -> Any:
        return devices.event()

    def device_seconds(self, first: Any, last: Any) -> float:
        return devices.seconds_between(first, last)
