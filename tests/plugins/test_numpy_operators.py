"""The reference's operators that see no windows, against their definitions written out."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from benchmarker.errors import UsageError
from benchmarker.graph.graph import walk
from benchmarker.plugins.numpy.base import Call
from benchmarker.plugins.numpy.gradients import GRADIENTS
from benchmarker.plugins.numpy.operators import NumpyOperators
from benchmarker.worker.conformance.cases import OPERATOR_CASES, OperatorCase
from tests.support.numpy_programs import cases, results

Array = npt.NDArray[Any]
OPERATORS = NumpyOperators()

# --- single elements -------------------------------------------------------------------------

UNARY: dict[str, Callable[..., float]] = {
    "relu": lambda x: max(x, 0.0),
    "leaky_relu": lambda x, alpha=0.01: x if x > 0 else alpha * x,
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "tanh": math.tanh,
    "silu": lambda x: x / (1 + math.exp(-x)),
    "abs": abs,
    "exp": math.exp,
    "log": math.log,
    "sqrt": math.sqrt,
    "erf": math.erf,
    "sin": math.sin,
    "cos": math.cos,
    "log1p": math.log1p,
    "expm1": math.expm1,
    "reciprocal": lambda x: 1 / x,
    "softplus": lambda x: math.log1p(math.exp(x)),
    "clip": lambda x, min, max: min if x < min else max if x > max else x,
    "affine": lambda x, alpha=1.0, beta=0.0: alpha * x + beta,
    "huber": lambda x, delta=1.0: x * x / 2 if abs(x) <= delta else delta * (abs(x) - delta / 2),
    "stop_gradient": lambda x: x,
    "tan": math.tan,
    "sign": lambda x: (x > 0) - (x < 0),
    "floor": math.floor,
    "ceil": math.ceil,
    "round": round,
    "logical_not": lambda x: not x,
    "is_nan": math.isnan,
    "is_inf": math.isinf,
    "cast": lambda x, to="float32": {"float32": float, "int64": int, "bool": bool}[to](x),
}


@cases(*UNARY)
def test_elements_are_the_definitions(case: OperatorCase) -> None:
    values, (found,) = results(case)
    (x,) = values.values()
    expected = [UNARY[case.operator](v.item(), **case.attributes) for v in x.ravel()]
    np.testing.assert_allclose(found.ravel(), expected, rtol=1e-13, atol=1e-15)


@cases("gelu")
def test_gelu_is_the_product_with_the_normal_distribution_or_the_papers_approximation(
    case: OperatorCase,
) -> None:
    values, (found,) = results(case)

    def gelu(x: float) -> float:
        if case.attributes:
            return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
        return x * 0.5 * math.erfc(-x / math.sqrt(2))

    expected = [gelu(v.item()) for v in values["x"].ravel()]
    np.testing.assert_allclose(found.ravel(), expected, rtol=1e-12, atol=1e-14)


def test_the_error_function_is_exact_to_a_few_units_in_the_last_place() -> None:
    x = np.concatenate([np.linspace(-7, 7, 60001), np.logspace(-300, 0, 3001), [0.0, -0.0, np.inf, -np.inf]])
    expected = np.array([math.erf(v) for v in x])
    found = OPERATORS.erf(x)
    units = np.abs(found - expected) / np.spacing(np.abs(expected))
    assert units.max() <= 4
    assert units.mean() < 0.5
    assert np.isnan(OPERATORS.erf(np.array([np.nan]))[0])
    assert np.signbit(OPERATORS.erf(np.array([-0.0])))[0]
    single = OPERATORS.erf(x[:60001].astype(np.float32))
    exact = [math.erf(v) for v in x[:60001].astype(np.float32)]
    assert np.array_equal(single, np.array(exact, np.float32))


def test_the_error_function_does_not_depend_on_blocks_and_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(0).normal(size=(7, 11, 5))
    whole = OPERATORS.erf(x)
    monkeypatch.setattr("benchmarker.plugins.numpy.error_function._BLOCK", 4)
    assert np.array_equal(OPERATORS.erf(x), whole)
    assert np.array_equal(OPERATORS.erf(x.transpose(2, 0, 1)), whole.transpose(2, 0, 1))


def test_nothing_overflows_that_need_not() -> None:
    large = np.array([-1e4, 0.0, 1e4])
    with np.errstate(all="raise", under="ignore"):
        assert OPERATORS.sigmoid(large).tolist() == [0.0, 0.5, 1.0]
        assert OPERATORS.softplus(large).tolist() == [0.0, math.log(2), 1e4]
        assert OPERATORS.log_softmax(large).tolist() == [-2e4, -1e4, 0.0]
        assert OPERATORS.softmax(large).tolist() == [0.0, 0.0, 1.0]


@cases("add", "sub", "mul", "div")
def test_broadcasting_repeats_the_smaller_operand(case: OperatorCase) -> None:
    values, (found,) = results(case)
    a, b = (np.broadcast_to(values[name], found.shape) for name in "ab")
    signs = {"add": "__add__", "sub": "__sub__", "mul": "__mul__", "div": "__truediv__"}
    for at in np.ndindex(*found.shape):
        assert found[at] == getattr(float(a[at]), signs[case.operator])(float(b[at]))


@cases("minimum", "maximum", "pow")
def test_pairs_of_elements_are_chosen_or_raised(case: OperatorCase) -> None:
    values, (found,) = results(case)
    a, b = (np.broadcast_to(values[name], found.shape) for name in "ab")
    meaning: dict[str, Callable[[float, float], float]] = {"minimum": min, "maximum": max, "pow": math.pow}
    expected = [meaning[case.operator](*map(float, pair)) for pair in zip(a.ravel(), b.ravel())]
    np.testing.assert_allclose(found.ravel(), expected, rtol=1e-13)


@pytest.mark.parametrize("operator", ["minimum", "maximum"])
def test_of_equals_one_has_the_whole_gradient(operator: str) -> None:
    a = np.array([1.0, 2.0, 3.0])
    dy = np.array([5.0, 7.0, 11.0])
    call = Call((a, a.copy()), (a,), (dy,), {}, (True, True))
    first, second = GRADIENTS[operator](call)
    np.testing.assert_array_equal(first + second, dy)


def test_near_0_functions_do_not_cancel() -> None:
    small = np.array([1e-12])
    np.testing.assert_allclose(OPERATORS.log1p(small), small, rtol=1e-11)
    np.testing.assert_allclose(OPERATORS.expm1(small), small, rtol=1e-11)


@cases("softmax", "log_softmax")
def test_softmax_is_its_definition(case: OperatorCase) -> None:
    values, (found,) = results(case)
    axis = case.attributes.get("axis", -1)
    rows = np.moveaxis(values["x"], axis, -1).reshape(-1, values["x"].shape[axis])
    for row, y in zip(rows, np.moveaxis(found, axis, -1).reshape(rows.shape)):
        total = math.fsum(math.exp(v - max(row)) for v in row)
        expected = [math.exp(v - max(row)) / total for v in row]
        np.testing.assert_allclose(np.exp(y) if case.operator == "log_softmax" else y, expected, rtol=1e-12)


# --- matrices and attention ------------------------------------------------------------------


@cases("gemm")
def test_gemm_is_its_definition(case: OperatorCase) -> None:
    v, (found,) = results(case)
    a = v["a"].T if case.attributes.get("trans_a") else v["a"]
    b = v["b"].T if case.attributes.get("trans_b") else v["b"]
    c = np.broadcast_to(v.get("c", np.zeros(())), found.shape)
    for i, j in np.ndindex(*found.shape):
        product = math.fsum(x * y for x, y in zip(a[i], b[:, j]))
        expected = case.attributes.get("alpha", 1.0) * product + case.attributes.get("beta", 1.0) * c[i, j]
        assert found[i, j] == pytest.approx(expected, rel=1e-12, abs=1e-13)


@cases("matmul")
def test_matmul_is_one_product_for_each_pair_of_matrices(case: OperatorCase) -> None:
    v, (found,) = results(case)
    before = found.shape[:-2]
    a = np.broadcast_to(v["a"], (*before, *v["a"].shape[-2:]))
    b = np.broadcast_to(v["b"], (*before, *v["b"].shape[-2:]))
    for *at, i, j in np.ndindex(*found.shape):
        expected = math.fsum(x * y for x, y in zip(a[(*at, i)], b[tuple(at)][:, j]))
        assert found[(*at, i, j)] == pytest.approx(expected, rel=1e-12, abs=1e-13)


@cases("causal_mask")
def test_a_query_sees_no_later_key(case: OperatorCase) -> None:
    values, _ = results(case)
    found = OPERATORS.causal_mask(values["x"])
    for *before, query, key in np.ndindex(*found.shape):
        at = (*before, query, key)
        assert found[at] == (values["x"][at] if key <= query else -math.inf)


@cases("attention")
def test_attention_is_a_mean_of_values_weighted_by_each_query(case: OperatorCase) -> None:
    v, (found,) = results(case)
    q, k, values = v["q"], v["k"], v["v"]
    mask = np.broadcast_to(v.get("mask", np.zeros(())), (*q.shape[:3], k.shape[2]))
    for n, head, i in np.ndindex(*found.shape[:3]):
        seen = range(i + 1 if case.attributes.get("is_causal") else k.shape[2])
        scores = [
            case.attributes["scale"] * np.dot(q[n, head, i], k[n, head, j]) + mask[n, head, i, j]
            for j in seen
        ]
        shares = np.exp(scores) / np.exp(scores).sum()
        expected = sum(share * values[n, head, j] for share, j in zip(shares, seen))
        np.testing.assert_allclose(found[n, head, i], expected, rtol=1e-12)


@cases("rotary_embedding")
def test_a_rotation_multiplies_complex_numbers(case: OperatorCase) -> None:
    v, (found,) = results(case)
    half = v["x"].shape[-1] // 2
    pairs = v["x"][..., :half] + 1j * v["x"][..., half:]
    turned = pairs * (v["cos"] + 1j * v["sin"])
    np.testing.assert_allclose(found, np.concatenate([turned.real, turned.imag], axis=-1), rtol=1e-12)


# --- normalization ---------------------------------------------------------------------------


def normalized(rows: Array, epsilon: float) -> Array:
    """Return each row with mean 0 and variance 1, one row after the other."""
    result = np.zeros_like(rows)
    for at, row in enumerate(rows):
        mean = math.fsum(row) / row.size
        variance = math.fsum((row - mean) ** 2) / row.size
        result[at] = (row - mean) / math.sqrt(variance + epsilon)
    return result


@cases("layer_normalization", "group_normalization")
def test_normalization_over_features_is_its_definition(case: OperatorCase) -> None:
    v, (found,) = results(case)
    x, scale, b = v["x"], v["scale"], v["b"]
    if case.operator == "group_normalization":
        rows = x.shape[0] * case.attributes["num_groups"]
        scale, b = (value.reshape(-1, *(1,) * (x.ndim - 2)) for value in (scale, b))
    else:
        rows = x.size // scale.size
    expected = normalized(x.reshape(rows, -1), case.attributes["epsilon"]).reshape(x.shape) * scale + b
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13)


@cases("rms_normalization")
def test_rms_normalization_is_its_definition(case: OperatorCase) -> None:
    v, (found,) = results(case)
    for at in np.ndindex(*found.shape[:-1]):
        row = v["x"][at]
        root = math.sqrt(math.fsum(row**2) / row.size + case.attributes.get("epsilon", 1e-5))
        np.testing.assert_allclose(found[at], row / root * v["scale"], rtol=1e-12)


@cases("batch_normalization")
def test_batch_normalization_in_training_normalizes_each_channel(case: OperatorCase) -> None:
    v, (found,) = results(case)
    tensors = [v[name] for name in ("x", "scale", "b", "mean", "var")]
    x, scale, b, mean, var = tensors
    shape = (-1, *(1,) * (x.ndim - 2))
    epsilon = case.attributes.get("epsilon", 1e-5)
    stored = (x - mean.reshape(shape)) / np.sqrt(var.reshape(shape) + epsilon)
    np.testing.assert_allclose(
        found, stored * scale.reshape(shape) + b.reshape(shape), rtol=1e-11, atol=1e-13
    )
    channels = np.moveaxis(x, 1, 0)
    rows = normalized(channels.reshape(len(channels), -1), epsilon).reshape(channels.shape)
    expected = np.moveaxis(rows, 0, 1) * scale.reshape(shape) + b.reshape(shape)
    trained = NumpyOperators(training=True).batch_normalization(*tensors, **case.attributes)
    np.testing.assert_allclose(trained, expected, rtol=1e-11, atol=1e-13)


# --- reductions and shapes -------------------------------------------------------------------


@cases("reduce_mean", "reduce_sum", "reduce_max")
def test_reductions_are_their_definitions(case: OperatorCase) -> None:
    v, (found,) = results(case)
    x = v["x"]
    over = {axis % x.ndim for axis in case.attributes.get("axes", ())} or set(range(x.ndim))
    reduce: dict[str, Callable[[list[float]], float]] = {
        "reduce_mean": lambda r: math.fsum(r) / len(r),
        "reduce_sum": math.fsum,
        "reduce_max": max,
    }
    kept = [range(1) if axis in over else range(size) for axis, size in enumerate(x.shape)]
    expected = []
    for at in itertools.product(*kept):
        index = tuple(slice(None) if axis in over else i for axis, i in enumerate(at))
        expected.append(reduce[case.operator](x[index].ravel().tolist()))
    np.testing.assert_allclose(found.ravel(), expected, rtol=1e-12, atol=1e-14)


@cases("top_k")
def test_the_largest_come_first(case: OperatorCase) -> None:
    v, (found,) = results(case)
    for at in np.ndindex(*found.shape[:-1]):
        assert found[at].tolist() == sorted(v["x"][at].tolist(), reverse=True)[: case.attributes["k"]]


@cases("gather")
def test_gather_puts_a_slice_for_each_index_where_the_axis_was(case: OperatorCase) -> None:
    v, (found,) = results(case)
    axis = case.attributes.get("axis", 0) % v["x"].ndim
    indices = v["indices"]
    for at in np.ndindex(*found.shape):
        named = indices[at[axis : axis + indices.ndim]]
        assert found[at] == v["x"][(*at[:axis], named, *at[axis + indices.ndim :])]


@cases("gather_elements")
def test_gather_elements_looks_up_one_element_for_each_index(case: OperatorCase) -> None:
    v, (found,) = results(case)
    axis = case.attributes["axis"] % v["x"].ndim
    for at in np.ndindex(*found.shape):
        assert found[at] == v["x"][(*at[:axis], v["indices"][at], *at[axis + 1 :])]


@cases("slice")
def test_a_slice_takes_each_step_from_start_to_end(case: OperatorCase) -> None:
    v, (found,) = results(case)
    a = case.attributes
    taken = [range(size) for size in v["x"].shape]
    for axis, start, end, step in zip(a["axes"], a["starts"], a["ends"], a.get("steps", (1, 1))):
        taken[axis] = range(start, end, step)
    assert found.ravel().tolist() == [v["x"][at] for at in itertools.product(*taken)]


@cases("pad")
def test_padding_surrounds_with_the_value(case: OperatorCase) -> None:
    v, (found,) = results(case)
    begins = case.attributes["pads"][: v["x"].ndim]
    for at in np.ndindex(*found.shape):
        inner = tuple(i - b for i, b in zip(at, begins))
        inside = all(0 <= i < size for i, size in zip(inner, v["x"].shape))
        assert found[at] == (v["x"][inner] if inside else case.attributes.get("value", 0.0))


@cases("split")
def test_a_split_joined_again_is_what_it_was(case: OperatorCase) -> None:
    v, found = results(case)
    assert len(found) == case.attributes["num_outputs"]
    assert np.array_equal(OPERATORS.concat(*found, axis=case.attributes["axis"]), v["x"])


@cases("concat")
def test_parts_follow_one_another(case: OperatorCase) -> None:
    v, (found,) = results(case)
    rows = [np.moveaxis(part, case.attributes["axis"], 0) for part in v.values()]
    joined = [row.tolist() for part in rows for row in part]
    assert np.moveaxis(found, case.attributes["axis"], 0).tolist() == joined


@cases("expand")
def test_expansion_repeats(case: OperatorCase) -> None:
    v, (found,) = results(case)
    assert found.shape == case.attributes["shape"]
    assert np.array_equal(found, v["x"] * np.ones(found.shape))


# --- recurrent layers ------------------------------------------------------------------------


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def lstm_direction(x: Array, w: Array, r: Array, b: Array) -> tuple[Array, Array]:
    """Return the state after each step, and the last cell (ONNX ``LSTM``)."""
    h = r.shape[1]
    hidden, cell, every = np.zeros((x.shape[1], h)), np.zeros((x.shape[1], h)), []
    for x_t in x:
        z = x_t @ w.T + hidden @ r.T + b[: 4 * h] + b[4 * h :]
        i, o, f = (sigmoid(z[:, k * h : (k + 1) * h]) for k in range(3))
        cell = f * cell + i * np.tanh(z[:, 3 * h :])
        hidden = o * np.tanh(cell)
        every.append(hidden)
    return np.stack(every), cell


def gru_direction(x: Array, w: Array, r: Array, b: Array) -> tuple[Array, Array]:
    """Return the state after each step, and the last (ONNX ``GRU`` with ``linear_before_reset``)."""
    h = r.shape[1]
    wz, wr, wh = (w[k * h : (k + 1) * h] for k in range(3))
    rz, rr, rh = (r[k * h : (k + 1) * h] for k in range(3))
    bz, br, bh, cz, cr, ch = (b[k * h : (k + 1) * h] for k in range(6))
    hidden, every = np.zeros((x.shape[1], h)), []
    for x_t in x:
        update = sigmoid(x_t @ wz.T + bz + hidden @ rz.T + cz)
        reset = sigmoid(x_t @ wr.T + br + hidden @ rr.T + cr)
        candidate = np.tanh(x_t @ wh.T + bh + reset * (hidden @ rh.T + ch))
        hidden = (1 - update) * candidate + update * hidden
        every.append(hidden)
    return np.stack(every), hidden


@cases("lstm", "gru")
def test_recurrent_layers_are_the_onnx_definition_in_each_direction(case: OperatorCase) -> None:
    v, (y, y_h, *y_c) = results(case)
    one = lstm_direction if case.operator == "lstm" else gru_direction
    for d in range(len(v["w"])):
        order = slice(None, None, -1 if d else 1)
        every, last = one(v["x"][order], v["w"][d], v["r"][d], v["b"][d])
        np.testing.assert_allclose(y[:, d], every[order], rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(y_h[d], every[-1], rtol=1e-12, atol=1e-15)
        if y_c:
            np.testing.assert_allclose(y_c[0][d], last, rtol=1e-12, atol=1e-15)
    assert len(v["w"]) == (2 if case.attributes["direction"] == "bidirectional" else 1)


# --- losses ----------------------------------------------------------------------------------


@cases("softmax_cross_entropy_loss")
def test_cross_entropy_is_its_definition(case: OperatorCase) -> None:
    v, (found,) = results(case)
    ignored = case.attributes.get("ignore_index")
    losses, counted = np.zeros(v["labels"].shape), 0.0
    for at in np.ndindex(*losses.shape):
        label = int(v["labels"][at])
        if label == ignored:
            continue
        row = v["scores"][(at[0], slice(None), *at[1:])]
        weight = v["weights"][label] if "weights" in v else 1.0
        losses[at] = weight * (math.log(math.fsum(np.exp(row - row.max()))) + row.max() - row[label])
        counted += weight
    reduction = case.attributes.get("reduction", "mean")
    expected = {"none": losses, "sum": losses.sum(), "mean": losses.sum() / counted}[reduction]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_cross_entropy_survives_large_scores() -> None:
    scores = np.array([[1000.0, 999.0], [-1000.0, -1002.0]])
    loss = OPERATORS.softmax_cross_entropy_loss(scores, np.array([0, 1]))
    expected = (math.log(1 + math.exp(-1)) + 2 + math.log(1 + math.exp(-2))) / 2
    assert float(loss) == pytest.approx(expected, rel=1e-12)


@cases("binary_cross_entropy_loss", "mean_squared_error_loss")
def test_losses_over_elements_are_their_definitions(case: OperatorCase) -> None:
    v, (found,) = results(case)
    x, targets = v.values()
    if case.operator == "mean_squared_error_loss":
        expected = math.fsum((x - targets).ravel() ** 2) / x.size
    else:
        # -log sigmoid(x) = log(1 + exp(-x)), and of -x for the other side.
        terms = [
            t * math.log1p(math.exp(-v)) + (1 - t) * math.log1p(math.exp(v))
            for v, t in zip(x.flat, targets.flat)
        ]
        expected = math.fsum(terms) / x.size
    assert float(found) == pytest.approx(expected, rel=1e-12)


def collapsed(path: tuple[int, ...]) -> list[int]:
    """Return the labels that an alignment stands for: repetitions once, blanks (0) not at all."""
    return [label for label, _ in itertools.groupby(path) if label != 0]


def ctc_by_enumeration(scores: Array, labels: list[int]) -> float:
    """Return the negative log-likelihood as a sum over all alignments of one sequence ``(T, C)``."""
    steps, classes = scores.shape
    shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    paths = itertools.product(range(classes), repeat=steps)
    return -math.log(
        math.fsum(math.prod(shares[range(steps), path]) for path in paths if collapsed(path) == labels)
    )


@pytest.mark.parametrize(
    "labels",
    [[[1], [2]], [[1, 2], [2, 1]], [[1, 1], [2, 2]], [[1, 1], [1, 2]], [[1, 2, 1], [2, 2, 1]]],
    ids=str,
)
def test_ctc_is_the_sum_over_all_alignments(labels: list[list[int]]) -> None:
    scores = np.random.default_rng(1).normal(size=(5, 2, 3))
    expected = [ctc_by_enumeration(scores[:, n], sequence) for n, sequence in enumerate(labels)]
    found = OPERATORS.ctc_loss(scores, np.array(labels))
    assert float(found) == pytest.approx(sum(expected) / 2, rel=1e-12)
    shifted = OPERATORS.ctc_loss(scores + 800.0, np.array(labels))
    assert float(shifted) == pytest.approx(float(found), rel=1e-12)


def test_labels_that_do_not_fit_the_steps_are_refused() -> None:
    with pytest.raises(
        UsageError, match="3 labels, 1 of them after the same one, need at least 4 steps, got 3"
    ):
        OPERATORS.ctc_loss(np.zeros((3, 2, 3)), np.array([[1, 2, 1], [1, 1, 2]]))


# --- all -------------------------------------------------------------------------------------


def test_every_result_keeps_the_floating_type_and_has_the_inferred_shape() -> None:
    for case in OPERATOR_CASES:
        graph = case.graph(training=True)
        parameters, batch = case.values(graph, seed=0)
        for dtype in (np.float32, np.float64):
            values = {
                name: array.astype(dtype) if array.dtype.kind == "f" else array
                for name, array in {**parameters, **batch}.items()
            }
            generator = np.random.default_rng(0)
            meaning = NumpyOperators(training=True, generator=generator, update_statistics=True, dtype=dtype)
            for name, array in walk(graph, meaning, values).items():
                assert array.shape == graph.types[name].shape, (case.path, name)
                if array.dtype.kind == "f":
                    assert array.dtype == dtype, (case.path, name)
