"""Ranks of PyTorch: how they meet, and the loss whose backward pass exchanges gradients."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Any

from benchmarker.api.world import World
from benchmarker.plugins.pytorch.tensors import Tensors


def rank_variables(world: World, scheme: str) -> dict[str, str]:
    """Return the variables of ``torchrun``, and the interface that gloo must use."""
    return {
        "RANK": str(world.rank),
        "WORLD_SIZE": str(world.size),
        "LOCAL_RANK": str(world.rank),
        "MASTER_ADDR": world.meeting_host,
        "MASTER_PORT": str(world.meeting_port),
        "GLOO_SOCKET_IFNAME": world.interface,
    }


def join(world: World) -> None:
    """Meet the other ranks over gloo."""
    from torch import distributed

    distributed.init_process_group("gloo", timeout=timedelta(seconds=world.timeout))


def leave() -> None:
    from torch import distributed

    distributed.destroy_process_group()


def everywhere(holds: bool) -> bool:
    """Return whether what holds here holds on all ranks, which must all ask."""
    import torch
    from torch import distributed

    known = torch.tensor([float(holds)])
    distributed.all_reduce(known, op=distributed.ReduceOp.MIN)
    return bool(known.item())


class ExchangedLoss:
    """A loss in ``DistributedDataParallel``: going backward from it leaves every rank with the mean gradients.

    Parameters
    ----------
    loss_of : callable
        The loss of a rank's own rows.
    tensors : Tensors
        Its parameters; running statistics are buffers, which a forward pass takes from rank 0.
    """

    def __init__(self, loss_of: Callable[..., Any], tensors: Tensors) -> None:
        import torch
        from torch.nn.parallel import DistributedDataParallel

        class Loss(torch.nn.Module):  # type: ignore[misc]
            def __init__(self) -> None:
                super().__init__()
                for number, tensor in enumerate(tensors.trainable):
                    self.register_parameter(f"parameter_{number}", tensor)
                for number, tensor in enumerate(tensors.state):
                    self.register_buffer(f"buffer_{number}", tensor)

            def forward(self, *batch: Any) -> Any:
                return loss_of(*batch)

        self._loss: Any = DistributedDataParallel(Loss())
        self.exchanged = {"all-reduce": sum(t.numel() * t.element_size() for t in tensors.trainable)}

    def __call__(self, *batch: Any) -> Any:
        return self._loss(*batch)

    def quiet(self) -> AbstractContextManager[None]:
        """Return a context in which gradients add up and nothing is exchanged."""
        context: AbstractContextManager[None] = self._loss.no_sync()
        return context
