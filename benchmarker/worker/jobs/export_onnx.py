"""The job that writes a problem as an ONNX model, and sees that the file computes the problem's function."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.graph.graph import Graph
from benchmarker.graph.support import check_operators
from benchmarker.worker.channel import Channel
from benchmarker.worker.loading import problem_graph
from benchmarker.worker.other_jobs import EXAMPLE, ExportJob
from benchmarker.worker.program import import_framework
from benchmarker.worker.stages import Stages

if TYPE_CHECKING:
    import numpy.typing as npt

    Arrays = dict[str, npt.NDArray[Any]]


def export(job: ExportJob, channel: Channel, stages: Stages) -> None:
    """Write the model and send what it is and how far its outputs are from the reference's."""
    plugin, framework = import_framework(job, stages)
    from benchmarker.data import values

    with stages.stage("initialise"):
        graph = exported_graph(job, job.batch_size)
        check_operators(graph, framework.operators, plugin.name)
        parameters = values.draw_parameters(graph, job.seed)
    path = Path(job.path)
    with stages.stage("write"):
        facts = _write(job, graph, parameters, path)
    with stages.stage("check"):
        from benchmarker.graph.onnx.writer.model import check_file

        check_file(path)
    if job.verify:
        facts["tensors"], facts["inconclusive"] = _compare(job, graph, parameters, path, stages)
        example = path.with_suffix(EXAMPLE)
        facts["files"].append(example.name)
        facts["bytes"] += example.stat().st_size
    channel.send("result", seconds=stages.seconds, framework=f"{plugin.name} {framework.version()}", **facts)


def exported_graph(job: ExportJob, batch_size: int) -> Graph:
    """Return what the model computes: the outputs, in training the loss too, forward alone."""
    graph = problem_graph(job, batch_size)
    if graph.loss is None:
        return graph
    outputs = tuple(dict.fromkeys((*graph.outputs, graph.loss)))
    return replace(graph, outputs=outputs, loss=None)


def _write(job: ExportJob, graph: Graph, parameters: Arrays, path: Path) -> dict[str, Any]:
    from benchmarker.graph.onnx.writer.lowering import lower
    from benchmarker.graph.onnx.writer.model import OPSET, make_model, write_model
    from benchmarker.graph.onnx.writer.open_batch import open_axes, open_batch

    axes: dict[str, tuple[int, ...]] = {}
    opened = graph
    if job.open_batch:
        larger = exported_graph(job, job.batch_size + 1)
        opened = open_batch(graph, larger)
        axes = {name: open_axes(graph, larger, name) for name in (*graph.outputs, *_inputs(graph))}
    lowered = lower(opened, open_batch=job.open_batch)
    metadata = {
        "problem": graph.name,
        "mode": job.mode,
        "batch_size": "any" if job.open_batch else str(job.batch_size),
        "seed": str(job.seed),
        **{f"parameter.{name}": str(value) for name, value in job.problem_parameters.items()},
    }
    model = make_model(opened, lowered, open_axes=axes, metadata=metadata, version=job.version)
    files = write_model(model, parameters, path)
    return {
        "files": [file.name for file in files],
        "bytes": sum(file.stat().st_size for file in files),
        "opset": OPSET,
        "nodes": len(lowered.nodes),
        "parameters": sum(p.type.elements for p in graph.parameters),
        "inputs": {i.name: list(i.type.shape) for i in graph.inputs},
        "outputs": {name: list(graph.types[name].shape) for name in graph.outputs},
        "open_axes": {name: list(found) for name, found in axes.items() if found},
    }


def _inputs(graph: Graph) -> tuple[str, ...]:
    return tuple(i.name for i in graph.inputs)


def _compare(
    job: ExportJob, graph: Graph, parameters: Arrays, path: Path, stages: Stages
) -> tuple[list[dict[str, Any]], str | None]:
    """Return how far each output of the file is from the reference's, and why that tells nothing, if so.

    The mini-batch and the outputs are kept beside the file.
    """
    from benchmarker.data import values
    from benchmarker.plugins.onnxruntime.model_file import run_file
    from benchmarker.worker.verification import reference
    from benchmarker.worker.verification.tolerances import tolerances, too_ill_conditioned
    from benchmarker.worker.verification.verdicts import judge

    graphs = {job.batch_size: graph}
    if job.open_batch:
        # Another size than the one that it was made from.
        other = 1 if job.batch_size > 1 else 2
        graphs[other] = exported_graph(job, other)
    batches = {str(size): values.draw_batch(sized, job.seed) for size, sized in graphs.items()}
    with stages.stage("run"):
        found = run_file(path, batches, job.threads)
    own = str(job.batch_size)
    _keep(path.with_suffix(EXAMPLE), {**batches[own], **dict(zip(dict.fromkeys(graph.outputs), found[own]))})
    tensors: list[dict[str, Any]] = []
    inconclusive = None
    with stages.stage("reference"):
        for size, sized in graphs.items():
            outputs = dict(zip(dict.fromkeys(sized.outputs), found[str(size)]))
            expected = reference.compute(sized, parameters, batches[str(size)], "inference")
            inconclusive = inconclusive or too_ill_conditioned(expected)
            limits = tolerances(expected, job.precision)
            for e in expected:
                tensors.append({**asdict(judge(e, outputs[e.name], limits[e.name])), "batch_size": size})
    return tensors, inconclusive


def _keep(path: Path, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Write arrays under their names, whatever these are, as NumPy's archives have them."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asarray(array), allow_pickle=False)
