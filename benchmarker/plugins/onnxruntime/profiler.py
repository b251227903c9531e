"""ONNX Runtime's own profile of a session, mapped back to the nodes of the graph."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarker.api.profile import Call, Profile
from benchmarker.cache import temporary_folder
from benchmarker.graph.onnx.writer.lowering import Lowered
from benchmarker.graph.onnx.writer.nodes import OnnxNode
from benchmarker.plugins.onnxruntime.sessions import Sessions

_SUFFIX = "_kernel_time"
_WARM_UP = 2
_JOINED = ("Fused", "Quick", "Fast", "Bias", "Skip")
"""What ONNX Runtime puts before an operator's name where it joined others to it."""


def profile(sessions: Sessions, run: Callable[[Any], None], steps: int) -> Profile:
    """Run ``steps`` steps in a session that notes how long each of its nodes takes."""
    with temporary_folder() as folder:
        session = sessions.make(str(folder / "profile"))
        for _ in range(_WARM_UP + steps):
            run(session)
        events = json.loads(Path(session.end_profiling()).read_text(encoding="utf-8"))
    return read_profile(events, Origins(sessions.lowered), _WARM_UP)


class Origins:
    """Which node of the graph a node of the optimized model came from."""

    def __init__(self, lowered: Lowered) -> None:
        self._origins = lowered.origins
        self._nodes: dict[str, OnnxNode] = {node.name: node for node in lowered.nodes}
        self._makers = {value: node for node in lowered.nodes for value in node.outputs}
        self._names = sorted({*self._nodes, *self._makers}, key=len, reverse=True)
        self._known: dict[tuple[str, str], str | None] = {}

    def of(self, name: str, kind: str) -> str | None:
        """Return the graph's node, None if that is not known.

        Parameters
        ----------
        name : str
            Of the node that ran: that of the model's node, or one that an optimization made up of the names
            of nodes and values that it joined.
        kind : str
            Its operator.
        """
        if (name, kind) not in self._known:
            self._known[name, kind] = self._search(name, kind)
        return self._known[name, kind]

    def _search(self, name: str, kind: str) -> str | None:
        if name in self._origins:
            return self._origins[name]
        found = next((known for known in self._names if known in name), None)
        if found is None:
            return None
        node = self._nodes.get(found) or self._makers[found]
        return self._origins[self._nearest(node, kind).name]

    def _nearest(self, node: OnnxNode, kind: str) -> OnnxNode:
        """Return the nearest node of that kind which ``node`` was joined to, itself if there is none."""
        plain = kind
        for prefix in _JOINED:
            plain = plain[len(prefix) :] if plain.startswith(prefix) else plain
        behind = [node]
        seen = {node.name}
        for one in behind:  # grows: the nearest come first
            if one.kind == plain:
                return one
            makers = [self._makers[value] for value in one.inputs if value in self._makers]
            behind += [maker for maker in makers if maker.name not in seen]
            seen.update(maker.name for maker in makers)
        return node


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
