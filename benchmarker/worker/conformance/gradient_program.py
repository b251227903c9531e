"""A framework's gradients of a network wherever its parameters are, of one program for the checks of all optimizers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from benchmarker.api.program import Program
from benchmarker.errors import UnsupportedError
from benchmarker.graph.graph import Graph
from benchmarker.worker.conformance.subject import Subject, draw_parameters

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


class GradientProgram:
    """Gradients of a network, whatever rule follows them.

    To compile them anew in the program of each rule takes up to half of the time of checking it.

    Parameters
    ----------
    network : callable
        Returns the graph.
    """

    def __init__(self, network: Callable[[], Graph]) -> None:
        self.network = network
        self._program = lru_cache(maxsize=1)(self._built)

    def gradients(self, subject: Subject, program: Program, batch: Mapping[str, Array]) -> dict[str, Array]:
        """Return the gradients at the parameters of a program of the network; nothing moves.

        They are the program's own where the framework takes values of parameters only when a program is built.

        Parameters
        ----------
        subject : Subject
            Whose program it is.
        program : Program
            Built for training.
        batch : mapping
            Arrays of a mini-batch by the names of the network's inputs.
        """
        own = self._program(subject)
        if own is None:
            return program.gradients(program.load(batch))[1]
        own.assign(program.parameters())
        return own.gradients(own.load(batch))[1]

    def _built(self, subject: Subject) -> Program | None:
        graph = self.network()
        start = draw_parameters(graph, subject.seed)
        program = subject.program(graph, start, "training")
        try:
            program.assign(start)
        except UnsupportedError:
            return None
        return program
