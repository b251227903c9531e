"""What schemes send, against the literature's table, and how long it takes, against a simulator."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from benchmarker.distributed.exchanges import EXCHANGES, exchange_of
from benchmarker.distributed.networks import Network
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
    "gather": "sparse/0.5",
}


@pytest.mark.parametrize("algorithm", SCHEMES)
def test_formulas_give_what_simgrid_simulates(algorithm: str) -> None:
    cases = [case for case in SIMULATED if case["algorithm"] == algorithm]
    assert len(cases) >= 60
    exchange = exchange_of(SCHEMES[algorithm])
    for case in cases:
        network = Network("simulated", case["latency_seconds"], case["bytes_per_second"])
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
        ("neighbours", lambda n, p: (2 * p if p > 2 else 2) * n),
        ("sharded", lambda n, p: 3 * (p - 1) * n),
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


@pytest.mark.parametrize("name", EXCHANGES)
def test_a_rank_alone_sends_for_no_time(name: str) -> None:
    if name != "parameter-server":  # whose server is another process, also of one rank
        assert EXCHANGES[name].seconds(1e6, 1, Network("any", 1e-6, 1e9)) == 0


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("all-redce", "did you mean 'all-reduce'"),
        ("averaging/0", "averaging/STEPS takes a whole number from 1 to 1,000,000, got '0'"),
        ("averaging/x", "got 'x'"),
        ("sparse/0", "sparse/SHARE takes a number above 0 and at most 1, got '0'"),
        ("sparse/nan", "got 'nan'"),
        ("sparse/1.5", "got '1.5'"),
    ],
)
def test_what_is_no_scheme_is_refused(text: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        exchange_of(text)
