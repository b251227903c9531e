"""Networks by name and as they are written down."""

from __future__ import annotations

import pytest

from benchmarker.api.interconnect import TORUS, TREE, Interconnect
from benchmarker.distributed.networks import PRESETS, USUAL_LATENCY_SECONDS, network_of
from benchmarker.errors import UsageError


@pytest.mark.parametrize(
    ("text", "rate", "latency"),
    [
        ("100mbit", 12.5e6, USUAL_LATENCY_SECONDS),
        ("10gbit/20us", 1.25e9, 20e-6),
        ("2.5GB/500ns", 2.5e9, 5e-7),
        ("64kbit/0.1s", 8e3, 0.1),
    ],
)
def test_a_rate_and_a_latency_make_a_network(text: str, rate: float, latency: float) -> None:
    found = network_of(text)
    assert (found.bytes_per_second, found.latency_seconds) == pytest.approx((rate, latency))
    assert found.name == text


@pytest.mark.parametrize(
    "text", ["", "10", "gbit", "0gbit", "-1gbit", "1gbit/", "1gbit/5", "1e9GB", "１gbit", "nan"]
)
def test_anything_else_is_refused_with_what_there_is(text: str) -> None:
    with pytest.raises(UsageError, match=f"a rate above 0 and a latency as in 10gbit/20us, got '{text}'"):
        network_of(text)


def test_a_near_name_is_proposed() -> None:
    with pytest.raises(UsageError, match="did you mean 'fugaku'"):
        network_of("fugako")


def test_presets_tell_their_source() -> None:
    assert all(network.source and network_of(name) is network for name, network in PRESETS.items())


def test_far_ranks_are_more_levels_or_hops_away() -> None:
    tree = Interconnect("tree", 1e-6, 1e9, TREE, radix=16)
    assert [tree.far_latency(ranks) for ranks in (2, 16, 17, 256, 257)] == pytest.approx(
        [1e-6, 1e-6, 2e-6, 2e-6, 3e-6]
    )
    torus = Interconnect("torus", 1e-6, 1e9, TORUS, dimensions=3)
    assert torus.far_latency(2) == pytest.approx(1e-6)
    assert torus.far_latency(4096) == pytest.approx(3 * 16 / 4 * 1e-6)
    flat = Interconnect("flat", 1e-6, 1e9)
    assert flat.far_latency(1 << 20) == pytest.approx(1e-6)
