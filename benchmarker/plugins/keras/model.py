"""The graph as a subclassed ``keras.Model``, whose ``call`` is a straight line of Keras functions."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.graph.graph import Graph
from benchmarker.graph.types import Parameter
from benchmarker.plugins.keras.binding import Binding
from benchmarker.plugins.keras.binding_site import Setting
from benchmarker.plugins.keras.straight_lines import Lines

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


def make_model(graph: Graph, binding: Binding, parameters: Mapping[str, Array]) -> Any:
    """Return the model of ``graph`` with variables that hold ``parameters``."""
    return _model_class()(graph, binding, parameters)


@functools.cache
def _model_class() -> Any:
    """Return the class, made once because it needs Keras."""
    import keras

    class GraphModel(keras.Model):  # type: ignore[misc]
        """A graph.

        Called with ``training=True`` it returns the loss, otherwise the tuple of outputs.

        Attributes
        ----------
        weights_by_name : dict
            Keras variable of each parameter of the graph.
        calls : int
            How often Python ran :meth:`call`: over TensorFlow and JAX, how often it was traced.
        """

        def __init__(self, graph: Graph, binding: Binding, parameters: Mapping[str, Array]) -> None:
            super().__init__(name=re.sub(r"\W", "_", graph.name), dtype=binding.setting.dtype)
            self.weights_by_name = {
                p.name: self._made(p, binding.layouts[p.name].encode(parameters[p.name]), binding.setting)
                for p in graph.parameters
                if p.name in binding.layouts
            }
            self.seed_generator = keras.random.SeedGenerator()
            self.calls = 0
            self.lines = Lines(graph, binding, dict(self.weights_by_name), self.seed_generator)
            self.built = True

        def _made(self, parameter: Parameter, arrays: tuple[Array, ...], setting: Setting) -> Any:
            (array,) = arrays
            return self.add_weight(
                shape=array.shape,
                initializer=lambda shape, dtype: keras.ops.convert_to_tensor(np.array(array), dtype),
                dtype=setting.native_type(parameter.type.dtype),
                trainable=parameter.trainable,
                name=re.sub(r"\W", "_", parameter.name),
            )

        def call(self, inputs: tuple[Any, ...], training: bool = False) -> Any:
            self.calls += 1
            if training:
                return self.lines.training(*inputs)[0]
            return self.lines.inference(*inputs)

        # Keras would compare predictions with targets; the graph has its loss among its own operators.
        def compute_loss(self, x: Any, y: Any, y_pred: Any, *more: Any, **others: Any) -> Any:
            return y_pred

        # Keras would return the mean of all losses since the last reset; a step returns its own.
        def compute_metrics(self, x: Any, y: Any, y_pred: Any, sample_weight: Any = None) -> dict[str, Any]:
            return {"loss": y_pred}

    return GraphModel
