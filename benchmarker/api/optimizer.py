"""Which optimizer is meant, and its constants: what each may be, and which rules have it."""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Dict, Optional, Tuple

from benchmarker.api.given_values import shown
from benchmarker.api.modifiers import MODIFIERS, Modifiers
from benchmarker.api.rules import Real, Rule
from benchmarker.api.update_rule import ParameterPlace, Shape, UpdateRule, rule_constants
from benchmarker.errors import UnsupportedError, UsageError, did_you_mean
from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    OPTIMIZERS: Tuple[str, ...]

RUN_TIME = ("learning_rate", "momentum", "weight_decay")
"""The constants that a program takes anew between two updates, where its optimizer has them."""
_BUILT_IN = "benchmarker.training.optimizers"
"""Where the rules that come with benchmarker are: imported when one is first asked for, as any plug-in is."""
_MODIFIED = f"{_BUILT_IN}.modified"
"""Where what is done around a rule becomes part of it."""
_ADDED: Dict[str, UpdateRule] = {}
"""Rules of plug-ins and files that have been loaded, with their usual constants, by name."""


def rules() -> Mapping[str, UpdateRule]:
    """Return every rule that is known in this process, with its usual constants, by name."""
    built_in: Mapping[str, UpdateRule] = importlib.import_module(_BUILT_IN).BUILT_IN
    return {**built_in, **_ADDED}


def add_rule(rule: UpdateRule) -> None:
    """Make a rule known by its name.

    Raises
    ------
    UsageError
        If a rule that comes with benchmarker has the name.
    """
    if rules().get(rule.name, rule) is not rule and rule.name not in _ADDED:
        raise UsageError(
            f"an optimizer must have a name of its own, got '{rule.name}', which benchmarker has itself"
        )
    _ADDED[rule.name] = rule


def __getattr__(name: str) -> Any:
    """Give plug-ins the names of benchmarker's own optimizers as ``OPTIMIZERS``."""
    if name != "OPTIMIZERS":
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return tuple(importlib.import_module(_BUILT_IN).BUILT_IN)


def optimizer_kinds() -> Tuple[str, ...]:
    """Return the names of all rules that are known in this process."""
    return tuple(rules())


def hyperparameters() -> Dict[str, Rule]:
    """Return every constant that a known rule has, and what it may be; the common ones first."""
    found: Dict[str, Rule] = {}
    for rule in rules().values():
        for name, allowed in rule_constants(rule).items():
            found.setdefault(name, allowed)
    common = [f.name for f in fields(Optimizer) if f.name in found]
    return {**{name: found[name] for name in common}, **found, **MODIFIERS}


def typed(name: str, value: Any) -> Any:
    """Return the value of a constant or modifier as optimizers have it: a number in floating point, or a text."""
    return float(value) if isinstance(hyperparameters()[name], Real) else value


def owners(name: str) -> Tuple[str, ...]:
    """Return the kinds of optimizer that a constant is part of."""
    return tuple(kind for kind, rule in rules().items() if name in MODIFIERS or name in rule_constants(rule))


def settings_of(kind: str) -> Tuple[str, ...]:
    """Return what can be chosen of a kind of optimizer: its constants and what may be done around any."""
    return (*constants(kind), *MODIFIERS)


def constants(kind: str) -> Tuple[str, ...]:
    """Return the constants that a kind of optimizer has; none of a kind that is not known."""
    rule = rules().get(kind)
    if rule is None:
        return ()
    having = rule_constants(rule)
    common = [f.name for f in fields(Optimizer) if f.name in having]
    return tuple(dict.fromkeys((*common, *having)))


def state_names(kind: str) -> Tuple[str, ...]:
    """Return the letters of what an optimizer remembers of each parameter, as its equations name them."""
    return rules()[kind].state


def constant_faults(name: str, values: Sequence[float], kinds: Sequence[str]) -> Iterator[str]:
    """Yield a sentence for each thing that is wrong with a constant for optimizers of some kinds.

    Parameters
    ----------
    name : str
        Of the constant or modifier.
    values : sequence of float
        Those that are asked for.
    kinds : sequence of str
        Names of rules, one of which must have it; none for any.
    """
    known = hyperparameters()
    if name not in known:
        yield f"an optimizer has no '{name}'{did_you_mean(name, known)}"
        return
    words = name.replace("_", " ")
    having = [rules()[kind] for kind in kinds if kind in rules() and name in settings_of(kind)]
    allowed = [{**rule_constants(rule), **MODIFIERS}[name] for rule in having] or [known[name]]
    for value in values:
        for rule in dict.fromkeys(allowed):
            if not rule.accepts(value):
                formatted = f"{value:g}" if isinstance(value, (int, float)) else shown(value)
                yield f"the {words} must be {rule.allowed}, got {formatted}"
    if kinds and not having:
        which = " or ".join(f"'{kind}'" for kind in dict.fromkeys(kinds))
        yield f"optimizer {which} has no {words}; {', '.join(owners(name))} have it"


