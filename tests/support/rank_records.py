"""Records of runs of several ranks, and of the one rank that they are held to, with numbers made for reckoning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarker.api.optimizer import Optimizer
from benchmarker.records.schema.trust_inconsistencies import hash_of
from tests.support.records import make_record
from tests.support.trainings import trained

SGD = Optimizer.default("sgd").to_json()
_FURTHER: dict[str, Any] = {
    "further": {},
    "digest": None,
    "variant": "composed",
    "clip_norm": 0.0,
    "clip_value": 0.0,
    "ema": 0.0,
    "decay_kind": "own",
    "decay_of": "all",
}
PARAMETER_BYTES = 1_000_000


def single(seconds: float | Sequence[float] = 0.04, **changes: Any) -> dict[str, Any]:
    """A training by one process of 16 samples per step, each of which took as long."""
    samples = [seconds] * 24 if isinstance(seconds, float) else list(seconds)
    record = make_record(samples, **{"mode": "training", "optimizer": SGD, "batch_size": 16, **changes})
    return {**record, "optimizer": {**SGD, **_FURTHER}}


def several(
    seconds: float | Sequence[float] = 0.025,
    *,
    ranks: int = 2,
    scheme: str = "all-reduce",
    exchange: str = "mpi",
    scaling: str = "strong",
    network: str | None = None,
    wire_bytes: float | None = 2_010_000.0,
    parts: tuple[float | None, float | None, float | None] = (0.01, 0.012, 0.003),
    **changes: Any,
) -> dict[str, Any]:
    """A training by several ranks, whose parts and bytes do not follow from its step.

    Parameters
    ----------
    network : str, optional
        As on the command line: a rate, or ``shared``.
    parts : tuple of float or None
        Seconds of computing, exchange and waiting.
    """
    record = single(seconds, **changes)
    asked = {
        "ranks": ranks,
        "scheme": scheme,
        "exchange": exchange,
        "scaling": scaling,
        "network": network,
    }
    record["specification"].update(asked)
    keys = record["comparable"]["keys"]
    keys.update({name: asked[name] for name in ("ranks", "scheme", "exchange")})
    if network is not None:
        keys["network"] = network
    record["comparable"] = {"hash": hash_of(keys), "keys": keys}
    compute, exchanged, waiting = parts
    told = {"compute": 0.01, "forward and backward": 0.01, "fetch": 0.001}
    told.update({"exchange and update": 0.012, "assign": 0.001} if exchange == "mpi" else {})
    kind = "shared" if network == "shared" else "emulated" if network else "counted"
    record["distributed"] = {
        "ranks": ranks,
        "rows": record["batch_size"] // ranks,
        "scheme": scheme,
        "exchange": exchange,
        "means": "MPI between the framework's gradients and an update in NumPy",
        "scaling": scaling,
        "batch_normalization": None,
        "network": {
            "kind": kind,
            "rate": network if kind == "emulated" else None,
            "reason": "memory is shared" if kind == "shared" else None,
        },
        "rendezvous_seconds": 0.1,
        "import_wait_seconds": 0.02,
        "skew_seconds": 0.001,
        "members": [
            {
                "rank": rank,
                "cpus": [rank],
                "step_seconds": 0.024 + 0.001 * rank,
                "part_seconds": {name: value + 0.001 * rank for name, value in told.items()},
                "report": {},
            }
            for rank in range(ranks)
        ],
        "volume": {
            "expected_bytes": 2_000_000.0 * (ranks - 1),
            "logical_bytes": {"all-reduce": float(PARAMETER_BYTES)},
            "wire_bytes": None if kind == "shared" or wire_bytes is None else wire_bytes * (ranks - 1),
            "findings": [],
        },
        "parts": {
            "compute_seconds": compute,
            "exchange_seconds": exchanged,
            "waiting_seconds": waiting,
            "exchange_alone_seconds": None,
            "overlap": None,
        },
        "staleness": None,
        "server_updates": None,
        "parameter_bytes": PARAMETER_BYTES,
    }
    return record


def trained_by(
    ranks: int, correct: Sequence[int], *, scheme: str = "all-reduce", **changes: Any
) -> dict[str, Any]:
    """A training by a recipe on several ranks; the other arguments are those of ``trained``."""
    network = changes.pop("network", None)
    record = trained(correct, **changes)
    record["distributed"] = several(ranks=ranks, scheme=scheme, network=network)["distributed"]
    asked = {"ranks": ranks, "scheme": scheme, "exchange": "mpi", "network": network}
    record["specification"].update(asked)
    keys = {**record["comparable"]["keys"], **asked}
    record["comparable"] = {"hash": hash_of(keys), "keys": keys}
    return record
