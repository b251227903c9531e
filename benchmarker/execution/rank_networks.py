"""The network of a run of several ranks: its own, so that what they send is counted; slow as a real one if asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

from benchmarker.errors import UnsupportedError, require
from benchmarker.execution.emulated_links import Link, parse_link
from benchmarker.execution.namespaces import Namespace, tool
from benchmarker.quick_dataclass import dataclass

SHARED = "shared"
WANTED = ("auto", "counted", SHARED)
"""Counted where that is possible; counted or refused; the machine's own loopback interface."""
MAX_RANKS = 250
LOOPBACK = "lo"
LOOPBACK_ADDRESS = "127.0.0.1"
_NETWORK = "10.77.0"
_INTERFACE = "eth0"
_CONGESTION_CONTROL = "reno"
"""Each kernel has it, and it does not measure the rate before it uses it, as BBR does."""
_BRIDGE = "switch"


@dataclass(frozen=True)
class RankNetwork:
    """Where ranks meet.

    Parameters
    ----------
    prefixes : tuple of tuple of str
        Of each rank: a command that becomes the one named after it, in the rank's network.
    hosts : tuple of str
        The address of each rank.
    interface : str
        The interface that leads to the others.
    emulated : str or None
        The links, as asked for.
    absent_reason : str or None
        Why bytes are not counted.
    counters : tuple of callable
        Each returns the bytes that some of the ranks have sent.
    """

    prefixes: tuple[tuple[str, ...], ...]
    hosts: tuple[str, ...]
    interface: str
    emulated: str | None = None
    absent_reason: str | None = None
    counters: tuple[Callable[[], int], ...] = ()

    @property
    def kind(self) -> str:
        """``emulated``, ``counted`` or ``shared``."""
        if self.emulated is not None:
            return "emulated"
        return "counted" if self.counters else SHARED

    def sent_bytes(self) -> int | None:
        """Return the bytes that all ranks together have sent so far, headers included; None if nobody counts."""
        return sum(count() for count in self.counters) if self.counters else None


@contextmanager
def open_rank_network(size: int, *, rate: str | None = None, wanted: str = "auto") -> Iterator[RankNetwork]:
    """Yield the network of a run; it is gone afterwards, also if this process is killed.

    Parameters
    ----------
    size : int
        How many ranks there are.
    rate : str, optional
        The link of each rank, as ``100mbit``, or ``100mbit/1ms`` where the kernel can delay packets.
    wanted : {"auto", "counted", "shared"}
        Whether the run has a network to itself: where it may, or in any case, or not.

    Raises
    ------
    UsageError
        If the rate is none, or contradicts what is wanted.
    UnsupportedError
        If it is asked for and cannot be made here.
    """
    require(wanted in WANTED, f"the network of ranks must be one of {', '.join(WANTED)}; got '{wanted}'")
    require(1 <= size <= MAX_RANKS, f"a network has 1 to {MAX_RANKS} ranks; got {size}")
    with ExitStack() as cleanup:
        if rate is not None:
            require(wanted != "shared", "an emulated link needs a private network, not a shared one")
            yield _emulated(size, rate, parse_link(rate), cleanup)
            return
        absent = "the ranks share the machine's network, as asked"
        if wanted != "shared":
            try:
                network = _counted(size, cleanup)
            except UnsupportedError as error:
                if wanted == "counted":
                    raise
                absent = str(error)
            else:
                yield network
                return
        yield RankNetwork(((),) * size, (LOOPBACK_ADDRESS,) * size, LOOPBACK, absent_reason=absent)


def _held(cleanup: ExitStack, within: Namespace | None = None) -> Namespace:
    made = Namespace(within)
    cleanup.callback(made.close)
    return made


def _counted(size: int, cleanup: ExitStack) -> RankNetwork:
    own = _held(cleanup)
    return RankNetwork(
        (own.prefix,) * size, (LOOPBACK_ADDRESS,) * size, LOOPBACK, counters=(lambda: own.sent_bytes("lo"),)
    )


