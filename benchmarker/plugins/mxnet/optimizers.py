"""Optimizers: MXNet's own update operators, pushed to its engine behind the gradients.

One operator a parameter: those for many parameters at once walk memory badly on a CPU (25 million
values, momentum: 18 ms one by one, 45 ms in fours, 220 ms in sixties).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarker.api.optimizer import Optimizer
from benchmarker.plugins.common.hyperparameters import Hyperparameters
from benchmarker.plugins.common.velocity import FoldedVelocity
from benchmarker.plugins.mxnet.parameters import Slot

Update = Callable[[], None]
"""Queue the update of every parameter."""
State = dict[str, tuple[list[Any], float]]
"""By the letter of the equations MXNet's arrays, in the order of the weights, and what they are to be multiplied by."""
_Pairs = list[tuple[Any, Any]]


@dataclass
class _Count:
    """How many updates were made."""

    updates: int = 0


@dataclass
class Updates:
    """An optimizer's updates of some weights.

    Parameters
    ----------
    update : callable
        Queues the update of every parameter.
    state : callable
        Returns the state that the updates so far have left.
    count : _Count
        Their number, where the equations ask for it.
    folded : FoldedVelocity, optional
        The rate that a momentum buffer is of, if there is one.
    """

    update: Update
    state: Callable[[], State]
    count: _Count = field(default_factory=_Count)
    folded: FoldedVelocity | None = None

    def resume_from(self, optimizer: Optimizer, steps: int, rate: float | None) -> None:
        """Have the next update be that after ``steps``, and a momentum buffer of a rate."""
        self.count.updates = steps
        if self.folded is not None:
            self.folded.resume_from(optimizer, rate)


def is_native(optimizer: Optimizer, slots: Iterable[Slot] = ()) -> bool:
    """Tell whether MXNet has update operators that compute the same, for the parameters in ``slots``.

    A rule that sees parameters as a whole would take those of a recurrent layer, which lie in one array, for one.
    """
    packed = any(len(slot.members) > 1 for slot in slots)
    is_written = optimizer.kind in _UPDATES and not optimizer.modifiers
    return is_written and (not packed or optimizer.rule.is_separable)


def make_updates(known: Hyperparameters, weights: Sequence[Any], gradients: Sequence[Any]) -> Updates:
    """Return the updates of ``weights`` by ``gradients``, lists of MXNet arrays; constants may change between them."""
    # Backward reaches the last layer's gradients first.
    pairs = list(zip(weights, gradients))[::-1]
    return _UPDATES[known.optimizer.kind](known, pairs)


def _state_of(letters: Mapping[str, Iterable[Any]], factor: float = 1.0) -> State:
    return {letter: (list(arrays)[::-1], factor) for letter, arrays in letters.items()}


def _sgd(known: Hyperparameters, pairs: _Pairs) -> Updates:
    from mxnet import nd

    step = nd.sgd_update

    def update() -> None:
        rate, decay = known.optimizer.learning_rate, known.optimizer.weight_decay
        for weight, gradient in pairs:
            step(weight, gradient, out=weight, lr=rate, wd=decay)

    return Updates(update, dict)


def _momentum(known: Hyperparameters, pairs: _Pairs) -> Updates:
    """The buffer holds ``-lr * v``: see :class:`~benchmarker.plugins.common.velocity.FoldedVelocity`."""
    from mxnet import nd

    step = nd.sgd_mom_update
    folded = FoldedVelocity()
    states = [(weight, gradient, nd.zeros_like(weight)) for weight, gradient in pairs]

    def update() -> None:
        rate, mu = folded.constants(known.optimizer)
        decay = known.optimizer.weight_decay
        for weight, gradient, buffer in states:
            step(weight, gradient, buffer, out=weight, lr=rate, momentum=mu, wd=decay)

    def state() -> State:
        return _state_of({"v": (buffer for _, _, buffer in states)}, folded.factor())

    return Updates(update, state, folded=folded)


