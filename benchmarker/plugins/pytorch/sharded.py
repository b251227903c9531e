"""Ranks of PyTorch that hold a part of each parameter: ``fully_shard``, its FSDP2."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from benchmarker.api.optimizer import Optimizer
from benchmarker.errors import UnsupportedError
from benchmarker.plugins.pytorch.program import TrainingProgram
from benchmarker.plugins.pytorch.tensors import Tensors
from benchmarker.plugins.pytorch.training import make_optimizer, state_of

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


class ShardedLoss:
    """A loss whose parameters are sharded over ranks; a forward pass gathers them, a backward pass scatters gradients.

    Parameters
    ----------
    function : callable
        The loss of all native tensors and a rank's own rows.
    tensors : Tensors
        The parameters as they start; running statistics stay each rank's own.

    Raises
    ------
    UnsupportedError
        If a parameter cannot be sharded.
    """

    def __init__(self, function: Callable[..., Any], tensors: Tensors) -> None:
        import torch
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        numbers = {id(tensor): number for number, tensor in enumerate(tensors.trainable)}
        order = [(numbers.get(id(tensor)), tensor) for tensor in tensors.all]

        class Loss(torch.nn.Module):  # type: ignore[misc]
            def __init__(self) -> None:
                super().__init__()
                for number, tensor in enumerate(tensors.trainable):
                    self.register_parameter(_name(number), torch.nn.Parameter(_whole(tensor)))

            def forward(self, *batch: Any) -> Any:
                given = (t if number is None else getattr(self, _name(number)) for number, t in order)
                return function(*given, *batch)

        mesh = init_device_mesh("cpu", (torch.distributed.get_world_size(),))
        try:
            self._loss: Any = fully_shard(Loss(), mesh=mesh)
        except ValueError as error:
            raise UnsupportedError(f"PyTorch's fully_shard cannot have these parameters: {error}") from error
        self._whole = tensors.trainable
        self.parameters: list[Any] = [getattr(self._loss, _name(n)) for n in range(len(self._whole))]
        size = sum(tensor.numel() * tensor.element_size() for tensor in self._whole)
        self.exchanged = {"all-gather": size // mesh.size(), "reduce-scatter": size}

    def __call__(self, *batch: Any) -> Any:
        return self._loss(*batch)

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Surround passes whose gradients add up, and are not scattered."""
        self._loss.set_requires_gradient_sync(False)
        yield
        self._loss.set_requires_gradient_sync(True)

    def collect(self) -> None:
        """Bring the whole parameters up to date; collective."""
        import torch

        with torch.no_grad():
            for whole, sharded in zip(self._whole, self.parameters):
                whole.copy_(sharded.full_tensor())

    def spread(self) -> None:
        """Give each rank its part of the whole parameters; collective."""
        import torch
        from torch.distributed.tensor import distribute_tensor

        with torch.no_grad():
            for whole, sharded in zip(self._whole, self.parameters):
                sharded.copy_(distribute_tensor(whole.detach(), sharded.device_mesh, sharded.placements))


def _whole(tensor: Any) -> Any:
    """Return a copy in the usual format of memory: of another one no tensor is cut."""
    import torch

    return tensor.detach().clone(memory_format=torch.contiguous_format)


def _name(number: int) -> str:
    return f"parameter_{number}"


def sharded_optimizer(
    chosen: Optimizer, loss: ShardedLoss, tensors: Tensors, undecayed: Sequence[Any]
) -> Any:
    """Return PyTorch's optimizer of what a rank holds."""
    held = dict(zip(map(id, tensors.trainable), loss.parameters))
    return make_optimizer(chosen, loss.parameters, [held[id(tensor)] for tensor in undecayed], fuses=False)


def whole_state(chosen: Optimizer, native: Any, loss: ShardedLoss) -> dict[str, list[Any]]:
    """Return the state tensors of all parameters, whole; collective."""
    found = state_of(chosen, native, loss.parameters)
    return {letter: [tensor.full_tensor() for tensor in tensors] for letter, tensors in found.items()}


class ShardedProgram(TrainingProgram):
    """Trains parameters of which this rank holds a part; all ranks make the same calls.

    Parameters
    ----------
    loss : ShardedLoss
        Holds them.
    further
        As of :class:`TrainingProgram`.
    """

    def __init__(self, loss: ShardedLoss, *further: Any) -> None:
        super().__init__(*further)
        self._sharded = loss

    def parameters(self) -> dict[str, Array]:
        self._sharded.collect()
        return super().parameters()

    def gradients(self, batch: tuple[Any, ...]) -> tuple[float, dict[str, Array]]:
        self._sharded.collect()
        return super().gradients(batch)

    def infer(self, batch: tuple[Any, ...]) -> Any:
        self._sharded.collect()
        return super().infer(batch)

    def assign(self, values: Mapping[str, Array]) -> None:
        self._sharded.collect()
        super().assign(values)
        self._sharded.spread()
