"""Virtual machine, container and control-group limits: what stands between the run and the hardware."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarker.api.collector import Run
from benchmarker.machine.procfs.control_groups import limits
from benchmarker.machine.procfs.files import ROOT, read_pairs, read_text

FIRMWARE = "sys/class/dmi/id"
CLOCKS = "sys/devices/system/clocksource/clocksource0/available_clocksource"
HYPERVISORS = (
    ("vmware", "vmware"),
    ("virtualbox", "virtualbox"),
    ("innotek", "virtualbox"),
    ("microsoft corporation virtual machine", "hyper-v"),
    ("parallels", "parallels"),
    ("bhyve", "bhyve"),
    ("xen", "xen"),
    ("amazon ec2", "amazon"),
    ("google compute engine", "google"),
    ("alibaba", "alibaba"),
    ("apple virtualization", "apple"),
    ("firecracker", "firecracker"),
    ("openstack", "kvm"),
    ("kvm", "kvm"),
    ("qemu", "kvm"),
)
"""Words in the firmware's names, and the hypervisor they tell of; the first that fits counts."""
CLOCK_HYPERVISORS = (("kvm-clock", "kvm"), ("hyperv", "hyper-v"), ("xen", "xen"))
CGROUP_CONTAINERS = (
    ("kubepods", "kubernetes"),
    ("docker", "docker"),
    ("libpod", "podman"),
    ("lxc", "lxc"),
    ("containerd", "containerd"),
)


@contextmanager
def benchmarker_collect(run: Run) -> Iterator[dict[str, Any]]:
    yield facts()


def facts(root: Path = ROOT, environment: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """Return the facts.

    Parameters
    ----------
    root : Path
        Folder that holds ``proc``, ``sys`` and ``run``.
    environment : mapping
        Environment variables.
    """
    return {
        "machine": _machine(root),
        "container": {"kind": _container(root, environment)},
        "limits": limits(root),
    }


def _machine(root: Path) -> dict[str, Any]:
    """Return the hypervisor, ``"none"`` on real hardware, ``None`` where that cannot be told."""
    vendor, product = (read_text(root / FIRMWARE / name) for name in ("sys_vendor", "product_name"))
    cpu = read_pairs(root / "proc/cpuinfo", first_block=True)
    # Only x86 has the flag; there it is decisive.
    flag = "hypervisor" in cpu["flags"].split() if "flags" in cpu else None
    return {
        "kind": _hypervisor(root, f"{vendor or ''} {product or ''}".lower(), flag),
        "cpu_flag": flag,
        "vendor": vendor,
        "product": product,
    }


def _hypervisor(root: Path, names: str, flag: bool | None) -> str | None:
    kernel = (read_text(root / "proc/sys/kernel/osrelease") or "").lower()
    if "microsoft" in kernel:
        return "wsl"
    hypervisor_type = read_text(root / "sys/hypervisor/type")
    if hypervisor_type:
        return hypervisor_type
    if flag is False:
        return "none"
    for word, kind in HYPERVISORS:
        if word in names:
            return kind
    clocks = read_text(root / CLOCKS) or ""
    for word, kind in CLOCK_HYPERVISORS:
        if word in clocks:
            return kind
    return "unknown" if flag else None


def _container(root: Path, environment: Mapping[str, str]) -> str | None:
    """Return the kind of container; ``None`` where none shows."""
    if "KUBERNETES_SERVICE_HOST" in environment:
        return "kubernetes"
    if environment.get("APPTAINER_CONTAINER") or environment.get("SINGULARITY_CONTAINER"):
        return "apptainer"
    if (root / "run/.containerenv").exists():
        return "podman"
    if (root / ".dockerenv").exists():
        return "docker"
    container = read_text(root / "run/systemd/container")
    if container:
        return container
    groups = read_text(root / "proc/self/cgroup") or ""
    for word, kind in CGROUP_CONTAINERS:
        # As a path component of its own: a service such as docker.service on the host is no container.
        if re.search(rf"/{word}[^/\n]*(?<!\.service)(/|$)", groups, re.MULTILINE):
            return kind
    return None
