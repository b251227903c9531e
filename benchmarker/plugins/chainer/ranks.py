"""Ranks of Chainer: ChainerMN over MPI."""

from __future__ import annotations

from typing import Any

COMMUNICATOR = "naive"
"""The only one of ChainerMN's communicators that needs no GPU."""


class Ranks:
    """All ranks of ``MPI_COMM_WORLD``."""

    def __init__(self) -> None:
        from chainermn import create_communicator

        self._communicator: Any = create_communicator(COMMUNICATOR)

    def mean(self, link: Any) -> None:
        """Replace the gradients of a link by their means over ranks; parameters are those of rank 0 from the start."""
        self._communicator.multi_node_mean_grad(link)

    def begin(self, link: Any) -> None:
        """Give all ranks the parameters of rank 0, as ChainerMN's optimizer does in place of its first update."""
        self._communicator.bcast_data(link)
