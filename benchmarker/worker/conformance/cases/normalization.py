"""Cases of normalization."""

from __future__ import annotations

from benchmarker.worker.conformance.cases.case import Operand, OperatorCase, weights


def _batch_norm(name: str, x: tuple[int, ...], **attributes: float) -> OperatorCase:
    channel = (x[1],)
    state = (Operand(channel, "state"), Operand(channel, "state", "positive"))
    return OperatorCase(
        "batch_normalization", name, (Operand(x), *weights(channel, channel), *state), attributes
    )


BATCH_NORMALIZATIONS = (
    _batch_norm("2d", (3, 4, 5, 5)),
    _batch_norm("2d-epsilon-momentum", (3, 4, 3, 5), epsilon=1e-2, momentum=0.7),
    _batch_norm("matrix", (8, 5), epsilon=1e-3),
    _batch_norm("1d", (3, 4, 6)),
    _batch_norm("3d", (2, 3, 3, 4, 3), momentum=0.8),
)


def _layer_norm(name: str, x: tuple[int, ...], axis: int = -1, epsilon: float = 1e-5) -> OperatorCase:
    features = x[axis:]
    return OperatorCase(
        "layer_normalization",
        name,
        (Operand(x), *weights(features, features)),
        {"axis": axis, "epsilon": epsilon},
    )


def _group_norm(name: str, x: tuple[int, ...], groups: int, epsilon: float = 1e-5) -> OperatorCase:
    channels = (x[1],)
    return OperatorCase(
        "group_normalization",
        name,
        (Operand(x), *weights(channels, channels)),
        {"num_groups": groups, "epsilon": epsilon},
    )


NORMALIZATION_CASES = (
    *BATCH_NORMALIZATIONS,
    _layer_norm("matrix", (4, 6)),
    _layer_norm("3d", (2, 3, 8)),
    _layer_norm("4d-epsilon", (2, 3, 4, 5), epsilon=1e-2),
    _layer_norm("two-axes", (2, 3, 4, 5), axis=-2),
    _layer_norm("axis-from-front", (2, 3, 4), axis=1),
    _group_norm("2d", (2, 6, 4, 5), 3),
    _group_norm("one-group", (3, 4, 3, 3), 1, epsilon=1e-2),
    _group_norm("instance", (2, 4, 5, 5), 4),
    _group_norm("1d", (2, 4, 7), 2),
    _group_norm("3d", (2, 4, 3, 2, 3), 2),
    OperatorCase("rms_normalization", "matrix", (Operand((4, 6)), *weights((6,)))),
    OperatorCase("rms_normalization", "3d", (Operand((2, 3, 8)), *weights((8,))), {"epsilon": 1e-2}),
)
