"""The reference's results: computed once by the NumPy plugin in float64 and float32, kept in a file."""

from __future__ import annotations

import json
import uuid
import zipfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.errors import BenchmarkerError
from benchmarker.graph.graph import Graph
from benchmarker.worker.verification import EPSILON, Errors, Excerpt, Expected, errors, excerpt

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

NAME = "NumPy, float64"


SWITCHED = 64 * EPSILON["fp32"]
"""How near to switching, as a share of its largest input, rounding may switch a rectifier or a maximum."""


def results(
    graph: Graph,
    parameters: dict[str, Array],
    batch: dict[str, Array],
    mode: str,
    precision: str,
    switched: float = 0.0,
) -> dict[str, tuple[str, Array]]:
    """Compute what is verified: outputs, or loss and gradients, by name with their kind."""
    from benchmarker.framework import Device, NoOptions, Optimizer
    from benchmarker.plugins.numpy.program import NumpyFramework

    program = NumpyFramework().build(
        graph,
        parameters,
        mode=mode,
        device=Device("cpu"),
        precision=precision,
        optimizer=Optimizer(),
        options=NoOptions(),
    )
    native = program.load(batch)
    if mode == "inference":
        outputs = program.fetch(program.infer(native))
        return {name: ("output", array) for name, array in zip(graph.outputs, outputs)}
    loss, gradients = program.gradients(native, switched)
    found: dict[str, tuple[str, Array]] = {"loss": ("loss", np.asarray(loss))}
    found.update({name: ("gradient", array) for name, array in gradients.items()})
    return found


def compute(graph: Graph, parameters: dict[str, Array], batch: dict[str, Array], mode: str) -> list[Expected]:
    """Compute the reference in float64, and learn what rounding does to each tensor.

    Rounding shows in float32; and, since whether it switches a rectifier is a matter of luck, in the
    gradients with all those switched that it might have.
    """
    exact = {
        name: (kind, excerpt(name, array))
        for name, (kind, array) in results(graph, parameters, batch, mode, "fp64").items()
    }
    rounded = results(graph, parameters, batch, mode, "fp32")
    rounding = {name: errors(excerpt(name, rounded[name][1]), part) for name, (_, part) in exact.items()}
    switching = dict.fromkeys(exact, 0.0)
    if mode == "training":
        switched = results(graph, parameters, batch, mode, "fp64", SWITCHED)
        switching = {
            name: errors(excerpt(name, switched[name][1]), part).norm for name, (_, part) in exact.items()
        }
    return [
        Expected(name, kind, part, rounding[name], switching[name]) for name, (kind, part) in exact.items()
    ]


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
