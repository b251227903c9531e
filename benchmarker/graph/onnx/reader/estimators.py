"""What scikit-learn's estimators are made of (``ai.onnx.ml``): linear models, support vectors, scalers, encoders."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.graph.onnx.reader.call import Call, Handler, Result
from benchmarker.graph.onnx.reader.elementwise import cast
from benchmarker.graph.onnx.reader.indexing import places_of
from benchmarker.graph.onnx.reader.scores import answered, transformed, two_columns
from benchmarker.graph.onnx.reader.shaping import reshaped
from benchmarker.graph.onnx.reader.values import Unsupported
from benchmarker.graph.recorder import Value

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

DOMAIN = "ai.onnx.ml"


def rows_of(call: Call, position: int = 0) -> Value:
    """Return an input as rows of real numbers; a single row may come without its axis."""
    x = cast(call.net, call.any_tensor(position), "float32")
    return x if len(x.shape) == 2 else reshaped(call, x, (-1 if len(x.shape) > 2 else 1, x.shape[-1]))


def real(call: Call, name: str) -> Array:
    """Return an attribute of real numbers; none where it is absent."""
    found = call.attribute(name)
    return np.asarray([] if found is None else found, np.float32).reshape(-1)


def _affine_map(call: Call, x: Value, weights: Array, added: Array) -> Value:
    """Return ``x @ weights + added``; the weights are ``(features, results)``."""
    product: Value = call.net.matmul(x, call.table(weights, "weights"))
    return call.net.add(product, call.table(added, "added")) if added.size and added.any() else product


def _linear_regressor(call: Call) -> Result:
    x, count = rows_of(call), call.attribute("targets", 1)
    weights = real(call, "coefficients").reshape(count, -1).T
    return transformed(call, _affine_map(call, x, weights, real(call, "intercepts")))


def _linear_classifier(call: Call) -> Result:
    x = rows_of(call)
    weights = real(call, "coefficients").reshape(-1, x.shape[1]).T
    scores = _affine_map(call, x, weights, real(call, "intercepts"))
    if scores.shape[1] > 1:
        return answered(call, scores, transformed(call, scores))
    chosen = call.net.less(call.table(np.zeros((), np.float32), "zero"), scores)
    logistic = call.attribute("post_transform", "NONE") == "LOGISTIC"
    return answered(call, chosen, two_columns(call, call.net.sigmoid(scores) if logistic else scores))


def _kernel(call: Call, x: Value) -> Value:
    """Return how near each row is to each support vector."""
    net, kind = call.net, call.attribute("kernel_type", "LINEAR")
    vectors = real(call, "support_vectors").reshape(-1, x.shape[1])
    products = net.matmul(x, call.table(vectors.T, "vectors"))
    given = real(call, "kernel_params")
    gamma, constant, degree = (float(n) for n in given) if given.size else (1.0, 0.0, 1.0)
    found: Value = products
    if kind == "POLY":
        base, power = net.affine(products, alpha=gamma, beta=constant), int(degree)
        if power != degree or power < 1:
            raise Unsupported(f"with a polynomial of degree {degree:g}")
        found = base
        for _ in range(power - 1):
            found = net.mul(found, base)
    elif kind == "SIGMOID":
        found = net.tanh(net.affine(products, alpha=gamma, beta=constant))
    elif kind == "RBF":
        squares = net.reduce_sum(net.mul(x, x), axes=(1,), keepdims=True)
        lengths = net.add(squares, call.table((vectors**2).sum(1), "squares"))
        found = net.exp(net.affine(net.sub(lengths, net.affine(products, alpha=2.0)), alpha=-gamma))
    return found


def _vector_regressor(call: Call) -> Result:
    x = rows_of(call)
    weights, rho = real(call, "coefficients")[:, None], real(call, "rho")
    near = _kernel(call, x) if call.attribute("n_supports", 0) else x
    found = _affine_map(call, near, weights, rho)
    if not call.attribute("one_class", 0):
        return transformed(call, found)
    inside = call.net.less(call.table(np.zeros((), np.float32), "zero"), found)
    return call.net.affine(cast(call.net, inside, "float32"), alpha=2.0, beta=-1.0)


def _vector_classifier(call: Call) -> Result:
    """Return the class that most pairs of classes vote for, and each pair's score or the probabilities."""
    x, net, counts = rows_of(call), call.net, call.axes("vectors_per_class") or ()
    classes = len(counts)
    if classes < 2:
        raise Unsupported("without support vectors")
    starts = np.cumsum([0, *counts])
    given = real(call, "coefficients").reshape(classes - 1, -1)
    pairs = [(i, j) for i in range(classes) for j in range(i + 1, classes)]
    weights = np.zeros((starts[-1], len(pairs)), np.float32)
    votes_first, votes_second = np.zeros((2, len(pairs), classes), np.float32)
    for place, (i, j) in enumerate(pairs):
        weights[starts[i] : starts[i + 1], place] = given[j - 1, starts[i] : starts[i + 1]]
        weights[starts[j] : starts[j + 1], place] = given[i, starts[j] : starts[j + 1]]
        votes_first[place, i] = votes_second[place, j] = 1.0
    scores = _affine_map(call, _kernel(call, x), weights, real(call, "rho"))
    first = cast(net, net.less(call.table(np.zeros((), np.float32), "zero"), scores), "float32")
    second = net.affine(first, alpha=-1.0, beta=1.0)
    votes = net.add(
        net.matmul(first, call.table(votes_first, "first")),
        net.matmul(second, call.table(votes_second, "second")),
    )
    slopes, offsets = real(call, "prob_a"), real(call, "prob_b")
    if not slopes.size:
        return answered(call, votes, scores if len(pairs) > 1 else two_columns(call, scores, apart=True))
    if classes > 2:
        raise Unsupported("with probabilities of more than two classes")
    p = net.sigmoid(net.affine(scores, alpha=-float(slopes[0]), beta=-float(offsets[0])))
    held = net.clip(p, min=1e-7, max=1.0 - 1e-7)
    return answered(call, votes, net.concat(held, net.affine(held, alpha=-1.0, beta=1.0), axis=1))


