"""Problems, each with one fault; the last has none but cannot be trained."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

from benchmarker.api import Network, Problem


@dataclass(frozen=True)
class Parameters:
    width: int = 4


@dataclass(frozen=True)
class WithoutDefault:
    width: int


class Plugin:
    """Describes the problem that a subclass builds."""

    name = ""
    parameters: type[Any] = Parameters

    def benchmarker_problem(self) -> Problem:
        return Problem(self.name, "a task", "a source", self.parameters, self.build)

    def build(self, net: Network, p: Any) -> None:
        net.output(net.dense("fc", net.input("features", (p.width,)), 2))


class Raises(Plugin):
    name = "raises"

    def build(self, net: Network, p: Any) -> None:
        raise KeyError("the first line\nand a second one")


class RaisesInTheWorker(Plugin):
    name = "raises_in_the_worker"

    def build(self, net: Network, p: Any) -> None:
        super().build(net, p)
        _ = sys.modules["pluggy"]  # of the command; the worker has none


class AddsNothing(Plugin):
    name = "adds_nothing"

    def build(self, net: Network, p: Any) -> None:
        return


class Impossible(Plugin):
    name = "impossible"

    def build(self, net: Network, p: Any) -> None:
        net.output(net.input("features", (0,)))


class NoDefaults(Plugin):
    name = "no_defaults"
    parameters = WithoutDefault


class NoLoss(Plugin):
    name = "no_loss"
