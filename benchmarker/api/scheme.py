"""The contract of a scheme of distributed training: what happens between a rank's gradient and its update.

A scheme is written once, over flat vectors: all trainable parameters of a rank one after the other, in the order of
the graph. It runs over MPI between any framework's gradients and the update rules of the training level; where a
framework has the same scheme itself that is its native one, held to the same proof.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Optional, Tuple

from benchmarker.api.given_values import real_number, shown, whole_number
from benchmarker.api.rules import Rule, Whole
from benchmarker.errors import UsageError
from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from benchmarker.api.interconnect import Interconnect

    Vector = npt.NDArray[np.floating[Any]]
    Vectors = npt.NDArray[np.floating[Any]]


class Communicator(ABC):
    """What a scheme has of the other ranks. Every call is collective unless it says otherwise.

    Attributes
    ----------
    rank, size : int
        Of the ranks that train; a server is none of them.
    """

    rank: int
    size: int

    @abstractmethod
    def sum(self, vector: Vector) -> None:
        """Replace a vector by its sum over ranks (an all-reduce), in place; it has the same length on all of them."""

    @abstractmethod
    def gather(self, vector: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the vectors of all ranks, of one length, as an array ``(size, length)`` (an all-gather)."""

    @abstractmethod
    def scatter_sum(self, vector: Vector) -> Vector:
        """Return this rank's part of the sum over ranks (a reduce-scatter); parts are as :func:`part_of` cuts them."""

    @abstractmethod
    def gather_parts(self, vector: Vector) -> None:
        """Fill a vector, of which this rank's own part is right, with the parts of all others (an all-gather)."""

    @abstractmethod
    def swap(self, vector: Vector, to: int, source: int) -> Vector:
        """Send a vector to one rank and return that of another, of the same length and type, at once.

        Parameters
        ----------
        vector : array ``(length,)``
            What rank ``to`` gets.
        to, source : int
            Ranks; on rank ``to``, ``source`` must be this one.
        """

    @abstractmethod
    def send(self, values: npt.NDArray[Any], to: int) -> None:
        """Send an array to one rank, or to the server (rank ``size``); not collective."""

    @abstractmethod
    def receive(self, values: npt.NDArray[Any], source: int | None = None) -> int:
        """Fill an array with what a rank (None: any) sends, and return who it was; not collective.

        What one rank sends comes in its order, so that after the first of its messages from anyone, the others are
        received from that rank.

        Parameters
        ----------
        values : array
            Of the length and type of what is sent.
        source : int or None
            The sender.
        """


def part_of(length: int, rank: int, size: int) -> slice:
    """Return a rank's part of a vector: parts follow each other, the first ones longer by one where it must be.

    Parameters
    ----------
    length : int
        Elements of the vector.
    rank, size : int
        Which rank of how many.
    """
    least, longer = divmod(length, size)
    start = rank * least + min(rank, longer)
    return slice(start, start + least + (rank < longer))


@dataclass(frozen=True)
class Replica:
    """What a rank trains.

    Parameters
    ----------
    weights : vector
        Of its trainable parameters, changed in place; float32 or float64.
    update : callable
        Makes one update of the rule, in place, with a gradient of the same length.
    update_part : callable or None
        The same for a part of the weights alone, of rules that look at each element by itself; None for other rules.
    """

    weights: Vector
    update: Callable[[Vector], None]
    update_part: Callable[[Vector, slice], None] | None = None


class RankSteps(ABC):
    """A rank's steps under a scheme."""

    @abstractmethod
    def step(self, gradient: Vector) -> None:
        """Do what follows a gradient taken at the replica's weights; these are then where the next one is taken.

        The gradient, the mean over this rank's rows, may be changed in place.
        """

    def end(self) -> None:  # noqa: B027 - only schemes with a server have to say goodbye
        """Say that no step follows."""

    def report(self) -> dict[str, Any]:
        """Return what the scheme tells of the steps so far, as JSON values: staleness, density; empty for nothing."""
        return {}


ALL_WORKERS = -1
"""Of an update with the mean of all gradients."""


@dataclass(frozen=True)
class Update:
    """One update that a server has made.

    Parameters
    ----------
    worker : int
        Whose gradient it was, or :data:`ALL_WORKERS`.
    step : int
        Of that worker, from 0.
    read : int
        The version of the weights that the gradient was taken at; 0 are those of the start.
    """

    worker: int
    step: int
    read: int


class Model(ABC):
    """A scheme's definition on all replicas at once, in one process and float64: what its steps are held to.

    It is written from the scheme's publication and shares no code with :meth:`Scheme.begin`.

    Attributes
    ----------
    is_elementwise : bool
        Whether an element's way depends on that element of weights and gradients alone: then samples can stand for all.
    """

    is_elementwise: ClassVar[bool] = False

    @abstractmethod
    def step(
        self, weights: Vectors, gradients: Vectors, update: Callable[[int, Vector, Vector], Vector]
    ) -> Vectors:
        """Return the weights of all replicas after a step.

        Parameters
        ----------
        weights, gradients : array, replicas by elements
            Before the step; not changed.
        update : callable
            ``update(replica, weights, gradient)`` returns weights after one update of that replica's rule.
        """


