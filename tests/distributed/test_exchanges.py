"""What schemes send, against the literature's table, and how long it takes, against a simulator."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest

from benchmarker import registry
from benchmarker.analysis.scaling.exchanges import exchange_of, known_exchanges
from benchmarker.api.interconnect import Interconnect
from benchmarker.distributed.exchanges import OTHER_ALGORITHMS
from benchmarker.errors import UsageError
from tests.conftest import ROOT

SIMULATED = json.loads((ROOT / "tests" / "data" / "simgrid.json").read_text(encoding="utf-8"))
"""Made by ``python benchmarks/simulation.py --keep``."""
SCHEMES = {
    "ring": "all-reduce",
    "halving": "all-reduce-halving",
    "tree": "all-reduce-tree",
    "neighbours": "neighbours",
    "server": "parameter-server",
    "asynchronous": "asynchronous-server",
    "gather": "sparse/0.5",
}


@pytest.mark.parametrize("algorithm", SCHEMES)
def test_formulas_give_what_simgrid_simulates(algorithm: str) -> None:
    cases = [case for case in SIMULATED if case["algorithm"] == algorithm]
    assert len(cases) >= 60
    exchange = exchange_of(SCHEMES[algorithm])
    for case in cases:
        network = Interconnect("simulated", case["latency_seconds"], case["bytes_per_second"])
        assert exchange.seconds(case["bytes"], case["ranks"], network) == pytest.approx(
            case["seconds"], rel=1e-3
        )


@pytest.mark.parametrize(
    ("scheme", "all_ranks"),
    [
        ("all-reduce", lambda n, p: 2 * (p - 1) * n),
        ("all-reduce-halving", lambda n, p: 2 * (p - 1) * n),
        ("all-reduce-tree", lambda n, p: 2 * (p - 1) * n),
        ("parameter-server", lambda n, p: 2 * p * n),
        ("asynchronous-server", lambda n, p: 2 * p * n),
        ("stale-synchronous/1", lambda n, p: 2 * p * n),
        ("neighbours", lambda n, p: (2 * p if p > 2 else 2) * n),
        ("sharded", lambda n, p: 2 * (p - 1) * n),
        ("sharded-weights", lambda n, p: 3 * (p - 1) * n),
        ("averaging/10", lambda n, p: 2 * (p - 1) * n / 10),
        ("sparse/0.01", lambda n, p: p * (p - 1) * n * 0.02),
    ],
)
def test_bytes_of_all_ranks_are_those_of_the_literature(
    scheme: str, all_ranks: Callable[[float, int], float]
) -> None:
    exchange = exchange_of(scheme)
    for ranks in (2, 3, 4, 64):
        assert ranks * exchange.sent(1e6, ranks) == pytest.approx(all_ranks(1e6, ranks))


@pytest.mark.parametrize("name", [*registry.names("schemes", ours=True), *OTHER_ALGORITHMS])
def test_a_rank_alone_sends_for_no_time_but_to_a_server(name: str) -> None:
    exchange = exchange_of(name)
    alone = exchange.seconds(1e6, 1, Interconnect("any", 1e-6, 1e9)), exchange.sent(1e6, 1)
    assert (alone == (0, 0)) is not (name not in OTHER_ALGORITHMS and registry.scheme(name).has_server)


def test_names_are_those_of_schemes_with_their_constants() -> None:
    assert set(known_exchanges()) > {
        "all-reduce",
        "averaging/STEPS",
        "sparse/SHARE",
        "stale-synchronous/BOUND",
    }
    assert [
        exchange_of(text).name for text in ("averaging", "averaging/1000000", "sparse/1e-4", "sharded")
    ] == [
        "averaging/16",
        "averaging/1000000",
        "sparse/0.0001",
        "sharded",
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("all-redce", "did you mean 'all-reduce'"),
        ("averaging/0", "averaging/STEPS takes a whole number from 1 to 1000000, got '0'"),
        ("averaging/x", "got 'x'"),
        ("averagin/4", "did you mean 'averaging'"),
        ("all-reduce/4", "scheme 'all-reduce' has no constant, got 'all-reduce/4'"),
        (
            "stale-synchronous/1.5",
            "stale-synchronous/BOUND takes a whole number from 0 to 1000000, got '1.5'",
        ),
        ("sparse/0", "sparse/SHARE takes a number above 0 and at most 1, got '0'"),
        ("sparse/nan", "got 'nan'"),
        ("sparse/1.5", "got '1.5'"),
    ],
)
def test_what_is_no_scheme_is_refused(text: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        exchange_of(text)


def test_what_is_left_out_is_rounded_as_ranks_keep_it() -> None:
    # In float64 the second element is the larger one in the second step; in float32 both are 1, and the first is sent.
    model = registry.scheme("sparse/0.3").model(1)
    weights, sent = np.zeros((1, 3)), []

    def update(replica: int, weights: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        sent.append(np.flatnonzero(gradient).tolist())
        return weights

    model.step(weights, np.array([[1.0, 1.0, 5.0]]), update)
    model.step(weights, np.array([[0.0, 2.0**-25, 0.0]]), update)
    assert sent == [[2], [0]]
