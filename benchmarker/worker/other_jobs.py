"""What is asked of a worker beside measured runs; see :mod:`benchmarker.worker.job`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, ClassVar

from benchmarker.quick_dataclass import dataclass
from benchmarker.worker.job import Job, ProblemJob


@dataclass(frozen=True)
class ProbesJob(ProblemJob):
    """Compute what a comparison of frameworks needs.

    Parameters
    ----------
    framework_options : mapping
        Of the framework.
    what : {"found", "reference", "stepwise"}
        What the framework finds; the reference; the reference's steps along a framework's trajectory.
    path : str
        The file to write.
    trajectory : str
        The file of the trajectory, written by ``found`` and read by ``stepwise``.
    probes : sequence of str
        Optimizers to train with.
    steps : int
        With each of them.
    seeds : mapping
        Of the mini-batches of each probe; empty to choose them.
    moved : bool
        Whether the weights are moved by about what rounding does.
    """

    kind: ClassVar[str] = "probes"

    framework_options: Mapping[str, Any]
    what: str
    path: str
    trajectory: str
    probes: Sequence[str]
    steps: int
    seeds: Mapping[str, Sequence[int]]
    moved: bool


@dataclass(frozen=True)
class CalibrateJob(Job):
    """Measure the machine's peaks.

    Parameters
    ----------
    precision : str
        Of the products.
    sizes : sequence of int
        Of square matrices.
    copy_bytes : int
        Of an array that is copied.
    seconds : float
        How long each size is measured.
    orchestrator : int
        As in :class:`RunJob`.
    """

    kind: ClassVar[str] = "calibrate"

    precision: str
    sizes: Sequence[int]
    copy_bytes: int
    seconds: float
    orchestrator: int


@dataclass(frozen=True)
class LatencyJob(Job):
    """Measure how long mini-batches of images take from storage to tensors.

    Parameters
    ----------
    folders : mapping
        Where the images of each format lie.
    batches : sequence of sequence of int
        The numbers of the images in each mini-batch.
    size : int
        Pixels along both sides of an image.
    repeats : int
        Mini-batches that are timed of each kind.
    """

    kind: ClassVar[str] = "latency"

    folders: Mapping[str, str]
    batches: Sequence[Sequence[int]]
    size: int
    repeats: int


@dataclass(frozen=True)
class ConformanceJob(Job):
    """Run the conformance suite.

    Parameters
    ----------
    framework_options : mapping
        Of the framework.
    problems : mapping
        Names of problems that are not ours, with the values of their entry points.
    only : sequence of str
        Patterns of names; all checks where there are none.
    """

    kind: ClassVar[str] = "conformance"

    framework_options: Mapping[str, Any] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)
    only: Sequence[str] = ()

    @property
    def entry_points(self) -> tuple[str, ...]:
        return (self.framework, *self.problems.values())


@dataclass(frozen=True)
class OperatorGradientsJob(Job):
    """Compare the gradients of every operator with differences.

    Parameters
    ----------
    framework_options : mapping
        Of the framework.
    """

    kind: ClassVar[str] = "operator_gradients"

    framework_options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ProblemGradientsJob(ProblemJob):
    """Compare the gradients of a problem with differences.

    Parameters
    ----------
    framework_options : mapping
        Of the framework.
    """

    kind: ClassVar[str] = "problem_gradients"

    framework_options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class NodeTestsJob(Job):
    """Run the ONNX project's node tests.

    Parameters
    ----------
    folder : str
        Where they are unpacked.
    framework_options : mapping
        Of the framework.
    skip : int
        Tests that are left out at the beginning: those of a worker that came to no good end.
    crash : str
        How it ended, which is what came of the last of them.
    """

    kind: ClassVar[str] = "node_tests"

    folder: str
    framework_options: Mapping[str, Any] = field(default_factory=dict)
    skip: int = 0
    crash: str = ""


EXAMPLE = ".npz"
"""Suffix of the file beside an exported model: a mini-batch, and what the model makes of it."""


@dataclass(frozen=True)
class ExportJob(ProblemJob):
    """Write a problem as an ONNX model.

    Parameters
    ----------
    path : str
        The model to write.
    open_batch : bool
        Whether its mini-batch has an open size.
    verify : bool
        Whether to run it and to compare its outputs with the reference's.
    version : str
        That of benchmarker, which the model names.
    """

    kind: ClassVar[str] = "export"

    path: str
    open_batch: bool
    verify: bool
    version: str


@dataclass(frozen=True)
class UnpackJob(Job):
    """Unpack an ONNX model, or the ONNX project's node tests.

    Parameters
    ----------
    model : str or None
        Its path; None for the node tests.
    folder : str
        Where to.
    """

    kind: ClassVar[str] = "unpack"

    model: str | None
    folder: str