def _emulated(size: int, text: str, link: Link, cleanup: ExitStack) -> RankNetwork:
    """Return a network of a bridge, and a link from it to each rank that is as slow in both directions."""
    ip, switch = tool("ip"), _held(cleanup)
    tool("tc")
    _require_latency(link, switch)
    switch.run(ip, "link", "add", _BRIDGE, "type", "bridge")
    switch.run(ip, "link", "set", _BRIDGE, "up")
    hosts, ranks = [], []
    for rank in range(size):
        own, port, host = _held(cleanup, switch), f"port{rank}", f"{_NETWORK}.{rank + 1}"
        peer = ("peer", "name", _INTERFACE, "netns", str(own.process))
        switch.run(ip, "link", "add", port, "type", "veth", *peer)
        switch.run(ip, "link", "set", port, "master", _BRIDGE, "up")
        own.run(ip, "address", "add", f"{host}/24", "dev", _INTERFACE)
        own.run(ip, "link", "set", _INTERFACE, "up")
        _send_as_on_a_wire(own, link)
        _slow_down(switch, port, Link(link.bits_per_second))
        _slow_down(own, _INTERFACE, link)
        hosts.append(host)
        ranks.append(own)
    return RankNetwork(
        tuple(own.prefix for own in ranks),
        tuple(hosts),
        _INTERFACE,
        text,
        counters=tuple(_counter(own) for own in ranks),
    )


def _counter(own: Namespace) -> Callable[[], int]:
    return lambda: own.sent_bytes(_INTERFACE)


def _slow_down(where: Namespace, interface: str, link: Link) -> None:
    """Limit what leaves by an interface; a latency counts once on the way."""
    add, place = (tool("tc"), "qdisc", "add", "dev", interface), ["root", "handle", "1:"]
    if link.latency_seconds:
        where.run(*add, *place, *link.latency_arguments())
        place = ["parent", "1:", "handle", "2:"]
    where.run(*add, *place, *link.rate_arguments())


def _send_as_on_a_wire(own: Namespace, link: Link) -> None:
    """Leave the rate to the link: packets short against it, and a sender that sends what its window lets it."""
    # An old kernel or tool without these makes a link that is a few percent slower.
    with suppress(UnsupportedError):
        own.run(tool("ip"), "link", "set", _INTERFACE, "gso_max_size", str(link.largest_packet))
    with suppress(UnsupportedError):
        own.run("/bin/sh", "-c", f"echo {_CONGESTION_CONTROL} > /proc/sys/net/ipv4/tcp_congestion_control")


def _require_latency(link: Link, where: Namespace) -> None:
    """Refuse a latency where the kernel cannot delay packets."""
    if link.latency_seconds:
        _try_latency(where)


def _try_latency(where: Namespace) -> None:
    try:
        where.run(tool("tc"), "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms")
    except UnsupportedError as error:
        raise UnsupportedError(
            "this kernel cannot delay packets (it has no 'netem'), so a link has a rate and no latency here; "
            f"leave the latency out ({error})"
        ) from None
    where.run(tool("tc"), "qdisc", "delete", "dev", "lo", "root")


@dataclass(frozen=True)
class NetworkFaults:
    """Why something cannot be done here; None for what can.

    Parameters
    ----------
    counting, emulation, latency : str or None
        Of counting bytes, of emulating links, and of delaying packets.
    """

    counting: str | None
    emulation: str | None
    latency: str | None


def network_faults() -> NetworkFaults:
    """Return what networks of ranks cannot do here; each is tried, which takes a tenth of a second."""

    def fault(attempt: Callable[[ExitStack], object]) -> str | None:
        try:
            with ExitStack() as cleanup:
                attempt(cleanup)
        except UnsupportedError as error:
            return str(error)
        return None

    return NetworkFaults(
        fault(lambda cleanup: _counted(1, cleanup)),
        fault(lambda cleanup: _emulated(2, "", Link(1e9), cleanup)),
        fault(lambda cleanup: _try_latency(_held(cleanup))),
    )
