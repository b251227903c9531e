"""What was changed about the graph before it was built, and what the graph predicts of its memory."""

from __future__ import annotations

from benchmarker import registry
from benchmarker.experiment.spec import RunSpec
from benchmarker.graph.cost import GraphCost, graph_cost
from benchmarker.graph.transformations.fold_batch_norm import fold_batch_norm
from benchmarker.records.schema.transformations import (
    FoldedBatchNorm,
    MicroBatch,
    PredictedMemory,
    Transformations,
)


def transformations_of(spec: RunSpec, cost: GraphCost) -> Transformations | None:
    """Return what the run changes about the graph; None if nothing.

    Parameters
    ----------
    spec : RunSpec
        What was asked for.
    cost : GraphCost
        Of the problem's own graph.
    """
    if spec.micro_batch is None and not spec.fold_batch_norm:
        return None
    problem = registry.problem(spec.problem)
    graph = problem.graph(spec.micro_batch or spec.batch_size, **spec.problem_parameters)
    without = cost.memory(spec.optimizer if spec.mode == "training" else None)["total"]
    if spec.micro_batch is not None:
        parts = spec.batch_size // spec.micro_batch
        micro = MicroBatch(
            samples=spec.micro_batch,
            parts=parts,
            statistics="of each micro-batch" if graph.takes_statistics else None,
            loss_over=graph.loss_over,
        )
        part = graph_cost(graph, training=True, precision=spec.precision)
        waiting = part.input_bytes * (parts - 1)
        return _transformations(micro, None, part.memory(spec.optimizer)["total"] + waiting, without)
    folded = fold_batch_norm(graph.without_loss())
    own = graph_cost(folded.graph, precision=spec.precision).memory()["total"]
    return _transformations(None, FoldedBatchNorm(folded=len(folded.nodes)), own, without)


def _transformations(
    micro: MicroBatch | None, folded: FoldedBatchNorm | None, predicted: int, without: int
) -> Transformations:
    memory = PredictedMemory(predicted_bytes=predicted, predicted_bytes_without=without)
    return Transformations(micro_batch=micro, fold_batch_norm=folded, memory=memory)
