"""What was found of frameworks and a problem that they compute: a verdict on each, and on all together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, field
from typing import Any

from benchmarker.quick_dataclass import dataclass
from benchmarker.worker.verification.equivalence import Quantity, TieFinding
from benchmarker.worker.verification.findings import FAILED, Check


@dataclass(frozen=True)
class FrameworkVerdict:
    """What was found of one framework at one size; ``options`` are all that it has, with their values."""

    framework: str
    version: str | None
    size: str
    against: str
    quantities: tuple[Quantity, ...] = ()
    failure: str | None = None
    unable: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    ties: tuple[TieFinding, ...] = ()
    checks: tuple[Check, ...] = ()

    @property
    def status(self) -> str:
        """``passed``, ``failed``, ``inconclusive``, or ``unable`` if it lacks an operator."""
        if self.unable is not None:
            return "unable"
        found = {quantity.status for quantity in self.quantities}
        found |= {"failed" for tie in self.ties if tie.fault is not None}
        found |= {check.status for check in self.checks if check.status == FAILED}
        if self.failure is not None or "failed" in found or not found:
            return "failed"
        return "inconclusive" if "inconclusive" in found else "passed"

    def to_json(self) -> dict[str, Any]:
        return {
            "framework": self.framework,
            "version": self.version,
            "options": dict(self.options),
            "size": self.size,
            "against": self.against,
            "status": self.status,
            "failure": self.failure,
            "unable": self.unable,
            "quantities": [quantity.to_json() for quantity in self.quantities],
            "ties": [asdict(tie) for tie in self.ties],
            "checks": [check.to_json() for check in self.checks],
        }


@dataclass(frozen=True)
class EquivalenceReport:
    """What was found of a problem."""

    problem: str
    parameters: dict[str, dict[str, Any]]
    batch_sizes: dict[str, int]
    device: str
    steps: int
    tolerance_reason: str
    verdicts: tuple[FrameworkVerdict, ...]

    @property
    def status(self) -> str:
        """``failed`` if something differs, ``passed`` if all that can run agrees, else ``inconclusive``."""
        statuses = {verdict.status for verdict in self.verdicts} - {"unable"}
        if "failed" in statuses:
            return "failed"
        return "passed" if statuses == {"passed"} else "inconclusive"

    def to_json(self) -> dict[str, Any]:
        return {
            "problem": self.problem,
            "status": self.status,
            "parameters": self.parameters,
            "batch_sizes": self.batch_sizes,
            "device": self.device,
            "steps": self.steps,
            "tolerance_reason": self.tolerance_reason,
            "verdicts": [verdict.to_json() for verdict in self.verdicts],
        }
