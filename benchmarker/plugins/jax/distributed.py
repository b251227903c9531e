"""Ranks of JAX: how they meet, steps of all of them in one compiled program, and what each has of its arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.world import World
from benchmarker.errors import UnsupportedError
from benchmarker.plugins.jax.collectives import exchanged_bytes
from benchmarker.plugins.jax.optimizers import Arrays
from benchmarker.plugins.jax.program import JaxProgram
from benchmarker.plugins.jax.steps import Batch, MutableState, State, Steps
from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[np.generic]

AXIS = "ranks"
_SILENCE_SECONDS, _LEAVING_SECONDS = 20, 60
"""After which a rank that is not heard of is taken for dead, and after which none waits for others to leave."""


def join(world: World) -> None:
    """Meet the other ranks.

    Raises
    ------
    UnsupportedError
        If they do not come.
    """
    import jax

    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    try:
        jax.distributed.initialize(
            world.addresses[0],
            world.size,
            world.rank,
            initialization_timeout=math.ceil(world.timeout),
            heartbeat_timeout_seconds=_SILENCE_SECONDS,
            shutdown_timeout_seconds=_LEAVING_SECONDS,
            coordinator_bind_address=world.addresses[0],
            cluster_detection_method="deactivate",
        )
    except RuntimeError as error:
        raise UnsupportedError(f"JAX's ranks did not meet at {world.addresses[0]}: {error}") from error


def leave() -> None:
    """Leave the other ranks."""
    import jax

    jax.distributed.shutdown()


def own(tree: Any) -> Any:
    """Return what is on this rank of arrays that all ranks hold together."""
    import jax

    return jax.tree.map(lambda array: array.addressable_data(0), tree)


def mean_of_ranks(tree: Any) -> Any:
    """Return the means over ranks of arrays, which go as one vector of each type.

    Gloo exchanges each operand of an all-reduce by itself, and small ones take as long as large ones.
    """
    import jax

    leaves, structure = jax.tree.flatten(tree)
    means: dict[int, Any] = {}
    for dtype in dict.fromkeys(leaf.dtype for leaf in leaves):
        places = [place for place, leaf in enumerate(leaves) if leaf.dtype == dtype]
        whole = jax.numpy.concatenate([leaves[place].ravel() for place in places])
        ends = np.cumsum([leaves[place].size for place in places])[:-1].tolist()
        parts = jax.numpy.split(jax.lax.pmean(whole, AXIS), ends)
        means.update((place, part.reshape(leaves[place].shape)) for place, part in zip(places, parts))
    return jax.tree.unflatten(structure, [means[place] for place in range(len(leaves))])


@dataclass(frozen=True)
class RankSteps(Steps):
    """Steps of all ranks: each goes forward and backward with its own rows, and all take the mean of the gradients.

    Parameters
    ----------
    mesh : jax.sharding.Mesh
        A device of each rank.
    """

    mesh: Any = None

    def differentiate(
        self, trained: Arrays, moved: MutableState, fixed: Arrays, batch: Batch, *, dropout: bool = True
    ) -> tuple[Any, dict[str, Any], MutableState]:

        def own_rows(
            trained: Arrays, moved: MutableState, fixed: Arrays, batch: Batch
        ) -> tuple[Any, dict[str, Any], MutableState]:
            value, gradients, moved = self._own(trained, moved, fixed, batch, dropout)
            value, gradients = mean_of_ranks((value, gradients))
            return value, gradients, moved

        same, rows = self._specs()
        found: tuple[Any, dict[str, Any], MutableState] = self._mapped(
            own_rows, (same, same, same, rows), same
        )(trained, moved, fixed, batch)
        return found

    def accumulate(
        self, trained: Arrays, moved: MutableState, sums: tuple[Any, Arrays], fixed: Arrays, batch: Batch
    ) -> tuple[tuple[Any, Arrays], MutableState]:
        """Return each rank's own sums, with one more each."""
        import jax

        def own_rows(
            trained: Arrays, moved: MutableState, sums: tuple[Any, Arrays], fixed: Arrays, batch: Batch
        ) -> tuple[Any, MutableState]:
            loss, gradients, moved = self._own(trained, moved, fixed, batch, True)
            return jax.tree.map(lambda total, more: total + more[None], sums, (loss, gradients)), moved

        same, rows = self._specs()
        found: tuple[tuple[Any, Arrays], MutableState] = self._mapped(
            own_rows, (same, same, rows, same, rows), (rows, same)
        )(trained, moved, sums, fixed, batch)
        return found

    def apply_mean(
        self, state: State, constants: Any, sums: tuple[Any, Arrays], count: Any
    ) -> tuple[Any, State]:
        import jax

        def exchanged(sums: Any) -> Any:
            return mean_of_ranks(jax.tree.map(lambda total: total[0], sums))

        same, rows = self._specs()
        return super().apply_mean(state, constants, self._mapped(exchanged, (rows,), same)(sums), count)

    def no_sums(self, trained: Arrays) -> tuple[Any, Arrays]:
        import jax

        _, rows = self._specs()
        ranks = (self.mesh.size,)
        sums = super().no_sums(
            {name: jax.ShapeDtypeStruct((*ranks, *p.shape), p.dtype) for name, p in trained.items()}
        )
        sums = jax.numpy.zeros(ranks, self.precision.exact), sums[1]
        placed: tuple[Any, Arrays] = jax.lax.with_sharding_constraint(
            sums, jax.sharding.NamedSharding(self.mesh, rows)
        )
        return placed

    def _own(
        self, trained: Arrays, moved: MutableState, fixed: Arrays, batch: Batch, dropout: bool
    ) -> tuple[Any, dict[str, Any], MutableState]:
        """Return value and gradients of a rank's own rows, its masks apart from those of the others."""
        import jax

        if moved.key is None or not dropout:
            return super().differentiate(trained, moved, fixed, batch, dropout=False)
        key, step_key = jax.random.split(moved.key)
        masks = moved._replace(key=jax.random.fold_in(step_key, jax.lax.axis_index(AXIS)))
        value, gradients, after = super().differentiate(trained, masks, fixed, batch)
        return value, gradients, after._replace(key=key)

    def _mapped(self, body: Any, given: Any, returned: Any) -> Any:
        import jax

        return jax.shard_map(body, mesh=self.mesh, in_specs=given, out_specs=returned, check_vma=False)

    @staticmethod
    def _specs() -> tuple[Any, Any]:
        """Return how what all ranks have alike is spread, and how what each has its own rows of."""
        from jax.sharding import PartitionSpec

        return PartitionSpec(), PartitionSpec(AXIS)


