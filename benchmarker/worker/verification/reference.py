"""The reference's results: computed once by the NumPy plugin in float64 and float32, kept in a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.optimizer import Optimizer
from benchmarker.cache import staged_file
from benchmarker.errors import BenchmarkerError
from benchmarker.files import remove
from benchmarker.graph.graph import Graph
from benchmarker.worker.measurement.micro_batching import split
from benchmarker.worker.verification import probes
from benchmarker.worker.verification.archive import open_archive
from benchmarker.worker.verification.low_precision import FRACTION_BITS, MODELLED, rounded, rounding_trials
from benchmarker.worker.verification.probes import ProbeResults, ProbeSpec
from benchmarker.worker.verification.samples import (
    NO_ERRORS,
    Errors,
    TensorSample,
    errors,
    largest,
    scale_error,
    tensor_sample,
)
from benchmarker.worker.verification.tolerances import EPSILON, Expected

if TYPE_CHECKING:
    import numpy.typing as npt

    from benchmarker.plugins.numpy.program import NumpyProgram

    Array = npt.NDArray[Any]

NAME = "NumPy, float64"


SWITCHED = 32 * EPSILON["fp32"]
"""How near to switching, as a share of its largest input, rounding may switch a rectifier or a maximum."""
LOW_PRECISION_SWITCHED = 2.0
"""The same in units of roundoff of a low precision, most of whose errors lie in one operator."""


def switching(precision: str) -> float:
    """Return how near to switching a rectifier may be switched by rounding in a precision."""
    if precision in FRACTION_BITS:
        return LOW_PRECISION_SWITCHED * EPSILON[precision]
    return SWITCHED * finer(precision)


def finer(precision: str) -> float:
    """Return by what share a precision rounds less than float32 does; 1 for one that does not.

    To first order all errors of a computation grow with the unit roundoff (Higham 2002, Accuracy and Stability of
    Numerical Algorithms, section 3.1), so what float32 does to the reference tells what float64 may do.
    """
    return EPSILON["fp64"] / EPSILON["fp32"] if precision == "fp64" else 1.0


def build(
    precision: str, switched: float = 0.0, rounded: Callable[[Array], Array] | None = None
) -> Callable[..., NumpyProgram]:
    """Return what builds the reference's programs in a precision; the rest is as in ``NumpyProgram``."""
    from benchmarker.api.framework import Device, NoOptions
    from benchmarker.plugins.numpy.framework import NumpyFramework

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
        program.switched, program.rounded = switched, rounded
        return program

    return program_of


def results(
    graph: Graph,
    parameters: dict[str, Array],
    batch: dict[str, Array],
    mode: str,
    precision: str,
    switched: float = 0.0,
    rounded: Callable[[Array], Array] | None = None,
) -> ProbeResults:
    """Compute what is verified: outputs, or loss and gradients, by name with their kind.

    Of a graph for fewer samples than the mini-batch has they are the means over its micro-batches. Of training
    without dropout, whose masks are a framework's own, running statistics after the step belong to it.
    """
    program = build(precision, switched, rounded)(graph, parameters, mode, Optimizer())
    parts = [batch] if graph.operands else split(batch, graph.batch_size, graph.counted)
    found = [_of_batch(program, graph, part, mode) for part in parts]
    means = {
        name: (kind, array if len(found) == 1 else np.mean([each[name][1] for each in found], axis=0))
        for name, (kind, array) in found[0].items()
    }
    moved = graph.statistics if _moves(graph, mode) else ()
    return {**means, **{name: ("statistic", program.value(name)) for name in moved}}


def _moves(graph: Graph, mode: str) -> bool:
    return mode == "training" and "dropout" not in graph.operators


def _of_batch(program: NumpyProgram, graph: Graph, batch: dict[str, Array], mode: str) -> ProbeResults:
    native = program.load(batch)
    if mode == "inference":
        outputs = program.fetch(program.infer(native))
        return {name: ("output", array) for name, array in zip(graph.outputs, outputs)}
    found: ProbeResults = {}
    if graph.loss is None:
        value, gradients = program.gradient_step(native)
        found.update({name: ("output", array) for name, array in zip(graph.outputs, value)})
    else:
        compute = program.half_step if _moves(graph, mode) else program.gradients
        loss, gradients = compute(native)
        found["loss"] = ("loss", np.asarray(loss))
    found.update({name: ("gradient", array) for name, array in gradients.items()})
    return found


def compute(
    graph: Graph, parameters: dict[str, Array], batch: dict[str, Array], mode: str, precision: str = "fp32"
) -> list[Expected]:
    """Compute the reference in float64, and learn what rounding does to each tensor.

    Rounding shows in float32, and in float64 as much less as its roundoff is; and, since whether it switches a
    rectifier is a matter of luck, in the gradients with all those switched that it might have. That of bfloat16 and
    float16 shows where the results of every operator are rounded to it, forward and backward, in several ways. That
    of TF32 shows where weights and mini-batch are rounded to it.
    """
    given = parameters, batch
    exact = results(graph, *given, mode, "fp64")
    if precision in FRACTION_BITS:
        parameters, batch = rounded(parameters, precision), rounded(batch, precision)
    if precision in MODELLED:
        trials = rounding_trials(precision)
        found = [results(graph, parameters, batch, mode, "fp32", 0.0, trial) for trial in trials]
        if mode == "inference":
            return with_trials(exact, found, exact)
        return with_trials(exact, found, results(graph, *given, mode, "fp64", switching(precision)))
    single = "fp64" if precision in FRACTION_BITS else "fp32"
    rounding = results(graph, parameters, batch, mode, single)
    if mode == "inference":
        return with_errors(exact, rounding, exact, precision)
    switched = results(graph, *given, mode, "fp64", switching(precision))
    return with_errors(exact, rounding, switched, precision)


