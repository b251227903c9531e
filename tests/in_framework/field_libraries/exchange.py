"""What a program gets and gives: problem parameters, weights by our names, the mini-batch, and its output."""

from __future__ import annotations

import json
import os
import sys
import traceback
from typing import TYPE_CHECKING, Any, Callable

import numpy as np

if TYPE_CHECKING:
    Models = dict[str, Callable[[dict[str, Any], "Weights", dict[str, Any]], Any]]


class Weights:
    """Our parameters by name, which notes what was taken."""

    def __init__(self, arrays: Any) -> None:
        self._arrays = arrays
        self.taken: set[str] = set()

    def __call__(self, name: str) -> Any:
        self.taken.add(name)
        return self._arrays[name]

    def left(self) -> list[str]:
        """Return the names that nothing has asked for."""
        return sorted(set(self._arrays) - self.taken)


def serve(models: Models) -> None:
    """Run a model for each line of the input, ``["problem", {values}, "in.npz", "out.npy"]``; answer why not, if so.

    What libraries print goes to the standard error.
    """
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        why = ""
        try:
            _run(models, *json.loads(line))
        except BaseException:
            why = traceback.format_exc()
        print(json.dumps(why), file=answers, flush=True)


def _run(models: Models, problem: str, values: dict[str, Any], source: str, target: str) -> None:
    with np.load(source) as archive:
        arrays = {name: archive[name] for name in archive.files}
    weights = Weights({k.partition("/")[2]: v for k, v in arrays.items() if k.startswith("parameter/")})
    batch = {k.partition("/")[2]: v for k, v in arrays.items() if k.startswith("batch/")}
    output = models[problem](values, weights, batch)
    if weights.left():
        raise SystemExit(f"their model has no place for {weights.left()}")
    np.save(target, np.asarray(output, np.float64))