class RankProgram(JaxProgram):
    """A program that trains with all ranks; of each array of its steps it holds what is on this rank."""

    def _made_steps(self, steps: Steps) -> Steps:
        jax = self._jax
        devices: dict[int, Any] = {}
        for device in jax.devices(self._place.platform):
            devices.setdefault(device.process_index, device)
        devices[self._place.process_index] = self._place
        self._mesh = jax.sharding.Mesh([devices[rank] for rank in sorted(devices)], AXIS)
        given = {field.name: getattr(steps, field.name) for field in fields(steps)}
        return RankSteps(**{**given, "axis": AXIS, "mesh": self._mesh})

    def _placed(self, tree: Any) -> Any:
        jax = self._jax
        spread = jax.sharding.NamedSharding(self._mesh, jax.sharding.PartitionSpec())
        local = jax.device_put(tree, self._place)
        # Not by device_put, which asks all ranks whether they give the same.
        return jax.tree.map(
            lambda array: jax.make_array_from_single_device_arrays(array.shape, spread, [array]), local
        )

    def load(self, batch: Mapping[str, Array]) -> Any:
        jax = self._jax
        local = own(super().load(batch))
        return tuple(
            jax.make_array_from_single_device_arrays(shape.shape, shape.sharding, [array])
            for shape, array in zip(self._shapes(), local)
        )

    def infer(self, batch: Any) -> Any:
        return self._infer(own(self._all()), own(batch))

    @cached_property
    def _infer(self) -> Callable[..., Any]:
        return self._compiled(self._steps.infer, (), own(self._all()), super()._shapes())

    def _shapes(self) -> tuple[Any, ...]:
        jax = self._jax
        spread = jax.sharding.NamedSharding(self._mesh, jax.sharding.PartitionSpec(AXIS))
        return tuple(
            jax.ShapeDtypeStruct((self._mesh.size * a.shape[0], *a.shape[1:]), a.dtype, sharding=spread)
            for a in super()._shapes()
        )

    def exchanged(self) -> dict[str, int]:
        compiled: Any = self._train
        return exchanged_bytes(compiled.as_text())
