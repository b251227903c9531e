"""Networks between ranks, each a latency and a bandwidth: published systems, and any that is written down."""

from __future__ import annotations

import math
import re

from benchmarker.api.interconnect import TORUS, TREE, Interconnect
from benchmarker.errors import UsageError, nearest

USUAL_LATENCY_SECONDS = 5e-6
"""Of a network that is written down without one: between two nodes through one switch."""

_BYTES = {"kbit": 1e3 / 8, "mbit": 1e6 / 8, "gbit": 1e9 / 8, "kB": 1e3, "MB": 1e6, "GB": 1e9}
_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_NUMBER = r"[0-9]{1,9}(?:\.[0-9]{1,9})?"
_WRITTEN = re.compile(
    rf"(?P<rate>{_NUMBER})(?P<bytes>{'|'.join(_BYTES)})(?:/(?P<latency>{_NUMBER})(?P<seconds>{'|'.join(_SECONDS)}))?"
)


_ASSUMED = "the latency is assumed"
PRESETS = {
    network.name: network
    for network in (
        Interconnect("1gbe", 50e-6, 0.125e9, source=f"1 Gbit/s Ethernet, IEEE 802.3ab; {_ASSUMED}, of TCP"),
        Interconnect("10gbe", 20e-6, 1.25e9, source=f"10 Gbit/s Ethernet, IEEE 802.3an; {_ASSUMED}, of TCP"),
        Interconnect("100gbe", 5e-6, 12.5e9, TREE, source=f"100 Gbit/s Ethernet, IEEE 802.3ba; {_ASSUMED}"),
        Interconnect(
            "summit",
            1.5e-6,
            25e9,
            TREE,
            radix=18,
            source="Summit: two rails of 100 Gbit/s InfiniBand a node, not blocking: Stunkel et al., IBM J. Res. Dev. "
            f"64, 2020; {_ASSUMED}",
        ),
        Interconnect(
            "fugaku",
            0.49e-6,
            6.8e9,
            TORUS,
            dimensions=6,
            source="Fugaku: Tofu D, 6.8 GB/s a link, one link used, 0.49 us for a put: Ajima et al., IEEE Cluster 2018",
        ),
        Interconnect(
            "tpu-v4",
            1e-6,
            50e9,
            TORUS,
            source=f"TPU v4: 50 GB/s a link of a torus, one link used: Jouppi et al., ISCA 2023; {_ASSUMED}",
        ),
    )
}


def network_of(text: str) -> Interconnect:
    """Return the network of a preset's name, or of a rate and a latency as in ``10gbit/20us``.

    Raises
    ------
    UsageError
        On what is neither.
    """
    if text in PRESETS:
        return PRESETS[text]
    found = _WRITTEN.fullmatch(text)
    rate = float(found["rate"]) * _BYTES[found["bytes"]] if found else 0.0
    if found is None or not rate or not math.isfinite(rate):
        raise UsageError(
            f"a network must be one of {', '.join(PRESETS)}, or a rate above 0 and a latency as in 10gbit/20us, got "
            f"'{text}'{nearest(text, PRESETS)}"
        )
    latency = (
        float(found["latency"]) * _SECONDS[found["seconds"]] if found["latency"] else USUAL_LATENCY_SECONDS
    )
    return Interconnect(text, latency, rate)
