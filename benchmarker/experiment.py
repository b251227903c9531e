"""What to run: one run as a value, and an experiment as a matrix of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarker.framework import Optimizer


@dataclass(frozen=True)
class RunSpec:
    """One run, complete: everything that decides what is computed and how it is measured.

    Parameters
    ----------
    framework, problem, launcher : str
        Names of plugins.
    framework_version : str or None
        The version asked for with ``--framework=name==version``.
    problem_parameters, framework_options : mapping
        Complete, defaults included.
    device : str
        ``"cpu"`` or ``"cuda"``.
    gpus : tuple of int
        Indices of the GPUs the worker may see; empty on a CPU.
    threads : int
        Threads for computing inside operators.
    affinity : tuple of int
        CPUs the worker is bound to; empty for no binding.
    steps, warmup : int or None
        Number of timed and untimed steps; ``None`` lets the worker choose by the time a step takes.
    samples_per_epoch : int or None
        The earlier tool's ``--problem_size``.
    repetition : int
        Which of the fresh processes of this cell, from 0.
    timeout : float or None
        Seconds after which the run is ended.
    environment : str
        ``auto``, ``current``, ``managed`` or the path of an interpreter.
    anonymous : bool
        Whether host and user names stay out of the record.
    """

    framework: str
    problem: str
    framework_version: str | None = None
    problem_parameters: Mapping[str, Any] = field(default_factory=dict)
    framework_options: Mapping[str, Any] = field(default_factory=dict)
    mode: str = "training"
    batch_size: int = 1
    precision: str = "fp32"
    optimizer: Optimizer = Optimizer()
    device: str = "cpu"
    gpus: tuple[int, ...] = ()
    threads: int = 1
    affinity: tuple[int, ...] = ()
    seed: int = 42
    steps: int | None = None
    warmup: int | None = None
    samples_per_epoch: int | None = None
    repetition: int = 0
    verify: bool = True
    timeout: float | None = None
    environment: str = "auto"
    launcher: str = "local"
    anonymous: bool = False
