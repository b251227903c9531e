"""Weights and mini-batches: the same bytes for ever, the right distributions, each name its own stream."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarker.data import values
from benchmarker.data.values import (
    digest,
    draw,
    draw_batch,
    draw_indices,
    draw_parameters,
    first_samples,
    moved_samples,
    repeated_samples,
    samples_at,
)
from benchmarker.graph.types import Distribution, TensorType
from benchmarker.problems import mnist_mlp

NORMAL = Distribution("normal", 1.0)
PINNED = (
    (NORMAL, (3, 5), "float32", "dd9f665ea89b96d2b87ddc5a18a734fc16f2fd6e07ef9bc2b117024cdaebc472"),
    (
        Distribution("normal", 0.05),
        (2, 3, 4, 5),
        "float32",
        "0439e168959ea9e377ada05fef3b9b08d27dd06ad9f9013877f7bf621ceec25b",
    ),
    (
        Distribution("uniform", 0.125),
        (64,),
        "float32",
        "bbdd8c0876d13367000176ca6b3c4d6b3aded218118510a8f3bde2fe6adc0e1e",
    ),
    (
        Distribution("uniform", 1 / 3),
        (7, 11),
        "float32",
        "bfc0a25ce26fdb1faedc88dca7f5ec9abc9fcd91c4f53a369d558432ce48fa0c",
    ),
    (
        Distribution("integers", 10),
        (32,),
        "int64",
        "c3d8114cd8e9d3bac850a4a4e5a32ad01650b14f5a1d6fdd2493c4422f2f8e8c",
    ),
    (
        Distribution("integers", 1000),
        (4, 25),
        "int64",
        "c7d32456febb7b3bf5fe1a49c9ebc2509e0e7bc724dcb676be9ed97ed8b1c7aa",
    ),
    (
        Distribution("constant", 0.5),
        (9,),
        "float32",
        "7b872cc297344b6996e8f428aa5af69f53b628a1093fd60d88b6fdce203268d5",
    ),
    (
        Distribution("uniform", scale=3.0, low=0.5),
        (7, 11),
        "float32",
        "56800ec69d233e2d0d9f3966d957265fc86918a04730275a13eaf77d6caa211c",
    ),
    (
        Distribution("uniform", 1.0, low=0.0),
        (64,),
        "float32",
        "69064af5c8b431054ef45d33937e87f494cd01d23e2794b8e3dee302062f943c",
    ),
    (
        Distribution("integers", scale=10, low=1),
        (4, 25),
        "int64",
        "3c894b081d1876d5f49ffa6186e4be35dfc6bd56ce2aa797faa38c3955759983",
    ),
    (
        Distribution("integers", scale=10),
        (32,),
        "float32",
        "2dd25af1e7359ea7b527864adcaca5785cc4cb2145a2650283282013a70f426b",
    ),
    (
        Distribution("values", values=(1.0, -2.5, 4.0)),
        (2, 4),
        "float32",
        "e9a8eac0d8a95aa130a0fc8d6107f0aeed0df74a108f1db3d15f07c8dd0c6cf1",
    ),
    (
        Distribution("values", values=(5, 7)),
        (2, 3),
        "int64",
        "2c54a0023e0a5c794aa5197922c72bd3f1daaa66745f611fd9f31f5371c43d5f",
    ),
    (
        Distribution("one_hot"),
        (6, 9),
        "float32",
        "a328d01fb3da628b0409f978db8f5b7ec0cb97a7a5701a4ebdf2e6cc68b40c49",
    ),
    (
        Distribution("sinusoidal", scale=10000.0),
        (50, 16),
        "float32",
        "fda8d54dd7ee3e0b329e56401f82f1b9d05a075e8aba46677502f88d1d1a5d07",
    ),
    (
        Distribution("rotary_cosine", scale=10000.0),
        (50, 8),
        "float32",
        "b1d2378ba635f70c16d6f4eee8ce8041261cc8388aab6509ef2c73f2422158f1",
    ),
    (
        Distribution("rotary_sine", scale=500000.0),
        (50, 8),
        "float32",
        "a9d5332414ebfcd00eb1e148efaa8b0615a6002bb6ac975bcf1d69d6c0fda38a",
    ),
    (
        Distribution("normal", scale=0.5, probability=0.75),
        (9, 13),
        "float32",
        "9c852f065cfe59f71ddcb4b206ea0d5fab5512888861987317162cdbea1ce48d",
    ),
    (
        Distribution("constant", scale=2.0, probability=0.5),
        (5, 8),
        "float32",
        "166e02f12e2c5e2318456d4cee1a21913977ab1b542cc5814c479eb87f1f13cb",
    ),
    (
        Distribution("integers", scale=100, low=5, probability=0.9, otherwise=-100),
        (6, 20),
        "int64",
        "1a94dc7cd14e4353843a4f555addbe11174567c9e5ef932d35c021d008dc9093",
    ),
)
"""Found equal under NumPy 1.23 and 2.4; a change would make old and new records incomparable."""


@pytest.mark.parametrize(
    ("distribution", "shape", "dtype", "expected"),
    PINNED,
    ids=[f"{p[0].kind}-{p[0].scale:.3g}-{p[2]}" for p in PINNED],
)
def test_the_algorithm_never_changes(
    distribution: Distribution, shape: tuple[int, ...], dtype: str, expected: str
) -> None:
    tensor = draw(42, "parameter/x", TensorType(shape, dtype), distribution)
    assert tensor.shape == shape
    assert tensor.dtype == np.dtype(dtype)
    assert digest({"x": tensor}) == f"sha256:{expected}"


def test_a_whole_problem_never_changes() -> None:
    graph = mnist_mlp.benchmarker_problem().graph(2)
    assert digest(draw_parameters(graph, 42)) == (
        "sha256:1841c597694050e9fe1367b15abfd2d766cb80ce95a93cacf3fcd4f07e98432d"
    )
    assert digest(draw_batch(graph, 42)) == (
        "sha256:6d0df8805d2638ba1c9d695881e103bf5f2c63c0c6ed3ddce8162c5823a9a8ba"
    )


def test_a_large_tensor_never_changes() -> None:
    tensor = draw(7, "batch/large", TensorType(((1 << 20) + 3,)), NORMAL)
    assert digest({"x": tensor}) == "sha256:129c850acf0dc3426e1c09fe66064c46d73f16b97c38b38cf825cb7a291ddc0b"


COUNT = 1 << 20


def test_normal_values_have_mean_deviation_and_bound() -> None:
    scale = 0.3
    tensor = draw(1, "n", TensorType((COUNT,)), Distribution("normal", scale)).astype(np.float64) / scale
    assert abs(tensor.mean()) < 5 / np.sqrt(COUNT)
    assert abs(tensor.var() - 1) < 5 * np.sqrt(2 / COUNT)
    assert np.abs(tensor).max() <= 3.4642
    # Four uniforms have the excess kurtosis -6/5 divided by 4.
    assert abs((tensor**4).mean() - (3 - 0.3)) < 0.03
    assert abs((tensor**3).mean()) < 0.02


def test_uniform_values_have_mean_deviation_and_range() -> None:
    scale = 0.25
    tensor = draw(1, "u", TensorType((COUNT,)), Distribution("uniform", scale)).astype(np.float64)
    assert tensor.min() >= -scale
    assert tensor.max() < scale
    assert tensor.min() < -0.9999 * scale
    assert tensor.max() > 0.9999 * scale
    deviation = scale / np.sqrt(3)
    assert abs(tensor.mean()) < 5 * deviation / np.sqrt(COUNT)
    assert abs(tensor.std() / deviation - 1) < 0.005
    counts, _ = np.histogram(tensor, 16, (-scale, scale))
    assert np.abs(counts - COUNT / 16).max() < 5 * np.sqrt(COUNT / 16)


@pytest.mark.parametrize("classes", [1, 2, 10, 1000])
def test_labels_are_uniform_over_the_classes(classes: int) -> None:
    labels = draw(3, "label", TensorType((COUNT,), "int64"), Distribution("integers", classes))
    counts = np.bincount(labels, minlength=classes)
    assert counts.size == classes
    assert np.abs(counts - COUNT / classes).max() < 6 * np.sqrt(COUNT / classes)


def test_neighbouring_values_are_not_correlated() -> None:
    tensor = draw(1, "n", TensorType((COUNT,)), NORMAL).astype(np.float64)
    for lag in (1, 2, 3, 4):
        assert abs((tensor[lag:] * tensor[:-lag]).mean()) < 6 / np.sqrt(COUNT)


KINDS = {
    "normal": NORMAL,
    "integers": Distribution("integers", 1000, low=7),
    "one_hot": Distribution("one_hot"),
    "sinusoidal": Distribution("sinusoidal", 1e4),
    "rotary": Distribution("rotary_sine", 1e4),
    "values": Distribution("values", values=(1.0, 2.0, 3.0)),
    "left-out": Distribution("normal", probability=0.5, otherwise=-1.0),
    "one_hot-left-out": Distribution("one_hot", probability=0.25),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_bytes_do_not_depend_on_the_chunks(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    type_ = TensorType((11, 3, 7))
    whole = draw(5, "x", type_, KINDS[kind])
    for chunk in (1, 8, 100):
        monkeypatch.setattr(values, "_CHUNK", chunk)
        assert np.array_equal(draw(5, "x", type_, KINDS[kind]), whole)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("sinusoidal", "rotary")])
def test_a_longer_tensor_begins_with_the_shorter_one(kind: str) -> None:
    short, long = (draw(5, "x", TensorType((rows, 3, 7)), KINDS[kind]) for rows in (4, 9))
    assert np.array_equal(long[:4], short)


def test_uniform_values_keep_their_bounds() -> None:
    tensor = draw(1, "u", TensorType((COUNT,)), Distribution("uniform", 3.0, low=1.0))
    assert 1.0 <= tensor.min() < 1.0001
    assert 2.9999 < tensor.max() <= 3.0
    assert abs(tensor.astype(np.float64).mean() - 2.0) < 5 / np.sqrt(3 * COUNT)


def test_integers_begin_at_their_lower_bound() -> None:
    labels = draw(3, "label", TensorType((COUNT,), "int64"), Distribution("integers", 9, low=4))
    counts = np.bincount(labels, minlength=9)
    assert counts[:4].tolist() == [0] * 4
    assert np.abs(counts[4:] - COUNT / 5).max() < 6 * np.sqrt(COUNT / 5)


def test_values_repeat_over_and_over() -> None:
    found = draw(0, "x", TensorType((2, 4)), Distribution("values", values=(1.0, 2.0, 3.0)))
    assert found.tolist() == [[1, 2, 3, 1], [2, 3, 1, 2]]


def test_each_row_of_one_hot_values_has_a_single_one_and_every_class_its_share() -> None:
    found = draw(1, "x", TensorType((COUNT // 64, 8, 8)), Distribution("one_hot"))
    assert set(np.unique(found)) == {0.0, 1.0}
    assert (found.sum(axis=-1) == 1).all()
    counts, rows = found.sum(axis=(0, 1)), COUNT / 8
    assert np.abs(counts - rows / 8).max() < 6 * np.sqrt(rows / 8)


def test_a_table_of_positions_is_that_of_the_paper() -> None:
    found = draw(0, "x", TensorType((2, 40, 6)), Distribution("sinusoidal", 10000.0))
    assert np.array_equal(found[0], found[1])
    for position in range(40):
        for feature in range(6):  # PE(pos, 2 i) = sin(pos / 10000^(2 i / d)), and the cosine after it
            angle = position / 10000 ** ((feature - feature % 2) / 6)
            expected = math.cos(angle) if feature % 2 else math.sin(angle)
            assert found[0, position, feature] == pytest.approx(expected, abs=1e-7)


def test_rotary_tables_have_a_column_for_each_pair_of_features() -> None:
    type_ = TensorType((40, 3))
    cosine, sine = (draw(0, "x", type_, Distribution(f"rotary_{name}", 500.0)) for name in ("cosine", "sine"))
    for position in range(40):
        for pair in range(3):  # of 6 features
            angle = position * 500.0 ** (-2 * pair / 6)
            assert cosine[position, pair] == pytest.approx(math.cos(angle), abs=1e-7)
            assert sine[position, pair] == pytest.approx(math.sin(angle), abs=1e-7)


@pytest.mark.parametrize("probability", [0.0, 0.25, 0.9])
def test_elements_are_left_out_with_their_probability_and_the_others_stay(probability: float) -> None:
    whole = draw(1, "x", TensorType((COUNT,)), NORMAL)
    some = draw(1, "x", TensorType((COUNT,)), Distribution("normal", probability=probability, otherwise=9.0))
    left_out = some == 9.0
    assert abs(left_out.mean() - (1 - probability)) <= 6 * np.sqrt(probability * (1 - probability) / COUNT)
    assert np.array_equal(some[~left_out], whole[~left_out])
    # Which ones is not decided by their values.
    if probability:
        assert abs(whole[~left_out].astype(np.float64).mean()) < 6 / np.sqrt(probability * COUNT)


def test_labels_may_be_left_out_too() -> None:
    labels = draw(
        1, "label", TensorType((1000,), "int64"), Distribution("integers", 5, probability=0.5, otherwise=-100)
    )
    assert labels.dtype == np.int64
    assert set(labels.tolist()) == {-100, 0, 1, 2, 3, 4}


@pytest.mark.parametrize("count", [(1 << 20) - 1, 1 << 20, (1 << 20) + 1])
@pytest.mark.parametrize("kind", ["normal", "uniform"])
def test_chunks_leave_no_seam(kind: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    distribution = Distribution(kind)
    whole = draw(5, "x", TensorType((count,)), distribution)
    longer = draw(5, "x", TensorType((count + 7,)), distribution)
    monkeypatch.setattr(values, "_CHUNK", 1 << 22)
    assert np.array_equal(whole, draw(5, "x", TensorType((count,)), distribution))
    assert np.array_equal(whole, longer[:count])


def test_each_name_and_seed_has_a_stream_of_its_own() -> None:
    def drawn(seed: int, name: str) -> np.ndarray:
        return draw(seed, name, TensorType((4096,)), NORMAL).astype(np.float64)

    streams = [drawn(s, n) for s in (0, 1, 2**32, 2**40 + 1) for n in ("a", "b", "parameter/a", "batch/a")]
    for i, one in enumerate(streams):
        for other in streams[:i]:
            assert abs((one * other).mean()) < 6 / np.sqrt(4096)


def test_a_further_parameter_changes_no_other() -> None:
    problem = mnist_mlp.benchmarker_problem()
    few, many = problem.graph(2), problem.graph(2, classes=11)
    drawn_few, drawn_many = draw_parameters(few, 42), draw_parameters(many, 42)
    assert digest({"w": drawn_few["fc1.weight"]}) == digest({"w": drawn_many["fc1.weight"]})
    assert digest(drawn_few) != digest(drawn_many)


def test_a_larger_batch_begins_with_the_smaller_one() -> None:
    problem = mnist_mlp.benchmarker_problem()
    small, large = draw_batch(problem.graph(2), 42), draw_batch(problem.graph(5), 42)
    assert digest(first_samples(large, 2)) == digest(small)
    assert {name: array.shape[0] for name, array in first_samples(large, 3).items()} == {
        "image": 3,
        "label": 3,
    }


def test_an_unknown_distribution_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown distribution 'cauchy'"):
        draw(0, "x", TensorType((3,)), Distribution("cauchy"))


ARRAY = np.arange(12, dtype=np.float32).reshape(3, 4)


def test_the_digest_does_not_depend_on_the_order_of_names() -> None:
    a, b = {"x": ARRAY, "y": ARRAY + 1}, {"y": ARRAY + 1, "x": ARRAY}
    assert list(a) != list(b)
    assert digest(a) == digest(b)


@pytest.mark.parametrize(
    "same",
    [
        np.asfortranarray(ARRAY),
        np.repeat(ARRAY, 2, axis=1)[:, ::2],
        ARRAY.astype(">f4"),
        ARRAY[::-1].copy()[::-1],
    ],
    ids=["fortran", "strided", "big-endian", "reversed"],
)
def test_the_digest_does_not_depend_on_memory(same: np.ndarray) -> None:
    assert digest({"x": same}) == digest({"x": ARRAY})


@pytest.mark.parametrize(
    "other",
    [
        {"y": ARRAY},
        {"x": ARRAY.T},
        {"x": ARRAY.reshape(4, 3)},
        {"x": ARRAY.astype(np.float64)},
        {"x": ARRAY.view(np.int32)},
        {"x": np.nextafter(ARRAY, np.float32(99))},
        {"x": ARRAY, "y": ARRAY},
        {},
    ],
    ids=["name", "transposed", "shape", "type", "same-bytes-other-type", "last-bit", "one-more", "none"],
)
def test_the_digest_tells_arrays_apart(other: dict[str, np.ndarray]) -> None:
    assert digest(other) != digest({"x": ARRAY})


def test_the_digest_tells_a_scalar_from_a_vector_of_one() -> None:
    assert digest({"x": np.ones((), np.float32)}) != digest({"x": np.ones(1, np.float32)})


def test_the_digest_takes_empty_arrays() -> None:
    assert digest({"x": np.empty((0, 3), np.float32)}) != digest({"x": np.empty((3, 0), np.float32)})


def test_indices_are_decided_by_the_name_and_cover_the_tensor() -> None:
    assert draw_indices("fc1.weight", 100352, 4).tolist() == [12598, 66468, 23431, 74024]
    drawn = draw_indices("a", 1000, 65536)
    assert drawn.min() >= 0
    assert drawn.max() < 1000
    assert len(np.unique(drawn)) == 1000
    assert not np.array_equal(drawn, draw_indices("b", 1000, 65536))


MOLECULES = {"kind": np.array([[5, 6], [7, 8], [9, 10]]), "other": np.array([[1, 0], [3, 2], [5, 4]])}
"""Of two atoms each, numbered through the mini-batch."""
COUNTED = {"other": 2}


def kinds_of_others(batch: dict[str, np.ndarray]) -> list[list[int]]:
    """Return what each sample's numbers refer to."""
    found: list[list[int]] = batch["kind"].reshape(-1)[batch["other"]].tolist()
    return found


def test_samples_in_other_places_refer_to_what_they_did() -> None:
    assert kinds_of_others(MOLECULES) == [[6, 5], [8, 7], [10, 9]]
    chosen = samples_at(MOLECULES, np.array([2, 0]), COUNTED)
    assert kinds_of_others(chosen) == [[10, 9], [6, 5]]
    assert kinds_of_others(moved_samples(MOLECULES, 1, 3, COUNTED)) == [[10, 9], [6, 5], [8, 7]]
    repeated = repeated_samples(MOLECULES, 2, 4, COUNTED)
    assert kinds_of_others(repeated) == [[6, 5], [8, 7], [6, 5], [8, 7]]
    assert repeated["other"].tolist() == [[1, 0], [3, 2], [5, 4], [7, 6]]
    assert repeated["other"].dtype == MOLECULES["other"].dtype
