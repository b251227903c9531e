"""Ranks of Keras over JAX: variables and mini-batches are placed by ``keras.distribution.DataParallel``.

Keras compiles one step of the whole mini-batch, and XLA parts it among the ranks: it adds up each gradient
by an all-reduce of its own, and statistics of batch normalization where they are taken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.framework import Device
from benchmarker.graph.graph import Graph
from benchmarker.plugins.jax.collectives import exchanged_bytes
from benchmarker.plugins.jax.distributed import own
from benchmarker.plugins.keras.program import KerasProgram
from benchmarker.plugins.keras.steps import Batch
from benchmarker.plugins.keras.steps_jax import JaxSteps

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


def distribution() -> Any:
    """Return the distribution over the devices of all ranks, which have met."""
    from keras.distribution import DataParallel, list_devices

    return DataParallel(devices=list_devices())


def seed_of_all(seed: int) -> int:
    """Return the first rank's: one draws the masks of all rows, and each rank has those of its own."""
    from jax.experimental.multihost_utils import broadcast_one_to_all

    return int(broadcast_one_to_all(np.uint32(seed)))


class RankSteps(JaxSteps):
    """Steps of all ranks: they hold the same variables, and of a mini-batch each its own rows."""

    def __init__(self, model: Any, upstream: int, device: Device) -> None:
        from keras.distribution import distribution as in_force

        super().__init__(model, upstream, device)
        self._mesh = in_force().device_mesh.backend_mesh
        self._parts: int | None = None

    def predict(self, batch: Batch) -> Batch:
        return tuple(own(output) for output in super().predict(batch))

    def train_micro(self, batches: Sequence[Batch]) -> Any:
        self._parts = len(batches)
        return super().train_micro(batches)

    def set_variable(self, variable: Any, value: Any) -> None:
        super().set_variable(variable, *self._placed([np.asarray(value, variable.dtype)]))

    def _placed(self, arrays: list[Array]) -> list[Any]:
        """Return arrays that all ranks have; Keras' own way asks all of them whether they give the same."""
        import jax

        sharding, spec = jax.sharding.NamedSharding, jax.sharding.PartitionSpec
        return [
            jax.make_array_from_process_local_data(sharding(self._mesh, spec(*[None] * a.ndim)), a)
            for a in arrays
        ]

    def exchanged(self, batch: Batch) -> dict[str, int]:
        """Return the bytes that a step of the kind that was made last gives to each kind of collective.

        Parameters
        ----------
        batch : tuple
            Shapes of what a step takes.
        """
        import jax

        state = self._state("training")
        if self._parts is None:
            kept = jax.tree.map(lambda array: array.sharding, state)
            step = jax.jit(self._whole("training"), donate_argnums=0, out_shardings=(None, kept))
            return exchanged_bytes(step.lower(state, batch).compile().as_text())
        trainable, others, optimizer, _ = state
        first = self._accumulate.lower(trainable, others, None, batch).compile()  # type: ignore[attr-defined]
        sums, moved = jax.tree.map(
            lambda array, sharding: jax.ShapeDtypeStruct(array.shape, array.dtype, sharding=sharding),
            first.out_info,
            first.output_shardings,
        )
        more = self._accumulate.lower(trainable, moved, sums, batch).compile()  # type: ignore[attr-defined]
        last = self._apply_mean.lower(trainable, optimizer, sums, 1.0).compile()  # type: ignore[attr-defined]
        found: Counter[str] = Counter()
        for compiled, count in ((first, 1), (more, self._parts - 1), (last, 1)):
            found.update({kind: count * size for kind, size in exchanged_bytes(compiled.as_text()).items()})
        return dict(found)


class RankProgram(KerasProgram):
    """A program of all ranks' rows that is given each rank's own."""

    _steps: RankSteps

    def __init__(self, graph: Graph, parameters: Mapping[str, Array], **settings: Any) -> None:
        self._distribution = distribution()
        with self._distribution.scope():
            super().__init__(graph, parameters, **settings)

    def _loaded(self, array: Array) -> Any:
        import jax

        # As ``fit`` gives each mini-batch to the distribution. What a checkpoint has never comes here.
        layout = self._distribution.get_data_layout(array.shape).backend_layout
        return jax.make_array_from_process_local_data(layout, array)

    def exchanged(self) -> dict[str, int]:
        import jax

        shapes: list[Any] = []
        for declared in self._graph.inputs:
            shape = tuple(declared.type.shape[axis] for axis in self._binding.orders[declared.name])
            layout = self._distribution.get_data_layout(shape).backend_layout
            dtype = self._copied(np.zeros(0, declared.type.dtype)).dtype
            shapes.append(jax.ShapeDtypeStruct(shape, dtype, sharding=layout))
        return self._steps.exchanged(tuple(shapes))
