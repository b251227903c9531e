"""A generation as one step: the prompt, then token after token, each taken by the next step with the cache."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.generation import OWN_OUTPUTS, PROMPT, STEP, Stage
from benchmarker.api.program import Program
from benchmarker.errors import UnsupportedError
from benchmarker.graph.graph import Graph
from benchmarker.quick_dataclass import dataclass
from benchmarker.worker.around import Around
from benchmarker.worker.job import ProblemJob
from benchmarker.worker.loading import load_problem

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]
    Arrays = dict[str, Array]

TOKEN = "token"
"""The input of prompt and whole sequence."""


def stage_graph(job: ProblemJob, kind: str, batch_size: int) -> Graph:
    """Build one of the graphs of a job's generation."""
    stage = Stage(kind, *job.generated)
    return load_problem(job.problem).stage(stage, batch_size, **job.problem_parameters)


@dataclass(frozen=True)
class Generated:
    """What a generation returned: of each token the native scores and token."""

    kept: Sequence[Sequence[Any]]


class GenerationProgram(Around):
    """Generates as many tokens in a step as were asked for, always the one of the highest score.

    The mini-batch is of the whole sequence, of which it takes the prompt's tokens.

    Parameters
    ----------
    prompt, step : Program
        Of those graphs, for inference.
    lengths : tuple of int
        Tokens of the prompt, and those that are generated.

    Attributes
    ----------
    times : list of array
        Of each generation so far the nanoseconds until each token was there, from its start.
    """

    def __init__(self, prompt: Program, step: Program, lengths: tuple[int, int]) -> None:
        super().__init__(step)
        self._prompt = prompt
        self._lengths = lengths
        self.times: list[array[int]] = []

    def load(self, batch: Mapping[str, Array]) -> Any:
        return self._prompt.load({TOKEN: np.ascontiguousarray(batch[TOKEN][:, : self._lengths[0]])})

    def infer(self, batch: Any) -> Generated:
        """Generate; each token is there before the next is begun, as for someone who reads them."""
        clock = time.perf_counter_ns
        step, times = self._program, array("q")
        start = clock()
        output = self._prompt.infer(batch)
        self._prompt.synchronize(output)
        times.append(clock() - start)
        tensors = self._prompt.output_tensors(output)
        kept = [tensors[:OWN_OUTPUTS]]
        for _ in range(self._lengths[1] - 1):
            output = step.infer(step.take(tensors[1:]))
            step.synchronize(output)
            times.append(clock() - start)
            tensors = step.output_tensors(output)
            kept.append(tensors[:OWN_OUTPUTS])
        self.times.append(times)
        return Generated(kept)

    def synchronize(self, output: Generated) -> None:
        """Return at once: the last token has been waited for."""

    def fetch(self, output: Generated) -> tuple[Array, ...]:
        """Return scores ``(N, output, vocabulary)`` and tokens ``(N, output)``."""
        programs = [self._prompt, *[self._program] * (len(output.kept) - 1)]
        found = [program.fetch(tuple(own)) for program, own in zip(programs, output.kept)]
        scores, tokens = (np.concatenate(parts, axis=1) for parts in zip(*found))
        return scores, np.rint(tokens).astype(np.int64)

    def train_parts(self, batch: Any) -> Any:
        """Raise: its parts are its tokens."""
        raise UnsupportedError(
            "a generation has no parts but its tokens, whose times are in timing.generation"
        )

    def profile(self, batch: Any, steps: int) -> Any:
        """Raise: a profiler sees a step of one graph."""
        raise UnsupportedError("operators are profiled in inference, not in the many steps of a generation")

    def compilations(self) -> int | None:
        both = self._prompt.compilations(), self._program.compilations()
        return None if both[0] is None or both[1] is None else both[0] + both[1]


def generation_program(
    job: ProblemJob, parameters: Arrays, build: Callable[..., Program], check: Callable[[Graph], None]
) -> GenerationProgram:
    """Make the programs of a generation.

    Parameters
    ----------
    job : ProblemJob
        Which one.
    parameters : mapping
        Those of the whole sequence's graph; the others' further constants are made here.
    build : callable
        Builds a program of a graph, its parameters and a mode.
    check : callable
        Refuses a graph with an operator that the framework lacks.
    """
    programs = []
    for kind in (PROMPT, STEP):
        graph = stage_graph(job, kind, job.batch_size)
        check(graph)
        programs.append(build(graph, with_constants(graph, parameters, job.seed), "inference"))
    return GenerationProgram(programs[0], programs[1], job.generated)


def with_constants(graph: Graph, parameters: Arrays, seed: int) -> Arrays:
    """Return the parameters of a graph: those that are given, and its own constants."""
    from benchmarker.data.values import draw

    return {
        p.name: parameters[p.name]
        if p.name in parameters
        else draw(seed, f"parameter/{p.name}", p.type, p.initializer)
        for p in graph.parameters
    }


def completed(batch: Mapping[str, Array], tokens: Array) -> Arrays:
    """Return the mini-batch of the whole sequence: the prompts, and the tokens that were generated but for the last."""
    prompt = batch[TOKEN].shape[1] - tokens.shape[1] + 1
    whole = np.concatenate([batch[TOKEN][:, :prompt], tokens[:, :-1]], axis=1)
    return {TOKEN: whole.astype(batch[TOKEN].dtype)}


def token_times(
    times: Sequence[array[int]], windows: Sequence[Mapping[str, Any]] | None, steps: int
) -> dict[str, Any]:
    """Return when tokens were there, in seconds, as a record has it.

    Parameters
    ----------
    times : sequence of array
        Of all generations so far, as :attr:`GenerationProgram.times` has them.
    windows : sequence of mapping or None
        The turns in which the last were timed, before each of which there was one more; None for none.
    steps : int
        How many were timed.
    """
    timed = np.array(_timed(times, windows, steps)) / 1e9
    between = np.diff(timed, axis=1)
    return {
        "first_token_seconds": timed[:, 0].tolist(),
        "output_token_seconds": between.mean(axis=1).tolist(),
        "token_median_seconds": float(np.percentile(between, 50)),
        "token_p99_seconds": float(np.percentile(between, 99)),
    }


def _timed(
    times: Sequence[array[int]], windows: Sequence[Mapping[str, Any]] | None, steps: int
) -> list[array[int]]:
    if windows is None:
        return list(times[-steps:])
    last = len(times)
    found: list[array[int]] = []
    for window in reversed(windows):
        count = window["end"] - window["start"]
        found += reversed(times[last - count : last])
        last -= count + 1
    return found[::-1]
