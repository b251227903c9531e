"""A collective as a benchmark of its own: what ranks exchange, how many bytes that is, and what carries it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Optional, Tuple

from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vector = npt.NDArray[np.floating[Any]]

ALL_REDUCE, BROADCAST, ALL_GATHER = "all_reduce", "broadcast", "all_gather"
REDUCE_SCATTER, ALL_TO_ALL, POINT_TO_POINT = "reduce_scatter", "all_to_all", "point_to_point"
COLLECTIVES = (ALL_REDUCE, BROADCAST, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL, POINT_TO_POINT)
_IN_PARTS = (ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL)


@dataclass(frozen=True)
class Collective:
    """What all ranks exchange in a step.

    Parameters
    ----------
    kind : str
        Of :data:`COLLECTIVES`.
    elements : int
        Of the whole vector, as nccl-tests counts: what each rank has afterwards of an all-gather, what each gives to
        all others, and what is a message between two.
    window : int
        Messages between two ranks that are on their way at once: 1 is a message and its answer of the same length,
        more go one way before a short answer.
    """

    kind: str
    elements: int
    window: int = 1

    @property
    def label(self) -> str:
        """The kind as people write it."""
        return self.kind.replace("_", "-")

    @property
    def is_ping_pong(self) -> bool:
        """Whether two ranks answer each other message by message, so that half a step is one way."""
        return self.kind == POINT_TO_POINT and self.window == 1

    @property
    def messages(self) -> int:
        """How many vectors of all elements a step carries one after the other."""
        return 2 if self.is_ping_pong else self.window

    def fault(self, ranks: int) -> str | None:
        """Return why so many ranks cannot make it, None if they can."""
        name = f"problem '{self.kind}'"
        if ranks < 2:
            return f"{name} is for several ranks, got --ranks={ranks}"
        if self.kind == POINT_TO_POINT and ranks != 2:
            return f"{name} is for two ranks, got --ranks={ranks}"
        if self.kind in _IN_PARTS and self.elements % ranks:
            return f"{name} has equal parts: --ranks must divide its size, got {ranks} for {self.elements} elements"
        return None

    def given(self, ranks: int) -> int:
        """Return how many elements each rank gives."""
        return self.elements // ranks if self.kind == ALL_GATHER else self.elements

    def returned(self, rank: int, ranks: int) -> int:
        """Return how many elements a rank, from 0, has afterwards."""
        if self.kind == POINT_TO_POINT and not self.is_ping_pong and rank == 0:
            return 1
        return self.elements // ranks if self.kind == REDUCE_SCATTER else self.elements

    def sent(self, ranks: int) -> int:
        """Return how many elements all ranks together send at least."""
        if self.kind == POINT_TO_POINT:
            return self.messages * self.elements + (0 if self.is_ping_pong else 1)
        return (2 if self.kind == ALL_REDUCE else 1) * (ranks - 1) * self.elements

    def bus_factor(self, ranks: int) -> float:
        """Return the bus bandwidth over the algorithmic one, as nccl-tests defines it: what a link carries."""
        if self.kind == ALL_REDUCE:
            return 2 * (ranks - 1) / ranks
        return (ranks - 1) / ranks if self.kind in _IN_PARTS else 1.0


class CollectiveProgram(ABC):
    """A collective made native, on one rank; each of its steps is made by all ranks.

    The timed path is :meth:`run` and :meth:`synchronize`.
    """

    @abstractmethod
    def load(self, vector: Vector) -> Any:
        """Return what :meth:`run` takes, with what this rank gives. Not timed, and not collective."""

    def restore(self, given: Any) -> None:  # noqa: B027 - most collectives leave what they are given as it is
        """Put back what :meth:`run` has changed of what it was given. Not timed, and not collective."""

    @abstractmethod
    def run(self, given: Any) -> Any:
        """Exchange, and return natively what this rank has afterwards, possibly before it is there."""

    def synchronize(self, output: Any) -> None:  # noqa: B027 - most are done when they return
        """Return only when the output is there."""

    @abstractmethod
    def fetch(self, output: Any) -> Vector:
        """Return what :meth:`run` returned, in one dimension. Not timed, and not collective."""


@dataclass(frozen=True)
class NativeCollectives:
    """The collectives that a framework has itself.

    Parameters
    ----------
    means : mapping
        Each kind that it has, of :data:`COLLECTIVES`, and what it is called there.
    program : str
        ``"module:function"``, imported in the worker once all ranks have met by
        :meth:`~benchmarker.api.framework.Framework.join`. ``function(collective, world, dtype)`` returns the
        :class:`CollectiveProgram` of a :class:`Collective` over vectors of ``dtype``.
    """

    means: Mapping[str, str]
    program: str


def of_problem(kind: Optional[str], parameters: Mapping[str, Any]) -> Optional[Collective]:
    """Return the collective that a problem with such parameters is, None of any other problem."""
    if kind is None:
        return None
    return Collective(kind, int(parameters["size"]), int(parameters.get("window", 1)))


def part_bounds(elements: int, rank: int, ranks: int) -> Tuple[int, int]:
    """Return where a rank's part of a vector begins and ends, in elements; all are equally long.

    Parameters
    ----------
    elements : int
        Of the vector; ``ranks`` divides them.
    rank, ranks : int
        Which rank, from 0, of how many.
    """
    each = elements // ranks
    return rank * each, (rank + 1) * each
