"""Frameworks that exchange by means of their own: real ranks beside one process with the whole mini-batch."""

from __future__ import annotations

import signal
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from benchmarker import registry
from benchmarker.plugins.jax.collectives import exchanged_bytes
from tests.in_framework.ranks import STEPS, Case
from tests.support.rank_groups import Ended, run_ranks

pytestmark = [pytest.mark.framework, pytest.mark.timeout(400)]

PLAIN = (
    *(Case("mlp", optimizer) for optimizer in ("sgd", "momentum", "adam", "clipped")),
    Case("images"),
    Case("images", "adam"),
    Case("embedded"),
    Case("mlp", "momentum", micro=2),
    Case("images", "momentum", "fp64"),
)
NORMALIZED = (Case("normalized"), Case("normalized", "momentum", "fp64"))
MASKED = Case("dropped", alike=True)
CASES = (*PLAIN, *NORMALIZED, MASKED)
OF_FOUR = (Case("mlp", "adam"), Case("images"), Case("images", "momentum", "fp64"), NORMALIZED[0], MASKED)
"""What four ranks train: each kind of network that two do, but embeddings, and each precision."""
KILLED = (Case("mlp"), Case("mlp", killed=1))
TOLERANCES = {"fp32": 1e-6, "fp64": 1e-13}
NATIVE = ("jax", "tensorflow", "keras_jax", "keras_pytorch", "keras_tensorflow")
"""Frameworks whose scheme is called all-reduce."""
GROUPS = (*((framework, 2) for framework in NATIVE), ("jax", 4), ("keras_pytorch", 4))
"""Frameworks with numbers of ranks: four of each kind of exchange once."""
Group = Callable[[str, int], list[Ended]]


def cases_of(ranks: int) -> tuple[Case, ...]:
    return {1: (MASKED,), 4: OF_FOUR}.get(ranks, CASES)


@pytest.fixture(scope="module")
def group(tmp_path_factory: pytest.TempPathFactory, cache_home: Path) -> Group:
    """Return what runs all cases in a group of ranks once; of no ranks alone in one process.

    A group of one rank runs the case with masks alone, the only one that is asked of it, a group of four ``OF_FOUR``.
    """

    @cache
    def run(framework: str, ranks: int) -> list[Ended]:
        folder = tmp_path_factory.mktemp(f"{framework}-{ranks}")
        cases = cases_of(ranks)
        found = run_ranks(framework, "all-reduce" if ranks else "", max(ranks, 1), folder, cases)
        for rank in found:
            assert rank.status == 0, rank.stderr
            assert len(rank.told) == len(cases)
        return found

    return run


def far(found: Ended, expected: Ended, number: int, other: int | None = None) -> float:
    """Return how far parameters are from others after a case, which may have another number there, of norms."""
    wanted, weights = expected.weights(number if other is None else other), found.weights(number)
    return max(
        float(np.linalg.norm(weights[name] - array)) / max(float(np.linalg.norm(array)), 1e-3)
        for name, array in wanted.items()
    )


@pytest.mark.parametrize(("framework", "ranks"), GROUPS)
def test_ranks_train_as_one_process_with_all_rows(framework: str, ranks: int, group: Group) -> None:
    (alone,) = group(framework, 0)
    found = group(framework, ranks)
    normalizes_all = registry.framework(framework).schemes["all-reduce"].batch_normalization == "global"
    for number, case in enumerate(cases_of(ranks)):
        same = CASES.index(case)
        if case in PLAIN:
            assert far(found[-1], alone, number, same) <= TOLERANCES[case.precision], case
        elif case in NORMALIZED and normalizes_all:
            assert far(found[0], alone, number, same) <= 3 * TOLERANCES[case.precision], case
        elif case in NORMALIZED:
            # Else the rows of a rank would not have been normalized by themselves, as is declared.
            assert far(found[0], alone, number, same) > 1e-3, case


@pytest.mark.parametrize(("framework", "ranks"), GROUPS)
def test_all_ranks_have_the_same_bits_after_each_step(framework: str, ranks: int, group: Group) -> None:
    found = group(framework, ranks)
    for number, case in enumerate(cases_of(ranks)):
        told = [rank.told[number] for rank in found]
        assert len(told[0]["digests"]) == len(set(told[0]["digests"])) == STEPS, case
        assert all(each["digests"] == told[0]["digests"] for each in told), case
        assert all(each["state"] == told[0]["state"] for each in told), case


