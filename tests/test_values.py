"""Weights and mini-batches: the same bytes for ever, the right distributions, each name its own stream."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarker.graph.types import Distribution, TensorType
from benchmarker.problems import mnist_mlp
from benchmarker.worker import values
from benchmarker.worker.values import digest, draw, draw_batch, draw_indices, draw_parameters, first_samples

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
)
"""Found equal under NumPy 1.23 and 2.4; a change would make old and new records incomparable."""


@pytest.mark.parametrize(
    ("distribution", "shape", "dtype", "expected"),
    PINNED,
    ids=[f"{p[0].kind}-{p[0].scale:.3g}" for p in PINNED],
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