def expected_probes(spec: ProbeSpec) -> list[Expected]:
    """Compute the reference of a comparison in the same way: outputs, loss and gradients."""
    exactly = replace(spec, precision="fp32")
    exact = probes.compute(exactly, build("fp64"))
    switched = probes.compute(exactly, build("fp64", switching(spec.precision)))
    if spec.precision in MODELLED:
        trials = rounding_trials(spec.precision)
        found = [probes.compute(spec, build("fp32", 0.0, trial)) for trial in trials]
        return with_trials(exact, found, switched)
    single = "fp64" if spec.precision in FRACTION_BITS else "fp32"
    return with_errors(exact, probes.compute(spec, build(single)), switched, spec.precision)


def without_errors(found: ProbeResults) -> list[Expected]:
    """Return a framework's own findings in the form that is saved."""
    return [
        Expected(name, kind, tensor_sample(name, array), NO_ERRORS) for name, (kind, array) in found.items()
    ]


def with_errors(
    exact: ProbeResults, rounded: ProbeResults, switched: ProbeResults, precision: str = "fp32"
) -> list[Expected]:
    """Return exact findings with what rounding, and switching rectifiers, did to them.

    Parameters
    ----------
    exact, rounded, switched : mapping
        In float64; in float32, or from weights rounded to a low precision; with rectifiers switched.
    precision : str
        What is to be judged: float64 is off by as much less than float32 as its roundoff is.
    """
    expected = []
    for name, (kind, array) in exact.items():
        part = tensor_sample(name, array)
        rounding = errors(tensor_sample(name, rounded[name][1]), part).times(finer(precision))
        strict = kind in ("output", "loss")
        moved = 0.0 if strict else errors(tensor_sample(name, switched[name][1]), part).norm
        expected.append(Expected(name, kind, part, rounding, moved))
    return expected


def with_trials(
    exact: ProbeResults, trials: Sequence[ProbeResults], switched: ProbeResults
) -> list[Expected]:
    """Return exact findings with the most that rounding every operator did to them in several trials.

    ``switched`` has the rectifiers switched that rounding might.
    """
    expected = []
    for name, (kind, array) in exact.items():
        part = tensor_sample(name, array)
        found = [tensor_sample(name, trial[name][1]) for trial in trials]
        rounding = largest([errors(sample, part) for sample in found])
        scales = [scale_error(sample, part) for sample in found]
        strict = kind in ("output", "loss")
        moved = 0.0 if strict else errors(tensor_sample(name, switched[name][1]), part).norm
        expected.append(Expected(name, kind, part, rounding, moved, trials=scales))
    return expected


def save(
    path: Path,
    expected: list[Expected],
    digests: dict[str, str],
    *,
    mean_loss: bool = False,
    tokens: Array | None = None,
) -> None:
    """Write the reference under its name at once; another process that wrote it first does no harm.

    Parameters
    ----------
    path : Path
        The file.
    expected : list of Expected
        The tensors.
    digests : dict
        Of the values that they were computed from.
    mean_loss : bool
        Whether the loss is known to be a mean over samples.
    tokens : ndarray, optional
        Of a generation, ``(N, output)``.
    """
    head = {
        "digests": digests,
        "mean_loss": mean_loss,
        "tensors": [
            {
                "name": e.name,
                "kind": e.kind,
                "elements": e.tensor_sample.elements,
                "norm": e.tensor_sample.norm,
                "rounding": asdict(e.rounding),
                "switching": e.switching,
                "stored": e.stored,
                "trials": list(e.trials),
            }
            for e in expected
        ],
    }
    arrays: dict[str, Any] = {f"tensor{i}": e.tensor_sample.values for i, e in enumerate(expected)}
    if tokens is not None:
        arrays["tokens"] = tokens
    arrays["head"] = np.frombuffer(json.dumps(head).encode(), np.uint8)
    with staged_file(path) as stream:
        np.savez(stream, **arrays)


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
    except Exception as error:  # it holds whatever a worker, or a disk, has left of it
        _remove(path)
        raise BenchmarkerError(
            f"the {what} '{path.name}' was damaged ({type(error).__name__}) and has been removed; run again"
        ) from error


def _remove(path: Path) -> None:
    """Remove whatever is in the place of a reference, so that the next one is computed."""
    if path.is_dir() and not path.is_symlink():
        import shutil  # of this rare case alone

        shutil.rmtree(path, ignore_errors=True)
    else:
        remove(path)


def has_mean_loss(path: Path) -> bool:
    """Tell whether the loss of a saved reference is known to be a mean over samples."""
    with open_archive(path) as archive:
        return bool(json.loads(archive["head"].tobytes()).get("mean_loss"))


def tokens_of(path: Path) -> Array:
    """Return the tokens of a saved generation."""
    with open_archive(path) as archive:
        found: Array = archive["tokens"]
        return found


def _read(path: Path) -> tuple[list[Expected], dict[str, str]]:
    with open_archive(path) as archive:
        head = json.loads(archive["head"].tobytes())
        expected = [
            Expected(
                row["name"],
                row["kind"],
                TensorSample(row["elements"], archive[f"tensor{i}"], row["norm"]),
                Errors(**row["rounding"]),
                row["switching"],
                row["stored"],
                row["trials"],
            )
            for i, row in enumerate(head["tensors"])
        ]
    return expected, head["digests"]
