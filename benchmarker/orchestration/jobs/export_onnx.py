"""A problem as an ONNX file: written, checked and run in an isolated process, and named only once it is right."""

from __future__ import annotations

import math
import shutil
import stat
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, field, replace
from pathlib import Path
from typing import Any

from benchmarker import registry
from benchmarker.api.framework import Device
from benchmarker.api.launcher import Event
from benchmarker.api.problem_scheme import ProblemReference
from benchmarker.errors import BenchmarkerError, ProtocolError, UsageError, shortened
from benchmarker.execution.environments import resolve
from benchmarker.execution.isolated import run_isolated
from benchmarker.execution.outcomes import MEANT_FOR_USER, Failure
from benchmarker.experiment.options import OPTIONS
from benchmarker.files import give_name, remove
from benchmarker.graph.onnx.writer.operators import OnnxOperators
from benchmarker.graph.support import check_operators
from benchmarker.machine.threads import default_threads
from benchmarker.orchestration.jobs.unpack_onnx import FRAMEWORK
from benchmarker.quick_dataclass import dataclass
from benchmarker.version import __version__
from benchmarker.worker.other_jobs import EXAMPLE, ExportJob

MODES = ("inference", "training")
_NOTES = {
    "initialise": "drawing the weights",
    "write": "writing the model",
    "check": "checking it with onnx.checker",
    "run": "running it in ONNX Runtime",
    "reference": "computing the reference in NumPy, float64",
}


@dataclass(frozen=True)
class ExportRequest:
    """What to export.

    Parameters
    ----------
    problem : str
        Its name.
    path : Path
        The file to write, ending in ``.onnx``.
    settings : mapping
        Name of a parameter of the problem to its value.
    batch_size : int or None
        None takes the problem's own.
    open_batch : bool
        Whether the model takes a mini-batch of any size.
    mode : {"inference", "training"}
        ``training`` adds the loss to the outputs; the model goes forward, as in inference.
    seed : int
        Of the weights and the mini-batch that the file is compared on.
    verify : bool
        Whether to run it, compare its outputs, and keep the inputs and outputs beside it.
    force : bool
        Whether it may take the place of a file of that name.
    environment : str
        As in :class:`~benchmarker.experiment.spec.RunSpec`.
    """

    problem: str
    path: Path
    settings: Mapping[str, Any] = field(default_factory=dict)
    batch_size: int | None = None
    open_batch: bool = False
    mode: str = "inference"
    seed: int = 42
    verify: bool = True
    force: bool = False
    environment: str = "auto"


@dataclass(frozen=True)
class ExportReport:
    """What was written.

    Parameters
    ----------
    path : str
        The model.
    files : tuple of str
        All files: the model, that of the parameters of a large one, and a mini-batch with what the model makes of it.
    bytes : int
        Their size together.
    problem, mode, seed
        As asked for.
    framework : str
        What ran it, with its version.
    opset, nodes : int
        Of the model.
    parameters : int
        Values, those that are not trained too.
    inputs, outputs : mapping
        Shapes by name; an axis that depends on an open mini-batch is ``"batch"``.
    tensors : tuple of mapping
        Each output as compared with the reference; see
        :class:`~benchmarker.worker.verification.verdicts.TensorVerdict`.
    inconclusive : str or None
        Why the comparison tells nothing.
    """

    path: str
    files: tuple[str, ...]
    bytes: int
    problem: str
    mode: str
    seed: int
    framework: str
    opset: int
    nodes: int
    parameters: int
    inputs: Mapping[str, list[Any]]
    outputs: Mapping[str, list[Any]]
    tensors: tuple[Mapping[str, Any], ...]
    inconclusive: str | None

    @property
    def worst(self) -> Mapping[str, Any] | None:
        """The output with the largest error; None if none was compared."""
        return max(self.tensors, key=lambda tensor: float(tensor["max_relative_error"]), default=None)

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "worst": self.worst}


def export(request: ExportRequest, note: Callable[[str], None] = lambda text: None) -> ExportReport:
    """Write a problem as an ONNX file: whole or not at all, and never over another unless asked to.

    Parameters
    ----------
    request : ExportRequest
        What to write.
    note : callable
        Told of what takes time.

    Raises
    ------
    UsageError
        If what is asked makes no sense, or a file of that name is there.
    UnsupportedError
        If ONNX lacks an operator.
    BenchmarkerError
        If the file does not compute the problem's function, or could not be made.
    """
    _check_target(request)
    job = _job(request)
    try:
        folder = Path(tempfile.mkdtemp(prefix=f".{request.path.name}.", dir=request.path.parent))
    except OSError as error:
        raise UsageError(
            f"the model's folder must be writable, got '{request.path.parent}' ({error.strerror})"
        ) from None
    try:
        job = replace(job, path=str((folder / request.path.name).absolute()))
        result = _run(request, job, note)
        report = _report(request, result)
        _refuse_difference(report)
        _publish(folder, report.files, request)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return report


