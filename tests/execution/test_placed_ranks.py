"""Ranks on machines that an engine chose: which ones a record can describe, and where the ranks meet."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarker.api.launcher import RankPlace
from benchmarker.errors import UnsupportedError
from benchmarker.execution.launchers.rank_place import boot_here, machine_here, place_here
from benchmarker.execution.placed_ranks import is_one_machine, nodes_of, placed_network


def place(host: str, boot: str, address: str = "", interface: str = "eth0", **other: Any) -> RankPlace:
    addresses = {interface: address, "lo": "127.0.0.1"} if address else {"lo": "127.0.0.1"}
    return RankPlace(host, boot, addresses, 4000, {"boot": boot, **machine_here(), **other})


HERE = place("n1", boot_here(), "10.0.0.1")


def test_ranks_of_one_machine_meet_on_its_loopback_interface() -> None:
    places = [HERE, place("n2", boot_here(), "10.0.0.1")]
    network = placed_network(places, None)
    assert (network.hosts, network.interface, network.kind) == (("127.0.0.1",) * 2, "lo", "shared")
    assert nodes_of(places) == (0, 1)
    assert is_one_machine(places)


def test_ranks_of_several_machines_meet_by_the_interface_that_all_have() -> None:
    places = [HERE, place("n2", "other", "10.0.0.2"), place("n2", "other", "10.0.0.2")]
    network = placed_network(places, "shared")
    assert (network.hosts, network.interface) == (("10.0.0.1", "10.0.0.2", "10.0.0.2"), "eth0")
    assert nodes_of(places) == (0, 1, 1)
    assert not is_one_machine(places)


@pytest.mark.parametrize(
    ("places", "asked", "sentence"),
    [
        (
            [HERE],
            "100mbit",
            "a private network, such as 100mbit, is for ranks that benchmarker itself starts",
        ),
        (
            [place("n9", "other", "10.0.0.9"), HERE],
            None,
            "the worker was placed on 'n9', but collectors describe",
        ),
        (
            [HERE, place("n2", "other", "10.0.0.2", CPUs=999)],
            None,
            "rank 1 was placed on 'n2', whose CPUs is '999'",
        ),
        ([HERE, place("n2", "other", "10.0.0.2", kernel="2.6")], None, "whose kernel is '2.6'"),
        ([HERE, place("n2", "other", "10.0.0.2", "ib0")], None, "'n1' has eth0, lo; 'n2' has ib0, lo"),
        ([HERE, place("n2", "other", "10.0.0.1")], None, "theirs have none in common"),
    ],
)
def test_what_one_record_cannot_describe_is_refused(
    places: list[RankPlace], asked: str | None, sentence: str
) -> None:
    with pytest.raises(UnsupportedError) as refused:
        placed_network(places, asked)
    assert sentence in str(refused.value)


def test_a_place_is_read_from_the_kernel() -> None:
    told = place_here()
    assert told["addresses"]["lo"] == "127.0.0.1"
    assert next(reversed(told["addresses"])) == "lo"
    assert told["machine"]["CPUs"] >= 1
    assert told["machine"]["GiB of memory"] >= 1
    assert told["machine"]["boot"] in told["network"]
