"""Ensembles of decision trees (``ai.onnx.ml``): all rows go down all trees at once, a level at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.graph.onnx.reader.call import Call, Handler, Result
from benchmarker.graph.onnx.reader.estimators import DOMAIN, real, rows_of
from benchmarker.graph.onnx.reader.scores import answered, transformed, two_columns
from benchmarker.graph.onnx.reader.values import Unsupported
from benchmarker.graph.recorder import Value
from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

_LEAF = "LEAF"
_TESTS = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")


@dataclass(frozen=True)
class Forest:
    """Nodes of all trees in one row.

    Parameters
    ----------
    features, thresholds, tests : ndarray
        What a node compares; a test is a place in ``_TESTS``.
    yes, no : ndarray
        Where it leads to; a leaf leads to itself.
    missing : ndarray
        Whether what is no number is led to ``yes``.
    roots : ndarray
        The first node of each tree.
    depth : int
        Levels of tests.
    """

    features: Array
    thresholds: Array
    tests: Array
    yes: Array
    no: Array
    missing: Array
    roots: Array
    depth: int


def _forest(call: Call, place: Mapping[tuple[int, int], int]) -> Forest:
    trees, modes = call.attribute("nodes_treeids"), call.attribute("nodes_modes")
    leaf = np.array([mode == _LEAF for mode in modes])
    strange = {mode for mode in modes if mode not in (*_TESTS, _LEAF)}
    if strange:
        raise Unsupported(f"with the tests {', '.join(sorted(strange))}")
    own = np.arange(len(trees))

    def led(name: str) -> Array:
        ids = call.attribute(name)
        return np.array([own[i] if leaf[i] else place[trees[i], ids[i]] for i in range(len(trees))])

    yes, no = led("nodes_truenodeids"), led("nodes_falsenodeids")
    children = {int(n) for i in own[~leaf] for n in (yes[i], no[i])}
    thresholds = call.attribute("nodes_values_as_tensor")
    thresholds = call.attribute("nodes_values") if thresholds is None else thresholds
    missing = call.attribute("nodes_missing_value_tracks_true") or [0] * len(trees)
    roots = np.array([i for i in own if int(i) not in children])
    at, depth = roots, 0
    while not leaf[at].all():
        at = np.unique(np.concatenate([yes[at], no[at]]))
        depth += 1
    return Forest(
        features=np.where(leaf, 0, np.asarray(call.attribute("nodes_featureids"))),
        thresholds=np.asarray(thresholds, np.float32),
        tests=np.array([0 if mode == _LEAF else _TESTS.index(mode) for mode in modes]),
        yes=yes,
        no=no,
        missing=np.asarray(missing, np.float32),
        roots=roots,
        depth=depth,
    )


class _Descent:
    """Rows on their way down."""

    def __init__(self, call: Call, forest: Forest, x: Value) -> None:
        self._call, self._forest, self._x = call, forest, x

    def leaves(self) -> Value | None:
        """Return the leaf ``(N, trees)`` that each row comes to; None if all trees are leaves."""
        at: Value | None = None
        for _ in range(self._forest.depth):
            at = self._next(at)
        return at

    def _of(self, what: str, at: Value | None) -> Value:
        """Return what the nodes at which the rows are have, of all trees the roots at first."""
        array, call = getattr(self._forest, what), self._call
        if at is None:
            return call.table(array[self._forest.roots], f"{what}_of_roots")
        found: Value = call.net.gather(call.table(array, what), at, axis=0)
        return found

    def _next(self, at: Value | None) -> Value:
        net, features = self._call.net, self._of("features", at)
        take = net.gather if at is None else net.gather_elements
        x = take(self._x, features, axis=1)
        found: Value = net.where(self._holds(x, at), self._of("yes", at), self._of("no", at))
        return found

    def _holds(self, x: Value, at: Value | None) -> Value:
        net, limits = self._call.net, self._of("thresholds", at)
        used = sorted(set(self._forest.tests.tolist()))
        if len(used) == 1:
            holds = self._test(_TESTS[used[0]], x, limits)
        else:
            kinds, parts = self._of("tests", at), []
            for kind in used:
                same = net.equal(kinds, self._call.table(np.array(kind), f"test{kind}"))
                parts.append(net.logical_and(same, self._test(_TESTS[kind], x, limits)))
            holds = parts[0]
            for part in parts[1:]:
                holds = net.logical_or(holds, part)
        if self._forest.missing.any():
            half = self._call.table(np.float32(0.5), "half")
            led = net.logical_and(net.is_nan(x), net.less(half, self._of("missing", at)))
            holds = net.logical_or(holds, led)
        return holds

    def _test(self, name: str, x: Value, limits: Value) -> Value:
        net = self._call.net
        found: Value
        if name in ("BRANCH_LEQ", "BRANCH_GTE"):
            found = net.less_or_equal(x, limits) if name == "BRANCH_LEQ" else net.less_or_equal(limits, x)
        elif name in ("BRANCH_LT", "BRANCH_GT"):
            found = net.less(x, limits) if name == "BRANCH_LT" else net.less(limits, x)
        else:
            found = net.equal(x, limits)
            found = found if name == "BRANCH_EQ" else net.logical_not(found)
        return found


def _totals(call: Call, prefix: str, count: int) -> tuple[Value, Array]:
    """Return what the leaves of all trees give each row ``(N, count)``, and the numbers that leaves give."""
    trees, nodes = call.attribute("nodes_treeids"), call.attribute("nodes_nodeids")
    place = {key: row for row, key in enumerate(zip(trees, nodes))}
    forest = _forest(call, place)
    given = call.attribute(f"{prefix}_weights_as_tensor")
    given = np.asarray(call.attribute(f"{prefix}_weights") if given is None else given, np.float32)
    weights = np.zeros((len(trees), count), np.float32)
    ids = (call.attribute(f"{prefix}_{name}") for name in ("treeids", "nodeids", "ids"))
    for tree, node, target, weight in zip(*ids, given):
        weights[place[tree, node], target] += weight
    x, net = rows_of(call), call.net
    at = _Descent(call, forest, x).leaves()
    if at is None:
        raise Unsupported("of trees without tests")
    table = call.table(weights, "weights")
    how = call.attribute("aggregate_function", "SUM")
    if how not in ("SUM", "AVERAGE") and count > 1:
        raise Unsupported(f"with the aggregate_function {how}")
    each = net.gather(table, at, axis=0)
    if how in ("SUM", "AVERAGE"):
        total = (net.reduce_sum if how == "SUM" else net.reduce_mean)(each, axes=(1,))
    elif how == "MAX":
        total = net.reduce_max(each, axes=(1,))
    else:
        total = net.affine(net.reduce_max(net.affine(each, alpha=-1.0), axes=(1,)), alpha=-1.0)
    return total, given


def _base(call: Call) -> Array:
    given = call.attribute("base_values_as_tensor")
    return real(call, "base_values") if given is None else np.asarray(given, np.float32).reshape(-1)


def _regressor(call: Call) -> Result:
    total, _ = _totals(call, "target", call.attribute("n_targets", 1))
    base = _base(call)
    return transformed(call, call.net.add(total, call.table(base, "base")) if base.size else total)


def _classifier(call: Call) -> Result:
    labels = call.attribute("classlabels_int64s") or call.attribute("classlabels_strings")
    total, given = _totals(call, "class", len(labels))
    base, net, named = _base(call), call.net, set(call.attribute("class_ids"))
    if len(labels) != 2 or len(named) != 1:
        scores = net.add(total, call.table(base, "base")) if base.size else total
        return answered(call, scores, transformed(call, scores))
    (only,) = named
    score = net.slice(total, axes=(1,), starts=(only,), ends=(only + 1,))
    score = net.affine(score, beta=float(base[-1])) if base.size else score
    positive = bool((given >= 0).all()) and not base.size
    limit = call.table(np.float32(0.5 if positive else 0.0), "limit")
    chosen = net.less(limit, score)
    if positive:
        return answered(call, chosen, two_columns(call, score))
    if call.attribute("post_transform", "NONE") == "LOGISTIC":
        return answered(call, chosen, two_columns(call, net.sigmoid(score)))
    return answered(call, chosen, two_columns(call, score, apart=True))


HANDLERS: Mapping[str, Handler] = {
    f"{DOMAIN}.TreeEnsembleClassifier": _classifier,
    f"{DOMAIN}.TreeEnsembleRegressor": _regressor,
}
"""How each operator is written in ours."""
