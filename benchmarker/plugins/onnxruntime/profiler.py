"""ONNX Runtime's own profile of a session, mapped back to the nodes of the graph."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarker.api.profile import Call, Profile
from benchmarker.cache import temporary_folder
from benchmarker.plugins.common.onnx.origins import Origins
from benchmarker.plugins.onnxruntime.sessions import Sessions

_SUFFIX = "_kernel_time"
_WARM_UP = 2
INTEGER_PRODUCTS = frozenset(
    {"ConvInteger", "MatMulInteger", "MatMulIntegerToFloat", "QGemm", "QLinearConv", "QLinearMatMul"}
)
"""Its operators that compute products of integers."""


def profile(sessions: Sessions, run: Callable[[Any], None], steps: int) -> Profile:
    """Run ``steps`` steps in a session that notes how long each of its nodes takes."""
    with temporary_folder() as folder:
        session = sessions.make(str(folder / "profile"))
        for _ in range(_WARM_UP + steps):
            run(session)
        events = json.loads(Path(session.end_profiling()).read_text(encoding="utf-8"))
    return read_profile(events, Origins(sessions.lowered), _WARM_UP)


def read_profile(events: Sequence[Mapping[str, Any]], origins: Origins, warm_up: int) -> Profile:
    """Return what the events of ONNX Runtime tell, the first ``warm_up`` runs left out.

    Parameters
    ----------
    events : sequence of mapping
        As in its file: microseconds, ``cat`` ``Session`` or ``Node``.
    origins : Origins
        Whose the nodes are.
    warm_up : int
        How many runs to leave out.
    """
    runs = sorted(
        (event["ts"], event["dur"])
        for event in events
        if event["cat"] == "Session" and event["name"] == "model_run"
    )[warm_up:]
    first = runs[0][0] if runs else 0
    calls = []
    for event in events:
        if event["cat"] != "Node" or not event["name"].endswith(_SUFFIX):
            continue
        step = next((i for i, (at, long) in enumerate(runs) if at <= event["ts"] <= at + long), None)
        if step is not None:
            calls.append(_call(event, origins, first, step))
    calls.sort(key=lambda call: call.start_seconds)
    steps = tuple(((at - first) / 1e6, long / 1e6) for at, long in runs)
    return Profile("onnxruntime profiler", tuple(calls), steps)


def _call(event: Mapping[str, Any], origins: Origins, first: int, step: int) -> Call:
    native = str(event["args"]["op_name"])
    name = event["name"][: -len(_SUFFIX)]
    return Call(
        node=origins.of(name, native),
        native=native,
        phase="forward",
        start_seconds=(event["ts"] - first) / 1e6,
        seconds=event["dur"] / 1e6,
        step=step,
    )
