"""What a compiled program of XLA gives to its collectives, read from its text."""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from collections.abc import Mapping

_INSTRUCTION = re.compile(
    r"= (?P<type>\(.*?\)|\S+) (?P<kind>all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute)"
    r"(?:-start)?\((?P<operands>[^)]*)\)"
)
_COMPUTATION = re.compile(r"^(ENTRY )?(%[\w.-]+) \(.*\{$", re.MULTILINE)
_CALL = re.compile(r"\b(?:body|calls|to_apply|branch_computations)=\{?(%[\w.-]+(?:, %[\w.-]+)*)")
_TIMES = re.compile(r'"known_trip_count":\{"n":"(\d+)"')
_TENSOR = re.compile(r"\b([a-z]+\d+|pred)\[([\d,]*)\]")
_BITS = re.compile(r"\d+")


def exchanged_bytes(text: str) -> dict[str, int]:
    """Return the bytes that a run of a program gives to each kind of collective on a rank.

    What a loop gives counts as often as it is run, where XLA knows.

    Parameters
    ----------
    text : str
        Of the optimized program.
    """
    types: dict[str, str] = dict(re.findall(r"(%[\w.-]+) = (\(.*?\)|\S+) ", text))
    heads = list(_COMPUTATION.finditer(text))
    if not heads:
        return dict(_within(text, types))
    ends = [*(head.start() for head in heads[1:]), len(text)]
    bodies = {head[2]: text[head.end() : end] for head, end in zip(heads, ends)}

    @functools.cache
    def total(name: str) -> Counter[str]:
        found = _within(bodies[name], types)
        for line in bodies[name].splitlines():
            called = [one for calls in _CALL.findall(line) for one in re.findall(r"%[\w.-]+", calls)]
            times = int(known[1]) if (known := _TIMES.search(line)) else 1
            for kind, size in [pair for one in called if one in bodies for pair in total(one).items()]:
                found[kind] += times * size
        return found

    return dict(total(next(head[2] for head in heads if head[1])))


def _within(text: str, types: Mapping[str, str]) -> Counter[str]:
    """Return the bytes of a computation's own instructions."""
    found: Counter[str] = Counter()
    for instruction in _INSTRUCTION.finditer(text):
        operands = re.findall(r"%[\w.-]+", instruction["operands"])
        found[instruction["kind"]] += sum(_bytes(types.get(name, "")) for name in operands)
    return found


def _bytes(type_: str) -> int:
    return sum(
        math.prod(int(size) for size in shape.split(",") if size) * _element_bytes(element)
        for element, shape in _TENSOR.findall(type_)
    )


def _element_bytes(element: str) -> int:
    bits = _BITS.search(element)
    return max(int(bits[0]) // 8, 1) if bits else 1
