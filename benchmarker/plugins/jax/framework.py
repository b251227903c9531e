"""JAX itself, inside the worker."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from benchmarker.api.framework import Device, Framework
from benchmarker.api.optimizer import Optimizer
from benchmarker.api.program import Program
from benchmarker.errors import UnsupportedError
from benchmarker.graph.graph import Graph
from benchmarker.plugins.jax import Options, devices, distributed
from benchmarker.plugins.jax.operators import JaxOperators
from benchmarker.plugins.jax.program import PRECISIONS, JaxProgram

if TYPE_CHECKING:
    import numpy.typing as npt

    from benchmarker.api.world import World

    Array = npt.NDArray[np.generic]


class Jax(Framework):
    """JAX; the constructor imports it and starts none of its threads."""

    operators = JaxOperators
    _started_with: ClassVar[int | None] = None

    def __init__(self) -> None:
        import jax

        self._jax: Any = jax
        self._seed = 0
        self._exchanges = False
        self._platform: dict[str, str] = {}

    def version(self) -> str:
        return str(self._jax.__version__)

    def configure(self, device: Device, *, threads: int, seed: int) -> str:
        if Jax._started_with not in (None, threads):
            raise UnsupportedError(
                f"JAX takes its number of threads once in a process, {Jax._started_with}, not {threads} now"
            )
        Jax._started_with = threads
        # JAX has no call for it: XLA reads this variable when its first device is asked for.
        os.environ["NPROC"] = str(threads)
        self._seed = seed
        place = devices.start(device)
        self._platform = devices.platform_of(place)
        return devices.name_of(place)

    def join(self, world: World, scheme: str) -> None:
        distributed.join(world)
        self._exchanges = True

    def leave(self) -> None:
        distributed.leave()

    def build(
        self,
        graph: Graph,
        parameters: Mapping[str, Array],
        *,
        mode: str,
        device: Device,
        precision: str,
        optimizer: Optimizer,
        options: Any,
    ) -> Program:
        if precision not in PRECISIONS:
            raise UnsupportedError(f"JAX runs {', '.join(PRECISIONS)}, not precision '{precision}'")
        made = distributed.RankProgram if self._exchanges and mode == "training" else JaxProgram
        return made(
            graph,
            parameters,
            mode=mode,
            place=devices.place_of(device),
            precision=precision,
            optimizer=optimizer,
            options=options if isinstance(options, Options) else Options(),
            seed=self._seed,
        )

    def libraries(self) -> dict[str, str]:
        import jaxlib.version

        return {"jaxlib": str(jaxlib.version.__version__), **self._platform}

    def out_of_memory_signs(self) -> Sequence[str]:
        return ("RESOURCE_EXHAUSTED", "Out of memory")
