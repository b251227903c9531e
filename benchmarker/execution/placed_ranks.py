"""Ranks that a launcher has placed on machines: whether one record can describe these, and how the ranks meet there."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarker.api.launcher import RankPlace
from benchmarker.errors import UnsupportedError
from benchmarker.execution.launchers.rank_place import boot_here
from benchmarker.execution.rank_networks import LOOPBACK, LOOPBACK_ADDRESS, SHARED, RankNetwork


def is_one_machine(places: Sequence[RankPlace]) -> bool:
    """Return whether all ranks are on one machine, be it as several nodes."""
    return len({place.machine["boot"] for place in places}) == 1


def nodes_of(places: Sequence[RankPlace]) -> tuple[int, ...]:
    """Return the node of each rank, numbered from 0 as they come."""
    names = list(dict.fromkeys(place.host for place in places))
    return tuple(names.index(place.host) for place in places)


def placed_network(places: Sequence[RankPlace], requested: str | None) -> RankNetwork:
    """Return what ranks reach each other by where they are.

    Parameters
    ----------
    places : sequence of RankPlace
        Of each rank.
    requested : str or None
        The network that was asked for.

    Raises
    ------
    UnsupportedError
        If it is another one, or one record cannot describe the machines, or they have none in common.
    """
    if requested not in (None, SHARED):
        raise UnsupportedError(
            f"a private network, such as {requested}, is for ranks that benchmarker itself starts; use --launcher=local"
        )
    require_described(places)
    hosts, interface = _meeting(places)
    return RankNetwork(
        ((),) * len(places),
        hosts,
        interface,
        absent_reason="the ranks share the network of the machines that their launcher has placed them on",
    )


def require_described(places: Sequence[RankPlace]) -> None:
    """Refuse machines that a record, which describes this one, would not describe.

    Raises
    ------
    UnsupportedError
        If rank 0, which collectors watch, is not on this machine, or another machine is not like it.
    """
    first = places[0]
    if first.machine["boot"] != boot_here():
        raise UnsupportedError(
            f"the worker was placed on '{first.host}', but collectors describe the machine that benchmarker itself "
            "runs on; run benchmarker inside the job, on the first of its nodes"
        )
    for rank, place in enumerate(places):
        for what, value in first.machine.items():
            if what != "boot" and place.machine.get(what) != value:
                raise UnsupportedError(
                    f"all ranks must be on machines that are alike, as one record describes them; rank {rank} was "
                    f"placed on '{place.host}', whose {what} is '{place.machine.get(what)}', and rank 0 on "
                    f"'{first.host}', where it is '{value}'"
                )


def _meeting(places: Sequence[RankPlace]) -> tuple[tuple[str, ...], str]:
    """Return the address of each rank, and the interface that they have in common."""
    if len({place.network for place in places}) == 1:
        return (LOOPBACK_ADDRESS,) * len(places), LOOPBACK
    machines = len({place.network for place in places})
    for interface in places[0].addresses:
        hosts = tuple(place.addresses.get(interface, "") for place in places)
        if interface != LOOPBACK and all(hosts) and len(set(hosts)) == machines:
            return hosts, interface
    raise UnsupportedError(
        "ranks on several machines meet over a network interface of the same name, and theirs have none in common: "
        + "; ".join(f"'{place.host}' has {', '.join(place.addresses)}" for place in places)
    )
