"""Inputs and parameters of an imported model in the graph under construction."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from benchmarker.graph.names import numbered_name
from benchmarker.graph.network import Network
from benchmarker.graph.onnx.reader.values import Known, Unsupported
from benchmarker.graph.recorder import Value
from benchmarker.graph.types import Distribution

MAX_VALUES = 2**20
"""Of a table computed while importing, which the graph itself carries."""
MAX_INT64 = np.iinfo(np.int64).max
_TYPES = {"f": "float32", "i": "int64", "u": "int64", "b": "bool"}
"""Element types in the graph by NumPy's kinds."""


class Declared:
    """The network, with names that are taken and the parameter that stands for each known array.

    Parameters
    ----------
    network : Network
        Under construction.
    reserved : iterable of str
        Names of the model that must stay as they are.
    """

    def __init__(self, network: Network, reserved: Iterable[str]) -> None:
        self.network = network
        self._reserved = frozenset(reserved)
        self._taken = set(self._reserved)
        self._parameters: dict[tuple[str, bool], Value] = {}

    def unused(self, name: str) -> str:
        """Return ``name``, with a number after it if it is taken."""
        return numbered_name(name, self._taken)

    def parameter(self, known: Known, trained: bool | None = None) -> Value:
        """Return the parameter that holds a known array; integers of any size are int64.

        Parameters
        ----------
        known : Known
            The array.
        trained : bool, optional
            Whether training moves it; as the array says, if not given.

        Raises
        ------
        Unsupported
            If it holds nothing, texts, or too many numbers to carry.
        """
        if not known.array.size:
            raise Unsupported("over an array without elements")
        if known.array.dtype == np.uint64 and known.array.max() > MAX_INT64:
            # The same bits, of which the graph's operators on bits make the same.
            known = replace(known, array=known.array.view(np.int64), source=None)
        trained = known.trained if trained is None else trained
        key = (known.name, trained)
        if key not in self._parameters:
            if known.array.dtype.kind not in _TYPES:
                raise Unsupported(f"over constants of the type {known.array.dtype}")
            dtype = _TYPES[known.array.dtype.kind]
            free = known.name in self._reserved and (known.name, not trained) not in self._parameters
            name = known.name if free else self.unused(known.name)
            self._parameters[key] = self.network.parameter(
                name, known.array.shape, _distribution(known), trained and dtype == "float32", dtype
            )
        return self._parameters[key]


def _distribution(known: Known) -> Distribution:
    flat = known.array.reshape(-1)
    if known.source is not None:
        return Distribution("stored", source=str(known.source))
    if flat.size and np.all(flat == flat[0]):
        return Distribution("constant", float(flat[0]))
    if flat.size > MAX_VALUES:
        raise Unsupported(f"with a table of {flat.size} computed numbers")
    return Distribution("values", values=tuple(float(value) for value in flat))
