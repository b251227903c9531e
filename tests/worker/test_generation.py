"""Generation: decoding with a cache equals the forward pass over the whole sequence, and what does not is caught."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarker import registry
from benchmarker.api.framework import Framework
from benchmarker.data.values import draw_parameters
from benchmarker.errors import BenchmarkerError
from benchmarker.plugins.numpy.program import NumpyProgram
from benchmarker.worker.batches import batches_of
from benchmarker.worker.generation import token_times
from benchmarker.worker.job import RunJob
from benchmarker.worker.loading import problem_graph
from benchmarker.worker.verification import reference
from benchmarker.worker.verification.generations import parted, reference_tokens, token_verdict
from benchmarker.worker.verification.tolerances import Tolerance
from tests.support.faulty_frameworks import framework_of
from tests.worker.test_verified_start import JOB, run_events

PROBLEMS = ("gpt2", "llama")
PROMPT, OUTPUT = 5, 6


def job_of(problem: str, samples: int = 3) -> RunJob:
    return replace(
        JOB,
        problem=f"benchmarker.problems.{problem}",
        problem_parameters=registry.problem(problem).configure(registry.problem(problem).reduced),
        mode="generation",
        batch_size=samples,
        steps=2,
        prompt_length=PROMPT,
        output_length=OUTPUT,
    )


def tokens_of(job: RunJob) -> tuple[dict[str, Any], dict[str, Any], Any]:
    graph = problem_graph(job, job.batch_size)
    parameters, batch = draw_parameters(graph, job.seed), batches_of(job, graph).batch(0)
    return parameters, batch, reference_tokens(job, graph, parameters, batch)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", PROBLEMS)
def test_tokens_are_those_of_the_problem_itself_at_each_length(name: str) -> None:
    """Without a cache, and by the graph that is trained: one forward pass a token."""
    job = job_of(name)
    parameters, batch, tokens = tokens_of(job)
    sequence = batch["token"][:, :PROMPT]
    problem = registry.problem(name)
    for place in range(OUTPUT):
        graph = problem.graph(3, **{**problem.reduced, "length": PROMPT + place}).without_loss()
        own = {p.name: parameters.get(p.name) for p in graph.parameters}
        own.update(
            (n, a)
            for n, a in draw_parameters(graph, job.seed).items()
            if own[n] is None or n.startswith("rotary")
        )
        found = reference.results(graph, own, {"token": sequence}, "inference", "fp64")  # type: ignore[arg-type]
        scores = found[graph.outputs[0]][1][:, -1]
        assert scores.argmax(axis=-1).tolist() == tokens[:, place].tolist()
        sequence = np.concatenate([sequence, tokens[:, place : place + 1]], axis=1)


def test_a_reference_whose_cache_changes_the_scores_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NumpyProgram, "take", forgetful_take)
    with pytest.raises(BenchmarkerError, match="prompt and step compute another function"):
        tokens_of(job_of("llama"))


own_take = NumpyProgram.take


def forgetful_take(program: NumpyProgram, tensors: Sequence[Any]) -> Any:
    """Loses the first row of each cache."""
    kept = [np.array(tensor) for tensor in tensors]
    for tensor in kept[2:]:
        tensor[:, :, 0] = 0.0
    return own_take(program, kept)


def late_take(program: NumpyProgram, tensors: Sequence[Any]) -> Any:
    """Is one position behind."""
    return own_take(program, [tensors[0], tensors[1] - 1, *tensors[2:]])


def second_best(program: NumpyProgram, tensors: Sequence[Any]) -> Any:
    """Goes on with another token than that which it returned."""
    return own_take(program, [(tensors[0] + 1) % 50, *tensors[1:]])


def framework_with(take: Callable[..., Any]) -> Callable[[], Framework]:
    class Program(NumpyProgram):
        pass

    Program.take = take  # type: ignore[method-assign]

    return framework_of(Program)


def test_a_right_program_passes_and_tells_when_its_tokens_were_there(tmp_path: Path) -> None:
    events = run_events(job_of("llama"), tmp_path)
    verification = events["verification"]
    assert verification["status"] == "passed"
    assert verification["reason"].endswith("18 tokens, each the reference's")
    assert [t["name"] for t in verification["tensors"]][1:] == ["tokens"]
    assert events["proof"]["status"] == "passed", events["proof"]
    told = events["result"]["generation"]
    assert len(told["first_token_seconds"]) == len(told["output_token_seconds"]) == 2
    for first, each, whole in zip(
        told["first_token_seconds"], told["output_token_seconds"], events["result"]["samples_nanoseconds"]
    ):
        assert 0 < first + (OUTPUT - 1) * each <= whole / 1e9


@pytest.mark.parametrize("take", [forgetful_take, late_take, second_best], ids=lambda take: take.__name__)
def test_a_program_that_carries_something_else_fails(take: Callable[..., Any], tmp_path: Path) -> None:
    events = run_events(job_of("llama"), tmp_path, framework_with(take))
    assert events["verification"]["status"] == "failed"
    assert "result" not in events


def test_a_token_as_good_as_the_best_within_the_bound_is_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another way than the reference's is told, and judged by the exact scores of its own tokens."""
    known = reference.tokens_of
    monkeypatch.setattr(reference, "tokens_of", lambda path: known(path) + 1)
    verification = run_events(job_of("llama"), tmp_path)["verification"]
    assert verification["status"] == "passed"
    assert (
        "3 samples of 3 took another path than the reference, sample 0 at token 0" in verification["reason"]
    )
    exact = np.array([[[1.0, 1.0 - 1e-6, 0.5]]])
    limit = Tolerance(1e-6, 1e-6)
    assert token_verdict(exact, np.array([[1]]), limit).passed
    assert not token_verdict(exact, np.array([[2]]), limit).passed
    assert "whose exact score is 0.5 below the highest" in parted(np.array([[0]]), exact, np.array([[2]]))


def test_times_are_those_of_timed_generations_alone() -> None:
    times = [array("q", [n * 10**9, (n + 1) * 10**9]) for n in range(9)]
    assert token_times(times, None, 3)["first_token_seconds"] == [6, 7, 8]
    windows = [{"start": 0, "end": 2}, {"start": 2, "end": 4}]
    told = token_times(times, windows, 4)
    assert told["first_token_seconds"] == [4, 5, 7, 8]
    assert told["output_token_seconds"] == [1] * 4
    assert (told["token_median_seconds"], told["token_p99_seconds"]) == (1, 1)
