"""The operators that oneDNN has as primitives: each adds its steps to a plan and returns its outputs."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarker.errors import UnsupportedError
from benchmarker.graph.attributes import Gemm
from benchmarker.graph.operators import Operators
from benchmarker.graph.windows import Window
from benchmarker.plugins.onednn.library import (
    BIAS,
    CONVOLUTION_DIRECT,
    DST,
    FORWARD_INFERENCE,
    SRC,
    WEIGHTS,
    Handle,
    Primitive,
    Shape,
    dims,
)
from benchmarker.plugins.onednn.plan import Plan
from benchmarker.plugins.onednn.values import Value, View


class OnednnOperators(Operators):
    """Matrix products and convolutions, added to a plan."""

    def __init__(self, plan: Plan) -> None:
        super().__init__()
        self._plan = plan

    def gemm(self, a: Value, b: Value, c: Value | None = None, *, product: Gemm) -> Value:
        if product.alpha != 1.0 or (c is not None and (product.beta != 1.0 or not _is_row(c))):
            raise UnsupportedError(
                "oneDNN's product of matrices has alpha=1 here and a bias that is one row, with beta=1; got "
                f"alpha={product.alpha}, beta={product.beta} and "
                + ("no bias" if c is None else f"a bias of shape {c.shape}")
            )
        views = [_matrix(a.shape, product.trans_a), _matrix(b.shape, product.trans_b)]
        return self._product((a, b), views, (views[0].shape[0], views[1].shape[1]), c)

    def matmul(self, a: Value, b: Value) -> Value:
        rank = max(len(a.shape), len(b.shape))
        views = [View((1,) * (rank - len(x.shape)) + x.shape) for x in (a, b)]
        outer = [max(sizes) for sizes in zip(*(view.shape[:-2] for view in views))]
        return self._product((a, b), views, (*outer, views[0].shape[-2], views[1].shape[-1]), None)

    def _product(
        self, operands: Sequence[Value], views: Sequence[View], shape: Shape, bias: Value | None
    ) -> Value:
        """Operands lie as the graph has them, since nothing of them is prepared; parameters as the library likes."""
        output, row = View(shape), View((1,) * (len(shape) - 1) + (shape[-1],))
        given = [
            self._plan.exactly(view) if value.constant is None else self._plan.library.described(view.shape)
            for value, view in zip(operands, views)
        ]
        added = None if bias is None else self._plan.exactly(row)
        primitive = self._plan.library.primitive("matmul", *given, added, self._plan.exactly(output))
        arguments = {}
        for index, value, view in zip((SRC, WEIGHTS), operands, views):
            arguments[index] = self._plan.taken(value, view, self._plan.library.wanted(primitive, index))
        if bias is not None:
            arguments[BIAS] = self._plan.taken(bias, row, self._plan.library.wanted(primitive, BIAS))
        return self._finished(primitive, arguments, shape, output)

    def conv(self, x: Value, w: Value, b: Value | None = None, *, window: Window) -> Value:
        shape = (x.shape[0], w.shape[0], *window.output_sizes(x.shape, w.shape))
        images, filters, output = View(x.shape), _filters(w.shape, window.group), View(shape)
        bias = View((w.shape[0],))
        primitive = self._plan.library.primitive(
            "convolution_forward",
            FORWARD_INFERENCE,
            CONVOLUTION_DIRECT,
            self._plan.offered(x, images),
            self._plan.offered(w, filters),
            None if b is None else self._plan.exactly(bias),
            self._plan.offered(Value(self._plan.library, shape), output),
            dims(window.strides),
            dims([d - 1 for d in window.dilations]),
            dims(window.begins),
            dims(window.ends),
        )
        wanted = self._plan.library.wanted
        arguments = {
            SRC: self._plan.taken(x, images, wanted(primitive, SRC)),
            WEIGHTS: self._plan.taken(w, filters, wanted(primitive, WEIGHTS)),
        }
        if b is not None:
            arguments[BIAS] = self._plan.taken(b, bias, wanted(primitive, BIAS))
        return self._finished(primitive, arguments, shape, output)

    def _finished(
        self, primitive: Primitive, arguments: dict[int, Handle], shape: Shape, view: View
    ) -> Value:
        value = self._plan.result(shape, view, primitive)
        assert value.memory is not None
        self._plan.add(primitive, {**arguments, DST: value.memory})
        return value


def _is_row(bias: Value) -> bool:
    return all(size == 1 for size in bias.shape[:-1]) and len(bias.shape) >= 1


def _matrix(shape: Shape, transposed: bool) -> View:
    rows, columns = shape
    return View((columns, rows), (1, columns)) if transposed else View((rows, columns))


def _filters(shape: Shape, group: int) -> View:
    return View(shape) if group == 1 else View((group, shape[0] // group, *shape[1:]))
