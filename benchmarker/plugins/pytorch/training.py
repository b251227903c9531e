"""The training step and the gradients of a lowered loss, with PyTorch's autograd and optimizers."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarker.framework import Optimizer

FP16_LOSS_SCALE = 1024.0
"""Start of the loss scale in fp16. PyTorch's own, 65536, overflows at first and then skips updates."""


def make_optimizer(optimizer: Optimizer, parameters: Sequence[Any]) -> Any:
    """Return PyTorch's own optimizer in the form that it runs fastest.

    Fused, one kernel updates all parameters. On a CPU it copies those that are not contiguous
    (convolutions in ``channels_last``), which costs plain SGD more than fusing saves, but not Adam.
    """
    from torch import optim

    o = optimizer
    adam = {"betas": (o.beta1, o.beta2), "eps": o.epsilon}
    makers: dict[str, Callable[..., Any]] = {
        "sgd": optim.SGD,
        "momentum": functools.partial(optim.SGD, momentum=o.momentum),
        "nesterov": functools.partial(optim.SGD, momentum=o.momentum, nesterov=True),
        "adam": functools.partial(optim.Adam, **adam),
        "adamw": functools.partial(optim.AdamW, **adam),
        "rmsprop": functools.partial(optim.RMSprop, alpha=o.decay, eps=o.epsilon),
        "adagrad": functools.partial(optim.Adagrad, eps=o.epsilon),
    }
    make = functools.partial(makers[o.kind], parameters, lr=o.learning_rate, weight_decay=o.weight_decay)
    if o.kind in ("adam", "adamw") or all(tensor.is_cuda or tensor.is_contiguous() for tensor in parameters):
        return _fused(make)
    return make()


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


@dataclass(frozen=True)
class TrainingSteps:
    """One step in its three forms: as a whole, as a generator that stops after each part, over micro-batches."""

    whole: Callable[..., Any]
    parts: Callable[..., Iterator[tuple[str, Any]]]
    micro: Callable[[Sequence[Any]], Any]


def micro_training_step(
    loss_of: Callable[..., Any], optimizer: Any, scaler: Any = None
) -> Callable[[Sequence[Any]], Any]:
    """Return the step over several micro-batches: their gradients add up in place, then one update.

    Each loss is divided by their number before it goes backward, so that what adds up is the mean.
    """

    def step(batches: Sequence[Any]) -> Any:
        optimizer.zero_grad()
        total = None
        for batch in batches:
            loss = loss_of(*batch) / len(batches)
            (loss if scaler is None else scaler.scale(loss)).backward()
            total = loss.detach() if total is None else total + loss.detach()
        if scaler is None:
            optimizer.step()
        else:
            scaler.step(optimizer)
            scaler.update()
        return total

    return step


def gradient_step(
    value_of: Callable[..., Any], parameters: Sequence[Any], upstream: int
) -> Callable[..., tuple[Any, Any]]:
    """Return the step that goes forward and backward and updates nothing.

    Parameters
    ----------
    value_of : callable
        The loss of a mini-batch, or its outputs.
    parameters : sequence of torch.Tensor
        With respect to which.
    upstream : int
        How many tensors at the end of the mini-batch are gradients of the outputs; 0 with a loss.
    """
    import torch

    differentiate = torch.autograd.grad

    def step_of_loss(*batch: Any) -> tuple[Any, Any]:
        loss = value_of(*batch)
        return loss, differentiate(loss, parameters, allow_unused=True)

    def step_of_outputs(*batch: Any) -> tuple[Any, Any]:
        outputs = value_of(*batch)
        return outputs, differentiate(outputs, parameters, batch[-upstream:], allow_unused=True)

    return step_of_outputs if upstream else step_of_loss


def contracted(outputs_of: Callable[..., Any], upstream: int) -> Callable[..., Any]:
    """Return the sum of the products of outputs and the gradients of them, which end the mini-batch."""

    def loss_of(*batch: Any) -> Any:
        outputs = outputs_of(*batch)
        each = outputs if isinstance(outputs, tuple) else (outputs,)
        return sum((output * seed).sum() for output, seed in zip(each, batch[-upstream:]))

    return loss_of


def loss_scaler(device: str) -> Any:
    """Return what scales the loss in fp16, whose small gradients would vanish."""
    import torch

    return torch.amp.GradScaler(device, init_scale=FP16_LOSS_SCALE)


def scaled_training_step(loss_of: Callable[..., Any], optimizer: Any, scaler: Any) -> Callable[..., Any]:
    """Return the step for fp16."""

    def step(*batch: Any) -> Any:
        optimizer.zero_grad()
        loss = loss_of(*batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss

    return step


def training_parts(
    loss_of: Callable[..., Any], optimizer: Any, scaler: Any = None
) -> Callable[..., Iterator[tuple[str, Any]]]:
    """Return the same step as a generator that stops after each part; ``scaler`` as for fp16."""

    def parts(*batch: Any) -> Iterator[tuple[str, Any]]:
        optimizer.zero_grad()
        loss = loss_of(*batch)
        yield "forward", loss
        (loss if scaler is None else scaler.scale(loss)).backward()
        yield "backward", loss
        if scaler is None:
            optimizer.step()
        else:
            scaler.step(optimizer)
            scaler.update()
        yield "update", loss

    return parts


def loss_and_gradients(
    loss_of: Callable[..., Any], parameters: Sequence[Any], state: Sequence[Any], scaler: Any = None
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
    scaler : torch.amp.GradScaler, optional
        That of the training step. Its scale is lowered, as the scaler itself would do in steps that it
        skips, until the gradients are finite.
    """
    import torch

    def scaled(scale: float, batch: Sequence[Any]) -> tuple[Any, list[Any]]:
        before = [tensor.clone() for tensor in state]
        loss = loss_of(*batch)
        found = torch.autograd.grad(loss * scale, parameters, allow_unused=True)
        for tensor, value in zip(state, before):
            tensor.copy_(value)
        return loss, [
            torch.zeros_like(parameter) if gradient is None else gradient / scale
            for parameter, gradient in zip(parameters, found)
        ]

    def gradients(*batch: Any) -> tuple[Any, list[Any]]:
        if scaler is None:
            return scaled(1.0, batch)
        loss, found = scaled(scaler.get_scale(), batch)
        while scaler.get_scale() > 1.0 and not all(bool(gradient.isfinite().all()) for gradient in found):
            lowered = scaler.get_scale() * scaler.get_backoff_factor()
            scaler.load_state_dict({**scaler.state_dict(), "scale": lowered})
            loss, found = scaled(lowered, batch)
        return loss, found

    return gradients
