"""What GPUs do at one moment: how busy, memory, power, clock, and what slows them."""

from __future__ import annotations

from typing import Any

from benchmarker.machine.nvml import Session
from benchmarker.quick_dataclass import dataclass

REASONS = {
    "power_cap": "SwPowerCap",
    "hardware_slowdown": "HwSlowdown",
    "hardware_thermal": "HwThermalSlowdown",
    "power_brake": "HwPowerBrakeSlowdown",
    "software_thermal": "SwThermalSlowdown",
    "sync_boost": "SyncBoost",
}
"""Why a GPU is slower than it could be, and the end of NVML's name for it; idling and set clocks are not."""
MIB = 1 << 20


@dataclass(frozen=True)
class GpuActivity:
    """One GPU at one moment; ``None`` for what it does not tell.

    Parameters
    ----------
    busy_percent : int or None
        Share of NVML's last sampling period in which a kernel ran.
    memory_mib : float or None
        Memory in use, by anybody.
    power_watts : float or None
        NVML's own mean, over up to a second.
    sm_clock_mhz : int or None
        Clock of the multiprocessors.
    slowed_by : tuple of str or None
        Keys of :data:`REASONS`.
    """

    busy_percent: int | None
    memory_mib: float | None
    power_watts: float | None
    sm_clock_mhz: int | None
    slowed_by: tuple[str, ...] | None


def gpu_activity(session: Session, index: int) -> GpuActivity:
    """Return what GPU ``index`` does now."""
    nvml, device = session.nvml, session.devices[index]
    if device is None:
        return GpuActivity(None, None, None, None, None)
    rates = session.ask(nvml.nvmlDeviceGetUtilizationRates, device)
    memory = session.ask(nvml.nvmlDeviceGetMemoryInfo, device)
    milliwatts = session.ask(nvml.nvmlDeviceGetPowerUsage, device)
    bits = session.ask(nvml.nvmlDeviceGetCurrentClocksThrottleReasons, device)
    return GpuActivity(
        busy_percent=rates.gpu if rates else None,
        memory_mib=memory.used / MIB if memory else None,
        power_watts=None if milliwatts is None else milliwatts / 1000,
        sm_clock_mhz=session.ask(nvml.nvmlDeviceGetClockInfo, device, nvml.NVML_CLOCK_SM),
        slowed_by=None if bits is None else _reasons(nvml, bits),
    )


def _reasons(nvml: Any, bits: int) -> tuple[str, ...]:
    return tuple(
        name for name, suffix in REASONS.items() if bits & getattr(nvml, f"nvmlClocksThrottleReason{suffix}")
    )
