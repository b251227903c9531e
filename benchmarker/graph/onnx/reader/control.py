"""Branches and loops whose conditions and counts are known while importing: they are unrolled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from benchmarker.graph.onnx.plain import PlainGraph, PlainNode, graph_from_json
from benchmarker.graph.onnx.reader.values import MISSING, Known, Listed, NotKnown, Operand, Unsupported
from benchmarker.graph.recorder import Value
from benchmarker.quick_dataclass import dataclass

MAX_TRIPS = 1000
"""Of a loop that is unrolled."""


@dataclass(frozen=True)
class Inside:
    """What a node that holds graphs asks of the importer.

    Parameters
    ----------
    run : callable
        Imports the nodes of a graph with what its inputs stand for; returns what its outputs stand for.
    stack : callable
        Joins what all trips of a loop returned along a new axis.
    row : callable
        Returns one element of an axis, without that axis.
    """

    run: Callable[[PlainGraph, Mapping[str, Operand]], list[Operand]]
    stack: Callable[[Sequence[Operand], int], Operand]
    row: Callable[[Operand, int, int], Operand]


def _known(node: PlainNode, operand: Operand | None, place: int, what: str) -> Any:
    if isinstance(operand, Value):
        raise NotKnown(node.inputs[place], what)
    if not isinstance(operand, Known):
        raise Unsupported(f"without {what}")
    return operand.array.reshape(-1)[0]


def _graph(node: PlainNode, name: str) -> PlainGraph:
    return graph_from_json(node.attributes[name]["graph"])


def _if(node: PlainNode, operands: Sequence[Operand | None], inside: Inside) -> list[Operand]:
    chosen = "then_branch" if _known(node, operands[0], 0, "a condition") else "else_branch"
    return inside.run(_graph(node, chosen), {})


def _loop(node: PlainNode, operands: Sequence[Operand | None], inside: Inside) -> list[Operand]:
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
        after, *results = inside.run(body, given)
        if not isinstance(after, Known):
            raise NotKnown(body.outputs[0].name, "a condition")
        goes_on = bool(after.array.reshape(-1)[0])
        carried, further = results[: len(carried)], results[len(carried) :]
        rows.append(further)
    scanned = [inside.stack(column, 0) for column in zip(*rows)]
    if not rows and len(body.outputs) > 1 + len(carried):
        raise Unsupported("with no trips")
    return [*carried, *scanned]


def _length(operand: Operand | None, axis: int) -> int:
    if isinstance(operand, Known):
        return int(operand.array.shape[axis])
    if isinstance(operand, Value):
        return operand.shape[axis]
    raise Unsupported("without a sequence")


def _scan(node: PlainNode, operands: Sequence[Operand | None], inside: Inside) -> list[Operand]:
    body, count = _graph(node, "body"), int(node.attributes["num_scan_inputs"])
    places = len(operands) - count
    carried: list[Operand] = [operand or MISSING for operand in operands[:places]]
    scanned = [operand or MISSING for operand in operands[places:]]
    results = len(body.outputs) - places

    def given(name: str, number: int) -> list[int]:
        return list(node.attributes.get(name) or [0] * number)

    axes, backwards = given("scan_input_axes", count), given("scan_input_directions", count)
    trips = _length(scanned[0], axes[0])
    if trips > MAX_TRIPS or not trips:
        raise Unsupported(f"of {trips} trips, of which there may be 1 to {MAX_TRIPS}")
    rows: list[list[Operand]] = []
    names = [tensor.name for tensor in body.inputs]
    for trip in range(trips):
        parts = [
            inside.row(x, axis, trips - 1 - trip if back else trip)
            for x, axis, back in zip(scanned, axes, backwards)
        ]
        found = inside.run(body, dict(zip(names, [*carried, *parts])))
        carried = found[:places]
        rows.append(found[places:])
    turned = given("scan_output_directions", results)
    columns = [rows[::-1] if turned[i] else rows for i in range(results)]
    out_axes = given("scan_output_axes", results)
    stacked = [inside.stack([row[i] for row in columns[i]], out_axes[i]) for i in range(results)]
    return [*carried, *stacked]


def _sequence_map(node: PlainNode, operands: Sequence[Operand | None], inside: Inside) -> list[Operand]:
    body, (sequence, *more) = _graph(node, "body"), operands
    if not isinstance(sequence, Listed):
        raise Unsupported("without a sequence")
    names = [tensor.name for tensor in body.inputs]
    rows = []
    for place, item in enumerate(sequence.items):
        beside = [other.items[place] if isinstance(other, Listed) else other or MISSING for other in more]
        rows.append(inside.run(body, dict(zip(names, [item, *beside]))))
    return [Listed(tuple(column)) for column in zip(*rows)]


CONTROL = {"If": _if, "Loop": _loop, "Scan": _scan, "SequenceMap": _sequence_map}
"""Operators that hold graphs."""
