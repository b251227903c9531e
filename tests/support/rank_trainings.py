"""Small trainings by a scheme: what each rank does, over real MPI, and the same by the scheme's definition.

``python -m tests.support.rank_trainings FOLDER`` is a rank: it reads ``cases.json`` there and leaves what it found.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.scheme import RankSteps, Replica, Scheme
from benchmarker.plugins.numpy.equations import Equations
from benchmarker.problems.files import load_plugin

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

CASES = "cases.json"
OPTIMIZERS = {
    "sgd": Optimizer("sgd", learning_rate=0.125, weight_decay=0.0625),
    "momentum": Optimizer("momentum", learning_rate=0.125, momentum=0.75),
    "adam": Optimizer("adam", learning_rate=0.125),
}


@dataclass(frozen=True)
class Case:
    """One training.

    Parameters
    ----------
    value : str
        Of the scheme's entry point.
    constants : mapping
        The scheme's.
    optimizer : str
        Of :data:`OPTIMIZERS`.
    steps : int
        Of each rank; the last rank makes ``fewer`` less.
    elements, dtype
        Of the weights.
    slow_seconds : float
        How much longer each step of a rank takes than one of the rank before.
    """

    value: str
    constants: Mapping[str, float] = field(default_factory=dict)
    optimizer: str = "momentum"
    steps: int = 5
    fewer: int = 0
    elements: int = 23
    dtype: str = "float64"
    slow_seconds: float = 0.0

    @property
    def scheme(self) -> Scheme:
        usual: Scheme = load_plugin(self.value).benchmarker_scheme()
        return replace(usual, **self.constants)  # type: ignore[type-var]

    @property
    def start(self) -> Array:
        places = np.arange(self.elements)
        return ((places % 3 - 1) * (places % 2)).astype(self.dtype) / 4

    def gradient(self, rank: int, step: int, weights: Array) -> Array:
        """Return a rank's gradient, element by element: at the start every second one has the same, large magnitude."""
        places = np.arange(self.elements)
        is_tied = places % 2 == 0
        own = (places * 7 + rank * 5 + step * 3) % 11 - 5
        target = np.where(is_tied, 8 * (places % 4 - 1), own).astype(self.dtype) / 4
        steepness = np.where(is_tied, 2, 2 + (places + rank) % 3).astype(self.dtype) / 2
        return (weights - target) * steepness

    def steps_of(self, rank: int, ranks: int) -> int:
        return self.steps - self.fewer * (rank == ranks - 1)


class Trained:
    """Weights and the optimizer that moves them."""

    def __init__(self, case: Case, dtype: Any = None) -> None:
        self._optimizer = OPTIMIZERS[case.optimizer]
        self.weights = case.start.astype(dtype or case.dtype)
        self._whole = Equations(self._optimizer, {"w": self.weights})
        self._parts: dict[int, Equations] = {}

    def update(self, gradient: Array) -> None:
        self._whole({"w": gradient})

    def update_part(self, gradient: Array, part: slice) -> None:
        if part.start not in self._parts:
            self._parts[part.start] = Equations(self._optimizer, {"w": self.weights[part]})
        self._parts[part.start]({"w": gradient})

    def moved(self, weights: Array, gradient: Array) -> Array:
        """Return the weights after one update of others."""
        self.weights[...] = weights
        self.update(gradient)
        return self.weights.copy()

    @property
    def replica(self) -> Replica:
        return Replica(self.weights, self.update, self.update_part)


def by_definition(case: Case, ranks: int) -> Array:
    """Return the weights of all ranks after each step, by the scheme's model in float64."""
    model = case.scheme.model(ranks)
    replicas = [Trained(case, np.float64) for _ in range(ranks)]
    weights = np.stack([one.weights for one in replicas])
    found = []
    for step in range(case.steps):
        gradients = np.stack([case.gradient(rank, step, weights[rank]) for rank in range(ranks)])
        weights = model.step(
            weights, gradients, lambda rank, own, gradient: replicas[rank].moved(own, gradient)
        )
        found.append(weights)
    return np.stack(found)


def write_cases(folder: Path, cases: Mapping[str, Case]) -> None:
    """Leave what ranks are to do."""
    described = {name: asdict(case) for name, case in cases.items()}
    (folder / CASES).write_text(json.dumps(described), encoding="utf-8")


def _train(case: Case, steps: RankSteps, trained: Trained, rank: int, ranks: int) -> Array:
    found = []
    for step in range(case.steps_of(rank, ranks)):
        time.sleep(case.slow_seconds * rank)
        steps.step(case.gradient(rank, step, trained.weights))
        found.append(trained.weights.copy())
    steps.end()
    return np.array(found)


def main(folder: Path) -> None:
    """Be a rank, or the server."""
    from benchmarker.distributed.mpi_communicator import MpiCommunicator

    cases = json.loads((folder / CASES).read_text(encoding="utf-8"))
    for name, described in cases.items():
        case = Case(**described)
        scheme = case.scheme
        communicator = MpiCommunicator(has_server=scheme.has_server)
        rank, ranks = communicator.rank, communicator.size
        trained = Trained(case)
        if rank == ranks:
            log = scheme.serve(trained.replica, communicator)
            rows = [(one.worker, one.step, one.read) for one in log]
            found: dict[str, Any] = {
                "log": np.array(rows, np.int64).reshape(-1, 3),
                "weights": trained.weights,
            }
            report: dict[str, Any] = {}
        else:
            steps = scheme.begin(trained.replica, communicator)
            found = {"weights": _train(case, steps, trained, rank, ranks)}
            report = steps.report()
        told = {"given": communicator.given_bytes, "sent": communicator.sent_bytes, "report": report}
        np.savez(
            folder / f"{name}_{rank}.npz", **found, told=json.dumps({**told, "seconds": communicator.seconds})
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
