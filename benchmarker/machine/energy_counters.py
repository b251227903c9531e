"""Counters of energy: RAPL of processor packages and memory (powercap), NVML of GPUs."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path

from benchmarker.machine.energy import advance
from benchmarker.machine.nvml import Session
from benchmarker.machine.procfs.files import ROOT, read_integer, read_text

POWERCAP = "sys/class/powercap"


class EnergyCounter(ABC):
    """Counts energy since some moment, in whole units.

    Attributes
    ----------
    name : str
        What part of the machine it is of, e.g. ``package-0`` or ``gpu0``.
    method : str
        What it is, for people.
    unit_joules : float
        Of what :meth:`read` returns.
    wraps_at : int or None
        The largest value; ``None`` if it does not wrap around.
    """

    name: str
    method: str
    unit_joules: float
    wraps_at: int | None

    @abstractmethod
    def read(self) -> int:
        """Return the count; raise ``OSError`` or ``ValueError`` if it cannot be read."""

    def close(self) -> None:  # noqa: B027 - there may be nothing to do
        """Let go of what was opened."""


class RaplCounter(EnergyCounter):
    """A zone of the kernel's powercap tree.

    Parameters
    ----------
    name : str
        What the zone is of.
    folder : Path
        The zone.

    Raises
    ------
    OSError, ValueError
        If it cannot be read.
    """

    unit_joules = 1e-6

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.method = f"RAPL, energy_uj of {folder.name}"
        self.wraps_at = read_integer(folder / "max_energy_range_uj")
        self._file = os.open(folder / "energy_uj", os.O_RDONLY)
        try:
            self.read()
        except BaseException:
            self.close()
            raise

    def read(self) -> int:
        """Return the count in microjoules."""
        return int(os.pread(self._file, 64, 0))

    def close(self) -> None:
        os.close(self._file)


class NvmlCounter(EnergyCounter):
    """A GPU's count since the driver was loaded; NVML's session is its owner's to close."""

    unit_joules = 1e-3
    wraps_at = None
    method = "NVML, nvmlDeviceGetTotalEnergyConsumption"

    def __init__(self, session: Session, index: int) -> None:
        self.name = f"gpu{index}"
        self._session = session
        self._device = session.devices[index]

    def read(self) -> int:
        """Return the count in millijoules."""
        answer = self._session.ask(self._session.nvml.nvmlDeviceGetTotalEnergyConsumption, self._device)
        if answer is None:
            raise ValueError("NVML does not report its energy")
        return int(answer)


def rapl_counters(root: Path = ROOT) -> tuple[list[EnergyCounter], dict[str, str]]:
    """Return the counters of processor packages and memory, and for each that cannot be read, why.

    Cores are part of their package, the zone ``psys`` contains packages, and ``intel-rapl-mmio`` counts
    them a second time, so none of these is taken.
    """
    found: list[EnergyCounter] = []
    absent: dict[str, str] = {}
    zones = list(_zones(root))
    if not zones:
        absent["rapl"] = (
            f"no processor package under /{POWERCAP}: the kernel or the virtual machine has no RAPL"
        )
    for name, folder in zones:
        try:
            found.append(RaplCounter(name, folder))
        except PermissionError:
            absent[name] = f"{folder / 'energy_uj'} can be read by root only"
        except (OSError, ValueError) as error:
            absent[name] = f"{folder / 'energy_uj'} cannot be read: {error}"
    return found, absent


def _zones(root: Path) -> Iterator[tuple[str, Path]]:
    """Yield the name and the folder of each package and of its memory."""
    for package in sorted((root / POWERCAP).glob("intel-rapl:*")):
        name = read_text(package / "name") or ""
        if package.name.count(":") != 1 or not name.startswith("package"):
            continue
        yield name, package
        for part in sorted((root / POWERCAP).glob(f"{package.name}:*")):
            if read_text(part / "name") == "dram":
                yield f"{name}-dram", part


class Meter:
    """A counter's advance since it was first read, wrap-arounds counted.

    Parameters
    ----------
    counter : EnergyCounter
        Read once at the start, and then before it can wrap around twice.

    Attributes
    ----------
    fault : str or None
        Why it is not known; once it could not be read, a wrap-around may have been missed.
    """

    def __init__(self, counter: EnergyCounter) -> None:
        self.counter = counter
        self.fault: str | None = None
        self._units = 0
        self._last: int | None = None
        self.read()

    def read(self) -> None:
        """Read the counter; note the first fault."""
        if self.fault is not None:
            return
        try:
            now = self.counter.read()
            if self._last is not None:
                self._units += advance(self._last, now, self.counter.wraps_at)
            self._last = now
        except (OSError, ValueError) as error:
            self.fault = f"its counter could not be read: {error}"

    @property
    def joules(self) -> float:
        """The advance."""
        return self._units * self.counter.unit_joules
