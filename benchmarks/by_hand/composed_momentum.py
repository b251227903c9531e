"""Gradient descent with momentum under a name of its own, which no framework has: its text is run everywhere."""

from __future__ import annotations

from benchmarker.training.optimizers.gradient_descent import Momentum


class ComposedMomentum(Momentum):
    """The same rule."""

    name = "composed_momentum"


def benchmarker_optimizer() -> Momentum:
    """Return the rule with its usual constants."""
    return ComposedMomentum()
