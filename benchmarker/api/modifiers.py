"""What may be done around any update rule: clipping before it, an average of weights after it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, fields
from typing import Any, Dict

from benchmarker.api.rules import Choice, Rule, Text
from benchmarker.api.update_rule import NOT_NEGATIVE, RATIO, constant
from benchmarker.quick_dataclass import dataclass

OWN, COUPLED, DECOUPLED = "own", "coupled", "decoupled"
"""Kinds of weight decay: the rule's own; added to the gradient; taken from the weights beside the step."""
ALL, WEIGHTS = "all", "weights"
"""Which parameters decay: every one; all but biases and parameters of normalizations. Else patterns of names."""


@dataclass(frozen=True)
class Modifiers:
    """What is done around an update rule; nothing by default.

    With ``g`` all gradients of the loss and ``p`` the parameters: ``g *= min(1, clip_norm / |g|)`` with the Euclidean
    norm of all elements of all gradients together, or ``g = min(max(g, -clip_value), clip_value)`` element by element;
    then weight decay and the rule; then ``a = ema * a + (1 - ema) * p``, where ``a`` starts at the first weights and is
    what is evaluated.

    Parameters
    ----------
    clip_norm : float
        Norm that all gradients together are scaled down to if theirs is larger; 0 for none.
    clip_value : float
        What no element of a gradient exceeds; 0 for none.
    ema : float
        Share of the moving average of weights that an update keeps; 0 for no average.
    decay_kind : {"own", "coupled", "decoupled"}
        The rule's own way to decay, ``g += weight_decay * p`` before the rule, or ``p -= lr * weight_decay * p``.
    decay_of : str
        Which parameters decay: ``all``, ``weights`` (neither biases nor parameters of normalizations), or patterns of
        names as of files, with spaces between them.
    """

    clip_norm: float = constant(0.0, NOT_NEGATIVE)
    clip_value: float = constant(0.0, NOT_NEGATIVE)
    ema: float = constant(0.0, RATIO)
    decay_kind: str = field(default=OWN, metadata={"rule": Choice((OWN, COUPLED, DECOUPLED))})
    decay_of: str = field(default=ALL, metadata={"rule": Text("all, weights or patterns of names")})

    def __bool__(self) -> bool:
        """Tell whether anything is done."""
        return self != _NOTHING

    @property
    def changed(self) -> Dict[str, Any]:
        """Those that are not as by default, by name."""
        return {name: value for name, value in vars(self).items() if value != getattr(_NOTHING, name)}

    @property
    def fault(self) -> str:
        """What does not fit together; empty if all does."""
        if self.clip_norm and self.clip_value:
            return (
                f"gradients are clipped by their norm or by value, got a clip norm of {self.clip_norm:g} and a clip "
                f"value of {self.clip_value:g}; leave one out"
            )
        return ""


_NOTHING = Modifiers()
MODIFIERS: Mapping[str, Rule] = {one.name: one.metadata["rule"] for one in fields(Modifiers)}
"""What each may be, by name."""
