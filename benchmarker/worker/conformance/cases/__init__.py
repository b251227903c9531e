"""Cases of each operator: shapes, values and attributes that tell a right meaning from a wrong one."""

from __future__ import annotations

from benchmarker.worker.conformance.cases.case import Operand, OperatorCase
from benchmarker.worker.conformance.cases.custom import CUSTOM_CASES
from benchmarker.worker.conformance.cases.elementwise import ELEMENTWISE_CASES
from benchmarker.worker.conformance.cases.logic import LOGIC_CASES
from benchmarker.worker.conformance.cases.losses import LOSS_CASES
from benchmarker.worker.conformance.cases.matrices import MATRIX_CASES
from benchmarker.worker.conformance.cases.normalization import NORMALIZATION_CASES
from benchmarker.worker.conformance.cases.recurrent import RECURRENT_CASES
from benchmarker.worker.conformance.cases.shapes import SHAPE_CASES
from benchmarker.worker.conformance.cases.windows import WINDOW_CASES

__all__ = ["OPERATOR_CASES", "Operand", "OperatorCase"]

OPERATOR_CASES: tuple[OperatorCase, ...] = (
    *WINDOW_CASES,
    *MATRIX_CASES,
    *NORMALIZATION_CASES,
    *ELEMENTWISE_CASES,
    *LOGIC_CASES,
    *SHAPE_CASES,
    *RECURRENT_CASES,
    *LOSS_CASES,
    *CUSTOM_CASES,
)
"""At least one case, and where attributes matter several, of every operator of the vocabulary."""
