"""The schemes over real MPI processes: each step against the published definition in float64, and logs made again."""

from __future__ import annotations

import json
import weakref
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from benchmarker import registry
from benchmarker.api.scheme import Scheme, Update
from benchmarker.distributed.exchanges import all_reduce_sent
from benchmarker.distributed.replay import log_fault, most_ahead, replay, staleness
from benchmarker.distributed.schemes.neighbours import mixing_matrix
from tests.conftest import DISTRIBUTIONS, ROOT
from tests.support import faulty_schemes
from tests.support.mpi import run_world
from tests.support.rank_trainings import Case, Trained, by_definition, write_cases

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

pytestmark = pytest.mark.framework("numpy")

RANKS = (1, 2, 3, 4)
FOLLOWED = (
    "all-reduce",
    "parameter-server",
    "neighbours",
    "averaging/1",
    "averaging/3",
    "sparse/0.2",
    "sparse/1",
    "sparse/0.001",
    "sharded",
)
REPLAYED = ("asynchronous-server", "stale-synchronous/0", "stale-synchronous/1", "stale-synchronous/3")
EXAMPLE = str(ROOT / "examples" / "schemes" / "majority_vote.py")
THIRD_PARTY = str(DISTRIBUTIONS / "example" / "benchmarker_example" / "gossip.py")
OPTIMIZERS = ("sgd", "momentum", "adam")
FAULTS = {
    "Summed": "all-reduce",
    "AveragedTwice": "all-reduce",
    "SkippedStep": "all-reduce",
    "RepeatedShard": "sharded",
    "HigherTies": "sparse/0.2",
    "NoResidual": "sparse/0.2",
    "ForgottenResidual": "sparse/0.2",
    "ThirdsOfTwo": "neighbours",
    "MixedAfterwards": "neighbours",
    "AveragedLate": "averaging/3",
    "OwnUpdates": "parameter-server",
}
"""Planted mistakes, and the scheme that each would be."""
HARMLESS_ALONE = {"Summed", "AveragedTwice", "RepeatedShard", "MixedAfterwards", "AveragedLate"}
MAX_OFF = {"float64": 1e-13, "float32": 2e-6}


def case_of(label: str, **further: Any) -> Case:
    scheme = registry.scheme(label)
    return Case(registry.scheme_value(label), vars(scheme), steps=scheme.proof_steps + 3, **further)


def all_cases() -> dict[str, Case]:
    found = {f"{label}, {kind}": case_of(label, optimizer=kind) for label in FOLLOWED for kind in OPTIMIZERS}
    found |= {
        f"{label}, float32": case_of(label, dtype="float32") for label in FOLLOWED if label != "sparse/0.2"
    }
    found |= {f"{label}, few": case_of(label, elements=2) for label in FOLLOWED}
    found["all-reduce, many"] = case_of("all-reduce", elements=1_500_001, dtype="float32")
    found["neighbours, many"] = case_of("neighbours", elements=1_500_001, dtype="float32")
    found["parameter-server, many"] = case_of("parameter-server", elements=300_001, dtype="float32")
    for kind in OPTIMIZERS:
        found[f"majority vote, {kind}"] = case_of(f"{EXAMPLE}/0.5", optimizer=kind)
        found[f"one peer, {kind}"] = case_of(THIRD_PARTY, optimizer=kind)
    for label in REPLAYED:
        for dtype in ("float64", "float32"):
            found[f"{label}, {dtype}"] = Case(
                registry.scheme_value(label),
                vars(registry.scheme(label)),
                steps=24,
                fewer=5,
                dtype=dtype,
                slow_seconds=1e-3,
            )
    for fault, label in FAULTS.items():
        scheme = registry.scheme(label)
        value = f"{faulty_schemes.__name__}:{fault}"
        found[fault] = Case(value, vars(scheme), steps=scheme.proof_steps)
    return {name.replace("/", "_"): case for name, case in found.items()}


ALL = all_cases()


