"""Limits and throttling of the control groups that this process is in, versions 1 and 2."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from benchmarker.machine.procfs.files import ROOT, integer, read_integer, read_pairs, read_text
from benchmarker.quick_dataclass import dataclass

MOUNT = "sys/fs/cgroup"
UNLIMITED = 2**60
"""Version 1 writes "no limit" as the largest number of whole pages."""


def limits(root: Path = ROOT) -> dict[str, Any]:
    """Return the tightest limits on the way from our control group up to the topmost one that shows.

    Returns
    -------
    dict
        ``cgroup_version`` (1, 2 or ``None``), ``cpus`` (cores' worth of time) and ``memory_bytes``, the
        latter two ``None`` without a limit.
    """
    groups = _groups(root)
    unified = (root / MOUNT / "cgroup.controllers").exists()
    if unified:
        folders = list(_upwards(root / MOUNT, groups.get("", "/")))
        cpus = [_quota_v2(folder) for folder in folders]
        memory = [integer(read_text(folder / "memory.max")) for folder in folders]
    else:
        cpus = [_quota_v1(folder) for folder in _controller(root, groups, "cpu")]
        memory = [read_integer(f / "memory.limit_in_bytes") for f in _controller(root, groups, "memory")]
    version = 2 if unified else 1 if any(groups) else None
    return {
        "cgroup_version": version,
        "cpus": min((value for value in cpus if value is not None), default=None),
        "memory_bytes": min(
            (value for value in memory if value is not None and value < UNLIMITED), default=None
        ),
    }


def _groups(root: Path) -> dict[str, str]:
    """Return the path of our group for each controller of version 1, and for version 2 under ``""``."""
    groups: dict[str, str] = {}
    for line in (read_text(root / "proc/self/cgroup") or "").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        groups.update(dict.fromkeys(controllers.split(","), path))
    return groups


def _upwards(mount: Path, group: str) -> Iterator[Path]:
    """Yield the folders from ``group`` up to the mount; inside a container the group may not show."""
    path = PurePosixPath(group.lstrip("/"))
    if ".." in path.parts:
        path = PurePosixPath()
    for part in (path, *path.parents):
        yield mount / part


def _controller(root: Path, groups: dict[str, str], name: str) -> Iterator[Path]:
    for mount in (
        (root / MOUNT / name, root / MOUNT / "cpu,cpuacct") if name == "cpu" else (root / MOUNT / name,)
    ):
        if mount.is_dir():
            yield from _upwards(mount, groups.get(name, "/"))
            return


def _quota_v2(folder: Path) -> float | None:
    quota, _, period = (read_text(folder / "cpu.max") or "").partition(" ")
    return _cores(integer(quota), integer(period))


def _quota_v1(folder: Path) -> float | None:
    return _cores(read_integer(folder / "cpu.cfs_quota_us"), read_integer(folder / "cpu.cfs_period_us"))


def _cores(quota: int | None, period: int | None) -> float | None:
    """Return the cores' worth of time in a quota; a negative quota is none."""
    if quota is None or not period or quota <= 0:
        return None
    return round(quota / period, 3)


@dataclass(frozen=True)
class Throttling:
    """How often and for how long a control group was kept from running, since it was made.

    Parameters
    ----------
    periods : int
        Periods in which the quota was used up.
    seconds : float
        Time that its CPUs stood still for it.
    """

    periods: int
    seconds: float


def throttling(root: Path = ROOT) -> Throttling | None:
    """Return the throttling of our control group and all above it; ``None`` where the kernel does not tell."""
    groups = _groups(root)
    if (root / MOUNT / "cgroup.controllers").exists():
        folders = list(_upwards(root / MOUNT, groups.get("", "/")))
    else:
        folders = list(_controller(root, groups, "cpu"))
    tables = [table for folder in folders if (table := read_pairs(folder / "cpu.stat", " "))]
    throttle_tables = [table for table in tables if "nr_throttled" in table]
    if not throttle_tables:
        return None
    return Throttling(
        sum(integer(table["nr_throttled"]) or 0 for table in throttle_tables),
        sum(map(_throttled_seconds, throttle_tables)),
    )


def _throttled_seconds(table: Mapping[str, str]) -> float:
    """Return the time from microseconds (version 2) or nanoseconds (version 1)."""
    if "throttled_usec" in table:
        return (integer(table["throttled_usec"]) or 0) / 1e6
    return (integer(table.get("throttled_time")) or 0) / 1e9
