"""ONNX operators that are written in others: the reference returns what ONNX Runtime does."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarker.errors import UsageError
from tests.support.onnx_models import assert_as_onnx_runtime, parsed, problem_of

MODELS = {
    "scan": """agraph (float[3, 4] start, float[3, 5, 4] xs) => (float[N, M] y, float[N, T, M] all) {
        y, all = Scan <num_scan_inputs = 1, scan_input_axes = [1], scan_output_axes = [1],
                       scan_input_directions = [1],
            body = step (float[3, 4] s, float[3, 4] x) => (float[3, 4] s_out, float[3, 4] row) {
                s_out = Add (s, x)
                row = Mul (s_out, x)
            }> (start, xs)
    }""",
    "sequences": """agraph (float[3, 4] x) => (float[N, M] y, float[N, M] z) {
        two = Constant <value = int64 {2}> ()
        one = Constant <value = int64 {1}> ()
        parts = SplitToSequence <axis = 1> (x, two)
        first = SequenceAt (parts, one)
        longer = SequenceInsert (parts, first)
        y = ConcatFromSequence <axis = 1> (longer)
        both = SequenceConstruct (x, x)
        z = ConcatFromSequence <axis = 0> (both)
    }""",
    "sums": """agraph (float[2, 3, 4] a, float[2, 5, 4] b, float[3, 3] c) => (float[N] y, float[M, K] z, float[L] d) {
        y = Einsum <equation = "bij,bkj->bik"> (a, b)
        z = Einsum <equation = "bij,bkj,ii->jk"> (a, b, c)
        d = Einsum <equation = "ii->i"> (c)
    }""",
    "resized": """agraph (float[1, 2, 5, 4] x) => (float[A, B, C, D] y, float[A, B, E, F] z, float[A, B, G, H] n) {
        none = Constant <value = float[0] {}> ()
        sizes = Constant <value = int64[4] {1, 2, 9, 7}> ()
        scales = Constant <value = float[4] {1.0, 1.0, 1.7, 0.6}> ()
        y = Resize <mode = "linear", coordinate_transformation_mode = "align_corners"> (x, none, none, sizes)
        z = Resize <mode = "cubic"> (x, none, scales)
        n = Resize <mode = "nearest", nearest_mode = "ceil",
                    coordinate_transformation_mode = "asymmetric"> (x, none, none, sizes)
    }""",
    "sampled": """agraph (float[2, 3, 5, 4] x, float[2, 3, 2, 2] grid) => (float[N] y, float[M] z) {
        y = GridSample <align_corners = 1, padding_mode = "reflection"> (x, grid)
        z = GridSample <mode = "nearest"> (x, grid)
    }""",
    "quantized": """agraph (float[3, 4] x) => (float[N, M] y, int32[N, K] z) {
        scale = Constant <value = float {0.05}> ()
        zero = Constant <value = uint8 {120}> ()
        q = QuantizeLinear (x, scale, zero)
        stored = Constant <value = int8[4, 2] {1, -7, 100, 3, -120, 5, 6, 77}> ()
        steps = Constant <value = float[2] {0.1, 0.02}> ()
        w = DequantizeLinear <axis = 1> (stored, steps)
        real = DequantizeLinear (q, scale, zero)
        y = MatMul (real, w)
        whole, s, p = DynamicQuantizeLinear (x)
        z = MatMulInteger (whole, stored, p)
    }""",
    "stepped": """agraph (float[5, 2, 3] x, float[1, 2, 4] h) => (float[A] y, float[B] last, float[C] back) {
        w = Constant <value = float[1, 12, 3] {W12x3}> ()
        r = Constant <value = float[1, 12, 4] {W12x4}> ()
        v = Constant <value = float[1, 16, 3] {W16x3}> ()
        u = Constant <value = float[1, 16, 4] {W16x4}> ()
        y, last = GRU <hidden_size = 4> (x, w, r, , , h)
        back, g, c = LSTM <hidden_size = 4, direction = "reverse"> (x, v, u)
    }""",
    "put": """agraph (float[3, 4] x, float[4, 4] rows) => (float[N, M] y, float[N, M] z, float[A, B] p, float[C, D] e) {
        places = Constant <value = int64[4, 1] {2, 0, 2, 2}> ()
        y = ScatterND <reduction = "add"> (x, places, rows)
        z = ScatterND <reduction = "max"> (x, places, rows)
        pads = Constant <value = int64[4] {1, 2, 0, 1}> ()
        p = Pad <mode = "reflect"> (x, pads)
        e = Pad <mode = "edge"> (x, pads)
    }""",
    "pooled": """agraph (float[1, 2, 8, 7] x) => (float[A, B, C, D] y, float[E, F, G, H] z, int64[E, F, G, H] at) {
        y = AveragePool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 0, 0], ceil_mode = 1> (x)
        z, at = MaxPool <kernel_shape = [2, 3], dilations = [2, 1], strides = [1, 2]> (x)
    }""",
    "blocks": """agraph (float[2, 12, 12] x, float[1, 8, 8] y) => (float[A, B, C, D] w, float[E, F, G, H] z) {
        sizes = Constant <value = int64[2] {6, 5}> ()
        block = Constant <value = int64[2] {2, 2}> ()
        w = Col2Im <strides = [2, 1], pads = [0, 0, 1, 0]> (x, sizes, block)
        wide = Constant <value = int64[2] {4, 5}> ()
        row = Constant <value = int64[2] {1, 4}> ()
        z = Col2Im <dilations = [1, 1], strides = [1, 2], pads = [0, 0, 0, 1]> (y, wide, row)
    }""",
    "ended": """agraph (float[1, 2, 7, 5] x) => (float[A, B, C, D] y, float[E, F, G, H] z) {
        y = AveragePool <kernel_shape = [30, 30], strides = [30, 30], pads = [15, 15, 14, 14], ceil_mode = 1> (x)
        z = AveragePool <kernel_shape = [3, 2], strides = [2, 2], ceil_mode = 1, count_include_pad = 1,
                         pads = [1, 0, 0, 1]> (x)
    }""",
    "unpooled": """agraph (float[2, 3, 6, 4] x) => (float[A, B, C, D] y, float[E, F, G, H] z) {
        top, at = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x)
        y = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (top, at)
        sizes = Constant <value = int64[4] {2, 3, 6, 4}> ()
        z = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (top, at, sizes)
    }""",
    "determinants": """agraph (float[2, 3, 4, 4] x, float[3, 3] y) => (float[A, B] d, float e, float zero) {
        d = Det (x)
        e = Det (y)
        nothing = Sub (y, y)
        zero = Det (nothing)
    }""",
    "bits": """agraph (int64[3, 4] a, int64[4] b) => (int64[N, M] x, int64[N, M] y, int64[N, M] z, int64[N, M] w) {
        far = Constant <value = int64[4] {-7, 123456789012, -1, 40}> ()
        c = Mul (b, far)
        few = Constant <value = int64 {5}> ()
        p = Mul (a, few)
        x = BitwiseAnd (p, c)
        y = BitwiseOr (p, c)
        z = BitwiseXor (c, p)
        mask = Constant <value = int64 {6}> ()
        w = BitwiseAnd (c, mask)
    }""",
    "ordered": """agraph (int64[3, 6] n) => (int64[A, B] y, int64[A, B] at, int64[C, D] z, int64[C, D] low) {
        four = Constant <value = int64[1] {4}> ()
        y, at = TopK (n, four)
        two = Constant <value = int64[1] {2}> ()
        z, low = TopK <axis = 0, largest = 0> (n, two)
    }""",
    "turned_back": """agraph (float[2, 6, 3, 2] x, float[5, 2] y) => (float[A, B, C, D] w, float[E, F] z) {
        w = DFT <axis = 1, inverse = 1> (x)
        whole = Constant <value = int64 {8}> ()
        z = DFT <axis = 0, inverse = 1> (y, whole)
    }""",
    "remainders": """agraph (float[3, 4] x, float[4] y) => (float[N, M] z, float[N, M] w) {
        z = Mod <fmod = 1> (x, y)
        half = Constant <value = float {0.5}> ()
        w = Mod <fmod = 1> (x, half)
    }""",
    "curved": """agraph (float[2, 3, 5, 4] x, float[2, 3, 6, 2] grid) => (float[A] y, float[B] z, float[C] w) {
        y = GridSample <mode = "bicubic"> (x, grid)
        z = GridSample <mode = "bicubic", padding_mode = "border", align_corners = 1> (x, grid)
        w = GridSample <mode = "bicubic", padding_mode = "reflection"> (x, grid)
    }""",
    "passed_on": """agraph (float[2, 3] x, int64[3] n, bool[4] t)
            => (float[A, B] y, int64[C] m, bool[D] u, int64[E] c) {
        y = Identity (x)
        m = Identity (n)
        u = Identity (t)
        c = Constant <value = int64[2] {7, -1}> ()
    }""",
    "by_its_own": """agraph (float[3, 2, 4] x) => (float[A, B, C] y, float[D] mean, float[E] variance) {
        scale = Constant <value = float[2] {0.5, 2.0}> ()
        shift = Constant <value = float[2] {0.1, -0.3}> ()
        old = Constant <value = float[2] {0.2, 0.4}> ()
        wide = Constant <value = float[2] {1.0, 3.0}> ()
        y, mean, variance = BatchNormalization <training_mode = 1, momentum = 0.7> (x, scale, shift, old, wide)
    }""",
    "folded": """agraph (float[4, 6] x) => (float[A, B] y, float[C, D] z) {
        some = Constant <value = int64[3] {5, 1, 9}> ()
        one = Constant <value = int64 {1}> ()
        three = Constant <value = int64 {3}> ()
        kept = Clip (some, one, three)
        two = Constant <value = int64[1] {2}> ()
        largest, at = TopK (kept, two)
        y = Gather <axis = 1> (x, at)
        base = Constant <value = int64[2] {1, 1}> ()
        place = Constant <value = int64[1] {1}> ()
        size = Constant <value = int64[1] {24}> ()
        shape = ScatterElements (base, place, size)
        z = Reshape (x, shape)
    }""",
    "angles": """agraph (float[4, 5] x) => (float[N, M] y, float[N, M] z, float[N, M] s, float[N, M] h) {
        y = Atan (x)
        t = Tanh (x)
        z = Acos (t)
        s = Asinh (x)
        h = Hardmax (x)
    }""",
    "shifted": """agraph (uint8[2, 3] x, uint8[2, 3] n) => (uint8[N, M] y, uint8[N, M] z) {
        high = Constant <value = uint8[1] {200}> ()
        y = BitShift <direction = "LEFT"> (high, n)
        more = Add (x, high)
        z = BitShift <direction = "RIGHT"> (more, n)
    }""",
    "trees": """agraph (float[6, 2] x) => (int64[N] label, float[N, C] scores) {
        label, scores = ai.onnx.ml.TreeEnsembleClassifier <
            nodes_treeids = [0, 0, 0, 0, 0, 1, 1, 1], nodes_nodeids = [0, 1, 2, 3, 4, 0, 1, 2],
            nodes_featureids = [0, 1, 0, 0, 0, 1, 0, 0], nodes_values = [0.1, -0.2, 0.0, 0.0, 0.0, 0.3, 0.0, 0.0],
            nodes_modes = ["BRANCH_LEQ", "BRANCH_LEQ", "LEAF", "LEAF", "LEAF", "BRANCH_LEQ", "LEAF", "LEAF"],
            nodes_truenodeids = [1, 2, 0, 0, 0, 1, 0, 0], nodes_falsenodeids = [4, 3, 0, 0, 0, 2, 0, 0],
            class_treeids = [0, 0, 0, 1, 1], class_nodeids = [2, 3, 4, 1, 2], class_ids = [0, 1, 2, 2, 0],
            class_weights = [0.7, 0.4, 0.9, 0.3, 0.8], classlabels_int64s = [4, 7, 9], post_transform = "SOFTMAX"> (x)
    }""",
    "estimators": """agraph (float[4, 3] x, int64[4, 3] n)
            => (float[A, B] y, float[C, D] z, int64[E, F] w, float[G] v) {
        scaled = ai.onnx.ml.Scaler <offset = [0.1, 0.2, 0.3], scale = [1.0, 2.0, 0.5]> (x)
        y = ai.onnx.ml.Normalizer <norm = "L1"> (scaled)
        z = ai.onnx.ml.SVMRegressor <kernel_type = "RBF", kernel_params = [0.4, 0.0, 0.0], n_supports = 2,
            support_vectors = [0.1, 0.5, -0.3, 1.0, 0.2, 0.0], coefficients = [0.7, -0.4], rho = [0.2]> (x)
        w = ai.onnx.ml.LabelEncoder <keys_int64s = [1, 2], values_int64s = [50, 70], default_int64 = 3> (n)
        v = ai.onnx.ml.OneHotEncoder <cats_int64s = [0, 2]> (n)
    }""",
    "linear": """agraph (float[5, 3] x) => (float[A, B] y, int64[C] label, float[D, E] scores,
            int64[F] two, float[G, H] p) {
        y = ai.onnx.ml.LinearRegressor <coefficients = [0.5, -1.0, 2.0, 0.1, 0.2, -0.3],
            intercepts = [0.25, -0.5], targets = 2> (x)
        label, scores = ai.onnx.ml.LinearClassifier <
            coefficients = [0.5, -1.0, 2.0, 0.1, 0.2, -0.3, -0.7, 0.6, 0.4],
            intercepts = [0.0, 0.3, -0.2], classlabels_ints = [4, 7, 9], post_transform = "SOFTMAX"> (x)
        two, p = ai.onnx.ml.LinearClassifier <coefficients = [0.5, -1.0, 2.0, -0.5, 1.0, -2.0],
            intercepts = [0.1, -0.1], classlabels_ints = [3, 8], post_transform = "LOGISTIC"> (x)
    }""",
    "vectors": """agraph (float[5, 2] x) => (int64[N] label, float[N, C] scores) {
        label, scores = ai.onnx.ml.SVMClassifier <kernel_type = "RBF", kernel_params = [0.5, 0.0, 0.0],
            vectors_per_class = [2, 1], support_vectors = [0.1, 0.5, -0.3, 1.0, 0.2, -0.8],
            coefficients = [0.7, -0.4, 1.1], rho = [0.05], classlabels_ints = [2, 6]> (x)
    }""",
    "grown": """agraph (float[6, 2] x) => (float[N, C] y) {
        y = ai.onnx.ml.TreeEnsembleRegressor <
            nodes_treeids = [0, 0, 0, 1, 1, 1], nodes_nodeids = [0, 1, 2, 0, 1, 2],
            nodes_featureids = [0, 0, 0, 1, 0, 0], nodes_values = [0.1, 0.0, 0.0, 0.3, 0.0, 0.0],
            nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF", "BRANCH_GT", "LEAF", "LEAF"],
            nodes_truenodeids = [1, 0, 0, 1, 0, 0], nodes_falsenodeids = [2, 0, 0, 2, 0, 0],
            target_treeids = [0, 0, 1, 1], target_nodeids = [1, 2, 1, 2], target_ids = [0, 0, 1, 1],
            target_weights = [0.7, 0.4, 0.9, -0.3], n_targets = 2, base_values = [0.5, -0.5]> (x)
    }""",
    "filled": """agraph (float[4, 3] x, int64[4, 3] n) => (int64[A, B] y, float[C, D] z) {
        y = ai.onnx.ml.Imputer <imputed_value_int64s = [7, 8, 9], replaced_value_int64 = 1> (n)
        z = ai.onnx.ml.FeatureVectorizer <inputdimensions = [3, 3]> (x, x)
    }""",
    "named": """agraph (float[4, 3] x) => (seq(map(int64, float)) y) {
        y = ai.onnx.ml.ZipMap <classlabels_int64s = [5, 6, 7]> (x)
    }""",
    "lists": """agraph (float[3, 4] x) => (float[N, M] y) {
        two = Constant <value = int64 {2}> ()
        zero = Constant <value = int64 {0}> ()
        one = Constant <value = int64 {1}> ()
        parts = SplitToSequence <axis = 1> (x, two)
        doubled = SequenceMap <body = step (float[3, 2] s) => (float[3, 2] d) { d = Add (s, s) }> (parts)
        left = SequenceErase (doubled, zero)
        count = SequenceLength (left)
        empty = SequenceEmpty ()
        last = Sub (count, one)
        again = SequenceAt (left, last)
        alone = SequenceInsert (empty, again)
        y = ConcatFromSequence <axis = 1> (alone)
    }""",
}
REFUSED = {
    "random": """agraph (float[2, 3] x) => (float[N, M] y) { y = RandomUniformLike (x) }""",
    "voting": """agraph (float[2, 1] x) => (int64[N] y, float[N, C] z) {
        y, z = ai.onnx.ml.SVMClassifier <vectors_per_class = [1, 1, 1], support_vectors = [0.1, 0.5, 0.9],
            coefficients = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0], rho = [0.0, 0.0, 0.0], kernel_params = [1.0, 0.0, 1.0],
            prob_a = [1.0, 1.0, 1.0], prob_b = [0.0, 0.0, 0.0], classlabels_ints = [0, 1, 2]> (x)
    }""",
}


def numbered(text: str) -> str:
    """Return a model with numbers where it names so many: ``W2x3``."""
    for name in ("W12x3", "W12x4", "W16x3", "W16x4"):
        rows, columns = map(int, name[1:].split("x"))
        numbers = ", ".join(f"{((7 * n) % 11 - 5) / 10:.1f}" for n in range(rows * columns))
        text = text.replace(name, numbers)
    return text


@pytest.fixture(scope="module")
def folder() -> Path:
    return parsed({name: numbered(text) for name, text in MODELS.items()}, REFUSED)


@pytest.mark.parametrize("name", MODELS)
def test_the_reference_returns_what_onnx_runtime_does(name: str, folder: Path) -> None:
    assert_as_onnx_runtime(folder / f"{name}.onnx", rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("random", "RandomUniformLike (export"),
        ("voting", "SVMClassifier with probabilities of more than two classes (train with probability=False"),
    ],
)
def test_a_refusal_says_what_would_help(name: str, sentence: str, folder: Path) -> None:
    problem = problem_of(folder / f"{name}.onnx")
    with pytest.raises(UsageError, match=None) as error:
        problem.graph(problem.batch_size)
    assert sentence in str(error.value)