class World:
    """What all ranks of one number have found."""

    def __init__(self, folder: Path, ranks: int) -> None:
        self.ranks = ranks
        self._folder = folder
        for has_server in (False, True):
            part = {name: case for name, case in ALL.items() if case.scheme.has_server is has_server}
            write_cases(folder, part)
            run_world(ranks + has_server, "tests.support.rank_trainings", str(folder))

    @cache  # noqa: B019 - a world lives as long as the module's tests
    def of(self, name: str, rank: int) -> Mapping[str, Any]:
        with np.load(self._folder / f"{name}_{rank}.npz") as stored:
            return {**stored, "told": json.loads(str(stored["told"]))}

    def weights(self, name: str) -> Array:
        """Return those of all ranks after each step."""
        return np.stack([self.of(name, rank)["weights"] for rank in range(self.ranks)], axis=1)

    def log(self, name: str) -> list[Update]:
        return [Update(*map(int, row)) for row in self.of(name, self.ranks)["log"]]

    def off(self, name: str) -> float:
        """Return how far the steps are from the definition, in the size of the weights."""
        right = by_definition(ALL[name], self.ranks)
        return float(np.max(np.abs(self.weights(name) - right)) / np.max(np.abs(right)))


@pytest.fixture(scope="module", params=RANKS, ids=lambda ranks: f"{ranks}-ranks")
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("ranks"), request.param)


def names(*ends: str) -> list[str]:
    found = [name for name in ALL if name.endswith(ends) and not ALL[name].scheme.is_replayed]
    assert found
    return found


@pytest.mark.parametrize("name", names(*OPTIMIZERS, "float32", "few", "many"))
def test_steps_are_those_of_the_definition(world: World, name: str) -> None:
    assert world.off(name) <= MAX_OFF[ALL[name].dtype]


@pytest.mark.parametrize("name", names("momentum", "float32", "many"))
def test_ranks_hold_the_same_bits_where_a_scheme_says_so(world: World, name: str) -> None:
    weights = world.weights(name)
    assert np.isfinite(weights).all()
    same = bool((weights == weights[:, :1]).all())
    if ALL[name].scheme.is_consistent:
        assert same
    elif world.ranks > 3:
        assert not same


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_seen_within_the_steps_of_a_proof(world: World, fault: str) -> None:
    seen = world.off(fault) > 1e-3
    assert seen is not (
        (fault in HARMLESS_ALONE and world.ranks == 1) or (fault == "ThirdsOfTwo" and world.ranks > 2)
    )


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("label", REPLAYED)
def test_a_log_made_again_gives_the_same_bits(world: World, label: str, dtype: str) -> None:
    name = f"{label}, {dtype}".replace("/", "_")
    case, log = ALL[name], world.log(name)
    assert len(log) == sum(case.steps_of(rank, world.ranks) for rank in range(world.ranks))
    trained = Trained(case)
    found = replay(log, case.start, case.gradient, trained.moved)
    served = world.of(name, world.ranks)["weights"]
    assert found.dtype == served.dtype
    assert np.array_equal(found, served)
    if world.ranks > 2 and label != "stale-synchronous/0":
        in_step = [Update(one.worker, one.step, version) for version, one in enumerate(log)]
        other = Trained(case)
        assert not np.array_equal(replay(in_step, case.start, case.gradient, other.moved), served)


@pytest.mark.parametrize("label", REPLAYED)
def test_a_log_tells_what_can_have_happened_and_bounds_are_held(world: World, label: str) -> None:
    name = f"{label}, float64".replace("/", "_")
    log, scheme = world.log(name), registry.scheme(label)
    bound = vars(scheme).get("bound")
    assert log_fault(log, bound=bound) is None
    assert sum(staleness(log).values()) == len(log)
    if bound is None and world.ranks > 2:
        assert most_ahead(log) > 3
    if bound == 0:
        # In lock step: all are given the weights that the last one's gradient has led to.
        assert {one.read for one in log if one.step == 1} == {world.ranks}


