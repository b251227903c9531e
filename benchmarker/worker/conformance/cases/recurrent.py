"""Cases of recurrent layers."""

from __future__ import annotations

from benchmarker.graph.attributes import Recurrent
from benchmarker.worker.conformance.cases.case import Operand, OperatorCase, weights


def _recurrent(
    operator: str,
    name: str,
    steps: int,
    batch: int,
    size: int,
    hidden: int,
    direction: str = "forward",
    **more: str,
) -> OperatorCase:
    gates = {"rnn": 1, "lstm": 4, "gru": 3}[operator]
    parameters = weights(*Recurrent(hidden, direction).weight_shapes(gates, size))
    attributes = {"hidden_size": hidden, "direction": direction, **more}
    return OperatorCase(operator, name, (Operand((steps, batch, size)), *parameters), attributes)


_ACTIVATION_CASES = (
    _recurrent("rnn", "relu", 5, 3, 4, 6, activation="relu"),
    _recurrent("rnn", "bidirectional-relu", 4, 2, 3, 4, "bidirectional", activation="relu"),
)
RECURRENT_CASES = _ACTIVATION_CASES + tuple(
    case
    for operator in ("rnn", "lstm", "gru")
    for case in (
        _recurrent(operator, "small", 5, 3, 4, 6),
        _recurrent(operator, "one-step", 1, 2, 3, 2),
        _recurrent(operator, "batch-1", 4, 1, 5, 3),
        _recurrent(operator, "bidirectional", 5, 3, 4, 2, "bidirectional"),
        _recurrent(operator, "bidirectional-wide", 3, 2, 3, 5, "bidirectional"),
    )
)
