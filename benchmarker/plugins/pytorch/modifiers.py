"""What is done around PyTorch's own optimizers: clipping, decay of some parameters, an average of weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarker.api.modifiers import OWN, Modifiers
from benchmarker.api.optimizer import Optimizer, rules

_OTHERS = {("adam", "decoupled"): "adamw", ("adamw", "coupled"): "adam"}
"""The optimizer that is another one with that kind of weight decay."""
_DECAYS, _AVERAGES = "benchmarker_decays", "benchmarker_averages"


def native_kind(optimizer: Optimizer) -> str:
    """Return the optimizer that decays in the kind that is asked for; empty if there is none."""
    kind, decay_kind = optimizer.kind, optimizer.modifiers.decay_kind
    if decay_kind in (OWN, rules()[kind].decay_kind) or not optimizer.weight_decay:
        return kind
    return _OTHERS.get((kind, decay_kind), "")


def grouped(parameters: Sequence[Any], undecayed: Sequence[Any]) -> Any:
    """Return parameters as PyTorch's optimizers take them: in a group of their own those that do not decay."""
    if not undecayed:
        return parameters
    left = {id(tensor) for tensor in undecayed}
    others = [tensor for tensor in parameters if id(tensor) not in left]
    alone: dict[str, Any] = {"params": list(undecayed), "weight_decay": 0.0, _DECAYS: False}
    return [{"params": others}, alone] if others else [alone]


def decays(group: dict[str, Any]) -> bool:
    """Tell whether parameters of a group decay."""
    return bool(group.get(_DECAYS, True))


def add_modifiers(native: Any, modifiers: Modifiers, parameters: Sequence[Any]) -> None:
    """Have an optimizer clip gradients before each of its steps, and average weights after it."""
    if modifiers.clip_norm:
        limit = modifiers.clip_norm
        native.register_step_pre_hook(lambda *_: clip_by_norm(parameters, limit))
    if modifiers.clip_value:
        from torch.nn.utils import clip_grad_value_

        native.register_step_pre_hook(lambda *_: clip_grad_value_(parameters, modifiers.clip_value))
    if modifiers.ema:
        _add_average(native, 1.0 - modifiers.ema, parameters)


def clip_by_norm(parameters: Sequence[Any], limit: float) -> None:
    """Scale all gradients down to a norm together; ``clip_grad_norm_`` does it to that less a share of 1e-6 / norm."""
    import torch

    gradients = [tensor.grad for tensor in parameters if tensor.grad is not None]
    norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients)))
    torch._foreach_mul_(gradients, torch.clamp(limit / norm, max=1.0))


def _add_average(native: Any, share: float, parameters: Sequence[Any]) -> None:
    import torch

    values = [tensor.detach() for tensor in parameters]
    averages = [value.clone() for value in values]
    setattr(native, _AVERAGES, averages)

    def follow(*_: Any) -> None:
        torch._foreach_lerp_(averages, values, share)

    native.register_step_post_hook(follow)


def averages_of(native: Any) -> list[Any]:
    """Return the averages of the weights of an optimizer that keeps them, in the order of its parameters."""
    found: list[Any] = getattr(native, _AVERAGES)
    return found
