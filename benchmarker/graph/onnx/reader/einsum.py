"""Einstein's sums: each as a row of matrix products."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from benchmarker.graph.onnx.reader.call import Call, Handler, Result
from benchmarker.graph.onnx.reader.shaping import reshaped
from benchmarker.graph.onnx.reader.values import Unsupported
from benchmarker.graph.recorder import Value

_HIDDEN = "0123456789"
"""Labels of the axes that an ellipsis stands for, counted from the last one."""


def _labels(call: Call, equation: str) -> tuple[list[str], str]:
    """Return the labels of each operand's axes, and those of the result's."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(call.operands):
        raise Unsupported(f"of {len(terms)} terms over {len(call.operands)} operands")
    found, widest = [], ""
    for place, term in enumerate(terms):
        count = len(call.shape(place)) - len(term.replace("...", ""))
        hidden = _HIDDEN[:count][::-1] if "..." in term else ""
        widest = max(widest, hidden, key=len)
        found.append(term.replace("...", hidden))
    if not arrow:
        joined = left.replace(",", "").replace(".", "")
        right = "..." + "".join(sorted(label for label in set(joined) if joined.count(label) == 1))
    return found, right.replace("...", widest)


class _Sum:
    """Operands with labelled axes."""

    def __init__(self, call: Call) -> None:
        self._call = call

    def diagonal(self, x: Value, labels: str) -> tuple[Value, str]:
        """Return ``x`` with each label once: of equal ones the diagonal."""
        for label in labels:
            if labels.count(label) < 2:
                continue
            first, second = (i for i, other in enumerate(labels) if other == label)
            rest = [i for i in range(len(labels)) if i not in (first, second)]
            x = self.turned(x, (*rest, first, second))
            size, shape = x.shape[-1], x.shape[:-2]
            flat = reshaped(self._call, x, (*shape, size * size))
            places = self._call.table(np.arange(size) * (size + 1), f"diagonal_{label}")
            x = self._call.net.gather(flat, places, axis=len(shape))
            return self.diagonal(x, "".join(labels[i] for i in rest) + label)
        return x, labels

    def turned(self, x: Value, perm: Sequence[int]) -> Value:
        """Return ``x`` with its axes in that order."""
        if tuple(perm) == tuple(range(len(perm))):
            return x
        found: Value = self._call.net.transpose(x, perm=tuple(perm))
        return found

    def summed(self, x: Value, labels: str, kept: set[str]) -> tuple[Value, str]:
        """Return ``x`` without the axes that nothing else names."""
        axes = tuple(i for i, label in enumerate(labels) if label not in kept)
        if not axes:
            return x, labels
        found: Value = self._call.net.reduce_sum(x, axes=axes)
        return found, "".join(label for label in labels if label in kept)

    def product(self, a: Value, left: str, b: Value, right: str, kept: set[str]) -> tuple[Value, str]:
        """Return the product of two, summed over the labels that both have and nothing else does."""
        both = [label for label in left if label in right]
        rows, columns = ([n for n in labels if n not in both] for labels in (left, right))
        batch = [label for label in both if label in kept]
        inner = [label for label in both if label not in kept]
        sizes = dict(zip(right, b.shape))
        for label, size in zip(left, a.shape):
            sizes[label] = max(size, sizes.get(label, 1))
        a, b = self._wide(a, left, both, sizes), self._wide(b, right, both, sizes)
        a = self.turned(a, [left.index(n) for n in (*batch, *rows, *inner)])
        b = self.turned(b, [right.index(n) for n in (*batch, *inner, *columns)])

        def whole(labels: Sequence[str]) -> int:
            return math.prod(sizes[label] for label in labels)

        lead = (whole(batch),) if batch else ()
        a = reshaped(self._call, a, (*lead, whole(rows), whole(inner)))
        b = reshaped(self._call, b, (*lead, whole(inner), whole(columns)))
        found = self._call.net.matmul(a, b)
        labels = [*batch, *rows, *columns]
        return reshaped(self._call, found, [sizes[n] for n in labels]), "".join(labels)

    def _wide(self, x: Value, labels: str, both: Sequence[str], sizes: Mapping[str, int]) -> Value:
        shape = tuple(sizes[n] if n in both else size for n, size in zip(labels, x.shape))
        if shape == x.shape:
            return x
        found: Value = self._call.net.expand(x, shape=shape)
        return found


def _einsum(call: Call) -> Result:
    terms, result = _labels(call, call.attribute("equation"))
    by = _Sum(call)
    operands = [by.diagonal(call.tensor(place), labels) for place, labels in enumerate(terms)]
    x, labels = operands[0]
    for place, (y, more) in enumerate(operands[1:], 1):
        later = {label for _, others in operands[place + 1 :] for label in others} | set(result)
        x, labels = by.summed(x, labels, later | set(more))
        y, more = by.summed(y, more, later | set(labels))
        x, labels = by.product(x, labels, y, more, later)
    x, labels = by.summed(x, labels, set(result))
    return by.turned(x, [labels.index(label) for label in result])


HANDLERS: Mapping[str, Handler] = {"Einsum": _einsum}
"""How each ONNX operator is written in ours."""
