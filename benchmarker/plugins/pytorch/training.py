"""The training step and the gradients of a lowered loss, with PyTorch's autograd and optimizers."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from benchmarker.framework import Optimizer

FP16_LOSS_SCALE = 1024.0
"""Start of the loss scale in fp16. PyTorch's own, 65536, overflows at first and then skips updates."""


def make_optimizer(optimizer: Optimizer, parameters: Sequence[Any]) -> Any:
    """Return PyTorch's own optimizer in the form that it runs fastest.

    Fused, one kernel updates all parameters. On a CPU it copies those that are not contiguous
    (convolutions in ``channels_last``), which costs plain SGD more than fusing saves, but not Adam.
    """
    import torch

    rate = optimizer.learning_rate
    if optimizer.kind == "adam":
        betas = (optimizer.beta1, optimizer.beta2)
        return _fused(functools.partial(torch.optim.Adam, parameters, rate, betas, optimizer.epsilon))
    momentum = optimizer.momentum if optimizer.kind == "momentum" else 0.0
    sgd = functools.partial(torch.optim.SGD, parameters, rate, momentum)
    return _fused(sgd) if all(tensor.is_cuda or tensor.is_contiguous() for tensor in parameters) else sgd()


def _fused(make: Callable[..., Any]) -> Any:
    try:
        return make(fused=True)
    except (TypeError, RuntimeError):
        return make()  # PyTorch before 2.4 has no fused update on a CPU.


def training_step(loss_of: Callable[..., Any], optimizer: Any) -> Callable[..., Any]:
    """Return the step: forward, loss, backward, update; it returns the loss before the update."""

    def step(*batch: Any) -> Any:
        optimizer.zero_grad()
        loss = loss_of(*batch)
        loss.backward()
        optimizer.step()
        return loss

    return step


def scaled_training_step(loss_of: Callable[..., Any], optimizer: Any, device: str) -> Callable[..., Any]:
    """Return the step for fp16, whose small gradients need a scaled loss."""
    import torch

    scaler = torch.amp.GradScaler(device, init_scale=FP16_LOSS_SCALE)

    def step(*batch: Any) -> Any:
        optimizer.zero_grad()
        loss = loss_of(*batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss

    return step


def loss_and_gradients(
    loss_of: Callable[..., Any], parameters: Sequence[Any], state: Sequence[Any], scale: float
) -> Callable[..., tuple[Any, list[Any]]]:
    """Return the function that gives the loss and its gradients and changes nothing.

    Parameters
    ----------
    loss_of : callable
        The very function that the training step calls, so that what is verified is what is timed.
    parameters : sequence of torch.Tensor
        With respect to which.
    state : sequence of torch.Tensor
        What ``loss_of`` updates; it is put back.
    scale : float
        The loss is multiplied by it for the backward pass, the gradients divided.
    """
    import torch

    def gradients(*batch: Any) -> tuple[Any, list[Any]]:
        before = [tensor.clone() for tensor in state]
        loss = loss_of(*batch)
        found = torch.autograd.grad(loss * scale, parameters, allow_unused=True)
        for tensor, value in zip(state, before):
            tensor.copy_(value)
        return loss, [
            torch.zeros_like(parameter) if gradient is None else gradient / scale
            for parameter, gradient in zip(parameters, found)
        ]

    return gradients
