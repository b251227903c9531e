"""The job that writes a problem as an ONNX model, and sees that the file computes the problem's function."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarker.graph.graph import Graph
from benchmarker.graph.support import check_operators
from benchmarker.worker.channel import Channel
from benchmarker.worker.job import Job, load_framework, load_framework_plugin, problem_graph
from benchmarker.worker.stages import Stages

if TYPE_CHECKING:
    import numpy.typing as npt

    Arrays = dict[str, npt.NDArray[Any]]


def export(job: Job, channel: Channel, stages: Stages) -> None:
    """Write the model and send what it is and how far its outputs are from the reference's."""
    if job.export is None:
        raise ValueError("an export needs the path of the model")
    plugin = load_framework_plugin(job.framework)
    with stages.stage("import"):
        framework = load_framework(plugin)
        from benchmarker.worker import values
    stages.out_of_memory_signs = tuple(framework.out_of_memory_signs())
    with stages.stage("initialise"):
        graph = exported_graph(job, job.batch_size)
        check_operators(graph, framework.operators, plugin.name)
        parameters = values.draw_parameters(graph, job.seed)
    path = Path(job.export["path"])
    with stages.stage("write"):
        facts = _write(job, graph, parameters, path)
    with stages.stage("check"):
        from benchmarker.onnx_model.exporting.model import check_file

        check_file(path)
    if job.export["verify"]:
        facts["tensors"], facts["inconclusive"] = _compare(job, graph, parameters, path, stages)
    channel.send("result", seconds=stages.seconds, framework=f"{plugin.name} {framework.version()}", **facts)


def exported_graph(job: Job, batch_size: int) -> Graph:
    """Return what the model computes: the outputs, in training the loss too, forward alone."""
    graph = problem_graph(job, batch_size)
    if graph.loss is None:
        return graph
    outputs = tuple(dict.fromkeys((*graph.outputs, graph.loss)))
    return replace(graph, outputs=outputs, loss=None)


def _write(job: Job, graph: Graph, parameters: Arrays, path: Path) -> dict[str, Any]:
    from benchmarker.onnx_model.exporting.lowering import lower
    from benchmarker.onnx_model.exporting.model import OPSET, make_model, write_model
    from benchmarker.onnx_model.exporting.open_batch import open_axes, open_batch

    assert job.export is not None
    axes: dict[str, tuple[int, ...]] = {}
    opened = graph
    if job.export["open"]:
        larger = exported_graph(job, job.batch_size + 1)
        opened = open_batch(graph, larger)
        axes = {name: open_axes(graph, larger, name) for name in (*graph.outputs, *_inputs(graph))}
    lowered = lower(opened, open_batch=bool(job.export["open"]))
    metadata = {
        "problem": graph.name,
        "mode": job.mode,
        "batch_size": "any" if job.export["open"] else str(job.batch_size),
        "seed": str(job.seed),
        **{f"parameter.{name}": str(value) for name, value in job.problem_parameters.items()},
    }
    model = make_model(opened, lowered, open_axes=axes, metadata=metadata, version=str(job.export["version"]))
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
    job: Job, graph: Graph, parameters: Arrays, path: Path, stages: Stages
) -> tuple[list[dict[str, Any]], str | None]:
    """Return how far each output of the file is from the reference's, and why that tells nothing, if so."""
    from benchmarker.plugins.onnxruntime.files import run_file
    from benchmarker.worker import reference, values
    from benchmarker.worker.verification import judge, tolerances, too_ill_conditioned

    graphs = {job.batch_size: graph}
    if job.export is not None and job.export["open"]:
        # Another size than the one that it was made from.
        other = 1 if job.batch_size > 1 else 2
        graphs[other] = exported_graph(job, other)
    batches = {str(size): values.draw_batch(sized, job.seed) for size, sized in graphs.items()}
    with stages.stage("run"):
        found = run_file(path, batches, job.threads)
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
