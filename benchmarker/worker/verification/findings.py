"""What a proof consists of: checks, each passed, failed or left out with its reason, and the tensors behind them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from typing import Any

from benchmarker.quick_dataclass import dataclass
from benchmarker.worker.verification.tolerances import Expected, too_ill_conditioned
from benchmarker.worker.verification.verdicts import TensorVerdict

MAX_TOLD = 5
"""Tensors of a check that stand in a record."""
PASSED, FAILED, LEFT_OUT, INCONCLUSIVE = "passed", "failed", "left_out", "inconclusive"


@dataclass(frozen=True)
class Check:
    """One thing that was looked at.

    Parameters
    ----------
    name : str
        What was looked at, in words.
    status : {"passed", "failed", "left_out", "inconclusive"}
        How it came out.
    detail : str
        What it was compared with; where it failed what was wrong, where it was left out why.
    tensors : tuple of TensorVerdict
        What was compared.
    """

    name: str
    status: str
    detail: str
    tensors: tuple[TensorVerdict, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the check without its tensors, of which there may be many."""
        return {"name": self.name, "status": self.status, "detail": self.detail}


def left_out(name: str, why: str) -> Check:
    return Check(name, LEFT_OUT, why)


def check_of(name: str, faults: Iterable[str], otherwise: str) -> Check:
    """Return a check that failed by its faults, or passed."""
    found = "; ".join(faults)
    return Check(name, FAILED, found) if found else Check(name, PASSED, otherwise)


def compared(
    name: str, what: str, tensors: Sequence[TensorVerdict], impossible: dict[str, str | None] | None = None
) -> Check:
    """Return the check of some tensors.

    Parameters
    ----------
    name : str
        Which step they are of.
    what : str
        What they were compared with.
    tensors : sequence of TensorVerdict
        Of one step.
    impossible : dict, optional
        Kind to the reason why rounding alone moves its tensors too far to judge.
    """
    named = tuple(replace(t, name=f"{t.name}, {name}") for t in tensors)
    status, reason = verdict(named, impossible or {})
    return Check(name, status, what if status == PASSED else f"{reason} ({what})", named)


def impossible_kinds(expected: Sequence[Expected], precision: str) -> dict[str, str | None]:
    """Return for each kind of tensor why no verdict is possible, None where one is."""
    found = {
        kind: too_ill_conditioned([e for e in expected if e.kind == kind], precision)
        for kind in {e.kind for e in expected}
    }
    # Both follow from gradients.
    return {**found, **dict.fromkeys(("update", "state"), found.get("gradient"))}


def verdict(tensors: Sequence[TensorVerdict], impossible: dict[str, str | None]) -> tuple[str, str]:
    """Return the status of compared tensors and its reason."""
    failed = [t for t in tensors if not t.passed and (not impossible.get(t.kind) or math.isinf(t.norm_error))]
    if failed:
        worst = max(failed, key=lambda t: t.used)
        return FAILED, (
            f"{worst.kind} '{worst.name}' differs by {worst.max_relative_error:.3g} of the largest element "
            f"and {worst.norm_error:.3g} of the norm; allowed are {worst.tolerance:.3g} and "
            f"{worst.norm_tolerance:.3g} ({len(failed)} of {len(tensors)} tensors differ)"
        )
    reasons = [impossible[kind] for kind in sorted({t.kind for t in tensors}) if impossible.get(kind)]
    if reasons:
        return INCONCLUSIVE, str(reasons[0])
    return PASSED, "every compared tensor is within its tolerance"


@dataclass(frozen=True)
class Proof:
    """What was found after the timed part.

    Parameters
    ----------
    seconds : float
        What it took.
    checks : tuple of Check
        In the order in which they were made.
    """

    seconds: float
    checks: tuple[Check, ...]

    @property
    def failed(self) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if check.status == FAILED)

    @property
    def status(self) -> str:
        """The worst of its checks; ``left_out`` if none was made."""
        made = {check.status for check in self.checks}
        return next((status for status in (FAILED, INCONCLUSIVE, PASSED) if status in made), LEFT_OUT)

    @property
    def reason(self) -> str:
        if self.failed:
            return "; ".join(f"{check.name}: {check.detail}" for check in self.failed)
        unsure = [check for check in self.checks if check.status == INCONCLUSIVE]
        return f"{unsure[0].name}: {unsure[0].detail}" if unsure else "nothing contradicts what was verified"

    def to_json(self) -> dict[str, Any]:
        """Return the proof as it stands in a record."""
        return {
            "status": self.status,
            "reason": self.reason,
            "seconds": self.seconds,
            "checks": [check.to_json() for check in self.checks],
            "tensors": [asdict(tensor) for check in self.checks for tensor in _telling(check.tensors)],
        }


def _telling(tensors: Sequence[TensorVerdict]) -> list[TensorVerdict]:
    """Return those nearest to their tolerance or beyond it; all of many steps would outgrow the record."""
    return sorted(tensors, key=lambda t: t.used, reverse=True)[:MAX_TOLD]
