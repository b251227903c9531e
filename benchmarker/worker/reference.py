"""The reference's results: computed once by the NumPy plugin in float64 and float32, kept in a file."""

from __future__ import annotations

import json
import uuid
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.errors import BenchmarkerError
from benchmarker.framework import Optimizer
from benchmarker.graph.graph import Graph
from benchmarker.worker import findings
from benchmarker.worker.coarse import FRACTION_BITS, rounded
from benchmarker.worker.findings import Findings, Question
from benchmarker.worker.micro_batching import split
from benchmarker.worker.verification import EPSILON, NO_ERRORS, Errors, Excerpt, Expected, errors, excerpt

if TYPE_CHECKING:
    import numpy.typing as npt

    from benchmarker.plugins.numpy.program import NumpyProgram

    Array = npt.NDArray[Any]

NAME = "NumPy, float64"


SWITCHED = 32 * EPSILON["fp32"]
"""How near to switching, as a share of its largest input, rounding may switch a rectifier or a maximum."""
COARSE_SWITCHED = 2.0
"""The same in units of roundoff of a coarse precision, most of whose errors lie in one operator."""


def switching(precision: str) -> float:
    """Return how near to switching a rectifier may be switched by rounding in a precision."""
    return COARSE_SWITCHED * EPSILON[precision] if precision in FRACTION_BITS else SWITCHED


def build(precision: str, switched: float = 0.0) -> Callable[..., NumpyProgram]:
    """Return what builds the reference's programs in a precision."""
    from benchmarker.framework import Device, NoOptions
    from benchmarker.plugins.numpy.program import NumpyFramework

    framework = NumpyFramework()

    def program_of(
        graph: Graph, parameters: Mapping[str, Array], mode: str, optimizer: Optimizer
    ) -> NumpyProgram:
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

    return program_of


def results(
    graph: Graph,
    parameters: dict[str, Array],
    batch: dict[str, Array],
    mode: str,
    precision: str,
    switched: float = 0.0,
) -> Findings:
    """Compute what is verified: outputs, or loss and gradients, by name with their kind.

    Of a graph for fewer samples than the mini-batch has they are the means over its micro-batches.
    """
    program = build(precision, switched)(graph, parameters, mode, Optimizer())
    parts = [batch] if graph.operands else split(batch, graph.batch_size)
    found = [_of_batch(program, graph, part, mode) for part in parts]
    if len(found) == 1:
        return found[0]
    return {
        name: (kind, np.mean([each[name][1] for each in found], axis=0))
        for name, (kind, _) in found[0].items()
    }


def _of_batch(program: NumpyProgram, graph: Graph, batch: dict[str, Array], mode: str) -> Findings:
    native = program.load(batch)
    if mode == "inference":
        outputs = program.fetch(program.infer(native))
        return {name: ("output", array) for name, array in zip(graph.outputs, outputs)}
    found: Findings = {}
    if graph.loss is None:
        value, gradients = program.gradient_step(native)
        found.update({name: ("output", array) for name, array in zip(graph.outputs, value)})
    else:
        loss, gradients = program.gradients(native)
        found["loss"] = ("loss", np.asarray(loss))
    found.update({name: ("gradient", array) for name, array in gradients.items()})
    return found


def compute(
    graph: Graph, parameters: dict[str, Array], batch: dict[str, Array], mode: str, precision: str = "fp32"
) -> list[Expected]:
    """Compute the reference in float64, and learn what rounding does to each tensor.

    Rounding shows in float32; and, since whether it switches a rectifier is a matter of luck, in the
    gradients with all those switched that it might have. That of a coarser precision shows where weights
    and mini-batch are rounded to it.
    """
    exact = results(graph, parameters, batch, mode, "fp64")
    if precision in FRACTION_BITS:
        coarse = rounded(parameters, precision), rounded(batch, precision)
        rounding = results(graph, *coarse, mode, "fp64")
    else:
        rounding = results(graph, parameters, batch, mode, "fp32")
    if mode == "inference":
        return with_errors(exact, rounding, exact)
    switched = results(graph, parameters, batch, mode, "fp64", switching(precision))
    return with_errors(exact, rounding, switched)


def expected_findings(question: Question) -> list[Expected]:
    """Compute the reference of a comparison in the same way: outputs, loss and gradients."""
    exactly = replace(question, precision="fp32")
    exact = findings.compute(exactly, build("fp64"))
    switched = findings.compute(exactly, build("fp64", switching(question.precision)))
    single = "fp64" if question.precision in FRACTION_BITS else "fp32"
    return with_errors(exact, findings.compute(question, build(single)), switched)


def without_errors(found: Findings) -> list[Expected]:
    """Return a framework's own findings in the form that is saved."""
    return [Expected(name, kind, excerpt(name, array), NO_ERRORS) for name, (kind, array) in found.items()]


def with_errors(exact: Findings, rounded: Findings, switched: Findings) -> list[Expected]:
    """Return exact findings with what rounding, and switching rectifiers, did to them."""
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
                "stored": e.stored,
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


def load(path: Path, what: str = "kept reference") -> tuple[list[Expected], dict[str, str]]:
    """Read what :func:`save` wrote: the tensors, and the digests of the values they were computed from.

    Parameters
    ----------
    path : Path
        The file.
    what : str
        What it is, for people.

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
            f"the {what} '{path.name}' was damaged ({type(error).__name__}) and has been removed; run again"
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
                row["stored"],
            )
            for i, row in enumerate(head["tensors"])
        ]
    return expected, head["digests"]
