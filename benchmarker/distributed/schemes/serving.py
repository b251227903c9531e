"""Both ends of a server: a rank pushes its gradient and pulls weights; the server updates, answers and keeps a log.

A message of a rank is a header, ``STEP`` or ``GOODBYE``, and after the former its gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from benchmarker.api.scheme import ALL_WORKERS, Communicator, RankSteps, Replica, Update

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

GOODBYE, STEP = 0, 1


class ServedSteps(RankSteps):
    """A rank's end."""

    def __init__(self, replica: Replica, communicator: Communicator) -> None:
        self._weights, self._communicator = replica.weights, communicator
        self._server = communicator.size

    def step(self, gradient: Array) -> None:
        import numpy as np

        self._communicator.send(np.array([STEP]), self._server)
        self._communicator.send(gradient, self._server)
        self._communicator.receive(self._weights, self._server)

    def end(self) -> None:
        import numpy as np

        self._communicator.send(np.array([GOODBYE]), self._server)


class _Mailbox:
    """The server's end of messages."""

    def __init__(self, replica: Replica, communicator: Communicator) -> None:
        import numpy as np

        self._communicator = communicator
        self._header = np.array([GOODBYE])
        self.gradient = np.empty_like(replica.weights)

    def take(self, source: int | None = None) -> tuple[int, bool]:
        """Wait for a rank's message (None: of any); return whose it is, and whether it brought a gradient."""
        worker = self._communicator.receive(self._header, source)
        if self._header[0] == GOODBYE:
            return worker, False
        self._communicator.receive(self.gradient, worker)
        return worker, True


def serve_together(replica: Replica, communicator: Communicator) -> Sequence[Update]:
    """Update with the mean of the gradients of all ranks, in their order, and answer all of them.

    Raises
    ------
    RuntimeError
        If a rank leaves before the others.
    """
    import numpy as np

    mailbox, workers = _Mailbox(replica, communicator), range(communicator.size)
    total = np.empty_like(replica.weights)
    log: list[Update] = []
    while True:
        total[:] = 0
        stay = 0
        for worker in workers:
            _, has_gradient = mailbox.take(worker)
            if has_gradient:
                total += mailbox.gradient
                stay += 1
        if stay == 0:
            return log
        if stay < communicator.size:
            raise RuntimeError(
                f"{communicator.size - stay} of {communicator.size} ranks left before the others"
            )
        total /= communicator.size
        replica.update(total)
        log.append(Update(ALL_WORKERS, len(log), len(log)))
        for worker in workers:
            communicator.send(replica.weights, worker)


def serve_each(replica: Replica, communicator: Communicator, bound: int | None = None) -> Sequence[Update]:
    """Update with each gradient as it comes, and answer its rank once it may go on.

    Parameters
    ----------
    replica : Replica
        The server's weights and rule.
    communicator : Communicator
        To all ranks.
    bound : int or None
        How many steps a rank may be ahead of the slowest that has not left; None: any.
    """
    mailbox = _Mailbox(replica, communicator)
    made = dict.fromkeys(range(communicator.size), 0)
    read = dict.fromkeys(made, 0)
    waiting: list[int] = []
    log: list[Update] = []
    while made:
        worker, has_gradient = mailbox.take()
        if has_gradient:
            log.append(Update(worker, made[worker], read[worker]))
            replica.update(mailbox.gradient)
            made[worker] += 1
            waiting.append(worker)
        else:
            del made[worker]
        slowest = min(made.values(), default=0)
        free = [one for one in waiting if bound is None or made[one] - slowest <= bound]
        waiting = [one for one in waiting if one not in free]
        for one in free:
            read[one] = len(log)
            communicator.send(replica.weights, one)
    return log
