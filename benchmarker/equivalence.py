"""Whether frameworks compute the same function: their findings against the reference's, or each other's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from benchmarker.worker.coarse import FRACTION_BITS
from benchmarker.worker.verification import Expected, TensorVerdict, errors, judge_excerpt, tolerances

PROOF = 0.1
"""A tensor whose tolerance is wider is not judged: to be within it would prove little."""
COARSE_PROOF = 0.25
"""The same in a precision coarser than float32."""


def widest(precision: str) -> float:
    """Return the widest tolerance that proves something in a precision."""
    return COARSE_PROOF if precision in FRACTION_BITS else PROOF


@dataclass(frozen=True)
class Quantity:
    """The tensors of one kind.

    Parameters
    ----------
    kind : str
        ``output``, ``loss``, ``gradient``, or an optimizer.
    tensors : int
        How many were compared.
    left_out : tuple of str
        Those that rounding alone moves too far for a verdict.
    worst : TensorVerdict
        The one that used most of its tolerance.
    failed : tuple of TensorVerdict
        Those beyond it.
    """

    kind: str
    tensors: int
    left_out: tuple[str, ...]
    worst: TensorVerdict
    failed: tuple[TensorVerdict, ...]

    @property
    def conclusive(self) -> bool:
        """Whether at least half of the tensors could be judged."""
        return 2 * len(self.left_out) <= self.tensors

    @property
    def error(self) -> float:
        """The error of the worst tensor in its norm."""
        return self.worst.norm_error

    @property
    def status(self) -> str:
        """``passed``, ``failed`` or ``inconclusive``."""
        if self.failed:
            return "failed"
        return "passed" if self.conclusive else "inconclusive"

    def to_json(self) -> dict[str, Any]:
        """Return the quantity as JSON values."""
        return {
            "kind": self.kind,
            "status": self.status,
            "tensors": self.tensors,
            "left_out": list(self.left_out),
            "worst": asdict(self.worst),
            "failed": [asdict(verdict) for verdict in self.failed],
        }


def compare(expected: Sequence[Expected], found: Sequence[Expected], precision: str) -> list[Quantity]:
    """Judge a framework's findings, kind by kind; kinds that it has none of are left out.

    Raises
    ------
    ValueError
        If it lacks a tensor of a kind of which it has others.
    """
    limits = tolerances(expected, precision)
    excerpts = {f.name: f.excerpt for f in found}
    quantities = []
    for kind in dict.fromkeys(f.kind for f in found):
        wanted = [e for e in expected if e.kind == kind]
        missing = [e.name for e in wanted if e.name not in excerpts]
        if missing:
            raise ValueError(f"the framework returned no {kind} '{missing[0]}'")
        if not wanted:
            continue
        verdicts = [judge_excerpt(e, excerpts[e.name], limits[e.name]) for e in wanted]
        left_out = [v.name for v in verdicts if v.norm_tolerance > widest(precision)]
        judged = [v for v in verdicts if v.name not in left_out] or verdicts
        # What is not finite is wrong however ill-conditioned the tensor is.
        counted = [v for v in verdicts if v.name not in left_out or math.isinf(v.max_absolute_error)]
        quantities.append(
            Quantity(
                kind,
                len(wanted),
                tuple(left_out),
                max(judged, key=lambda v: v.used),
                tuple(v for v in counted if not v.passed),
            )
        )
    return quantities


def as_expected(found: Sequence[Expected], moved: Sequence[Expected]) -> list[Expected]:
    """Take one framework's findings for what the others should find.

    Parameters
    ----------
    found : sequence of Expected
        What it computed.
    moved : sequence of Expected
        What it computes from weights moved by about what rounding does: how far that moves a tensor is
        how well it can be known at this size, switched rectifiers and maxima included.
    """
    others = {m.name: m.excerpt for m in moved}
    return [replace(f, rounding=errors(others[f.name], f.excerpt)) for f in found]
