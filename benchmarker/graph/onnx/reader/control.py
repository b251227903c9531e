"""Branches and loops whose conditions and counts are known while importing: they are written out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from benchmarker.graph.onnx.plain import PlainGraph, PlainNode, graph_from_json
from benchmarker.graph.onnx.reader.values import MISSING, Known, NotKnown, Operand, Unsupported
from benchmarker.graph.recorder import Value

MAX_TRIPS = 1000
"""Of a loop that is written out."""
Run = Callable[[PlainGraph, Mapping[str, Operand]], "list[Operand]"]
"""Imports the nodes of a graph with what its inputs stand for; returns what its outputs stand for."""
Stack = Callable[[Sequence[Operand]], Operand]
"""Joins what all trips of a loop returned along a new first axis."""


def _known(node: PlainNode, operand: Operand | None, place: int, what: str) -> Any:
    if isinstance(operand, Value):
        raise NotKnown(node.inputs[place], what)
    if not isinstance(operand, Known):
        raise Unsupported(f"without {what}")
    return operand.array.reshape(-1)[0]


def _graph(node: PlainNode, name: str) -> PlainGraph:
    return graph_from_json(node.attributes[name]["graph"])


def _if(node: PlainNode, operands: Sequence[Operand | None], run: Run, stack: Stack) -> list[Operand]:
    chosen = "then_branch" if _known(node, operands[0], 0, "a condition") else "else_branch"
    return run(_graph(node, chosen), {})


def _loop(node: PlainNode, operands: Sequence[Operand | None], run: Run, stack: Stack) -> list[Operand]:
    body = _graph(node, "body")
    count = MAX_TRIPS if operands[0] is None else int(_known(node, operands[0], 0, "a number of trips"))
    goes_on = operands[1] is None or bool(_known(node, operands[1], 1, "a condition"))
    carried: list[Operand] = [operand or MISSING for operand in operands[2:]]
    rows: list[list[Operand]] = []
    names = [tensor.name for tensor in body.inputs]
    for trip in range(count):
        if not goes_on:
            break
        if trip == MAX_TRIPS:
            raise Unsupported(f"of more than {MAX_TRIPS} trips")
        number, condition = Known(names[0], np.array(trip)), Known(names[1], np.array(True))
        given = dict(zip(names, [number, condition, *carried]))
        after, *results = run(body, given)
        if not isinstance(after, Known):
            raise NotKnown(body.outputs[0].name, "a condition")
        goes_on = bool(after.array.reshape(-1)[0])
        carried, further = results[: len(carried)], results[len(carried) :]
        rows.append(further)
    scanned = [stack(column) for column in zip(*rows)]
    if not rows and len(body.outputs) > 1 + len(carried):
        raise Unsupported("of no trips")
    return [*carried, *scanned]


CONTROL = {"If": _if, "Loop": _loop}
"""Operators that hold graphs."""
