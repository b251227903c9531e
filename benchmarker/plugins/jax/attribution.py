"""Which node of the graph an instruction of a compiled program came from, read off the program's text."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field

from benchmarker.plugins.jax.steps import NODE, UPDATE
from benchmarker.quick_dataclass import dataclass

_HEADER = re.compile(r"^(?:ENTRY )?%(\S+) \(")
_INSTRUCTION = re.compile(r"^\s+(ROOT )?%(\S+) = (.*)$")
_SOURCE = re.compile(r'op_name="((?:[^"\\]|\\.)*)"')
_CALLED = re.compile(r"(?:calls|body|to_apply)=%([^\s,)]+)")
_OPERANDS = re.compile(r"%([^\s,()]+)")
_NODE = re.compile(rf"{NODE}(\d+)")


@dataclass(frozen=True)
class Origin:
    """Where an instruction came from.

    Parameters
    ----------
    node : int or None
        Number of the graph's node; None if it is of none, or that is not known.
    phase : str
        One of :data:`benchmarker.api.profile.PHASES`.
    others : tuple of int
        Other nodes whose operations are fused into it.
    """

    node: int | None
    phase: str
    others: tuple[int, ...] = ()


UNKNOWN = Origin(None, "other")


@dataclasses.dataclass
class _Instruction:
    """A line of the program: its source as JAX named it, what it calls, and what it takes."""

    source: str
    called: tuple[str, ...]
    operands: tuple[str, ...]


@dataclasses.dataclass
class _Computation:
    """A function of the program, its instructions by name in their order."""

    instructions: dict[str, _Instruction] = field(default_factory=dict)
    root: str = ""


def origins(text: str) -> dict[str, Origin]:
    """Return the origin of each instruction of the HLO program ``text`` by its name.

    A fusion is that of its root, as XLA's own profiles have it. One without a source, such as a copy that
    XLA adds to change a layout, is that of what it calls, else of what it moves.
    """
    return _Reader(_computations(text.splitlines())).origins()


def _computations(lines: Iterable[str]) -> dict[str, _Computation]:
    found: dict[str, _Computation] = {}
    current = _Computation()
    for line in lines:
        header = _HEADER.match(line)
        if header:
            current = found.setdefault(header.group(1), _Computation())
            continue
        match = _INSTRUCTION.match(line)
        if not match:
            continue
        root, name, rest = match.groups()
        source = _SOURCE.search(rest)
        called = tuple(_CALLED.findall(rest))
        head = rest.partition(", metadata=")[0]
        operands = tuple(name for name in _OPERANDS.findall(head) if name not in called)
        current.instructions[name] = _Instruction(source.group(1) if source else "", called, operands)
        if root:
            current.root = name
    return found


def _origin_of(source: str) -> Origin | None:
    """Return the origin that a source tells, None if it tells none."""
    match = _NODE.search(source)
    if match:
        return Origin(int(match.group(1)), "backward" if "transpose(" in source else "forward")
    return Origin(None, "update") if UPDATE in source else None


class _Reader:
    def __init__(self, computations: Mapping[str, _Computation]) -> None:
        self._computations = computations

    def origins(self) -> dict[str, Origin]:
        found: dict[str, Origin] = {}
        for computation in self._computations.values():
            for name, instruction in computation.instructions.items():
                origin = self._own(instruction)
                if origin is None:
                    # Instructions stand after what they take.
                    before = (found.get(operand) for operand in instruction.operands)
                    origin = next((o for o in before if o and o != UNKNOWN and o.phase != "update"), UNKNOWN)
                fused = sorted({o.node for o in self._inside(instruction) if o.node is not None})
                others = tuple(node for node in fused if node != origin.node)
                found[name] = Origin(origin.node, origin.phase, others)
        return found

    def _own(self, instruction: _Instruction) -> Origin | None:
        """Return the origin by the source, else by the root of what is called, else by anything in it."""
        origin = _origin_of(instruction.source)
        if origin:
            return origin
        for name in instruction.called:
            computation = self._computations.get(name)
            root = computation.instructions.get(computation.root) if computation else None
            if root and _origin_of(root.source):
                return _origin_of(root.source)
        return next(self._inside(instruction), None)

    def _inside(self, instruction: _Instruction) -> Iterator[Origin]:
        for name in instruction.called:
            computation = self._computations.get(name, _Computation())
            for inner in reversed(list(computation.instructions.values())):
                origin = _origin_of(inner.source)
                if origin:
                    yield origin
