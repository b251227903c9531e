"""Cases of losses."""

from __future__ import annotations

from typing import Any

from benchmarker.worker.conformance.cases.case import Operand, OperatorCase, labels


def _cross_entropy(
    name: str,
    scores: tuple[int, ...],
    values: str = "normal",
    *,
    weighted: bool = False,
    ignored: int | None = None,
    **attributes: Any,
) -> OperatorCase:
    classes = scores[1]
    operands = [
        Operand(scores, values=values),
        labels((scores[0], *scores[2:]), classes, ignored=ignored),
    ]
    if weighted:
        operands.append(Operand((classes,), "state", "positive"))
    if ignored is not None:
        attributes["ignore_index"] = ignored
    return OperatorCase("softmax_cross_entropy_loss", name, tuple(operands), attributes)


def _ctc(
    name: str, steps: int, batch: int, classes: int, length: int, values: str = "normal"
) -> OperatorCase:
    operands = (Operand((steps, batch, classes), values=values), labels((batch, length), classes, low=1))
    return OperatorCase("ctc_loss", name, operands)


LOSS_CASES = (
    _cross_entropy("plain", (5, 7)),
    _cross_entropy("two-classes", (3, 2)),
    _cross_entropy("shifted", (4, 10), "shifted"),
    _cross_entropy("image", (2, 3, 4, 5)),
    _cross_entropy("image-weighted", (2, 3, 4, 5), weighted=True),
    _cross_entropy("sequence", (2, 5, 6)),
    _cross_entropy("weighted", (5, 7), weighted=True),
    _cross_entropy("sum", (5, 7), reduction="sum"),
    _cross_entropy("none", (5, 7), reduction="none"),
    _cross_entropy("none-image", (2, 3, 4), reduction="none"),
    _cross_entropy("none-weighted", (5, 7), weighted=True, reduction="none"),
    _cross_entropy("ignored", (7, 5), ignored=-100),
    _cross_entropy("ignored-class", (7, 5), ignored=2),
    _cross_entropy("ignored-weighted", (7, 5), weighted=True, ignored=-100),
    _cross_entropy("ignored-sum", (7, 5), ignored=-100, reduction="sum"),
    _cross_entropy("ignored-none", (7, 5), ignored=-100, reduction="none"),
    OperatorCase("binary_cross_entropy_loss", "plain", (Operand((4, 3)), Operand((4, 3), values="positive"))),
    OperatorCase(
        "binary_cross_entropy_loss",
        "wide",
        (Operand((4, 6), values="wide"), Operand((4, 6), values="positive")),
    ),
    OperatorCase("mean_squared_error_loss", "plain", (Operand((4, 3)), Operand((4, 3)))),
    OperatorCase("mean_squared_error_loss", "4d", (Operand((2, 3, 4, 5)), Operand((2, 3, 4, 5)))),
    _ctc("plain", 8, 3, 5, 3),
    _ctc("one-label", 4, 2, 3, 1),
    _ctc("tight", 9, 2, 4, 4),
    _ctc("shifted", 8, 2, 6, 3, "shifted"),
)
