"""A program whose ranks exchange over MPI: the framework computes gradients, a scheme and NumPy do the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.program import Program
from benchmarker.api.scheme import Communicator, RankSteps, Replica, Scheme
from benchmarker.errors import UnsupportedError
from benchmarker.graph.graph import Graph
from benchmarker.plugins.common.hyperparameters import Hyperparameters
from benchmarker.plugins.numpy.equations import Equations
from benchmarker.training.optimizers.advance import places
from benchmarker.worker.around import Around
from benchmarker.worker.ranks.flat import Layout

if TYPE_CHECKING:
    import numpy.typing as npt

    from benchmarker.api.training_state import TrainingState

    Array = npt.NDArray[Any]
    Arrays = dict[str, Array]


class Trained:
    """A rank's weights and its optimizer, in NumPy.

    Parameters
    ----------
    graph : Graph
        What is trained.
    optimizer : Optimizer
        The rule.
    parameters : mapping
        What it starts from.
    dtype : type
        Floating type.
    """

    def __init__(
        self, graph: Graph, optimizer: Optimizer, parameters: Mapping[str, Array], dtype: Any
    ) -> None:
        self.layout = Layout(graph)
        self.weights = self.layout.vector(parameters, dtype)
        self.gradient = np.empty_like(self.weights)
        self.arrays = self.layout.views(self.weights)
        self.known = Hyperparameters(optimizer)
        self.updates = 0
        self._where = tuple(places(graph, optimizer.modifiers.decay_of).values())
        self.equations = Equations(self.known, self.arrays, where=self._where)
        self._of_parts: dict[tuple[int, int], Equations] = {}

    def replica(self, watch: Callable[[int], None] = lambda updates: None) -> Replica:
        """Return what a scheme trains.

        Parameters
        ----------
        watch : callable
            Told of each update, by its number, once it is made.
        """
        by_element = self.known.built_rule.is_elementwise

        def update(gradient: Array) -> None:
            self.equations(self.layout.views(gradient))
            self.updates += 1
            watch(self.updates)

        return Replica(self.weights, update, self._update_part if by_element else None)

    def _update_part(self, gradient: Array, part: slice) -> None:
        key = (part.start, part.stop)
        weights = self.layout.parts(self.weights, part)
        if key not in self._of_parts:
            where = [replace(p, shape=weights[p.name].shape) for p in self._where if p.name in weights]
            self._of_parts[key] = Equations(self.known, weights, where=where)
        # The gradient is of the part alone, so that its places count from the part's start.
        starts = {name: max(own.start, part.start) - part.start for name, own in self.layout.slices.items()}
        self._of_parts[key](
            {name: gradient[starts[name] : starts[name] + len(array)] for name, array in weights.items()}
        )

    @property
    def is_whole(self) -> bool:
        """Whether the optimizer's state is all here."""
        return not self._of_parts


