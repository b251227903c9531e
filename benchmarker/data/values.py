"""Weights and mini-batches from the seed: one algorithm, the same bytes under every NumPy and on every machine.

Only the raw stream of PCG64, whose stability NumPy guarantees, and exactly rounded arithmetic are used.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
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
    size = 4 * max(1, -(-int(seed).bit_length() // 32))
    words = int(seed).to_bytes(size, "little") + hashlib.sha256(name.encode()).digest()[:16]
    # Words of 32 bits, as SeedSequence itself makes them of integers, one by one.
    return np.random.PCG64(np.random.SeedSequence(np.frombuffer(words, "<u4").astype(np.uint32)))


def _normal(raw: Array, scale: float) -> Array:
    sums = raw.view(np.uint16).reshape(-1, 4).sum(axis=1, dtype=np.int32)
    factor = np.float32(scale / _NORMAL_DEVIATION)
    values: Array = (sums - np.int32(_NORMAL_MEAN)).astype(np.float32) * factor
    return values


def _uniform(raw: Array, low: float, high: float) -> Array:
    # In steps of 2**-23 of half the range, so that 0 can be hit in a symmetric one.
    signed = (raw >> np.uint64(40)).astype(np.int32) - np.int32(1 << 23)
    middle, half = (high + low) / 2.0, (high - low) / 2.0
    values: Array = signed.astype(np.float32) * np.float32(half / (1 << 23))
    return values + np.float32(middle) if middle else values


def _integers(raw: Array, bound: int) -> Array:
    values: Array = ((raw >> np.uint64(32)) * np.uint64(bound) >> np.uint64(32)).astype(np.int64)
    return values


def _raw(seed: int, name: str, count: int) -> Iterator[tuple[slice, Array]]:
    generator = _generator(seed, name)
    for start in range(0, count, _CHUNK):
        part = slice(start, min(start + _CHUNK, count))
        yield part, np.asarray(generator.random_raw(part.stop - start), np.uint64)


def _drawn(raw: Array, distribution: Distribution) -> Array:
    if distribution.kind == "normal":
        return _normal(raw, distribution.scale)
    if distribution.interval is not None:
        return _uniform(raw, *distribution.interval)
    if distribution.kind == "integers":
        first = int(distribution.low or 0)
        return _integers(raw, int(distribution.scale) - first) + first
    raise ValueError(f"unknown distribution '{distribution.kind}'")


def _one_hot(seed: int, name: str, type_: TensorType) -> Array:
    rows, classes = type_.elements // type_.shape[-1], type_.shape[-1]
    values = np.zeros((rows, classes), type_.dtype)
    for part, raw in _raw(seed, name, rows):
        values[np.arange(part.start, part.stop), _integers(raw, classes)] = 1
    return values


def _table(type_: TensorType, distribution: Distribution) -> Array:
    """Return a table of sines and cosines; computed one by one, because libraries of vectors round differently."""
    positions, features = type_.shape[-2:]
    width = features if distribution.kind == "sinusoidal" else 2 * features
    functions = {
        "sinusoidal": (math.sin, math.cos),
        "rotary_cosine": (math.cos,),
        "rotary_sine": (math.sin,),
    }[distribution.kind]
    frequencies = [distribution.scale ** (-2 * pair / width) for pair in range((width + 1) // 2)]
    rows = [
        [f(position * frequency) for frequency in frequencies for f in functions][:features]
        for position in range(positions)
    ]
    return np.broadcast_to(np.array(rows, type_.dtype), type_.shape)


def _fixed(seed: int, name: str, type_: TensorType, distribution: Distribution) -> Array | None:
    """Return what needs no stream of random numbers, or not one number per element."""
    if distribution.kind == "constant":
        return np.full(type_.shape, distribution.scale, type_.dtype)
    if distribution.kind == "values":
        return np.resize(np.array(distribution.values, type_.dtype), type_.shape)
    if distribution.kind == "stored":
        return np.array(np.load(distribution.source, allow_pickle=False), type_.dtype).reshape(type_.shape)
    if distribution.kind == "one_hot":
        return _one_hot(seed, name, type_)
    if distribution.kind in ("sinusoidal", "rotary_cosine", "rotary_sine"):
        return np.array(_table(type_, distribution))
    return None


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
    values = _fixed(seed, name, type_, distribution)
    if values is None:
        values = np.empty(type_.elements, type_.dtype)
        for part, raw in _raw(seed, name, values.size):
            values[part] = _drawn(raw, distribution)
    values = values.reshape(type_.shape)
    if distribution.probability < 1.0:
        _leave_out(seed, name, values, distribution)
    return values


def _leave_out(seed: int, name: str, values: Array, distribution: Distribution) -> None:
    flat = values.reshape(-1)
    for part, raw in _raw(seed, f"{name}/left out", flat.size):
        left_out = (raw >> np.uint64(11)).astype(np.float64) * 2.0**-53 >= distribution.probability
        flat[part][left_out] = distribution.otherwise


def draw_parameters(graph: Graph, seed: int) -> dict[str, Array]:
    """Draw every parameter of the graph, float32."""
    return {p.name: draw(seed, f"parameter/{p.name}", p.type, p.initializer) for p in graph.parameters}


def draw_batch(graph: Graph, seed: int) -> dict[str, Array]:
    return {i.name: draw(seed, f"batch/{i.name}", i.type, i.distribution) for i in graph.inputs}


def first_samples(batch: Mapping[str, Array], count: int) -> dict[str, Array]:
    """Return the first ``count`` samples of a mini-batch."""
    return {name: array[:count] for name, array in batch.items()}


def samples_at(batch: Mapping[str, Array], places: Array, counted: Mapping[str, int]) -> dict[str, Array]:
    """Return the samples that stand at some places of a mini-batch, in that order.

    Parameters
    ----------
    batch : mapping
        Arrays whose first axis counts samples.
    places : ndarray of int
        Any of them, as often as they are named.
    counted : mapping
        Inputs that number rows through the mini-batch, with how many rows a sample has; each sample then numbers its
        own where it stands now (:attr:`~benchmarker.graph.graph.Graph.counted`).
    """
    moved = np.arange(len(places)) - places
    return {name: _numbered(array[places], moved, counted.get(name, 0)) for name, array in batch.items()}


def part_of(
    batch: Mapping[str, Array], part: int, parts: int, counted: Mapping[str, int]
) -> dict[str, Array]:
    """Return one of so many equal parts of a mini-batch, without copying; see :func:`samples_at`.

    An array may have several rows for each sample, as the masks of a dropout between words do.

    Raises
    ------
    ValueError
        If the rows of an array do not go into so many parts.
    """
    found = {}
    for name, array in batch.items():
        each, rest = divmod(len(array), parts)
        if rest:
            raise ValueError(f"{len(array)} rows of '{name}' do not go into {parts} equal parts")
        start = part * each
        found[name] = _numbered(array[start : start + each], np.full(each, -start), counted.get(name, 0))
    return found


def _numbered(array: Array, moved: Array, rows: int) -> Array:
    """Return row numbers of samples that were moved by so many places."""
    if not rows:
        return array
    added: Array = (moved * rows).astype(array.dtype)
    return array + added.reshape(-1, *[1] * (array.ndim - 1))


def repeated_samples(
    batch: Mapping[str, Array], count: int, size: int, counted: Mapping[str, int]
) -> dict[str, Array]:
    """Return a mini-batch of ``size`` samples that are the first ``count``, again and again."""
    return samples_at(batch, np.arange(size) % count, counted)


def moved_samples(
    batch: Mapping[str, Array], shift: int, size: int, counted: Mapping[str, int]
) -> dict[str, Array]:
    """Return a mini-batch of ``size`` samples moved on by ``shift`` places, the last of them to the front."""
    return samples_at(batch, np.roll(np.arange(size), shift), counted)


def digest(arrays: Mapping[str, Array]) -> str:
    """Return the SHA-256 of names, types, shapes and little-endian bytes, in order of name."""
    total = hashlib.sha256()
    for name in sorted(arrays):
        array = np.asarray(arrays[name], order="C")
        little = array.astype(array.dtype.newbyteorder("<"), copy=False)
        total.update(f"{name} {little.dtype.str} {little.shape}\n".encode())
        total.update(little.reshape(-1).view(np.uint8).data)
    return f"sha256:{total.hexdigest()}"


def draw_order(seed: int, name: str, count: int) -> Array:
    """Return the numbers below ``count`` in an order that seed and name decide.

    Each gets a random 64-bit key and they are sorted by it, which is the same under every NumPy.
    """
    keys = np.asarray(_generator(seed, name).random_raw(count), np.uint64)
    order: Array = np.argsort(keys, kind="stable")
    return order


def index_digest(indices: Array) -> str:
    """Return the SHA-256 of indices as little-endian 64-bit integers, in their order."""
    return f"sha256:{hashlib.sha256(np.asarray(indices, '<i8').tobytes()).hexdigest()}"


def draw_indices(name: str, size: int, count: int) -> Array:
    """Return ``count`` indices below ``size``, repetitions possible, decided by the name alone."""
    raw = np.asarray(_generator(0, f"indices/{name}").random_raw(count), np.uint64)
    return _integers(raw, size)
