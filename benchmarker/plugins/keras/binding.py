"""Every node of a graph bound to Keras functions, and how inputs, weights and values stand for that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarker.graph.graph import Graph
from benchmarker.graph.types import Node, TensorType
from benchmarker.plugins.common.axis_orders import Order, Shape, graph_order, image_order
from benchmarker.plugins.common.image_flow import ImageFlow
from benchmarker.plugins.common.layouts import Layout, flattened, permuted
from benchmarker.plugins.keras.binding_site import Setting, Site
from benchmarker.plugins.keras.layouts import Native, arrangement
from benchmarker.plugins.keras.operators import BINDERS

_PASSING_COLUMNS = frozenset({"dropout", "leaky_relu", "relu", "sigmoid", "tanh"})
"""Operators to which the order of columns is all the same."""


class Binding:
    """How the values of a graph stand, and its nodes as callables.

    Parameters
    ----------
    graph : Graph
        Of operators that have binders alone.
    setting : Setting
        Of inference.

    Attributes
    ----------
    setting : Setting
        As given.
    orders : dict
        Order of axes of every value by name, parameters included.
    layouts : dict
        Layout of every parameter by name.
    """

    def __init__(self, graph: Graph, setting: Setting) -> None:
        self._graph = graph
        self.setting = setting
        self._flat: dict[str, Shape] = {}
        self.layouts: dict[str, Layout] = {}
        self.orders: dict[str, Order] = {}
        flow = ImageFlow(graph)
        for declared in graph.inputs:
            image = setting.channels_last and flow.feeds_images(declared.name)
            self.orders[declared.name] = image_order(len(declared.type.shape), image)
        self.bind(setting)
        for output, upstream in graph.upstream.items():
            self.orders[upstream] = self.orders[output]

    def bind(self, setting: Setting) -> dict[str, Native]:
        """Return each node's callable by its name, with what arranges its inputs."""
        return {node.name: self._bound(node, setting) for node in self._graph.nodes}

    def _bound(self, node: Node, setting: Setting) -> Native:
        types = [self._graph.types[name] if name else None for name in node.inputs]
        orders = [self._order(name) for name in node.inputs]
        result = self._graph.types[node.outputs[0]]
        site = Site(types, orders, result, setting, self._flattens(node))
        native = BINDERS[node.operator](site, **node.keywords)
        for name in node.outputs:
            rank = len(self._graph.types[name].shape)
            self.orders[name] = graph_order(rank) if site.given is None else site.given
        return self._arranged(node, site, types, native)

    def _order(self, name: str) -> Order:
        """Return how a value stands; a parameter of which nothing is known yet as in the graph."""
        if not name:
            return ()
        return self.orders.get(name, graph_order(len(self._graph.types[name].shape)))

    def _arranged(self, node: Node, site: Site, types: Sequence[TensorType | None], native: Native) -> Native:
        """Return ``native`` with its inputs brought into the orders that it takes."""
        steps: list[Native | None] = []
        for position, (name, known) in enumerate(zip(node.inputs, types)):
            if known is None:
                steps.append(None)
                continue
            want = site.taken.get(position, graph_order(len(known.shape)))
            self._lay_out(name, want, node)
            step = arrangement(known.shape, self._order(name), want)
            # Over JAX not every function takes a variable for the tensor that it computes on.
            steps.append(self._read if step is None and position == 0 and name in self.layouts else step)
        if not any(steps):
            return native
        return lambda *xs: native(*(x if step is None else step(x) for x, step in zip(xs, steps)))

    @staticmethod
    def _read(variable: Any) -> Any:
        from keras import ops

        return ops.convert_to_tensor(variable)

    # --- parameters --------------------------------------------------------------------------

    def _lay_out(self, name: str, want: Order, node: Node) -> None:
        """Decide how a parameter is kept: as its uses take it if they are of one kind."""
        if name in self.layouts or all(name != p.name for p in self._graph.parameters):
            return
        image = self._flat.get(node.inputs[0]) if node.operator == "gemm" and name == node.inputs[1] else None
        if image is not None:
            channels_last = (*range(1, len(image)), 0)
            self.layouts[name], self.orders[name] = flattened(image, channels_last), want
            return
        rank = len(self._graph.types[name].shape)
        kinds = {
            (user.operator, position, user.attributes.get("trans_b"))
            for user, position in self._graph.uses(name)
        }
        order = want if len(want) == rank and len(kinds) == 1 else graph_order(rank)
        self.layouts[name], self.orders[name] = permuted(order), order

    # --- images ------------------------------------------------------------------------------

    def _flattens(self, node: Node) -> bool:
        """Return whether ``node`` flattens an image, or passes one on, that dense layers alone use."""
        source, result = node.inputs[0] if node.inputs else "", node.outputs[0]
        if node.operator in _PASSING_COLUMNS and source in self._flat:
            self._flat[result] = self._flat[source]
            return True
        if node.operator not in ("flatten", "reshape"):
            return False
        shape, target = self._graph.types[source].shape, self._graph.types[result].shape
        order = self._order(source)
        fits = len(shape) > 2 and len(target) == 2 and shape[0] == target[0]
        if not fits or order == graph_order(len(shape)) or not self._only_dense(result):
            return False
        self._flat[result] = shape[1:]
        return True

    def _only_dense(self, name: str) -> bool:
        """Return whether nothing but dense layers with a weight of their own uses the columns of ``name``."""
        if name in self._graph.outputs:
            return False
        return all(
            all(map(self._only_dense, node.outputs))
            if node.operator in _PASSING_COLUMNS
            else position == 0 and self._is_dense(node)
            for node, position in self._graph.uses(name)
        )

    def _is_dense(self, node: Node) -> bool:
        if node.operator != "gemm" or node.attributes["trans_a"] or not node.attributes["trans_b"]:
            return False
        weight = node.inputs[1]
        known = any(weight == parameter.name for parameter in self._graph.parameters)
        return known and len(self._graph.uses(weight)) == 1
