"""What estimators make of scores: probabilities, and the class that is chosen."""

from __future__ import annotations

import numpy as np

from benchmarker.graph.onnx.reader.call import Call
from benchmarker.graph.onnx.reader.elementwise import cast
from benchmarker.graph.onnx.reader.values import Unsupported
from benchmarker.graph.recorder import Value


def transformed(call: Call, scores: Value) -> Value:
    """Return scores ``(N, C)`` after the operator's ``post_transform``."""
    net, kind = call.net, call.attribute("post_transform", "NONE")
    if kind == "NONE":
        return scores
    if kind == "LOGISTIC":
        found: Value = net.sigmoid(scores)
    elif kind == "SOFTMAX":
        found = net.softmax(scores, axis=1)
    else:
        raise Unsupported(f"with the post_transform {kind}")
    return found


def two_columns(call: Call, score: Value, *, apart: bool = False) -> Value:
    """Return the scores of both classes from that of the second; as ``-s, s`` if ``apart``, else ``1 - s, s``."""
    first = call.net.affine(score, alpha=-1.0, beta=0.0 if apart else 1.0)
    found: Value = call.net.concat(first, score, axis=1)
    return found


def answered(call: Call, chosen: Value, scores: Value) -> tuple[Value, Value]:
    """Return the label of each row, and the scores.

    ``chosen`` is what the largest of is the class, or whether it is the second one ``(N, 1)``. Labels that are texts
    come as their places.
    """
    net = call.net
    if chosen.type.dtype == "bool":
        place = net.reshape(cast(net, chosen, "int64"), shape=(chosen.shape[0],))
    else:
        place = net.arg_max(chosen, axis=1)
    labels = call.attribute("classlabels_int64s") or call.attribute("classlabels_ints")
    if not labels or list(labels) == list(range(len(labels))):
        return place, scores
    return net.gather(call.table(np.asarray(labels, np.int64), "labels"), place, axis=0), scores
