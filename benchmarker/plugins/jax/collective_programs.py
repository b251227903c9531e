"""Collectives of JAX as benchmarks of their own: each a compiled program over a mesh of processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.collective import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    REDUCE_SCATTER,
    Collective,
    CollectiveProgram,
)
from benchmarker.api.world import World
from benchmarker.plugins.jax.distributed import AXIS, own

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


class JaxCollective(CollectiveProgram):
    """A collective over one device of each process.

    Parameters
    ----------
    collective : Collective
        Which one.
    world : World
        This rank's place.
    dtype : type
        Of the elements.
    """

    def __init__(self, collective: Collective, world: World, dtype: Any) -> None:
        import jax

        self._jax = jax
        self._is_double = np.dtype(dtype).itemsize > 4
        devices: dict[int, Any] = {}
        for device in jax.devices():
            devices.setdefault(device.process_index, device)
        mesh = jax.sharding.Mesh([devices[rank] for rank in sorted(devices)], AXIS)
        self._place = devices[world.rank]
        rows = jax.sharding.PartitionSpec(AXIS)
        self._spread = jax.sharding.NamedSharding(mesh, rows)
        self._shape = (world.size * collective.given(world.size),)
        exchange: Callable[[Any], Any] = {
            ALL_REDUCE: lambda own_rows: jax.lax.psum(own_rows, AXIS),
            ALL_GATHER: lambda own_rows: jax.lax.all_gather(own_rows, AXIS, tiled=True),
            REDUCE_SCATTER: lambda own_rows: jax.lax.psum_scatter(own_rows, AXIS, tiled=True),
            ALL_TO_ALL: lambda own_rows: jax.lax.all_to_all(own_rows, AXIS, 0, 0, tiled=True),
        }[collective.kind]
        mapped = jax.shard_map(exchange, mesh=mesh, in_specs=rows, out_specs=rows, check_vma=False)
        with jax.enable_x64(self._is_double):
            given = jax.ShapeDtypeStruct(self._shape, dtype, sharding=self._spread)
            self._compiled: Any = jax.jit(mapped).lower(given).compile()

    def load(self, vector: Array) -> Any:
        jax = self._jax
        with jax.enable_x64(self._is_double):
            local = jax.device_put(np.array(vector), self._place)
            return jax.make_array_from_single_device_arrays(self._shape, self._spread, [local])

    def run(self, given: Any) -> Any:
        return self._compiled(given)

    def synchronize(self, output: Any) -> None:
        output.block_until_ready()

    def fetch(self, output: Any) -> Array:
        return np.asarray(own(output))
