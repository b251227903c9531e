"""The proof of a generation: its scores and tokens are those of one forward pass over the whole sequence in float64.

The pass takes the tokens that were generated, so it has a say in every one of them, also after one that rounding
turned: where two scores are nearer to each other than what they may be off by, either token is right.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.generation import PROMPT, STEP
from benchmarker.api.optimizer import Optimizer
from benchmarker.errors import BenchmarkerError, plural
from benchmarker.graph.graph import Graph
from benchmarker.quick_dataclass import dataclass
from benchmarker.worker.generation import GenerationProgram, completed, stage_graph, with_constants
from benchmarker.worker.job import ReferenceJob, RunJob
from benchmarker.worker.loading import problem_graph
from benchmarker.worker.verification import reference
from benchmarker.worker.verification.calls_again import FURTHER
from benchmarker.worker.verification.findings import Check, left_out
from benchmarker.worker.verification.outputs_again import MOVED_ROWS, OutputsAgain
from benchmarker.worker.verification.samples import NO_ERRORS, tensor_sample
from benchmarker.worker.verification.tolerances import Expected, Tolerance
from benchmarker.worker.verification.verdicts import TensorVerdict, judge

if TYPE_CHECKING:
    import numpy.typing as npt

    from benchmarker.worker.program import Prepared

    Array = npt.NDArray[Any]
    Arrays = dict[str, Array]

TOKENS = "tokens"
EXACT_DIFFERENCE = 1e-9
"""The most that the reference's scores with a cache may differ from those without, as a share of the largest."""


@dataclass(frozen=True)
class Generation:
    """What was generated of a mini-batch.

    Parameters
    ----------
    batch : mapping
        Of the whole sequence; the prompts count.
    scores, tokens : ndarray
        ``(N, output, vocabulary)`` and ``(N, output)``.
    """

    batch: Arrays
    scores: Array
    tokens: Array

    def to_share(self) -> Arrays:
        """Return the mini-batch of the forward pass over the whole sequence."""
        return completed(self.batch, self.tokens)


def reference_tokens(job: ReferenceJob, graph: Graph, parameters: Arrays, batch: Arrays) -> Array:
    """Return the tokens that float64 generates with a cache, once it is proven that they need none.

    Raises
    ------
    BenchmarkerError
        If the graphs of prompt and step compute something else than that of the whole sequence.
    """
    build = functools.partial(reference.build("fp64"), optimizer=Optimizer())
    programs = []
    for kind in (PROMPT, STEP):
        of_kind = stage_graph(job, kind, graph.batch_size)
        programs.append(build(of_kind, with_constants(of_kind, parameters, job.seed), mode="inference"))
    program = GenerationProgram(programs[0], programs[1], job.generated)
    scores, tokens = program.fetch(program.infer(program.load(batch)))
    exact = _exact_scores(graph, parameters, completed(batch, tokens))
    difference, largest = float(np.abs(scores - exact).max()), float(np.abs(exact).max())
    if not difference <= EXACT_DIFFERENCE * largest:
        raise BenchmarkerError(
            f"scores with a cache differ by {difference:.3g} from those of the whole sequence, which are up to "
            f"{largest:.3g}, in float64: the graphs of prompt and step compute another function than the problem's"
        )
    return tokens


def _exact_scores(graph: Graph, parameters: Arrays, batch: Arrays) -> Array:
    found: Array = reference.results(graph, parameters, batch, "inference", "fp64")[graph.outputs[0]][1]
    return found


def verified_generation(
    job: RunJob,
    prepared: Prepared,
    first: Generation,
    expected: Expected,
    limit: Tolerance,
    path: Path,
) -> tuple[list[TensorVerdict], str]:
    """Hold the first generation to the reference.

    Parameters
    ----------
    job, prepared
        The run.
    first : Generation
        Of the samples that the reference has.
    expected, limit
        The reference's scores, and what they may be off by.
    path : Path
        The file of the reference.

    Returns
    -------
    tensors : list of TensorVerdict
        Of scores and tokens.
    detail : str
        How the tokens compare.
    """
    known = reference.tokens_of(path)
    if np.array_equal(known, first.tokens):
        nearest = token_verdict(None, first.tokens, limit)
        count = plural(first.tokens.size, "token")
        return [judge(expected, first.scores, limit), nearest], f"{count}, each the reference's"
    graph = problem_graph(job, len(first.tokens))
    exact = _exact_scores(graph, prepared.parameters, first.to_share())
    scores = judge(
        Expected(expected.name, "output", tensor_sample(expected.name, exact), NO_ERRORS), first.scores, limit
    )
    return [scores, token_verdict(exact, first.tokens, limit)], parted(known, exact, first.tokens)


def gaps(exact: Array, tokens: Array) -> Array:
    """Return by how much the exact score of each token is below the highest one."""
    own = np.take_along_axis(exact, tokens[..., None], axis=-1)[..., 0]
    found: Array = exact.max(axis=-1) - own
    return found


def token_verdict(exact: Array | None, tokens: Array, limit: Tolerance) -> TensorVerdict:
    """Judge tokens: none may be below the highest score by more than both scores may be off by together.

    Parameters
    ----------
    exact : ndarray or None
        The scores in float64; None where the tokens are known to be the reference's.
    tokens : ndarray
        ``(N, output)``.
    limit : Tolerance
        Of scores.
    """
    gap = 0.0 if exact is None else float(gaps(exact, tokens).max())
    share = 0.0 if exact is None else gap / max(limit.scale, float(np.abs(exact).max()))
    bound = 2 * limit.relative
    size = tokens.size
    return TensorVerdict(TOKENS, "output", size, size, gap, share, bound, share, bound, share <= bound)


def parted(known: Array, exact: Array, tokens: Array) -> str:
    """Say how many tokens are not the reference's, where that began and how near the scores were."""
    other = known != tokens
    row = int(np.flatnonzero(other.any(axis=1))[0])
    place = int(np.flatnonzero(other[row])[0])
    gap = float(gaps(exact, tokens)[row, place])
    return (
        f"{plural(int(other.any(axis=1).sum()), 'sample')} of {len(tokens)} took another path than the reference, "
        f"sample {row} at token {place}, whose exact score is {gap:.3g} below the highest"
    )


class GenerationsAgain(OutputsAgain):
    """The checks of a generation after it was timed."""

    @property
    def _count(self) -> int:
        return len(self._names) + 1  # its tokens

    def _reference_inputs(self, batch: Arrays, found: tuple[Array, ...]) -> Arrays:
        return completed(batch, found[1])

    def _all_judged(self, exact: Arrays, found: tuple[Array, ...]) -> list[TensorVerdict]:
        (name,) = self._names
        return [
            self._judged(name, exact[name], found[0]),
            token_verdict(exact[name], found[1], self._limits[name]),
        ]

    def _moved_rows(self, batch: Arrays, found: tuple[Array, ...]) -> Check:
        shift = max(1, len(found[1]) // 2)
        moved = {name: np.roll(array, shift, axis=0) for name, array in batch.items()}
        again = self._once(moved)
        if not np.array_equal(np.roll(found[1], shift, axis=0), again[1]):
            # Rounding may turn a token where its sample stands elsewhere; the reference has a say then.
            return self._against_reference(MOVED_ROWS, moved, again)
        return super()._moved_rows(batch, found)

    def _first_again(self) -> Check:
        return left_out(
            "first mini-batch again", "generations are compared with the reference of their own tokens"
        )

    def further(self) -> Check:
        return left_out(FURTHER, "a generation is many calls, each of which the tokens after it depend on")
