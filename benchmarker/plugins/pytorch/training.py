"""The training step and the gradients of a lowered loss, with PyTorch's autograd and optimizers."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.training_state import TrainingState
from benchmarker.api.update_rule import ParameterPlace, UpdateRule
from benchmarker.errors import UnsupportedError
from benchmarker.plugins.common.hyperparameters import Hyperparameters
from benchmarker.plugins.pytorch.composed import ComposedOptimizer
from benchmarker.plugins.pytorch.modifiers import averages_of, decays, grouped, native_kind
from benchmarker.quick_dataclass import dataclass
from benchmarker.training.optimizers.adafactor import MIN_SCALE
from benchmarker.training.optimizers.modified import AVERAGE

FP16_LOSS_SCALE = 1024.0
"""Start of the loss scale in fp16. PyTorch's own, 65536, overflows at first and then skips updates."""


def make_optimizer(
    optimizer: Optimizer,
    parameters: Sequence[Any],
    undecayed: Sequence[Any] = (),
    *,
    scaled: bool = False,
    fuses: bool = True,
) -> Any:
    """Return PyTorch's own optimizer in the form that it runs fastest.

    Fused, one kernel updates all parameters. On a CPU it copies those that are not contiguous
    (convolutions in ``channels_last``), which costs plain SGD more than fusing saves, but not Adam.

    Parameters
    ----------
    optimizer : Optimizer
        The equations.
    parameters : sequence of torch.Tensor
        What it updates.
    undecayed : sequence of torch.Tensor
        Those of them that do not decay.
    scaled : bool
        Whether a loss scaler makes its steps: to a fused one it leaves gradients scaled, so that none could be clipped.
    fuses : bool
        Whether it may be fused, which one of sharded parameters cannot.
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
        "adafactor": lambda *groups, **given: optim.Adafactor(*groups, **given, **_adafactor_constants(o)),
    }
    kind, groups = native_kind(o), grouped(parameters, undecayed)
    make = functools.partial(makers[kind], groups, lr=o.learning_rate, weight_decay=o.weight_decay)
    clips = o.modifiers.clip_norm or o.modifiers.clip_value
    fused = fuses and _runs_fused(kind, parameters) and not (scaled and clips)
    return _fused(make) if fused else make()


_FUSED_ON_GPU = frozenset({"sgd", "momentum", "nesterov", "adam", "adamw"})
"""AdaGrad's fused update is for a CPU alone, which PyTorch tells in the first step only."""


def _runs_fused(kind: str, parameters: Sequence[Any]) -> bool:
    if any(tensor.is_cuda for tensor in parameters):
        return kind in _FUSED_ON_GPU
    return kind in ("adam", "adamw") or all(tensor.is_contiguous() for tensor in parameters)


LETTERS: Mapping[str, Mapping[str, str]] = {
    "sgd": {},
    "momentum": {"v": "momentum_buffer"},
    "nesterov": {"v": "momentum_buffer"},
    "adam": {"m": "exp_avg", "v": "exp_avg_sq"},
    "adamw": {"m": "exp_avg", "v": "exp_avg_sq"},
    "rmsprop": {"s": "square_avg"},
    "adagrad": {"s": "sum"},
    "adafactor": {"r": "row_var", "c": "col_var", "v": "variance"},
}
"""PyTorch's name of each letter of the equations."""


MIN_ROOT = 1e-18
"""PyTorch's Adafactor bounds root mean squares by it from below, and a mean of squares, instead of adding 1e-30."""


def _adafactor_constants(optimizer: Optimizer) -> dict[str, Any]:
    return {"eps": (MIN_ROOT, MIN_SCALE), "d": vars(optimizer.rule)["clip"]}


def is_native(optimizer: Optimizer, places: Iterable[ParameterPlace] = ()) -> bool:
    """Tell whether PyTorch has an optimizer that computes the same for parameters.

    Parameters
    ----------
    optimizer : Optimizer
        The equations.
    places : iterable of ParameterPlace
        The parameters; without them, for any that stand as they do in the graph.
    """
    kind = native_kind(optimizer)
    return kind in LETTERS and (kind != "adafactor" or _has_adafactor(optimizer, places))


def _has_adafactor(optimizer: Optimizer, places: Iterable[ParameterPlace]) -> bool:
    """Tell whether PyTorch's Adafactor, which came with 2.5 and takes no smaller limit of an update than 1, is ours.

    Of a kernel of one by one each element is a matrix, and its square is bounded and multiplied by itself.
    """
    from torch import optim

    fits = hasattr(optim, "Adafactor") and vars(optimizer.rule)["clip"] >= 1.0
    return fits and not any(len(place.shape) > 2 and place.shape[-2:] == (1, 1) for place in places)


def state_of(optimizer: Optimizer, native: Any, parameters: Sequence[Any]) -> dict[str, list[Any]]:
    """Return the state tensors of all parameters, in their order, by the letter of the equations.

    Parameters
    ----------
    optimizer : Optimizer
        The equations.
    native : torch.optim.Optimizer or ComposedOptimizer
        As it was made.
    parameters : sequence of torch.Tensor
        What it updates; before its first update one has no state, which stands for zeros.

    Raises
    ------
    UnsupportedError
        With a momentum of 0, for which PyTorch keeps nothing.
    """
    if isinstance(native, ComposedOptimizer):
        return native.state()
    if optimizer.kind in ("momentum", "nesterov") and optimizer.momentum == 0.0:
        raise UnsupportedError("PyTorch keeps no v with a momentum of 0")

    def one(parameter: Any, letter: str, name: str) -> Any:
        found = native.state.get(parameter, {}).get(name)
        return _zeros(optimizer, parameter, letter) if found is None else found

    found = {
        letter: [one(parameter, letter, name) for parameter in parameters]
        for letter, name in LETTERS[optimizer.kind].items()
    }
    return {**found, AVERAGE: averages_of(native)} if optimizer.modifiers.ema else found


