"""The reference's results: computed once by the NumPy plugin in float64 and float32, kept in a file."""

from __future__ import annotations

import json
import uuid
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.errors import BenchmarkerError
from benchmarker.framework import Optimizer, Program
from benchmarker.graph.graph import Graph
from benchmarker.worker import findings
from benchmarker.worker.findings import COMPARED, Build, Findings, Question
from benchmarker.worker.verification import EPSILON, NO_ERRORS, Errors, Excerpt, Expected, errors, excerpt

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

NAME = "NumPy, float64"


SWITCHED = 64 * EPSILON["fp32"]
"""How near to switching, as a share of its largest input, rounding may switch a rectifier or a maximum."""


def _build(precision: str, switched: float = 0.0) -> Build:
    from benchmarker.framework import Device, NoOptions
    from benchmarker.plugins.numpy.program import NumpyFramework

    framework = NumpyFramework()

    def build(graph: Graph, parameters: Mapping[str, Array], mode: str, optimizer: Optimizer) -> Program:
        program = framework.build(
            graph,
            parameters,
            mode=mode,
            device=Device("cpu"),
            precision=precision,
            optimizer=optimizer,
            options=NoOptions(),
        )
        program.switched = switched
        return program

    return build


def results(
    graph: Graph,
    parameters: dict[str, Array],
    batch: dict[str, Array],
    mode: str,
    precision: str,
    switched: float = 0.0,
) -> Findings:
    """Compute what is verified: outputs, or loss and gradients, by name with their kind."""
    program = _build(precision, switched)(graph, parameters, mode, Optimizer())
    native = program.load(batch)
    if mode == "inference":
        outputs = program.fetch(program.infer(native))
        return {name: ("output", array) for name, array in zip(graph.outputs, outputs)}
    loss, gradients = program.gradients(native)
    found: Findings = {"loss": ("loss", np.asarray(loss))}
    found.update({name: ("gradient", array) for name, array in gradients.items()})
    return found


def compute(graph: Graph, parameters: dict[str, Array], batch: dict[str, Array], mode: str) -> list[Expected]:
    """Compute the reference in float64, and learn what rounding does to each tensor.

    Rounding shows in float32; and, since whether it switches a rectifier is a matter of luck, in the
    gradients with all those switched that it might have.
    """

    def at(precision: str, switched: float = 0.0) -> Findings:
        return results(graph, parameters, batch, mode, precision, switched)

    exact, rounded = at("fp64"), at("fp32")
    return _expected(exact, rounded, at("fp64", SWITCHED) if mode == "training" else exact)


def expected_findings(question: Question) -> list[Expected]:
    """Compute the reference of a comparison in the same way, updates included."""
    exact, rounded = (findings.compute(question, _build(precision)) for precision in ("fp64", "fp32"))
    switched = findings.compute(question, _build("fp64", SWITCHED))
    return with_stored_rounding(question, _expected(exact, rounded, switched))


def with_stored_rounding(question: Question, expected: Sequence[Expected]) -> list[Expected]:
    """Add to what rounding does to an update that it is read off its parameter, rounded in each step."""
    parameters = question.parameters()
    found = []
    for e in expected:
        parameter = e.name.partition(": ")[2]
        if e.kind not in COMPARED and parameter in parameters:
            e = replace(e, rounding=_stored(e, parameters[parameter], question.steps))
        found.append(e)
    return found


def _stored(update: Expected, parameter: Array, steps: int) -> Errors:
    """Return what rounding may do to an update, half a unit in the parameter's last place a step included."""
    if update.excerpt.norm == 0.0:
        return update.rounding
    norm = steps * EPSILON["fp32"] * float(np.linalg.norm(parameter)) / update.excerpt.norm / 2.0
    return replace(update.rounding, norm=max(update.rounding.norm, norm))


def without_errors(found: Findings) -> list[Expected]:
    """Return a framework's own findings in the form that is saved."""
    return [Expected(name, kind, excerpt(name, array), NO_ERRORS) for name, (kind, array) in found.items()]


def _expected(exact: Findings, rounded: Findings, switched: Findings) -> list[Expected]:
    expected = []
    for name, (kind, array) in exact.items():
        part = excerpt(name, array)
        rounding = errors(excerpt(name, rounded[name][1]), part)
        strict = kind in ("output", "loss")
        moved = 0.0 if strict else errors(excerpt(name, switched[name][1]), part).norm
        expected.append(Expected(name, kind, part, rounding, moved))
    return expected


def save(path: Path, expected: list[Expected], digests: dict[str, str]) -> None:
    """Write the reference under its name at once; another process that wrote it first does no harm."""
    head = {
        "digests": digests,
        "tensors": [
            {
                "name": e.name,
                "kind": e.kind,
                "elements": e.excerpt.elements,
                "norm": e.excerpt.norm,
                "rounding": asdict(e.rounding),
                "switching": e.switching,
            }
            for e in expected
        ],
    }
    arrays: dict[str, Any] = {f"tensor{i}": e.excerpt.values for i, e in enumerate(expected)}
    arrays["head"] = np.frombuffer(json.dumps(head).encode(), np.uint8)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.npz")
    try:
        np.savez(temporary, **arrays)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def load(path: Path) -> tuple[list[Expected], dict[str, str]]:
    """Read what :func:`save` wrote: the tensors, and the digests of the values they were computed from.

    Raises
    ------
    BenchmarkerError
        If the file is damaged; it is removed, so that the next run computes it anew.
    """
    try:
        return _read(path)
    except (OSError, EOFError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
        path.unlink(missing_ok=True)
        raise BenchmarkerError(
            f"the kept reference '{path.name}' was damaged ({type(error).__name__}) and has been removed; run again"
        ) from error


def _read(path: Path) -> tuple[list[Expected], dict[str, str]]:
    with np.load(path, allow_pickle=False) as archive:
        head = json.loads(archive["head"].tobytes())
        expected = [
            Expected(
                row["name"],
                row["kind"],
                Excerpt(row["elements"], archive[f"tensor{i}"], row["norm"]),
                Errors(**row["rounding"]),
                row["switching"],
            )
            for i, row in enumerate(head["tensors"])
        ]
    return expected, head["digests"]
