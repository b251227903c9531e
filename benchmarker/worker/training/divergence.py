"""How far a framework's training is from the float64 reference's, parameter by parameter and step by step.

Two questions (Deep500's ``L2Error`` and ``MaxError``, Ben-Nun et al. 2019, section III-D): followed, the reference
makes each step from the framework's own weights and state, so that a difference is what that one step computed
otherwise; free-running, both start from the same weights and never meet again, so that roundings grow as the network
lets them.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, field
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple

import numpy as np

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.program import Program
from benchmarker.errors import UsageError
from benchmarker.graph.graph import Graph
from benchmarker.plugins.common.hyperparameters import Hyperparameters
from benchmarker.plugins.numpy.equations import Equations
from benchmarker.quick_dataclass import dataclass
from benchmarker.training.optimizers.advance import places
from benchmarker.worker.training.rates import Rates
from benchmarker.worker.verification import reference
from benchmarker.worker.verification.update_rule import tells_state

if TYPE_CHECKING:
    import numpy.typing as npt

    from benchmarker.data.batches import BatchFeeder

    Array = npt.NDArray[Any]
    Arrays = Mapping[str, Array]
    Steps = Sequence[int]

MAX_ROWS = 100
"""Steps that are told of: of more of them as many, from the first to the last."""
NEGLIGIBLE = 1e-6
"""Of the length of a whole step: what moves less than this may be moved by rounding alone (a bias before a
normalization), and nothing is a share of it."""
DIGITS = 4
"""Of each number that is told."""

Share = Optional[float]
"""A difference over what it is a share of; None where that is nothing, or no finite number."""


def check_divergence(steps: Optional[int], graph: Graph, most: int) -> None:
    """Refuse a divergence that cannot be told of a training.

    Parameters
    ----------
    steps : int or None
        Steps that are asked for; None for no divergence.
    graph : Graph
        With its loss.
    most : int
        Steps that the training may have.

    Raises
    ------
    UsageError
        If the training is shorter, or its dropout draws masks that the reference has not.
    """
    if steps is None:
        return
    if steps > most:
        raise UsageError(f"divergence covers at most the {most:,} steps of the recipe, got {steps:,}")
    if "dropout" in graph.operators:
        raise UsageError(
            "divergence cannot be measured with dropout, because each framework draws its own masks; leave it out"
        )


@dataclasses.dataclass
class ParameterDivergence:
    """Differences of one parameter, an item per step that is told of.

    Parameters
    ----------
    name : str
        Of the parameter.
    elements : int
        How many numbers it has.
    followed_l2, followed_max : list of float or None
        Norm and largest element of the difference after one step, over those of what the reference does in that step.
    free_l2, free_max : list of float or None
        The same of two trainings from the same start, over how far the reference has travelled since.
    """

    name: str
    elements: int
    followed_l2: List[Share] = field(default_factory=list)
    followed_max: List[Share] = field(default_factory=list)
    free_l2: List[Share] = field(default_factory=list)
    free_max: List[Share] = field(default_factory=list)


@dataclasses.dataclass
class Divergence:
    """What was found.

    Parameters
    ----------
    steps : int
        That were asked for; fewer are told of if weights were no finite numbers any more.
    state : {"framework", "reference"}
        Whose optimizer state the followed reference starts each step from.
    step : list of int
        The steps that are told of, from 1.
    parameters : list of ParameterDivergence
        All trainable ones, in the order of the graph.
    seconds : float
        What it took.
    """

    steps: int
    state: str
    step: List[int]
    parameters: List[ParameterDivergence]
    seconds: float = 0.0

    def to_json(self) -> Dict[str, Any]:
        return asdict(self)


def recorded_steps(steps: int) -> Tuple[int, ...]:
    """Return which of so many steps are told of."""
    if steps <= MAX_ROWS:
        return tuple(range(1, steps + 1))
    return tuple(int(step) for step in np.unique(np.linspace(1, steps, MAX_ROWS).round()))


class FollowedReference:
    """The reference as it makes each step from a framework's weights and state.

    Parameters
    ----------
    graph : Graph
        With its loss.
    parameters : mapping
        At the start.
    optimizer : Optimizer
        With its constants before any schedule.
    rates : Rates
        The constants of each step.
    """

    def __init__(self, graph: Graph, parameters: Arrays, optimizer: Optimizer, rates: Rates) -> None:
        self._program = reference.build("fp64")(graph, parameters, "training", optimizer)
        self._constants = Hyperparameters(optimizer)
        self._rates = rates
        self._weights = {p.name: np.array(parameters[p.name], np.float64) for p in graph.trainable}
        self._equations = Equations(self._constants, self._weights, where=tuple(places(graph).values()))

    def step(
        self, index: int, before: Arrays, state: Optional[Mapping[str, Arrays]], batch: Arrays
    ) -> Dict[str, Array]:
        """Return the weights after a step.

        Parameters
        ----------
        index : int
            Of the step, from 0; every step is made, since equations count them.
        before : mapping
            The framework's weights and running statistics.
        state : mapping or None
            Of its optimizer; None to go on from the reference's own.
        batch : mapping
            The mini-batch.
        """
        self._program.assign(before)
        _, gradients = self._program.half_step(self._program.load(batch))
        for name, values in self._weights.items():
            values[...] = before[name]
        for letter, arrays in (state or {}).items():
            for name, values in arrays.items():
                self._equations.state[letter][name][...] = values
        self._constants.take(self._rates.at(index))
        self._equations(gradients)
        return self._weights


@dataclass(frozen=True)
class Trained:
    """What is needed to train twice over.

    Parameters
    ----------
    graph : Graph
        With its loss.
    parameters : mapping
        At the start.
    program : Program
        Of the framework, built anew with these.
    feed : BatchFeeder
        Has the mini-batches by the number of the step.
    optimizer : Optimizer
        With its constants before any schedule.
    rates : Rates
        The constants of each step.
    """

    graph: Graph
    parameters: Arrays
    program: Program
    feed: BatchFeeder
    optimizer: Optimizer
    rates: Rates


def divergence(trained: Trained, steps: int) -> Divergence:
    """Train the framework and the reference beside each other.

    Parameters
    ----------
    trained : Trained
        What is trained.
    steps : int
        The first ones of the training.
    """
    began = time.perf_counter()
    graph, program = trained.graph, trained.program
    names = [p.name for p in graph.trainable]
    recorded = frozenset(recorded_steps(steps))
    has_state = tells_state(program, trained.optimizer)
    free = reference.build("fp64")(graph, trained.parameters, "training", trained.optimizer)
    followed = FollowedReference(graph, trained.parameters, trained.optimizer, trained.rates)
    start = _float64(trained.parameters, names)
    found = Divergence(steps, "framework" if has_state else "reference", [], [])
    found.parameters = [ParameterDivergence(name, start[name].size) for name in names]
    before = program.parameters()
    for index in range(steps):
        batch = trained.feed.batch_of(index)
        state = program.optimizer_state() if has_state else None
        _step(program, trained.rates, index, batch)
        _step(free, trained.rates, index, batch)
        expected = followed.step(index, before, state, batch)
        after = program.parameters()
        if not all(np.isfinite(after[name]).all() for name in names):
            break
        if index + 1 in recorded:
            found.step.append(index + 1)
            origin, own = _float64(before, names), _float64(after, names)
            _note(found.parameters, "followed", own, expected, origin)
            _note(found.parameters, "free", own, free.parameters(), start)
        before = after
    found.seconds = time.perf_counter() - began
    return found


def _step(program: Program, rates: Rates, index: int, batch: Arrays) -> None:
    rates.give(program, index)
    program.synchronize(program.train_step(program.load(batch)))


def _float64(arrays: Arrays, names: Iterable[str]) -> Dict[str, Array]:
    return {name: np.array(arrays[name], np.float64) for name in names}


def _note(
    rows: Sequence[ParameterDivergence], kind: str, found: Arrays, expected: Arrays, origin: Arrays
) -> None:
    """Add how far each parameter is from what is expected, over how far that is from an origin."""
    travels = {row.name: expected[row.name] - origin[row.name] for row in rows}
    least = NEGLIGIBLE * math.sqrt(math.fsum(float(np.sum(np.square(t))) for t in travels.values()))
    for row in rows:
        travel, difference = travels[row.name], found[row.name] - expected[row.name]
        moves = float(np.linalg.norm(travel)) > least
        getattr(row, f"{kind}_l2").append(_share(difference, travel, np.linalg.norm) if moves else None)
        getattr(row, f"{kind}_max").append(_share(difference, travel, _largest) if moves else None)


def _largest(values: Array) -> float:
    return float(np.max(np.abs(values)))


def _share(difference: Array, travel: Array, size: Any) -> Share:
    found = float(size(difference.reshape(-1))) / float(size(travel.reshape(-1)))
    return float(f"{found:.{DIGITS}g}") if math.isfinite(found) else None