class MpiProgram(Around):
    """Trains by a scheme over MPI.

    Parameters
    ----------
    program : Program
        Built to go backward, for the rank's own rows.
    trained : Trained
        Weights and optimizer.
    scheme : Scheme
        What is exchanged.
    communicator : Communicator
        With whom.
    """

    def __init__(
        self, program: Program, trained: Trained, scheme: Scheme, communicator: Communicator
    ) -> None:
        super().__init__(program)
        self._trained = trained
        self._has_server = scheme.has_server
        self.made = 0
        self.steps: RankSteps = scheme.begin(trained.replica(), communicator)

    def train_step(self, batch: Any) -> Any:
        """Go forward and backward, exchange, update, and give the framework its new weights."""
        loss, gradients = self._program.gradient_step(batch)
        trained = self._trained
        trained.layout.fill(trained.gradient, self._program.fetch_gradients(gradients))
        self._step(trained.gradient)
        self._program.assign(trained.arrays)
        return loss

    def _step(self, gradient: Array) -> None:
        self.steps.step(gradient)
        self.made += 1

    def train_micro(self, batches: Sequence[Any]) -> Any:
        """Exchange once, the mean of the gradients of several micro-batches; return all their losses."""
        mean, losses = self._mean_gradient(batches)
        self._step(mean)
        self._program.assign(self._trained.arrays)
        return losses

    def _mean_gradient(self, batches: Sequence[Any]) -> tuple[Array, list[Any]]:
        trained = self._trained
        total, losses = np.zeros_like(trained.gradient), []
        for batch in batches:
            loss, gradients = self._program.gradient_step(batch)
            trained.layout.fill(trained.gradient, self._program.fetch_gradients(gradients))
            total += trained.gradient
            losses.append(loss)
        if len(batches) > 1:
            total /= len(batches)
        return total, losses

    def fetch(self, output: Any) -> tuple[Array, ...]:
        if not isinstance(output, list):
            return self._program.fetch(output)
        losses: list[Any] = [self._program.fetch(loss)[0] for loss in output]
        return (np.asarray(np.mean(losses, axis=0)),)

    def synchronize(self, output: Any) -> None:
        self._program.synchronize(output[-1] if isinstance(output, list) else output)

    def train_parts(self, batch: Any) -> Iterator[tuple[str, Any]]:
        """Run a step in its parts."""
        loss, gradients = self._program.gradient_step(batch)
        yield "forward and backward", loss
        trained = self._trained
        trained.layout.fill(trained.gradient, self._program.fetch_gradients(gradients))
        yield "fetch", loss
        self._step(trained.gradient)
        yield "exchange and update", loss
        self._program.assign(trained.arrays)
        yield "assign", loss

    def micro_parts(self, batches: Sequence[Any]) -> Iterator[tuple[str, Any]]:
        """Run a step of micro-batches in its parts."""
        mean, losses = self._mean_gradient(batches)
        yield "forward, backward and fetch", losses
        self._step(mean)
        yield "exchange and update", losses
        self._program.assign(self._trained.arrays)
        yield "assign", losses

    def parameters(self) -> Arrays:
        """Return the weights that the scheme left, and the framework's running statistics."""
        return {
            **self._program.parameters(),
            **{name: array.copy() for name, array in self._trained.arrays.items()},
        }

    def evaluation_parameters(self) -> Arrays:
        if self._trained.known.built_rule.evaluates_weights:
            return self.parameters()
        self._refuse_without_state()
        evaluated = self._trained.equations.evaluated()
        own = self.parameters()
        return {name: np.asarray(evaluated.get(name, array), array.dtype) for name, array in own.items()}

    def optimizer_variant(self) -> str:
        return "composed"

    def optimizer_state(self) -> dict[str, Arrays]:
        self._refuse_without_state()
        return {
            letter: {name: array.copy() for name, array in arrays.items()}
            for letter, arrays in self._trained.equations.state.items()
        }

    def _refuse_without_state(self) -> None:
        if self._has_server or not self._trained.is_whole:
            raise UnsupportedError("the optimizer's state is not on this rank")

    def set_hyperparameters(self, values: Mapping[str, float]) -> None:
        self.use_hyperparameters(self.prepare_hyperparameters(values))

    def prepare_hyperparameters(self, values: Mapping[str, float]) -> Optimizer:
        if self._has_server:
            raise UnsupportedError("the optimizer is the server's, which takes its constants at the start")
        return self._trained.known.prepared(values)

    def use_hyperparameters(self, prepared: Optimizer) -> None:
        self._trained.known.optimizer = prepared

    def native_state(self) -> Arrays:
        return {}

    def restore(self, state: TrainingState) -> None:
        raise UnsupportedError("a training whose ranks exchange over MPI cannot continue from a checkpoint")

    def assign(self, values: Mapping[str, Array]) -> None:
        for name, value in values.items():
            if name in self._trained.arrays:
                self._trained.arrays[name][...] = value
        self._program.assign(values)
