"""What is known of a scheme that a framework has itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import field
from typing import TYPE_CHECKING, Any, Mapping, Optional, Sequence, Tuple

from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    from benchmarker.api.optimizer import Optimizer
    from benchmarker.api.scheme import Update

    Array = npt.NDArray[Any]


@dataclass(frozen=True)
class NativeScheme:
    """A scheme of distributed training that a framework has itself.

    Parameters
    ----------
    means : str
        What it is called there, as records tell it: ``DistributedDataParallel over gloo``.
    batch_normalization : {"local", "global"}
        Whether it takes the statistics of a rank's own rows, or of the whole mini-batch.
    rows : {"own", "all"}
        Whose rows of a mini-batch the program's graph has. One of all ranks' rows is given to a framework that parts
        the arrays of a step itself; each rank still loads its own. Its loss is then that of all rows at once.
    optimizers, precisions : tuple of str
        Those that it takes; all of the framework's by default. It takes no modifiers where it names optimizers.
    options : mapping
        Values that it takes of options of the framework of which it does not take all.
    helpers : tuple of str
        Roles of the processes that it needs beside the ranks, a process each, such as ``server``; the plug-in's
        :attr:`~benchmarker.api.framework.FrameworkPlugin.helper` runs them.
    updates_on_server : bool
        Whether one of them has the weights and the optimizer, which keeps the constants that it began with.
    """

    means: str
    batch_normalization: str = "local"
    rows: str = "own"
    optimizers: Tuple[str, ...] = ()
    precisions: Tuple[str, ...] = ()
    options: Mapping[str, Tuple[Any, ...]] = field(default_factory=dict)
    helpers: Tuple[str, ...] = ()
    updates_on_server: bool = False

    def fault(
        self, optimizer: Optimizer, precision: str, options: Optional[Mapping[str, Any]] = None
    ) -> Optional[str]:
        """Return why it cannot train so, None if it can.

        Parameters
        ----------
        optimizer : Optimizer
            With its modifiers.
        precision : str
            One of :data:`~benchmarker.api.framework.PRECISIONS`.
        options : mapping, optional
            Of the framework, by name; those that are missing have a value that it takes.
        """
        if self.optimizers and (optimizer.kind not in self.optimizers or optimizer.modifiers):
            around = " with what is done around it" if optimizer.kind in self.optimizers else ""
            return f"{self.means} takes the optimizers {', '.join(self.optimizers)}, got '{optimizer.kind}'{around}"
        if self.precisions and precision not in self.precisions:
            return f"{self.means} takes the precisions {', '.join(self.precisions)}, got {precision}"
        for name, values in self.options.items():
            value = (options or {}).get(name, values[0])
            if value not in values:
                return f"{self.means} takes the option {name} as {', '.join(map(str, values))}, got {value}"
        return None


@dataclass(frozen=True)
class Served:
    """What a native server has done, for a replay of its updates.

    Parameters
    ----------
    log : sequence of Update
        All of them, in their order.
    weights : vector
        After the first of them, as many as were asked for, or all if there were not so many; as the framework has
        them (:meth:`ServerAgain.parameters`).
    """

    log: Sequence[Update]
    weights: Array


class ServerAgain(ABC):
    """What a native server has done, made again in one process."""

    @abstractmethod
    def parameters(self, vector: Array) -> dict[str, Array]:
        """Return the trainable parameters, in the graph's layout, of the weights that the server has told."""

    @abstractmethod
    def update(self, weights: Array, gradient: Array) -> Array:
        """Return the weights after the server's next update.

        Parameters
        ----------
        weights, gradient : vector
            In any order of the elements, the same each time.
        """


class Helper(ABC):
    """A process that a native scheme needs beside its ranks; its constructor imports the framework."""

    @abstractmethod
    def run(self, kept: int) -> Optional[Served]:
        """Do what the role is for until all ranks have left.

        Parameters
        ----------
        kept : int
            After how many updates a server tells its weights.

        Returns
        -------
        Served or None
            Of a server of a scheme that is replayed; None otherwise.

        Raises
        ------
        UnsupportedError
            If it cannot meet the ranks.
        """