def _nesterov(known: Hyperparameters, pairs: _Pairs) -> Updates:
    """Native Nesterov leaves the weight decay out of its look ahead: it is added to the gradient before.

    Its buffer holds ``-lr * v`` too, but its look ahead has the momentum that the buffer has: where the rate changes,
    the buffer is scaled before.
    """
    from mxnet import nd

    step, add = nd.nag_mom_update, nd.sgd_update
    folded = FoldedVelocity()
    states = [(weight, gradient, nd.zeros_like(weight)) for weight, gradient in pairs]

    def update() -> None:
        scale = folded.change(known.optimizer)
        rate, mu = folded.rate, known.optimizer.momentum
        decay = known.optimizer.weight_decay
        for weight, gradient, buffer in states:
            if scale != 1.0:
                buffer *= scale
            if decay:
                # One pass over memory: gradient - (-decay) * weight.
                add(gradient, weight, out=gradient, lr=-decay, wd=0.0)
            step(weight, gradient, buffer, out=weight, lr=rate, momentum=mu, wd=0.0)

    def state() -> State:
        return _state_of({"v": (buffer for _, _, buffer in states)}, folded.factor())

    return Updates(update, state, folded=folded)


_Constants = Callable[[int], tuple[float, float, float, float]]
"""Learning rate, beta1, beta2 and epsilon of native Adam at a step."""


_Letters = Callable[[Iterable[Any], Iterable[Any], int], State]
"""The state by letters, of native Adam's two arrays of each weight after some steps."""


def _adam_letters(means: Iterable[Any], squares: Iterable[Any], steps: int) -> State:
    return _state_of({"m": means, "v": squares})


def _adaptive(known: Hyperparameters, pairs: _Pairs, constants: _Constants, letters: _Letters) -> Updates:
    """Return updates by native Adam: ``p -= rate * m / (sqrt(s) + epsilon)``, ``m`` and ``s`` not corrected."""
    from mxnet import nd

    step = nd.adam_update
    states = [(w, g, nd.zeros_like(w), nd.zeros_like(w)) for w, g in pairs]
    count = _Count()

    def update() -> None:
        count.updates += 1
        rate, beta1, beta2, epsilon = constants(count.updates)
        decay = known.optimizer.weight_decay
        for weight, gradient, mean, square in states:
            step(
                weight,
                gradient,
                mean,
                square,
                out=weight,
                lr=rate,
                beta1=beta1,
                beta2=beta2,
                epsilon=epsilon,
                wd=decay,
            )

    def state() -> State:
        return letters((m for _, _, m, _ in states), (s for *_, s in states), count.updates)

    return Updates(update, state, count)


def _corrected(known: Hyperparameters) -> _Constants:
    """Adam's constants: native Adam adds epsilon to the uncorrected root, so both are corrected each step."""
    beta1, beta2, epsilon = known.optimizer.beta1, known.optimizer.beta2, known.optimizer.epsilon

    def constants(step: int) -> tuple[float, float, float, float]:
        root = math.sqrt(1.0 - beta2**step)
        rate = known.optimizer.learning_rate * root / (1.0 - beta1**step)
        return rate, beta1, beta2, epsilon * root

    return constants


def _adam(known: Hyperparameters, pairs: _Pairs) -> Updates:
    return _adaptive(known, pairs, _corrected(known), _adam_letters)


def _adamw(known: Hyperparameters, pairs: _Pairs) -> Updates:
    from mxnet import nd

    step = nd.contrib.adamw_update
    constants = _corrected(known)
    states = [(w, g, nd.zeros_like(w), nd.zeros_like(w)) for w, g in pairs]
    scale = nd.ones((1,), ctx=pairs[0][0].context) if pairs else None
    count = _Count()

    def update() -> None:
        count.updates += 1
        rate, beta1, beta2, epsilon = constants(count.updates)
        decay = known.optimizer.learning_rate * known.optimizer.weight_decay
        for weight, gradient, mean, square in states:
            step(
                weight,
                gradient,
                mean,
                square,
                scale,
                out=weight,
                lr=rate,
                beta1=beta1,
                beta2=beta2,
                epsilon=epsilon,
                wd=decay,
                eta=1.0,
            )

    def state() -> State:
        return _state_of({"m": (m for _, _, m, _ in states), "v": (v for *_, v in states)})

    return Updates(update, state, count)


def _rmsprop(known: Hyperparameters, pairs: _Pairs) -> Updates:
    """Native RMSProp adds epsilon under the root; Adam without a mean is the same with it outside."""

    def constants(step: int) -> tuple[float, float, float, float]:
        chosen: Optimizer = known.optimizer
        return chosen.learning_rate, 0.0, chosen.decay, chosen.epsilon

    return _adaptive(known, pairs, constants, lambda _, squares, __: _state_of({"s": squares}))