@pytest.mark.parametrize("framework", NATIVE)
def test_a_rank_takes_other_weights_and_tells_gradients(framework: str, group: Group) -> None:
    for rank in group(framework, 2):
        assert all(told["assigned"] and told["gradients"] for told in rank.told)


@pytest.mark.parametrize("framework", NATIVE)
def test_masks_of_ranks_differ(framework: str, group: Group) -> None:
    # All ranks have the same rows: their losses differ, or where a step returns their mean, it differs from one rank's.
    number = CASES.index(MASKED)
    (one,), two = group(framework, 1), group(framework, 2)
    first, *others = (rank.told[number]["losses"][0] for rank in two)
    if registry.framework(framework).schemes["all-reduce"].batch_normalization == "global":
        others = [one.told[0]["losses"][0]]
    assert all(first != other for other in others)
    assert far(two[0], one, number, 0) > 1e-3


@pytest.mark.parametrize("framework", NATIVE)
def test_a_step_gives_its_gradients_to_collectives(framework: str, group: Group) -> None:
    rank = group(framework, 2)[0]
    sizes = {name: array.nbytes for name, array in rank.weights(0).items()}
    exchanged = rank.told[0]["exchanged"]
    assert set(exchanged) == {"all-reduce"}
    # A loss may go with them.
    assert 0 <= exchanged["all-reduce"] - sum(sizes.values()) <= 8


@pytest.mark.parametrize("framework", NATIVE)
def test_ranks_wait_for_a_late_one_and_end_when_it_is_killed(
    framework: str, cache_home: Path, tmp_path: Path
) -> None:
    first, killed = run_ranks(framework, "all-reduce", 2, tmp_path, KILLED, late_seconds=10.0)
    assert [len(rank.told) for rank in (first, killed)] == [1, 1], first.stderr
    assert killed.status == -signal.SIGKILL
    assert first.status != 0


# --- what needs no framework ---------------------------------------------------------------------

TEXT = """
  %p.1 = f32[16,12]{1,0} parameter(0)
  %fusion.2 = (f32[16]{0}, bf16[4]{0}) fusion(%p.1), kind=kLoop, calls=%fused
  %g.3 = f64[]{:T(128)} constant(0)
  %all-reduce.1 = (f32[16,12]{1,0}, f64[]) all-reduce(%p.1, %g.3), replica_groups={{0,1}}, to_apply=%add
  %gathered.1 = f32[32,12]{1,0} all-gather(%p.1), dimensions={0}
  %all-reduce-start.1 = f32[16,12]{1,0} all-reduce-start(%p.1), to_apply=%add
  %all-reduce-done.1 = f32[16,12]{1,0} all-reduce-done(%all-reduce-start.1)
"""


def test_the_bytes_of_collectives_are_those_of_their_operands() -> None:
    assert exchanged_bytes(TEXT) == {"all-reduce": 2 * 16 * 12 * 4 + 8, "all-gather": 16 * 12 * 4}


def test_a_program_without_collectives_exchanges_nothing() -> None:
    assert exchanged_bytes("%p.1 = f32[16,12]{1,0} parameter(0)") == {}


LOOP = """
%add.1 (x.1: f32[], y.1: f32[]) -> f32[] {
  ROOT %add.2 = f32[] add(%x.1, %y.1)
}

%body.1 (state.1: (s32[], f32[4])) -> (s32[], f32[4]) {
  %each.1 = f32[4]{0} get-tuple-element(%state.1), index=1
  %all-reduce.2 = f32[4]{0} all-reduce(%each.1), replica_groups={{0,1}}, to_apply=%add.1
}

%condition.1 (state.2: (s32[], f32[4])) -> pred[] {
  ROOT %less.1 = pred[] compare(%a.1, %b.1), direction=LT
}

ENTRY %main.1 (p.1: f32[2]) -> f32[2] {
  %p.1 = f32[2]{0} parameter(0)
  %while.1 = (s32[], f32[4]{0}) while(%t.1), body=%body.1, backend_config={"known_trip_count":{"n":"7"}}
  ROOT %all-reduce.1 = f32[2]{0} all-reduce(%p.1), replica_groups={{0,1}}, to_apply=%add.1
}
"""


def test_a_collective_in_a_loop_counts_as_often_as_it_is_run() -> None:
    assert exchanged_bytes(LOOP) == {"all-reduce": 7 * 16 + 8}
    unknown = LOOP.replace("known_trip_count", "dynamic_variables")
    assert exchanged_bytes(unknown) == {"all-reduce": 16 + 8}