def _zeros(optimizer: Optimizer, parameter: Any, letter: str) -> Any:
    """Return a letter of the state of a parameter before the first update; None if it has none."""
    import torch

    shape = tuple(parameter.shape)
    kept = optimizer.rule.state_shapes(ParameterPlace("", shape)).get(letter)
    if kept is None:
        return None
    return torch.zeros_like(parameter) if kept == shape else parameter.detach().new_zeros(kept)


_GROUP: Mapping[str, str] = {"learning_rate": "lr", "momentum": "momentum", "weight_decay": "weight_decay"}
"""PyTorch's name of each constant that may change between two updates."""


@dataclass(frozen=True)
class Constants:
    """The constants of an optimizer of PyTorch, which may change between two of its steps.

    Parameters
    ----------
    known : Hyperparameters
        Where they are kept.
    native : torch.optim.Optimizer
        What takes them.
    """

    known: Hyperparameters
    native: Any

    def prepared(self, values: Mapping[str, float]) -> tuple[Optimizer, list[dict[str, float]]]:
        """Return other constants: the optimizer that has them, and what each group of parameters takes.

        Raises
        ------
        UsageError, UnsupportedError
            As :meth:`~benchmarker.api.program.Program.set_hyperparameters` says, and on a momentum of 0, for
            which PyTorch keeps nothing.
        """
        optimizer = self.known.prepared(values)
        if isinstance(self.native, ComposedOptimizer):
            return optimizer, []  # which has them from where they are kept
        if values.get("momentum") == 0.0:
            raise UnsupportedError("PyTorch keeps no v with a momentum of 0")
        given = {_GROUP[name]: float(value) for name, value in values.items()}
        groups = self.native.param_groups
        return optimizer, [given if decays(group) else {**given, "weight_decay": 0.0} for group in groups]

    def use(self, prepared: tuple[Optimizer, list[dict[str, float]]]) -> None:
        """Use them from the next step on."""
        self.known.optimizer, given = prepared
        if given:
            for group, values in zip(self.native.param_groups, given):
                group.update(values)


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
    """One step in its three forms, and what it leaves.

    Parameters
    ----------
    whole : callable
        The step.
    parts : callable
        As a generator that stops after each part.
    micro : callable
        Over micro-batches.
    state : callable
        The state tensors of all parameters by the letter of the equations.
    constants : Constants
        Those of the optimizer that may change.
    native_state, restore : callable
        Tell and put back what the steps hand on.
    skipped : callable
        How many of so many steps made no update.
    note : callable
        Takes down how many there were until then.
    composed_rule, averaging_rule : UpdateRule or None
        What updates parameters, if no optimizer of PyTorch's own does; what weights are averaged by, if one does.
    exchanged : dict or None
        Bytes that a step gives to each kind of collective.
    """

    whole: Callable[..., Any]
    parts: Callable[..., Iterator[tuple[str, Any]]]
    micro: Callable[[Sequence[Any]], Any]
    state: Callable[[], dict[str, list[Any]]]
    constants: Constants
    native_state: Callable[[], dict[str, Any]]
    restore: Callable[[TrainingState], None]
    skipped: Callable[[int], int | None]
    note: Callable[[int], None]
    composed_rule: UpdateRule | None = None
    averaging_rule: UpdateRule | None = None
    exchanged: dict[str, int] | None = None


def micro_training_step(
    loss_of: Callable[..., Any],
    optimizer: Any,
    scaler: Any = None,
    quiet: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Callable[[Sequence[Any]], Any]:
    """Return the step over several micro-batches: their gradients add up in place, then one update.

    Each loss is divided by their number before it goes backward, so that what adds up is the mean. All but the last go
    in a ``quiet`` context, in which ranks exchange nothing.
    """

    def backward(batch: Any, count: int) -> Any:
        loss = loss_of(*batch) / count
        (loss if scaler is None else scaler.scale(loss)).backward()
        return loss.detach()

    def step(batches: Sequence[Any]) -> Any:
        optimizer.zero_grad()
        count, total = len(batches), None
        for batch in batches[:-1]:
            with quiet():
                loss = backward(batch, count)
            total = loss if total is None else total + loss
        loss = backward(batches[-1], count)
        total = loss if total is None else total + loss
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
    loss_of: Callable[..., Any],
    parameters: Sequence[Any],
    state: Sequence[Any],
    scaler: Any = None,
    everywhere: Callable[[bool], bool] = bool,
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
    everywhere : callable
        Tells whether what holds here holds on all ranks: the scale is lowered on all of them or on none, since each
        divides by its own what all have added up.
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
        while scaler.get_scale() > 1.0 and not everywhere(all(bool(g.isfinite().all()) for g in found)):
            lowered = scaler.get_scale() * scaler.get_backoff_factor()
            scaler.load_state_dict({**scaler.state_dict(), "scale": lowered})
            loss, found = scaled(lowered, batch)
        return loss, found

    return gradients
