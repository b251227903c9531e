"""The link that each rank has in an emulated network: its rate, and its latency where the kernel can delay packets."""

from __future__ import annotations

import re

from benchmarker.errors import UsageError, printable, require, shortened
from benchmarker.quick_dataclass import dataclass

MIN_BITS_PER_SECOND, MAX_BITS_PER_SECOND = 64_000, 100_000_000_000
MAX_LATENCY_SECONDS = 10.0
_UNITS = {"kbit": 1e3, "mbit": 1e6, "gbit": 1e9}
_SECONDS = {"us": 1e-6, "ms": 1e-3}
_LINK = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)(kbit|mbit|gbit)(?:[,/](\d{1,12}(?:\.\d{1,6})?)(us|ms))?")
_MIN_BURST_BYTES = 16 << 10
_BURST_SECONDS = 0.004
_PACKET_SECONDS = 0.0005
_MIN_PACKET_BYTES, _MAX_PACKET_BYTES = 1514, 65536
_QUEUE = "400ms"
"""How long a packet may wait for its turn before it is dropped."""


@dataclass(frozen=True)
class Link:
    """A link in both directions.

    Parameters
    ----------
    bits_per_second : float
        Its rate, headers of packets included.
    latency_seconds : float
        What each packet takes longer in one direction.
    """

    bits_per_second: float
    latency_seconds: float = 0.0

    @property
    def largest_packet(self) -> int:
        """Bytes that leave at once: a packet is stored whole before it goes on."""
        return int(min(max(self.bits_per_second / 8 * _PACKET_SECONDS, _MIN_PACKET_BYTES), _MAX_PACKET_BYTES))

    def rate_arguments(self) -> list[str]:
        """Return what ``tc qdisc add ...`` is told of the rate."""
        # A burst is sent at once; of less than the timer's grain the rate is not reached.
        burst = max(_MIN_BURST_BYTES, int(self.bits_per_second / 8 * _BURST_SECONDS))
        rate = f"{self.bits_per_second:.0f}bit"
        return ["tbf", "rate", rate, "burst", str(burst), "latency", _QUEUE]

    def latency_arguments(self) -> list[str]:
        """Return what ``tc qdisc add ...`` is told of the latency."""
        return ["netem", "delay", f"{self.latency_seconds * 1e6:.0f}us", "limit", "100000"]


def parse_link(text: str) -> Link:
    """Return the link that ``10mbit`` or ``1gbit/0.5ms`` names; a comma does as well where it separates nothing else.

    Raises
    ------
    UsageError
        If it names none.
    """
    found = _LINK.fullmatch(text.strip().lower())
    if found is None:
        raise UsageError(
            "a link must be a rate such as 10mbit or 1gbit, or a rate and a latency such as 100mbit/1ms; "
            f"got '{printable(shortened(text, 60))}'"
        )
    rate, latency = float(found[1]) * _UNITS[found[2]], 0.0
    require(
        MIN_BITS_PER_SECOND <= rate <= MAX_BITS_PER_SECOND,
        f"the rate of a link must be from 64kbit to 100gbit; got '{found[1]}{found[2]}'",
    )
    if found[3]:
        latency = float(found[3]) * _SECONDS[found[4]]
        require(
            latency <= MAX_LATENCY_SECONDS,
            f"the latency of a link must be at most 10000ms; got '{found[3]}{found[4]}'",
        )
    return Link(rate, latency)
