"""An update rule with gradients clipped before it, weight decay as it is asked for, and weights averaged after it."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Dict, Tuple

from benchmarker.api.modifiers import DECOUPLED, OWN, Modifiers
from benchmarker.api.update_rule import Given, ParameterPlace, Shape, UpdateRule
from benchmarker.errors import UsageError
from benchmarker.training.optimizers.arithmetic import added, average, subtracted, sum_of_products

if TYPE_CHECKING:
    from benchmarker.graph.operators import Operators, Tensor

AVERAGE = "average"
"""The state's name for the moving average of weights."""
_SQUARES, _MAX_NORM, _DECAY, _SHRINKING = "clip_squares", "clip_norm", "added_decay", "taken_decay"
_MIN_SQUARE = 1e-30
"""What is added to a squared norm, so that gradients of 0 have a norm to divide by."""


def modified(rule: UpdateRule, modifiers: Modifiers) -> UpdateRule:
    """Return a rule with what is done around it; the rule itself if that is nothing.

    Raises
    ------
    UsageError
        If two of the modifiers, or one and the rule, do not fit together.
    """
    if not modifiers:
        return rule
    if modifiers.fault:
        raise UsageError(modifiers.fault)
    if modifiers.clip_norm and type(rule).totals is not UpdateRule.totals:
        raise UsageError(
            f"optimizer '{rule.name}' follows the norm of all gradients itself, which clipping by norm would change; "
            "clip by value, or choose another optimizer"
        )
    if modifiers.decay_kind == DECOUPLED != rule.decay_kind and type(rule).prepare is not UpdateRule.prepare:
        raise UsageError(
            f"optimizer '{rule.name}' keeps the weights in its state, which decoupled decay does not reach; leave "
            "out the kind of decay"
        )
    made: UpdateRule = _class_of(type(rule), modifiers)(**vars(rule))
    return made


@functools.lru_cache(maxsize=64)
def _class_of(base: type[UpdateRule], modifiers: Modifiers) -> Any:
    """Return the class of a rule with its modifiers, which has the constants of the rule's own."""
    state = (*base.state, AVERAGE) if modifiers.ema else base.state
    alone = base.is_elementwise and not modifiers.clip_norm
    members = {"base": base, "modifiers": modifiers, "state": state, "is_elementwise": alone}
    return type(base.__name__, (_Modified, base), members)


class _Modified(UpdateRule):
    """What is done around the rule ``base``, whose constants are its fields."""

    base: ClassVar[Any]
    modifiers: ClassVar[Modifiers]

    def _inner(self, decays: bool) -> UpdateRule:
        """Return the rule itself, built without a decay where it is not the rule's to make."""
        own = {} if decays and self._decays_itself else {"weight_decay": 0.0}
        inner: UpdateRule = self.base(**{**vars(self), **own})
        return inner

    @property
    def _decays_itself(self) -> bool:
        return self.modifiers.decay_kind in (OWN, self.base.decay_kind)

    def state_shapes(self, place: ParameterPlace) -> Mapping[str, Shape]:
        shapes = self._inner(place.decays).state_shapes(place)
        return {**shapes, AVERAGE: place.shape} if self.modifiers.ema else shapes

    def start(self, place: ParameterPlace, parameter: Any) -> Dict[str, Any]:
        found = self._inner(place.decays).start(place, parameter)
        return {**found, AVERAGE: parameter.copy()} if self.modifiers.ema else found

    def numbers(self, step: int, memory: Dict[str, float]) -> Dict[str, float]:
        found = self._inner(decays=True).numbers(step, memory)
        if self.modifiers.clip_norm:
            found[_MAX_NORM] = self.modifiers.clip_norm
        if self.weight_decay and not self._decays_itself:
            found[_DECAY] = self.weight_decay
            found[_SHRINKING] = self.learning_rate * self.weight_decay
        return found

    def totals(self, operators: Operators, given: Given) -> Dict[str, Tensor]:
        if self.modifiers.clip_norm:
            return {_SQUARES: sum_of_products(operators, given.gradient, given.gradient)}
        return self._inner(given.place.decays).totals(operators, self._limited(operators, given))

    def update(self, operators: Operators, given: Given) -> Tuple[Tensor, Dict[str, Tensor]]:
        given = self._decayed(operators, self._limited(operators, given))
        inner = self._inner(given.place.decays)
        parameter, state = inner.update(operators, given)
        held = inner.prepare(operators, replace(given, parameter=parameter, state=state))
        if not self.modifiers.ema:
            return held, state
        evaluated = inner.evaluation(operators, held, state)
        return held, {
            **state,
            AVERAGE: average(operators, given.state[AVERAGE], evaluated, self.modifiers.ema),
        }

    def prepare(self, operators: Operators, after: Given) -> Tensor:
        return after.parameter  # which update has prepared

    def evaluation(self, operators: Operators, parameter: Tensor, state: Mapping[str, Tensor]) -> Tensor:
        if self.modifiers.ema:
            return state[AVERAGE]
        return self._inner(decays=True).evaluation(operators, parameter, state)

    @property
    def evaluates_weights(self) -> bool:
        return not self.modifiers.ema and self._inner(decays=True).evaluates_weights

    def _limited(self, operators: Operators, given: Given) -> Given:
        """Return the same with its gradient clipped."""
        limit = self.modifiers.clip_value
        if limit:
            return replace(given, gradient=operators.clip(given.gradient, min=-limit, max=limit))
        if not self.modifiers.clip_norm:
            return given
        squares = operators.affine(given.totals[_SQUARES], beta=_MIN_SQUARE)
        ratio = operators.div(given.numbers[_MAX_NORM], operators.sqrt(squares))
        share = operators.clip(ratio, min=0.0, max=1.0)
        return replace(given, gradient=operators.mul(share, given.gradient))

    def _decayed(self, operators: Operators, given: Given) -> Given:
        """Return the same after a decay of weights that is not the rule's own."""
        if not self.weight_decay or self._decays_itself or not given.place.decays:
            return given
        numbers, parameter = given.numbers, given.parameter
        if self.modifiers.decay_kind == DECOUPLED:
            return replace(given, parameter=subtracted(operators, parameter, numbers[_SHRINKING], parameter))
        return replace(given, gradient=added(operators, given.gradient, numbers[_DECAY], parameter))
