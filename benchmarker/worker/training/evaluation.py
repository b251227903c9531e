"""How good the weights are: every sample of a part once, in whole numbers, by the framework that trains."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Optional, Union

from benchmarker.api.program import Program
from benchmarker.data.batch_inputs import takes_weights
from benchmarker.data.evaluation import Evaluation, EvaluationBatch, EvaluationBatches, evaluate_scores
from benchmarker.errors import UnsupportedError, UsageError
from benchmarker.graph.graph import Graph
from benchmarker.graph.types import Node
from benchmarker.training.recipe import ACCURACY, Target

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.generic]
    Weights = Mapping[str, Array]

KEPT_BYTES = 256 << 20
"""Mini-batches of an evaluation that take no more than this stay on the device."""


def check_can_be_evaluated(graph: Graph, target: Target) -> None:
    """Refuse a problem that a recipe's target means nothing for.

    Raises
    ------
    UsageError
        If the problem has no one output of scores ``(N, classes)``, or a loss that a target cannot be of.
    """
    if len(graph.outputs) != 1 or len(graph.types[graph.outputs[0]].shape) != 2:
        raise UsageError(
            f"a recipe needs a problem with one output of scores (N, classes), which '{graph.name}' does not have"
        )
    if target.metric != ACCURACY and not has_cross_entropy(graph):
        raise UsageError(
            f"the loss of '{graph.name}' is not the mean cross-entropy of its output, so it cannot be a target; "
            "set one for the accuracy"
        )


def has_cross_entropy(graph: Graph) -> bool:
    """Tell whether the loss is the softmax's mean cross-entropy of the one output, of class indices or weights."""
    return _has_hard_cross_entropy(graph) or _has_soft_cross_entropy(graph)


_SOFT = ("affine", "reduce_mean", "reduce_sum", "mul", "log_softmax")
"""What the cross-entropy of weights of classes is composed of, from the loss on (``docs/data.md``)."""


def _has_soft_cross_entropy(graph: Graph) -> bool:
    makers = {name: node for node in graph.nodes for name in node.outputs}
    chain: list[Node] = []
    for operator in _SOFT:
        names = chain[-1].inputs if chain else (graph.loss,)
        found = [makers[name] for name in names if name in makers]
        own = [node for node in found if node.operator == operator]
        if len(own) != 1:
            return False
        chain.append(own[0])
    negated, mean, total, product, log_shares = chain
    labels = [name for name in product.inputs if name not in log_shares.outputs]
    return (
        log_shares.inputs[0] == graph.outputs[0]
        and log_shares.attributes.get("axis", -1) in (-1, 1)
        and labels == [i.name for i in graph.inputs if takes_weights(i)]
        and tuple(total.attributes["axes"]) in ((-1,), (1,))
        and not mean.attributes.get("axes")
        and (negated.attributes.get("alpha"), negated.attributes.get("beta", 0.0)) == (-1.0, 0.0)
    )


def _has_hard_cross_entropy(graph: Graph) -> bool:
    nodes = [node for node in graph.nodes if graph.loss in node.outputs]
    return [node.operator for node in nodes] == ["softmax_cross_entropy_loss"] and (
        nodes[0].inputs[0] == graph.outputs[0]
        and len([name for name in nodes[0].inputs if name]) == 2
        and nodes[0].attributes.get("reduction", "mean") == "mean"
        and nodes[0].attributes.get("ignore_index") is None
    )


class Evaluator:
    """Evaluates weights as they are told, by a program for inference, in which normalization and dropout are right.

    Parameters
    ----------
    weights : callable
        Returns all parameters and running statistics as they are now.
    build : callable
        Returns a program for inference of a graph with some weights.
    graph : Graph
        With its loss.
    batches : EvaluationBatches
        Every sample once.

    Attributes
    ----------
    batches : sequence of EvaluationBatch
        The same, made once if they are small.
    """

    def __init__(
        self,
        weights: Callable[[], Weights],
        build: Callable[[Graph, Weights], Program],
        graph: Graph,
        batches: EvaluationBatches,
    ) -> None:
        self._weights = weights
        self._build = build
        self._graph = graph.without_loss()
        self._program: Optional[Program] = None
        size = len(batches) * sum(array.nbytes for array in batches[0].arrays.values())
        self._is_kept = size <= KEPT_BYTES
        self.batches: Union[list[EvaluationBatch], EvaluationBatches] = (
            list(batches) if self._is_kept else batches
        )
        self._kept: dict[int, Any] = {}

    def evaluate(self, first: int = 0, stride: int = 1) -> Evaluation:
        """Return how good the weights are now.

        Parameters
        ----------
        first, stride : int
            The mini-batch to begin with, and how many there are from one to the next; all of them by default.
        """
        self.take()
        found = Evaluation()
        for number in range(first, len(self.batches), stride):
            batch = self.batches[number]
            found += evaluate_scores(self.scores(number), batch.labels, batch.mask)
        return found

    def take(self) -> None:
        """Take the weights as they are now."""
        weights = self._weights()
        own = {p.name: weights[p.name] for p in self._graph.parameters}
        if self._program is not None:
            try:
                self._program.assign(own)
                return
            except UnsupportedError:
                self._kept.clear()  # they belong to the program that is left behind
        self._program = self._build(self._graph, own)

    def scores(self, number: int) -> Array:
        """Return what the weights that were taken last give for a mini-batch, what fills it included."""
        program = self._program
        assert program is not None, "weights are taken first"
        output = program.infer(self._native(program, number))
        program.synchronize(output)
        return program.fetch(output)[0]

    def _native(self, program: Program, number: int) -> Any:
        if number in self._kept:
            return self._kept[number]
        arrays = self.batches[number].arrays
        native = program.load({i.name: arrays[i.name] for i in self._graph.inputs})
        if self._is_kept:
            self._kept[number] = native
        return native
