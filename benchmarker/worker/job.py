"""What the orchestrator asks of a worker, and how both sides read it."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarker.framework import Device, Framework, FrameworkPlugin, Optimizer
from benchmarker.graph.graph import Graph
from benchmarker.problem import Problem
from benchmarker.problem_files import is_problem_file, load_problem_file


@dataclass(frozen=True)
class Job:
    """A job as it travels, in JSON, to the worker.

    Parameters
    ----------
    action : str
        ``run``: measure a problem; ``reference``: compute the reference's results; ``check``: run the
        conformance suite, ``check_gradients``: compare gradients with differences, ``check_onnx``: run the
        ONNX project's node tests; ``findings``: compute what a comparison of frameworks needs;
        ``calibrate``: measure the machine's peaks; ``export``: write an ONNX model; ``unpack_onnx``: unpack one
        or the node tests.
    framework, problem : str
        Values of the plugins' entry points; ``problem`` is empty for all operators.
    reference : str or None
        The file with the reference's results: read by ``run`` (``None``: do not verify), written by
        ``reference``.
    verification_samples : int
        How many samples of the mini-batch the reference computes.
    window_seconds : float or None
        How long the timed part lasts, instead of a number of steps.
    data : str or None
        Folder of a prepared data set; None draws mini-batches from the seed.
    inputs : {"resident", "fed"}
        Whether mini-batches are on the device before a step, or are brought there in it.
    sampling : {"latency", "throughput"}
        Whether each step is synchronised, or each block of steps.
    target_seconds : float
        About how long the timed part lasts where neither steps nor a window are given, with
        ``minimum_samples`` at least.
    breakdown : bool
        Whether to time the parts of a step too, and to profile its operators, after the timed part.
    trace : str or None
        The file to write the profile's trace to; None for none.
    micro_batch : int or None
        Samples of each of the micro-batches that a mini-batch is trained in; None for all of it at once.
    fold_batch_norm : bool
        Whether batch normalizations of inference become part of the convolutions before them.
    orchestrator : int
        Its process, for what it costs while steps are timed.
    findings : mapping or None
        What ``findings`` computes: ``what`` (``found`` by the framework; the ``reference``;
        ``following``, the reference's steps along a framework's course), the ``path`` to write, the
        file of the ``course``, ``probes``, ``steps``, the ``seeds`` of their mini-batches, and whether the
        weights are ``moved``.
    calibration : mapping or None
        What ``calibrate`` measures: ``sizes`` of square matrices, ``copy_bytes`` of an array, and
        ``seconds`` for each.
    export : mapping or None
        What ``export`` does: the ``path`` of the model to write, whether its mini-batch has an ``open`` size,
        whether to ``verify`` it, and the ``version`` of benchmarker that it names.
    onnx : mapping or None
        The path of a ``model`` to unpack (None: the node tests) and the ``folder`` of what is unpacked.
    """

    action: str
    framework: str
    problem: str = ""
    problem_parameters: Mapping[str, Any] = field(default_factory=dict)
    framework_options: Mapping[str, Any] = field(default_factory=dict)
    mode: str = "training"
    batch_size: int = 1
    precision: str = "fp32"
    optimizer: Optimizer = Optimizer()
    device: Device = Device("cpu")
    threads: int = 1
    seed: int = 0
    steps: int | None = None
    warmup: int | None = None
    window_seconds: float | None = None
    reference: str | None = None
    verification_samples: int = 0
    data: str | None = None
    inputs: str = "resident"
    sampling: str = "latency"
    target_seconds: float = 3.0
    minimum_samples: int = 20
    breakdown: bool = False
    trace: str | None = None
    micro_batch: int | None = None
    fold_batch_norm: bool = False
    orchestrator: int = 0
    findings: Mapping[str, Any] | None = None
    calibration: Mapping[str, Any] | None = None
    export: Mapping[str, Any] | None = None
    onnx: Mapping[str, Any] | None = None

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Job:
        """Read a job from JSON values."""
        values = dict(data)
        values["optimizer"] = Optimizer(**values["optimizer"])
        values["device"] = Device(**values["device"])
        return Job(**values)


def _load(value: str) -> Any:
    module, _, attribute = value.partition(":")
    loaded: Any = importlib.import_module(module)
    for part in filter(None, attribute.split(".")):
        loaded = getattr(loaded, part)
    return loaded


def _plugin(value: str) -> Any:
    loaded = _load(value)
    return loaded() if inspect.isclass(loaded) else loaded


def load_problem(value: str) -> Problem:
    """Import a problem by its entry point's value."""
    plugin = load_problem_file(value) if is_problem_file(value) else _plugin(value)
    problem: Problem = plugin.benchmarker_problem()
    return problem


def load_framework_plugin(value: str) -> FrameworkPlugin:
    """Import a framework's description by its entry point's value."""
    plugin: FrameworkPlugin = _plugin(value).benchmarker_framework()
    return plugin


def load_framework(plugin: FrameworkPlugin) -> Framework:
    """Import the framework itself."""
    framework: Framework = _load(plugin.implementation)()
    return framework


def problem_graph(job: Job, batch_size: int) -> Graph:
    """Build the job's graph: with its loss in training, without in inference, else as it goes backward."""
    graph = load_problem(job.problem).graph(batch_size, **job.problem_parameters)
    if job.mode == "gradient":
        return graph.for_gradient()
    return graph if job.mode == "training" else graph.without_loss()