def _scaler(call: Call) -> Result:
    x, net = cast(call.net, call.any_tensor(0), "float32"), call.net
    offset, scale = real(call, "offset"), real(call, "scale")
    x = net.sub(x, call.table(offset, "offset")) if offset.any() else x
    return net.mul(x, call.table(scale, "scale")) if (scale != 1).any() else net.affine(x)


def _normalizer(call: Call) -> Result:
    x, net, norm = rows_of(call), call.net, call.attribute("norm", "MAX")
    if norm == "MAX":
        size = net.reduce_max(x, axes=(1,), keepdims=True)
    elif norm == "L1":
        size = net.reduce_sum(net.abs(x), axes=(1,), keepdims=True)
    else:
        size = net.sqrt(net.reduce_sum(net.mul(x, x), axes=(1,), keepdims=True))
    nothing, one = (call.table(np.array(n, np.float32), what) for n, what in ((0, "zero"), (1, "one")))
    # A row of zeros stays as it is.
    return net.div(x, net.where(net.equal(size, nothing), one, size))


def _imputer(call: Call) -> Result:
    net, x = call.net, call.any_tensor(0)
    integers = call.attribute("imputed_value_int64s")
    filled = np.asarray(integers, np.int64) if integers else real(call, "imputed_value_floats")
    if x.type.dtype == "int64":
        missing = net.equal(x, call.table(np.int64(call.attribute("replaced_value_int64", 0)), "missing"))
    else:
        replaced = float(call.attribute("replaced_value_float", 0.0))
        gone = call.table(np.float32(replaced), "missing") if np.isfinite(replaced) else None
        missing = net.equal(x, gone) if gone is not None else net.is_nan(x)
    return net.where(missing, call.table(filled, "filled"), x)