def _adagrad(known: Hyperparameters, pairs: _Pairs) -> Updates:
    """Native AdaGrad adds epsilon under the root; Adam without a mean can have it outside.

    With ``beta2 = (t - 1) / t`` its ``s`` is AdaGrad's sum over ``t``.
    """

    def constants(step: int) -> tuple[float, float, float, float]:
        root = math.sqrt(step)
        return known.optimizer.learning_rate / root, 0.0, (step - 1) / step, known.optimizer.epsilon / root

    def letters(_: Iterable[Any], means: Iterable[Any], steps: int) -> State:
        return _state_of({"s": means}, float(steps))

    return _adaptive(known, pairs, constants, letters)


MAX_DOT = 1 << 20
"""Elements of a product of vectors, which adds in float32: of more it is off by more than 1e-5."""


def _flat_pieces(array: Any) -> list[Any]:
    """Return the elements of an array as vectors, which share its memory."""
    flat = array.reshape((-1,))
    return [flat[start : start + MAX_DOT] for start in range(0, flat.size, MAX_DOT)]


def _sum_of_squares(pieces: Sequence[Any]) -> Any:
    """Return the sum of squares, shape ``(1,)``.

    MXNet's ``norm`` and ``multi_sum_sq`` add one element after the other in float32: off by 2e-3 of 2.4 million.
    """
    from mxnet import nd

    sums = [nd.dot(piece, piece) for piece in pieces]
    return nd.add_n(*sums) if len(sums) > 1 else sums[0]


def _lamb(known: Hyperparameters, pairs: _Pairs) -> Updates:
    from mxnet import nd

    chosen = known.optimizer
    constants = {"beta1": chosen.beta1, "beta2": chosen.beta2, "epsilon": chosen.epsilon}
    states = [(w, g, nd.zeros_like(w), nd.zeros_like(w), _flat_pieces(w)) for w, g in pairs]
    count = _Count()

    def update() -> None:
        count.updates += 1
        rate, decay = known.optimizer.learning_rate, known.optimizer.weight_decay
        for weight, gradient, mean, square, pieces in states:
            direction = nd.lamb_update_phase1(
                weight, gradient, mean, square, t=count.updates, wd=decay, **constants
            )
            sizes = (nd.sqrt(_sum_of_squares(found)) for found in (pieces, _flat_pieces(direction)))
            nd.lamb_update_phase2(weight, direction, *sizes, out=weight, lr=rate)

    def state() -> State:
        return _state_of({"m": (m for _, _, m, _, _ in states), "v": (v for *_, v, _ in states)})

    return Updates(update, state, count)


def _lars(known: Hyperparameters, pairs: _Pairs) -> Updates:
    """Native LARS multiplies by the rate alone where a norm is 0: it is given ``rate * trust``, and no ``eta``.

    Its buffer holds ``-v``, which has the rates of all updates in it, as the equations have it.
    """
    from mxnet import nd

    if not pairs:
        return Updates(lambda: None, dict)
    trust, context = vars(known.built_rule)["trust"], pairs[0][0].context
    rates, decays = (nd.zeros((len(pairs),), ctx=context) for _ in range(2))
    states = [
        (weight, gradient, nd.zeros_like(weight), decays[place : place + 1])
        for place, (weight, gradient) in enumerate(pairs)
    ]
    weights, gradients = ([_flat_pieces(pair[side]) for pair in pairs] for side in (0, 1))

    def update() -> None:
        rates[:] = known.optimizer.learning_rate * trust
        decays[:] = known.optimizer.weight_decay
        squares = (nd.concat(*map(_sum_of_squares, found), dim=0) for found in (weights, gradients))
        scaled = nd.multi_lars(rates, *squares, decays, eta=1.0, eps=0.0)
        for place, (weight, gradient, buffer, decay) in enumerate(states):
            nd.preloaded_multi_sgd_mom_update(
                weight,
                gradient,
                buffer,
                scaled[place : place + 1],
                decay,
                out=weight,
                momentum=known.optimizer.momentum,
                num_weights=1,
            )

    def state() -> State:
        return _state_of({"v": (buffer for _, _, buffer, _ in states)}, -1.0)

    return Updates(update, state)


_UPDATES: dict[str, Callable[[Hyperparameters, _Pairs], Updates]] = {
    "sgd": _sgd,
    "momentum": _momentum,
    "nesterov": _nesterov,
    "adam": _adam,
    "adamw": _adamw,
    "rmsprop": _rmsprop,
    "adagrad": _adagrad,
    "lamb": _lamb,
    "lars": _lars,
}
