"""Weights and mini-batches from the seed: one algorithm, the same bytes under every NumPy and on every machine.

Only the raw stream of PCG64, whose stability NumPy guarantees, and exactly rounded arithmetic are used.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.graph.graph import Graph
from benchmarker.graph.types import Distribution, TensorType

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

_CHUNK = 1 << 20
# The sum of four uniform 16-bit integers: mean 2 * (2**16 - 1), variance 4 * (2**32 - 1) / 12.
_NORMAL_MEAN = 2 * (2**16 - 1)
_NORMAL_DEVIATION = math.sqrt((2**32 - 1) / 3)


def _generator(seed: int, name: str) -> np.random.PCG64:
    """Return a stream of its own for each name, so that adding one changes no other."""
    digest = hashlib.sha256(name.encode()).digest()
    words = [int.from_bytes(digest[i : i + 4], "little") for i in range(0, 16, 4)]
    return np.random.PCG64(np.random.SeedSequence([seed, *words]))


def _normal(raw: Array, scale: float) -> Array:
    sums = raw.view(np.uint16).reshape(-1, 4).sum(axis=1, dtype=np.int32)
    factor = np.float32(scale / _NORMAL_DEVIATION)
    values: Array = (sums - np.int32(_NORMAL_MEAN)).astype(np.float32) * factor
    return values


def _uniform(raw: Array, scale: float) -> Array:
    signed = (raw >> np.uint64(40)).astype(np.int32) - np.int32(1 << 23)
    values: Array = signed.astype(np.float32) * np.float32(scale / (1 << 23))
    return values


def _integers(raw: Array, bound: int) -> Array:
    values: Array = ((raw >> np.uint64(32)) * np.uint64(bound) >> np.uint64(32)).astype(np.int64)
    return values


def draw(seed: int, name: str, type_: TensorType, distribution: Distribution) -> Array:
    """Draw a tensor.

    Parameters
    ----------
    seed : int
        The run's seed.
    name : str
        The tensor's name; each has a stream of its own.
    type_ : TensorType
        Shape and element type, float32 or int64.
    distribution : Distribution
        ``normal`` is a sum of four 16-bit uniforms scaled to unit variance: it ends at 3.46 standard
        deviations, which neither weights nor inputs of a benchmark miss.

    Returns
    -------
    ndarray
        Of the given shape and type.
    """
    dtype = np.dtype(type_.dtype)
    if distribution.kind == "constant":
        return np.full(type_.shape, distribution.scale, dtype)
    values = np.empty(type_.elements, dtype)
    generator = _generator(seed, name)
    for start in range(0, values.size, _CHUNK):
        part = values[start : start + _CHUNK]
        raw = np.asarray(generator.random_raw(part.size), np.uint64)
        if distribution.kind == "normal":
            part[:] = _normal(raw, distribution.scale)
        elif distribution.kind == "uniform":
            part[:] = _uniform(raw, distribution.scale)
        elif distribution.kind == "integers":
            part[:] = _integers(raw, int(distribution.scale))
        else:
            raise ValueError(f"unknown distribution '{distribution.kind}'")
    return values.reshape(type_.shape)


def draw_parameters(graph: Graph, seed: int) -> dict[str, Array]:
    """Draw every parameter of the graph, float32."""
    return {p.name: draw(seed, f"parameter/{p.name}", p.type, p.initializer) for p in graph.parameters}


def draw_batch(graph: Graph, seed: int) -> dict[str, Array]:
    """Draw one mini-batch."""
    return {i.name: draw(seed, f"batch/{i.name}", i.type, i.distribution) for i in graph.inputs}


def first_samples(batch: Mapping[str, Array], count: int) -> dict[str, Array]:
    """Return the first ``count`` samples of a mini-batch."""
    return {name: array[:count] for name, array in batch.items()}


def digest(arrays: Mapping[str, Array]) -> str:
    """Return the SHA-256 of names, types, shapes and little-endian bytes, in order of name."""
    total = hashlib.sha256()
    for name in sorted(arrays):
        array = np.asarray(arrays[name], order="C")
        little = array.astype(array.dtype.newbyteorder("<"), copy=False)
        total.update(f"{name} {little.dtype.str} {little.shape}\n".encode())
        total.update(little.reshape(-1).view(np.uint8).data)
    return f"sha256:{total.hexdigest()}"


def draw_indices(name: str, size: int, count: int) -> Array:
    """Return ``count`` indices below ``size``, repetitions possible, decided by the name alone."""
    raw = np.asarray(_generator(0, f"indices/{name}").random_raw(count), np.uint64)
    return _integers(raw, size)
