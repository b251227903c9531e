"""What a program gets and gives: problem parameters, weights by our names, the mini-batch, and its output."""

from __future__ import annotations

import json
import sys
from typing import Any, Callable

import numpy as np

Arrays = "dict[str, np.ndarray]"


class Weights:
    """Our parameters by name, which notes what was taken."""

    def __init__(self, arrays: Any) -> None:
        self._arrays = arrays
        self.taken: set = set()

    def __call__(self, name: str) -> Any:
        self.taken.add(name)
        return self._arrays[name]

    def left(self) -> list:
        """Return the names that nothing has asked for."""
        return sorted(set(self._arrays) - self.taken)


def serve(models: dict[str, Callable[[dict, Weights, dict], Any]]) -> None:
    """Run the model named on the command line: ``problem values.json in.npz out.npy``."""
    problem, values, source, target = sys.argv[1:]
    with np.load(source) as archive:
        arrays = {name: archive[name] for name in archive.files}
    weights = Weights({k.partition("/")[2]: v for k, v in arrays.items() if k.startswith("parameter/")})
    batch = {k.partition("/")[2]: v for k, v in arrays.items() if k.startswith("batch/")}
    output = models[problem](json.loads(values), weights, batch)
    if weights.left():
        raise SystemExit(f"their model has no place for {weights.left()}")
    np.save(target, np.asarray(output, np.float64))