@dataclass(frozen=True)
class Optimizer:
    """Which rule parameters follow their gradients by, with which constants; every framework computes its equations.

    The equations are those of the :class:`~benchmarker.api.update_rule.UpdateRule` of that name
    (``benchmarker/training/optimizers/``). Of the first seven, ``g`` is the gradient plus ``weight_decay * p`` (but for
    ``adamw``), all state starts at 0 and ``t`` counts steps from 1.

    ``sgd``: ``p -= lr * g``. ``momentum``: ``v = mu * v + g; p -= lr * v`` (Polyak; PyTorch's form with
    dampening 0). ``nesterov``: ``v = mu * v + g; p -= lr * (g + mu * v)`` (Sutskever et al. 2013).
    ``adam``: ``m = beta1 * m + (1 - beta1) * g; v = beta2 * v + (1 - beta2) * g^2;
    p -= lr * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon)`` (Kingma & Ba 2014, arXiv 1412.6980,
    algorithm 1, ``epsilon`` added to the bias-corrected root). ``adamw``: ``p -= lr * weight_decay * p``,
    then ``adam`` (Loshchilov & Hutter 2017, arXiv 1711.05101, algorithm 2, the decay scaled by the learning
    rate). ``rmsprop``:
    ``s = decay * s + (1 - decay) * g^2; p -= lr * g / (sqrt(s) + epsilon)`` (Hinton 2012, lecture 6e).
    ``adagrad``: ``s += g^2; p -= lr * g / (sqrt(s) + epsilon)`` (Duchi et al. 2011).

    Parameters
    ----------
    kind : str
        Name of the rule.
    learning_rate, momentum, beta1, beta2, epsilon, weight_decay, decay : float
        The constants that many rules have, whether this one has them or not.
    further : tuple of (str, float)
        The others that its rule has, by name.
    digest : str or None
        ``sha256:`` and the digest of the file that holds the rule, None of one that is installed.
    modifiers : Modifiers
        What is done around the rule: clipping, which parameters decay, an average of weights.
    """

    kind: str = "sgd"
    learning_rate: float = 0.01
    momentum: float = 0.9
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    weight_decay: float = 0.0
    decay: float = 0.99
    further: Tuple[Tuple[str, float], ...] = ()
    digest: Optional[str] = None
    modifiers: Modifiers = Modifiers()

    @staticmethod
    def default(kind: str) -> Optimizer:
        """Return the optimizer of that kind with the field's usual constants."""
        usual = rules()[kind]
        chosen = Optimizer(kind, digest=usual.digest)
        return chosen.with_constants({name: getattr(usual, name) for name in constants(kind)})

    def with_constants(self, values: Mapping[str, Any]) -> Optimizer:
        """Return the same kind with other values of some of its constants and modifiers, which are not checked.

        Parameters
        ----------
        values : mapping
            By name, as :func:`typed` returns them; :func:`constant_faults` says what is wrong with them.
        """
        common: Dict[str, Any] = {name: value for name, value in values.items() if name in _COMMON}
        around = {name: value for name, value in values.items() if name in MODIFIERS}
        others = {name: value for name, value in values.items() if name not in (*_COMMON, *MODIFIERS)}
        further = tuple(sorted({**dict(self.further), **others}.items()))
        return replace(self, further=further, modifiers=replace(self.modifiers, **around), **common)

    @property
    def rule(self) -> UpdateRule:
        """The rule, with these constants and what is done around it.

        An :class:`~benchmarker.errors.UnsupportedError` where none has the name.
        """
        known = rules()
        if self.kind not in known:
            raise UnsupportedError(f"the optimizer must be one of {', '.join(known)}, got '{self.kind}'")
        usual = known[self.kind]
        given = {**vars(self), **dict(self.further)}
        rule = replace(usual, **{name: given[name] for name in constants(self.kind) if name in given})
        if not self.modifiers:
            return rule
        made: UpdateRule = importlib.import_module(_MODIFIED).modified(rule, self.modifiers)
        return made

    def to_json(self) -> Dict[str, Any]:
        """Return kind and constants as records have them, side by side."""
        own = {name: getattr(self, name) for name in ("kind", *_COMMON)}
        digest = {"digest": self.digest} if self.digest else {}
        return {**own, **dict(self.further), **digest, **self.modifiers.changed}

    @staticmethod
    def from_json(values: Mapping[str, Any]) -> Optimizer:
        """Return the optimizer of what :meth:`to_json` returned."""
        given = {name: value for name, value in values.items() if name not in ("kind", "digest")}
        return Optimizer(values["kind"], digest=values.get("digest")).with_constants(given)

    def state_elements(self, shapes: Sequence[Shape]) -> int:
        """Return how many numbers are remembered of parameters of these shapes."""
        rule = self.rule
        places = (ParameterPlace("", shape, len(shape) == 2) for shape in shapes)
        kept = (shape for place in places for shape in rule.state_shapes(place).values())
        return sum(math.prod(shape) for shape in kept)


_COMMON = tuple(f.name for f in fields(Optimizer) if f.name not in ("kind", "further", "digest", "modifiers"))
