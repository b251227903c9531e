"""A framework that computes nothing and a problem that asks for nothing: what is left is the harness."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarker.api.framework import Device, Framework, FrameworkPlugin
from benchmarker.api.problem import Problem
from benchmarker.api.program import Program
from benchmarker.graph.network import Network
from benchmarker.plugins.numpy.operators import NumpyOperators

MAX_SECONDS = 60
"""A child that nobody ends does it itself."""


@dataclass(frozen=True)
class Parameters:
    """One number goes in."""

    width: int = 1


def build(net: Network, parameters: Parameters) -> None:
    """Return what came in, but for negative numbers: a graph must have an operator."""
    net.output(net.relu(net.input("x", (parameters.width,))))


@dataclass(frozen=True)
class Options:
    """Memory that is taken while the program is built, in the worker or in a child of it."""

    hold_megabytes: int = 0
    in_child: bool = False


class NullProgram(Program):
    """Does nothing.

    Parameters
    ----------
    held : object
        What it keeps in memory.
    """

    def __init__(self, held: Any) -> None:
        self._held = held

    def load(self, batch: Mapping[str, Any]) -> Any:
        return batch

    def infer(self, batch: Any) -> Any:
        return None

    def synchronize(self, output: Any) -> None:
        return None

    def parameters(self) -> dict[str, Any]:
        return {}

    def fetch(self, output: Any) -> tuple[Any, ...]:
        return ()


class NullFramework(Framework):
    """Builds programs that do nothing."""

    operators = NumpyOperators

    def version(self) -> str:
        return str(np.__version__)

    def configure(self, device: Device, *, threads: int, seed: int) -> str:
        return "nothing"

    def build(self, *arguments: Any, **settings: Any) -> Program:
        options = settings["options"]
        if options.in_child:
            hold_in_child(options.hold_megabytes)
            return NullProgram(None)
        return NullProgram(held(options.hold_megabytes))


def held(megabytes: int) -> Any:
    """Return that much memory, every page of it touched."""
    return np.ones(megabytes * 1_000_000, np.uint8)


def hold_in_child(megabytes: int) -> None:
    """Start a process that holds that much memory, and wait until it does."""
    there, told = os.pipe()
    if os.fork() == 0:
        kept = held(megabytes)
        os.write(told, b"!")
        time.sleep(MAX_SECONDS)
        os._exit(len(kept) == 0)
    os.read(there, 1)


class NullFrameworkPlugin:
    """The framework's entry point."""

    def benchmarker_framework(self) -> FrameworkPlugin:
        return FrameworkPlugin(
            "null",
            "numpy",
            ("numpy",),
            "benchmarker_null:NullFramework",
            options=Options,
            modes=("inference",),
        )


class NullProblemPlugin:
    """The problem's entry point."""

    def benchmarker_problem(self) -> Problem:
        return Problem("null", "nothing", "a null problem", Parameters, build, batch_size=1)