class Scheme(ABC):
    """What ranks exchange. A subclass is a frozen dataclass with at most one field, its constant: ``averaging/16``.

    The constant is a :func:`~benchmarker.api.update_rule.constant`, which has a default and says what it may be.

    Attributes
    ----------
    name : str
        As ``--scheme`` takes it.
    description : str
        What it does, in a line.
    source : str
        Who has published it.
    algorithm : str
        What carries it, in words: the one that :meth:`seconds` is of.
    overlaps : bool
        Whether gradients may be sent while others are still computed.
    is_consistent : bool
        Whether all ranks hold the same weights after each step.
    has_server : bool
        Whether one process more than there are ranks keeps the weights.
    is_replayed : bool
        Whether updates come in no fixed order, so that the proof is a replay of the server's log.
    is_mean_gradient : bool
        Whether a step is one update with the mean gradient of the whole mini-batch.
    needs_elementwise : bool
        Whether ranks update parts of the weights, which only rules can that look at each element by itself.
    digest : str or None
        Of the file that holds it.
    proof_steps : int
        How many steps a proof must follow to see all that the scheme does.
    """

    name: ClassVar[str]
    description: ClassVar[str]
    source: ClassVar[str]
    algorithm: ClassVar[str]
    overlaps: ClassVar[bool] = False
    is_consistent: ClassVar[bool] = True
    has_server: ClassVar[bool] = False
    is_replayed: ClassVar[bool] = False
    is_mean_gradient: ClassVar[bool] = False
    needs_elementwise: ClassVar[bool] = False
    digest: ClassVar[Optional[str]] = None

    @property
    def proof_steps(self) -> int:
        # The first from what all start with, the second from what it has left, optimizers' states included.
        return 2

    @property
    def label(self) -> str:
        """The name with the constant, as ``--scheme`` takes it."""
        return "/".join((self.name, *map(_written, vars(self).values())))

    def benchmarker_scheme(self) -> Scheme:
        """Return the scheme itself with its usual constant, so that an entry point may name its class."""
        return self

    def with_constant(self, text: str) -> Scheme:
        """Return the scheme with another constant, of a text.

        Raises
        ------
        UsageError
            If it has none, or may not have this one.
        """
        constant = constant_of(self)
        if constant is None:
            raise UsageError(f"scheme '{self.name}' has no constant, got {shown(f'{self.name}/{text}')}")
        name, rule = constant
        value: Optional[float]
        try:
            value = whole_number(text) if isinstance(rule, Whole) else real_number(text)
        except ValueError:
            value = None
        if not rule.accepts(value):
            raise UsageError(f"{described_label(self)} takes {rule.allowed}, got {shown(text)}")
        return replace(self, **{name: value})  # type: ignore[type-var]

    def fault(self, ranks: int) -> str | None:
        """Return why so many ranks cannot use it, None if they can."""
        return None

    @abstractmethod
    def begin(self, replica: Replica, communicator: Communicator) -> RankSteps:
        """Return a rank's steps; all ranks start from the same weights.

        Parameters
        ----------
        replica : Replica
            What this rank trains; steps change its weights in place.
        communicator : Communicator
            Its way to the others.
        """

    def serve(self, replica: Replica, communicator: Communicator) -> Sequence[Update]:
        """Serve all ranks until each has said goodbye, and return every update in its order.

        Called on the server alone, of schemes with :attr:`has_server`.

        Parameters
        ----------
        replica : Replica
            The weights that the server keeps, as those of the ranks at the start.
        communicator : Communicator
            Its way to the ranks.
        """
        raise NotImplementedError

    @abstractmethod
    def model(self, ranks: int) -> Model:
        """Return the definition for so many ranks; of a scheme that is replayed that of one update after the other."""

    @abstractmethod
    def sent_bytes(self, gradient_bytes: float, ranks: int) -> float:
        """Return how many bytes a rank sends in a step, as the mean over ranks and steps, by formula.

        Parameters
        ----------
        gradient_bytes : float
            Of the gradients of all trainable parameters together.
        ranks : int
            How many train; a server is none of them.
        """

    @abstractmethod
    def seconds(self, gradient_bytes: float, ranks: int, interconnect: Interconnect) -> float:
        """Return how many seconds a step's exchange takes on a network without contention, as the mean over steps.

        Parameters
        ----------
        gradient_bytes, ranks
            As in :meth:`sent_bytes`.
        interconnect : Interconnect
            Latency in seconds, bandwidth in bytes per second, and topology.
        """


def constant_of(scheme: Scheme) -> Optional[Tuple[str, Rule]]:
    """Return the name of a scheme's constant and what it may be; None where it has none."""
    found = ((f.name, f.metadata["rule"]) for f in fields(scheme) if "rule" in f.metadata)  # type: ignore[arg-type]
    return next(found, None)


def described_label(scheme: Scheme) -> str:
    """Return a scheme's name with that of its constant, in capitals: ``averaging/STEPS``."""
    constant = constant_of(scheme)
    return f"{scheme.name}/{constant[0].upper()}" if constant else scheme.name


def named(text: str) -> Tuple[str, Optional[str]]:
    """Return the name or the file of a scheme as it is asked for, and its constant as text, None without one."""
    path, ending, constant = text.rpartition(".py/")
    if ending:
        return f"{path}.py", constant
    if text.endswith(".py"):
        return text, None
    name, slash, constant = text.partition("/")
    return name, constant if slash else None


def label_of(text: str, scheme: Scheme) -> str:
    """Return the label of a scheme that was asked for by a text, of a file with its path: one text for one scheme."""
    return named(text)[0] + scheme.label[len(scheme.name) :]


def _written(value: float) -> str:
    """Return a constant as people write it, which is read as the same number."""
    short = f"{value:g}"
    return short if not isinstance(value, int) and float(short) == value else repr(value)
