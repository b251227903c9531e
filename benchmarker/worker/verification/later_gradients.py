"""Later steps of mode ``gradient``: what they return against what the program tells beside them, and the reference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from benchmarker.api.program import Program
from benchmarker.errors import UnsupportedError
from benchmarker.worker.verification import reference
from benchmarker.worker.verification.findings import FAILED, Check, compared, impossible_kinds, left_out
from benchmarker.worker.verification.probes import LATER_CALLS, LATER_SEEDS, Build, ProbeSpec
from benchmarker.worker.verification.reference_cost import BACKWARD, fits_memory, forward_seconds
from benchmarker.worker.verification.samples import NO_ERRORS, tensor_sample
from benchmarker.worker.verification.tolerances import Expected, Tolerance, floor_of, tolerances
from benchmarker.worker.verification.verdicts import TensorVerdict, judge

GRADIENT_STEPS = "later steps of mode gradient"
MAX_SECONDS = 20.0
"""What the reference of one mini-batch may take by the estimate."""
_EVALUATIONS = 3
"""Exact, rounded, and with rectifiers switched."""


class _NoGradientError(Exception):
    """A step returned no gradient of some parameters, or the program told none; the message names them."""


def gradient_steps_check(spec: ProbeSpec, build: Build, device_type: str) -> Check:
    """Make steps on mini-batches of their own, and hold the last one to the reference.

    Parameters
    ----------
    spec : ProbeSpec
        Of a problem with a loss; its precision is that of the program.
    build : callable
        Makes a program of the framework.
    device_type : {"cpu", "cuda"}
        Where it runs.
    """
    graph = spec.training_graph
    seconds = _EVALUATIONS * BACKWARD * forward_seconds(graph)
    if seconds > MAX_SECONDS or not fits_memory(graph, backward=True):
        return left_out(GRADIENT_STEPS, f"the reference of one mini-batch might take {seconds:.2g} s")
    weights = spec.parameters()
    last = spec.drawn(_seed(spec, LATER_CALLS - 1))
    found = reference.compute(graph, dict(weights), dict(last), "gradient", spec.precision)
    expected = [e for e in found if e.kind == "gradient"]
    limits = tolerances(expected, spec.precision, floor_of(graph.operators, device_type))
    worst: dict[str, TensorVerdict] = {}
    try:
        # Judged one by one: gradients of a dozen steps may not fit in memory together.
        for verdict in _verdicts(build(graph, weights, "gradient", spec.own), spec, expected, limits):
            worst[verdict.name] = max(worst.get(verdict.name, verdict), verdict, key=lambda v: v.used)
    except UnsupportedError as reason:
        return left_out(GRADIENT_STEPS, str(reason))
    except _NoGradientError as names:
        return Check(GRADIENT_STEPS, FAILED, f"the framework returned no gradient of {names}")
    what = f"{LATER_CALLS} of them with the gradients told beside them, the last with {reference.NAME}"
    return compared(GRADIENT_STEPS, what, list(worst.values()), impossible_kinds(expected, spec.precision))


def _seed(spec: ProbeSpec, number: int) -> int:
    return spec.seed + LATER_SEEDS + number


def _verdicts(
    program: Program, spec: ProbeSpec, expected: list[Expected], limits: Mapping[str, Tolerance]
) -> Iterator[TensorVerdict]:
    """Yield those of each step, by what the program tells, and of the last, by the reference."""
    for number in range(LATER_CALLS):
        native = program.load(spec.drawn(_seed(spec, number)))
        output = program.gradient_step(native)
        program.synchronize(output)
        # What is asked for next may write to the same memory.
        returned = {name: np.array(array) for name, array in program.fetch_gradients(output[1]).items()}
        gradients = program.gradients(native)[1]
        missing = [e.name for e in expected if e.name not in returned or e.name not in gradients]
        if missing:
            raise _NoGradientError(", ".join(missing))
        for wanted in expected:
            name, limit = wanted.name, limits[wanted.name]
            own = Expected(name, "gradient", tensor_sample(name, gradients[name]), NO_ERRORS)
            yield judge(own, returned[name], limit)
            if number == LATER_CALLS - 1:
                yield replace(judge(wanted, returned[name], limit), name=f"{name} by the reference")
