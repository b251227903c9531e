"""Who takes part in a run of several ranks, and where they meet."""

from __future__ import annotations

from typing import Tuple

from benchmarker.quick_dataclass import dataclass


@dataclass(frozen=True)
class World:
    """A rank's place among those of its run; every framework's own words are a mapping from it.

    Parameters
    ----------
    rank : int
        Of this process, from 0.
    size : int
        How many ranks there are.
    addresses : tuple of str
        ``HOST:PORT`` of each rank; the ports were free when the run began, and that of rank 0 is where they meet.
    timeout : float
        Seconds that a rank waits for the others, slow imports included.
    interface : str
        The network interface that leads to the others.
    helpers : tuple of str
        ``HOST:PORT`` of the native scheme's helpers, in the order of its
        :attr:`~benchmarker.api.native_scheme.NativeScheme.helpers`; their ports were free too.
    """

    rank: int
    size: int
    addresses: Tuple[str, ...]
    timeout: float = 300.0
    interface: str = "lo"
    helpers: Tuple[str, ...] = ()

    @property
    def host(self) -> str:
        """The address of this rank."""
        return self.addresses[self.rank].rpartition(":")[0]

    @property
    def meeting_host(self) -> str:
        """Where the ranks meet."""
        return self.addresses[0].rpartition(":")[0]

    @property
    def meeting_port(self) -> int:
        """The port at which the ranks meet."""
        return int(self.addresses[0].rpartition(":")[2])
