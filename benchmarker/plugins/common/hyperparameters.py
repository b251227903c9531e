"""The constants of a program's optimizer, some of which change between two updates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from benchmarker.api.optimizer import RUN_TIME, Optimizer, constant_faults
from benchmarker.api.update_rule import UpdateRule, rule_constants
from benchmarker.errors import UnsupportedError, UsageError, did_you_mean


class Hyperparameters:
    """The optimizer as it is at the next update.

    Parameters
    ----------
    optimizer : Optimizer
        As the program was built with it.

    Attributes
    ----------
    optimizer : Optimizer
        With the constants of the next update.
    built_rule : UpdateRule
        The rule with the constants that the program was built with.
    """

    def __init__(self, optimizer: Optimizer) -> None:
        self._built = optimizer
        self.optimizer = optimizer
        self.built_rule = optimizer.rule
        self._rules = rule_constants(self.built_rule)
        self._asked, self._rule = optimizer, self.built_rule

    @property
    def names(self) -> tuple[str, ...]:
        """The constants that can change: those that are part of the program, in a fixed order."""
        return tuple(name for name in RUN_TIME if name in self._rules and self._is_part(name))

    @property
    def rule(self) -> UpdateRule:
        """The rule with the constants of the next update."""
        if self.optimizer is not self._asked:
            self._asked, self._rule = self.optimizer, self.optimizer.rule
        return self._rule

    def _is_part(self, name: str) -> bool:
        return name == "learning_rate" or getattr(self._built, name) != 0.0

    def take(self, values: Mapping[str, float]) -> Optimizer:
        """Keep other values of some constants, and return the optimizer that has them."""
        self.optimizer = self.prepared(values)
        return self.optimizer

    def prepared(self, values: Mapping[str, float]) -> Optimizer:
        """Return the optimizer with other values of some constants, and keep nothing.

        Raises
        ------
        UsageError, UnsupportedError
            As :meth:`~benchmarker.api.program.Program.set_hyperparameters` says.
        """
        for name, value in values.items():
            self._check(name, value)
        changed: dict[str, Any] = {name: float(value) for name, value in values.items()}
        return replace(self.optimizer, **changed)

    def _check(self, name: str, value: float) -> None:
        if name not in self._rules or not self._rules[name].accepts(value):
            for fault in constant_faults(name, (value,), (self._built.kind,)):
                raise UsageError(fault)
        if name not in RUN_TIME:
            raise UsageError(f"the {name} of an optimizer is constant{did_you_mean(name, RUN_TIME)}")
        if value != 0.0 and not self._is_part(name):
            raise UnsupportedError(
                f"the program was built with a {name.replace('_', ' ')} of 0 and has none that could change; "
                "build it with another"
            )
