"""Whether frameworks compute the same function: their findings against the reference's, or each other's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from benchmarker.quick_dataclass import dataclass
from benchmarker.worker.verification.low_precision import FRACTION_BITS
from benchmarker.worker.verification.samples import errors
from benchmarker.worker.verification.tolerances import FLOOR, MAX_TOLERANCE, Expected, Tolerance, tolerances
from benchmarker.worker.verification.verdicts import TensorVerdict, judge_sample, judge_scale

PROOF = 0.1
"""A tensor whose tolerance is wider is not judged: to be within it would prove little."""
LOW_PRECISION_PROOF = 0.25
"""The same in a precision coarser than float32."""


KNOWN_SCALE = 0.05
"""A tolerance of the scale of all tensors together within which single ones need not be known well."""


def widest(precision: str) -> float:
    """Return the widest tolerance that proves something in a precision."""
    return LOW_PRECISION_PROOF if precision in FRACTION_BITS else PROOF


def _proves_little(limit: Tolerance, precision: str) -> bool:
    """Whether both a tensor's elements and its scale may be far off."""
    if math.isfinite(limit.projection):
        return limit.norm >= MAX_TOLERANCE and limit.projection > LOW_PRECISION_PROOF
    return limit.norm > widest(precision)


@dataclass(frozen=True)
class Quantity:
    """The tensors of one kind.

    Parameters
    ----------
    kind : str
        ``output``, ``loss``, ``gradient``, or an optimizer.
    tensors : int
        How many were compared.
    skipped : tuple of str
        Those that rounding alone moves too far for a verdict.
    worst : TensorVerdict
        The one that used most of its tolerance.
    failed : tuple of TensorVerdict
        Those beyond it.
    """

    kind: str
    tensors: int
    skipped: tuple[str, ...]
    worst: TensorVerdict
    failed: tuple[TensorVerdict, ...]
    scale_known: bool = False
    """Whether the scale of all of them together is known so well that it proves something."""

    @property
    def conclusive(self) -> bool:
        """Whether at least half of the tensors could be judged, or all of them together."""
        return self.scale_known or 2 * len(self.skipped) <= self.tensors

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
        return {
            "kind": self.kind,
            "status": self.status,
            "tensors": self.tensors,
            "left_out": list(self.skipped),
            "worst": asdict(self.worst),
            "failed": [asdict(verdict) for verdict in self.failed],
        }


@dataclass(frozen=True)
class TieFinding:
    """What a framework does with ties of one operator.

    Parameters
    ----------
    name : str
        The operator with its attributes.
    convention : str
        Who gets the gradient, in words.
    reference : str
        The same of the reference.
    fault : str or None
        Why that is no subgradient.
    """

    name: str
    convention: str
    reference: str
    fault: str | None


def compare(
    expected: Sequence[Expected], found: Sequence[Expected], precision: str, floor: float = FLOOR
) -> list[Quantity]:
    """Judge a framework's findings, kind by kind; kinds that it has none of are left out.

    Parameters
    ----------
    expected, found : sequence of Expected
        The reference's and the framework's.
    precision : str
        Of the framework.
    floor : float
        Relative error that is allowed in float32 at least, see :func:`.tolerances.floor_of`.

    Raises
    ------
    ValueError
        If it lacks a tensor of a kind of which it has others.
    """
    limits = tolerances(expected, precision, floor)
    tensor_samples = {f.name: f.tensor_sample for f in found}
    quantities = []
    for kind in dict.fromkeys(f.kind for f in found):
        wanted = [e for e in expected if e.kind == kind]
        missing = [e.name for e in wanted if e.name not in tensor_samples]
        if missing:
            raise ValueError(f"the framework returned no {kind} '{missing[0]}'")
        if not wanted:
            continue
        verdicts = [judge_sample(e, tensor_samples[e.name], limits[e.name]) for e in wanted]
        skipped = [e.name for e in wanted if _proves_little(limits[e.name], precision)]
        judged = [v for v in verdicts if v.name not in skipped] or verdicts
        # What is not finite is wrong however ill-conditioned the tensor is.
        counted = [v for v in verdicts if v.name not in skipped or math.isinf(v.max_absolute_error)]
        scale = judge_scale(wanted, tensor_samples, precision) if kind == "gradient" else []
        judged, counted = [*judged, *scale], [*counted, *scale]
        quantities.append(
            Quantity(
                kind,
                len(wanted),
                tuple(skipped),
                max(judged, key=lambda v: v.used),
                tuple(v for v in counted if not v.passed),
                any(verdict.tolerance <= KNOWN_SCALE for verdict in scale),
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
    others = {m.name: m.tensor_sample for m in moved}
    return [replace(f, rounding=errors(others[f.name], f.tensor_sample)) for f in found]
