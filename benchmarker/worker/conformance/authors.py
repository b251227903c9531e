"""What authors of other plug-ins than frameworks test them with: problems, optimizers and schemes, in one process."""

from __future__ import annotations

import queue
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.framework import Device
from benchmarker.api.optimizer import Optimizer, add_rule, constants
from benchmarker.api.problem import Problem
from benchmarker.api.scheme import Communicator, Replica, Scheme, part_of
from benchmarker.api.update_rule import UpdateRule
from benchmarker.errors import UnsupportedError
from benchmarker.plugins.numpy import benchmarker_framework
from benchmarker.plugins.numpy.equations import Equations
from benchmarker.plugins.numpy.framework import NumpyFramework
from benchmarker.worker.conformance.problems import installed_problem_checks
from benchmarker.worker.conformance.subject import Check, Subject

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

_WAIT_SECONDS = 60.0
_ELEMENTS = 11


def reference_subject() -> Subject:
    """Return NumPy in float32 as the framework under test, which is held to float64."""
    framework, device = NumpyFramework(), Device("cpu")
    framework.configure(device, threads=1, seed=0)
    return Subject(framework, benchmarker_framework(), device)


def problem_checks(problem: Problem) -> tuple[Check, ...]:
    """Return the checks of a problem at its reduced size, in inference and, where it has a loss, in training.

    A problem whose results are mostly rounding in float32, or with a parameter that no step moves, fails.
    """
    found = installed_problem_checks(problem.name, lambda: problem)
    return (
        found if problem.graph(problem.reduced_batch_size, **problem.reduced).loss is not None else found[:1]
    )


def follow_rule(rule: UpdateRule, start: Array, gradients: Sequence[Array]) -> list[Array]:
    """Return where an optimizer's rule has brought a parameter after each of some gradients, in float64.

    Parameters
    ----------
    rule : UpdateRule
        With the constants that are tested; it becomes known by its name in this process.
    start : array
        The parameter before the first update, of any shape.
    gradients : sequence of array
        Of that shape, one per update.

    Returns
    -------
    list of array
        The parameter after each update, float64.

    Raises
    ------
    UsageError
        If a rule that comes with benchmarker has the name.
    """
    add_rule(rule)
    optimizer = Optimizer.default(rule.name).with_constants(
        {n: getattr(rule, n) for n in constants(rule.name)}
    )
    weights = np.array(start, np.float64)
    update, after = Equations(optimizer, {"parameter": weights}), []
    for gradient in gradients:
        update({"parameter": np.asarray(gradient, np.float64)})
        after.append(weights.copy())
    return after


def follow_scheme(scheme: Scheme, ranks: int, optimizer: Optimizer | None = None) -> tuple[Array, Array]:
    """Train a few steps by a scheme, each rank a thread, and by the scheme's definition.

    Parameters
    ----------
    scheme : Scheme
        One whose updates come in a fixed order.
    ranks : int
        How many.
    optimizer : Optimizer, optional
        That of each rank; momentum by default.

    Returns
    -------
    tuple of array ``(steps, ranks, elements)``
        The weights after each step in float64: what ranks have, and what the definition says.

    Raises
    ------
    UnsupportedError
        Of a scheme with a server.
    """
    if scheme.has_server or scheme.is_replayed:
        raise UnsupportedError(f"the steps of '{scheme.name}' come in no fixed order, or need a server")
    chosen = optimizer or Optimizer("momentum", learning_rate=0.125, momentum=0.5)
    steps = scheme.proof_steps + 1
    return _by_ranks(scheme, ranks, chosen, steps), _by_definition(scheme, ranks, chosen, steps)


def _gradient(rank: int, step: int, weights: Array) -> Array:
    places = np.arange(_ELEMENTS)
    target = ((places * 7 + rank * 5 + step * 3) % 11 - 5) / 4
    gradient: Array = (weights - target) * (1 + (places + rank) % 3)
    return gradient


def _by_ranks(scheme: Scheme, ranks: int, optimizer: Optimizer, steps: int) -> Array:
    board, found = _Board(ranks), np.zeros((steps, ranks, _ELEMENTS))
    faults: list[BaseException] = []

    def train(rank: int) -> None:
        try:
            replica = _replica(optimizer)
            own = scheme.begin(replica, _Threads(board, rank))
            for step in range(steps):
                own.step(_gradient(rank, step, replica.weights))
                found[step, rank] = replica.weights
            own.end()
        except BaseException as error:  # told by the thread that waits
            faults.append(error)
            board.barrier.abort()

    threads = [threading.Thread(target=train, args=(rank,), daemon=True) for rank in range(ranks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    first = [error for error in faults if not isinstance(error, threading.BrokenBarrierError)] or faults
    if first:
        raise first[0]
    return found


def _replica(optimizer: Optimizer) -> Replica:
    weights, parts = np.zeros(_ELEMENTS), {}
    whole = Equations(optimizer, {"w": weights})

    def update_part(gradient: Array, part: slice) -> None:
        if part.start not in parts:
            parts[part.start] = Equations(optimizer, {"w": weights[part]})
        parts[part.start]({"w": gradient})

    return Replica(weights, lambda gradient: whole({"w": gradient}), update_part)


def _by_definition(scheme: Scheme, ranks: int, optimizer: Optimizer, steps: int) -> Array:
    model, replicas = scheme.model(ranks), [_replica(optimizer) for _ in range(ranks)]

    def update(rank: int, weights: Array, gradient: Array) -> Array:
        replicas[rank].weights[...] = weights
        replicas[rank].update(gradient)
        return replicas[rank].weights.copy()

    weights: Array = np.zeros((ranks, _ELEMENTS))
    found = []
    for step in range(steps):
        gradients = np.stack([_gradient(rank, step, weights[rank]) for rank in range(ranks)])
        weights = model.step(weights, gradients, update)
        found.append(weights)
    return np.stack(found)


class _Board:
    """Where ranks leave what others read."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.barrier = threading.Barrier(size, timeout=_WAIT_SECONDS)
        self.places: list[Any] = [None] * size
        self.sent: dict[tuple[int, int], queue.Queue[Array]] = {
            (source, to): queue.Queue() for source in range(size) for to in range(size)
        }


class _Threads(Communicator):
    """Ranks as threads of one process."""

    def __init__(self, board: _Board, rank: int) -> None:
        self._board, self.rank, self.size = board, rank, board.size

    def _all(self, value: Any) -> list[Any]:
        """Return what each rank has given."""
        self._board.places[self.rank] = np.array(value)
        self._board.barrier.wait()
        found = list(self._board.places)
        self._board.barrier.wait()
        return found

    def sum(self, vector: Array) -> None:
        vector[...] = np.sum(self._all(vector), axis=0)

    def gather(self, vector: Array) -> Array:
        return np.stack(self._all(vector))

    def scatter_sum(self, vector: Array) -> Array:
        total: Array = np.sum(self._all(vector), axis=0)
        return total[part_of(len(vector), self.rank, self.size)]

    def gather_parts(self, vector: Array) -> None:
        vector[...] = np.concatenate(self._all(vector[part_of(len(vector), self.rank, self.size)]))

    def swap(self, vector: Array, to: int, source: int) -> Array:
        received: Array = self._all(vector)[source]
        return received

    def send(self, values: Array, to: int) -> None:
        self._board.sent[self.rank, to].put(np.array(values))

    def receive(self, values: Array, source: int | None = None) -> int:
        if source is None:
            raise UnsupportedError("a rank must say here whom it receives from")
        values[...] = self._board.sent[source, self.rank].get(timeout=_WAIT_SECONDS)
        return source