def _binarizer(call: Call) -> Result:
    limit = call.table(np.float32(call.attribute("threshold", 0.0)), "threshold")
    return cast(call.net, call.net.less(limit, call.tensor(0)), "float32")


def _extracted(call: Call) -> Result:
    x = call.any_tensor(0)
    x = x if len(x.shape) > 1 else reshaped(call, x, (1, *x.shape))
    places = places_of(call, 1, np.array(x.shape[-1]))
    return call.net.gather(x, reshaped(call, places, (places.type.elements,)), axis=len(x.shape) - 1)


def _keyed(call: Call, part: str) -> Array:
    for kind, dtype in (("int64s", np.int64), ("floats", np.float32), ("tensor", None)):
        found = call.attribute(f"{part}_{kind}")
        if found is not None:
            return np.asarray(found, dtype).reshape(-1)
    raise Unsupported(f"with {part} that are not numbers")


def _label_encoder(call: Call) -> Result:
    """Return the value that belongs to each key, and the default where there is none."""
    net, x = call.net, call.any_tensor(0)
    keys, values = _keyed(call, "keys"), _keyed(call, "values")
    whole = values.dtype.kind != "f"
    default = call.attribute("default_int64", -1) if whole else call.attribute("default_float", -0.0)
    given = call.attribute("default_tensor")
    default = np.asarray(default if given is None else given, values.dtype).reshape(())
    column = reshaped(call, x, (*x.shape, 1))
    keys = keys.astype(np.float32 if x.type.dtype == "float32" else np.int64)
    found = net.equal(column, call.table(keys, "keys"))
    if np.isnan(keys.astype(np.float64)).any():
        nan = net.logical_and(net.is_nan(column), call.table(np.isnan(keys.astype(np.float64)), "nan"))
        found = net.logical_or(found, nan)
    # The first key that fits; after the last of them comes the default.
    fits = cast(net, found, "int64")
    none = net.less(net.reduce_max(fits, axes=(-1,)), call.table(np.array(1), "one"))
    chosen = net.gather(call.table(values, "values"), net.arg_max(fits, axis=-1), axis=0)
    return net.where(none, call.table(default, "default"), chosen)


def _one_hot(call: Call) -> Result:
    x, classes = call.any_tensor(0), call.attribute("cats_int64s")
    if not classes:
        raise Unsupported("with classes that are not numbers")
    kind = np.float32 if x.type.dtype == "float32" else np.int64
    column = reshaped(call, x, (*x.shape, 1))
    found = call.net.equal(column, call.table(np.asarray(classes, kind), "classes"))
    return cast(call.net, found, "float32")


def _joined(call: Call) -> Result:
    parts = [rows_of(call, place) for place in range(len(call.operands))]
    return parts[0] if len(parts) == 1 else call.net.concat(*parts, axis=1)


_HANDLERS: Mapping[str, Handler] = {
    "ArrayFeatureExtractor": _extracted,
    "Binarizer": _binarizer,
    "FeatureVectorizer": _joined,
    "Imputer": _imputer,
    "LabelEncoder": _label_encoder,
    "LinearClassifier": _linear_classifier,
    "LinearRegressor": _linear_regressor,
    "Normalizer": _normalizer,
    "OneHotEncoder": _one_hot,
    "SVMClassifier": _vector_classifier,
    "SVMRegressor": _vector_regressor,
    "Scaler": _scaler,
    # Probabilities by class stay a tensor: a list of dictionaries is no value of a graph.
    "ZipMap": partial(Call.operand, position=0),
}
HANDLERS: Mapping[str, Handler] = {f"{DOMAIN}.{name}": handler for name, handler in _HANDLERS.items()}
"""How each operator is written in ours."""