@pytest.mark.parametrize("name", names("momentum"))
def test_bytes_are_counted_and_are_those_of_the_formula(world: World, name: str) -> None:
    case, ranks = ALL[name], world.ranks
    told = [world.of(name, rank)["told"] for rank in range(ranks + case.scheme.has_server)]
    sent = sum(sum(one["sent"].values()) for one in told) / ranks
    headers = ranks * (case.steps + 1) * 8 / ranks if case.scheme.has_server else 0
    assert all(one["seconds"] > 0 for one in told) or ranks == 1
    if name.startswith("sparse"):
        expected = case.scheme.sent_bytes(4 * case.elements, ranks) * case.steps * (8 + 4) / (4 + 4)
    elif name.startswith("averaging"):
        expected = all_reduce_sent(8 * case.elements, ranks) * (case.steps // vars(case.scheme)["steps"])
    elif name.startswith("majority"):
        expected = (ranks - 1) * -(-case.elements // 8) * case.steps  # in whole bytes
    else:
        expected = case.scheme.sent_bytes(8 * case.elements, ranks) * case.steps
    assert sent - headers == pytest.approx(expected)


def test_a_synchronous_server_makes_one_update_a_step_of_no_staleness(world: World) -> None:
    log = world.log("parameter-server, momentum")
    assert staleness(log) == {"0": ALL["parameter-server, momentum"].steps}
    assert log_fault(log, bound=0) is None


def test_each_kind_of_exchange_is_counted_apart(world: World) -> None:
    kinds = {
        "all-reduce": {"all-reduce"},
        "neighbours": {"swap"},
        "sharded": {"reduce-scatter", "all-gather"},
        "parameter-server": {"send"},
        "sparse_0.2": {"all-gather"},
    }
    for label, known in kinds.items():
        given = world.of(f"{label}, momentum", 0)["told"]["given"]
        assert set(given) == (set() if label == "neighbours" and world.ranks == 1 else known)
    case = ALL["all-reduce, momentum"]
    assert world.of("all-reduce, momentum", 0)["told"]["given"] == {
        "all-reduce": case.steps * case.elements * 8
    }


def test_a_sparse_step_tells_how_dense_the_union_is(world: World) -> None:
    share = round(0.2 * 23) / 23
    found = world.of("sparse_0.2, momentum", 0)["told"]["report"]["density"]
    assert share * 0.9 <= found <= min(1.0, share * world.ranks)


def test_a_rank_that_leaves_before_the_others_ends_a_synchronous_server(tmp_path: Path) -> None:
    value = registry.scheme_value("parameter-server")
    write_cases(tmp_path, {"left": Case(value, steps=3, fewer=1)})
    with pytest.raises(AssertionError, match="RuntimeError: 1 of 2 ranks left before the others"):
        run_world(3, "tests.support.rank_trainings", str(tmp_path))


# --- without processes ------------------------------------------------------------------------------


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 17])
def test_mixing_keeps_the_mean(ranks: int) -> None:
    matrix = mixing_matrix(ranks)
    assert np.all(matrix >= 0)
    for axis in (0, 1):
        assert matrix.sum(axis) == pytest.approx(np.ones(ranks), abs=1e-12)
    assert np.count_nonzero(matrix, axis=1).tolist() == [min(ranks, 3)] * ranks
    assert np.array_equal(matrix, matrix.T)


LOG = [Update(0, 0, 0), Update(1, 0, 0), Update(0, 1, 1), Update(0, 2, 3), Update(1, 1, 2)]


def test_what_a_log_tells() -> None:
    assert staleness(LOG) == {"0": 2, "1": 2, "2": 1}
    # Worker 0 began its third step when worker 1 had made one of its two.
    assert most_ahead(LOG) == 1
    assert log_fault(LOG, bound=1) is None
    assert log_fault([]) is None


@pytest.mark.parametrize(
    ("log", "bound", "told"),
    [
        (LOG, 0, "a worker was 1 steps ahead of the slowest, but only 0 are allowed"),
        ([Update(0, 1, 0)], None, "update 0 is of step 1 of worker 0, not of step 0"),
        ([Update(0, 0, 1)], None, "update 0 is of weights 1, which worker 0 was not given"),
        ([Update(0, 0, 0), Update(0, 1, 0)], None, "update 1 is of weights 0, which worker 0 was not given"),
        ([Update(0, 0, 0), Update(0, 1, 2)], None, "update 1 is of weights 2, which worker 0 was not given"),
    ],
)
def test_a_log_that_cannot_be_is_told(log: list[Update], bound: int | None, told: str) -> None:
    assert log_fault(log, bound=bound) == told


def test_a_replay_keeps_only_what_is_still_read() -> None:
    made: list[weakref.ref[Array]] = []

    def update(weights: Array, gradient: Array) -> Array:
        moved = weights - gradient
        made.append(weakref.ref(moved))
        assert sum(one() is not None for one in made) <= 4
        return moved

    log = [Update(0, step, max(0, step - 1)) for step in range(50)]
    found = replay(log, np.ones(3), lambda worker, step, weights: 0.1 * weights, update)
    assert np.isfinite(found).all()


def test_all_are_told_of_and_follow_a_proof_s_rules() -> None:
    for name in registry.names("schemes", ours=True):
        scheme: Scheme = registry.scheme(name)
        assert scheme.description
        assert any(
            year in scheme.source for year in ("2009", "2012", "2013", "2014", "2017", "2018", "2019", "2020")
        )
        assert scheme.is_replayed <= scheme.has_server