def _check_target(request: ExportRequest) -> None:
    path = request.path
    if path.suffix != ".onnx":
        raise UsageError(f"the file of a model must end in .onnx, got '{path}'")
    if not path.parent.is_dir():
        raise UsageError(f"the folder of the model must exist, got '{path.parent}'; make it first")
    example = (path.with_suffix(EXAMPLE),) if request.verify else ()
    for target in (path, path.with_name(f"{path.name}.data"), *example):
        if target.is_dir() or (target.exists() and not request.force):
            raise _taken(target)


def _taken(path: Path) -> UsageError:
    if path.is_dir():
        return UsageError(f"the model must be written to a file, got the folder '{path}'")
    return UsageError(f"'{path}' already exists; choose another name, or replace it with --force")


def _job(request: ExportRequest) -> ExportJob:
    """Return the worker's job, which has no file yet; what makes no sense is found before anything starts."""
    if request.mode not in MODES:
        raise UsageError(f"the mode of an exported model must be inference or training, got '{request.mode}'")
    OPTIONS["seed"].check(request.seed)
    problem = registry.problem(request.problem)
    own = f"{problem.name}."
    parameters = problem.configure({n.removeprefix(own): value for n, value in request.settings.items()})
    graph = problem.graph(request.batch_size, **parameters)
    if request.mode == "training" and graph.loss is None:
        raise UsageError(f"problem '{problem.name}' has no loss, so its mode must be inference")
    plugin = registry.framework(FRAMEWORK)
    exported = graph if request.mode == "training" else graph.without_loss()
    check_operators(exported, OnnxOperators, plugin.name)
    return ExportJob(
        framework=registry.find("frameworks", plugin.name).value,
        device=Device("cpu"),
        threads=default_threads(),
        seed=request.seed,
        problem=registry.find("problems", request.problem).value,
        problem_parameters=parameters,
        mode=request.mode,
        batch_size=graph.batch_size,
        precision="fp32",
        path="",
        open_batch=request.open_batch,
        verify=request.verify,
        version=__version__,
    )


def _run(request: ExportRequest, job: ExportJob, note: Callable[[str], None]) -> Event:
    plugin = registry.framework(FRAMEWORK)
    interpreter = resolve(plugin, choice=request.environment, version=None, cuda=False, progress=note)

    def handle(event: Event) -> None:
        if event["event"] == "stage" and event["name"] in _NOTES:
            note(_NOTES[event["name"]])
        elif event["event"] == "result":
            _check_files(Path(job.path), event["files"])

    return run_isolated(job, plugin, interpreter, handler=handle).result(_sentence)


def _check_files(model: Path, names: Sequence[str]) -> None:
    """Hold the files that a worker says it wrote to those that take their places beside the model.

    Raises
    ------
    ProtocolError
        If they are others, or are not there.
    """
    first, *others = names
    if first != model.name or not {f"{model.name}.data", model.with_suffix(EXAMPLE).name}.issuperset(others):
        raise ProtocolError(f"it wrote files that it was not asked for: {shortened(', '.join(names), 120)}")
    for name in names:
        if not stat.S_ISREG(_mode(model.with_name(name))):
            raise ProtocolError(f"it wrote no file '{name}'")


def _mode(path: Path) -> int:
    try:
        return path.lstat().st_mode
    except OSError:
        return 0


def _sentence(failed: Failure) -> str:
    if failed.type in MEANT_FOR_USER:
        return failed.message
    return f"the model was not written: in stage '{failed.stage}': {failed.message}"


def _report(request: ExportRequest, result: Event) -> ExportReport:
    def shapes(kind: str) -> dict[str, list[Any]]:
        return {
            name: [
                "batch" if axis in result["open_axes"].get(name, ()) else n for axis, n in enumerate(shape)
            ]
            for name, shape in result[kind].items()
        }

    return ExportReport(
        path=str(request.path),
        files=tuple(str(request.path.with_name(name)) for name in result["files"]),
        bytes=result["bytes"],
        problem=ProblemReference.parse(request.problem).name,
        mode=request.mode,
        seed=request.seed,
        framework=result["framework"],
        opset=result["opset"],
        nodes=result["nodes"],
        parameters=result["parameters"],
        inputs=shapes("inputs"),
        outputs=shapes("outputs"),
        tensors=tuple(result.get("tensors", ())),
        inconclusive=result.get("inconclusive"),
    )


def _refuse_difference(report: ExportReport) -> None:
    wrong = [
        tensor
        for tensor in report.tensors
        if not tensor["passed"] and (report.inconclusive is None or math.isinf(tensor["norm_error"]))
    ]
    if wrong:
        worst = max(wrong, key=lambda tensor: float(tensor["max_relative_error"]))
        raise BenchmarkerError(
            f"the model was not written: in ONNX Runtime its output '{worst['name']}' differs from the "
            f"reference by {worst['max_relative_error']:.3g} of the largest element; allowed is "
            f"{worst['tolerance']:.3g}"
        )


def _publish(folder: Path, files: tuple[str, ...], request: ExportRequest) -> None:
    """Give the finished files their names: the model last, which names the other."""
    named: list[Path] = []
    for target in map(Path, reversed(files)):
        try:
            give_name(folder / target.name, target, replace=request.force)
        except FileExistsError:
            for path in named:
                remove(path)
            raise _taken(target) from None
        named.append(target)
