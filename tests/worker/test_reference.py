"""The reference: computed in double precision, kept in a file, read back unchanged."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarker.data import values
from benchmarker.errors import BenchmarkerError
from benchmarker.problems import lstm_imdb, mnist_mlp
from benchmarker.worker.verification import reference
from benchmarker.worker.verification.samples import MAX_COMPARED, Errors, TensorSample, tensor_sample
from benchmarker.worker.verification.tolerances import Expected

DIGESTS = {"parameters": "sha256:1", "batch": "sha256:2"}


def computed(problem: Any, mode: str, **parameters: Any) -> list[Expected]:
    graph = problem.benchmarker_problem().graph(3, **parameters)
    graph = graph if mode == "training" else graph.without_loss()
    return reference.compute(graph, values.draw_parameters(graph, 1), values.draw_batch(graph, 1), mode)


def same(one: list[Expected], other: list[Expected]) -> bool:
    return len(one) == len(other) and all(
        (a.name, a.kind, a.rounding, a.switching, a.tensor_sample.elements, a.tensor_sample.norm)
        == (b.name, b.kind, b.rounding, b.switching, b.tensor_sample.elements, b.tensor_sample.norm)
        and a.tensor_sample.values.dtype == b.tensor_sample.values.dtype
        and np.array_equal(a.tensor_sample.values, b.tensor_sample.values, equal_nan=True)
        for a, b in zip(one, other)
    )


def test_inference_gives_the_outputs() -> None:
    (output,) = computed(mnist_mlp, "inference")
    assert (output.kind, output.tensor_sample.elements) == ("output", 3 * 10)
    assert 0 < output.rounding.relative < 1e-5
    assert 0 < output.rounding.norm < 1e-5


def test_training_gives_loss_and_gradients_of_every_parameter() -> None:
    found = computed(mnist_mlp, "training")
    names = [f"fc{i}.{part}" for i in (1, 2, 3) for part in ("weight", "bias")]
    assert [(e.kind, e.name) for e in found] == [("loss", "loss"), *(("gradient", name) for name in names)]
    assert [e.tensor_sample.elements for e in found] == [1, 784 * 128, 128, 128 * 64, 64, 64 * 10, 10]
    large = found[1].tensor_sample
    assert large.values.size == MAX_COMPARED < large.elements


def test_the_loss_by_hand() -> None:
    graph = mnist_mlp.benchmarker_problem().graph(3)
    parameters, batch = values.draw_parameters(graph, 1), values.draw_batch(graph, 1)
    x = batch["image"].astype(np.float64)
    for layer in ("fc1", "fc2", "fc3"):
        x = x @ parameters[f"{layer}.weight"].astype(np.float64).T + parameters[f"{layer}.bias"]
        x = x if layer == "fc3" else np.maximum(x, 0)
    loss = np.mean(np.log(np.exp(x).sum(axis=1)) - x[np.arange(3), batch["label"]])
    found = reference.compute(graph, parameters, batch, "training")[0]
    assert found.tensor_sample.values[0] == pytest.approx(loss, rel=1e-13)


def test_the_reference_is_exact_where_float32_is_not() -> None:
    graph = mnist_mlp.benchmarker_problem().graph(3)
    arguments = graph, values.draw_parameters(graph, 1), values.draw_batch(graph, 1), "training"
    single, double = (reference.results(*arguments, precision) for precision in ("fp32", "fp64"))
    kept = {e.name: e for e in reference.compute(*arguments)}
    for name in kept:
        assert np.array_equal(kept[name].tensor_sample.values, tensor_sample(name, double[name][1]).values)
        assert not np.array_equal(
            kept[name].tensor_sample.values, tensor_sample(name, single[name][1]).values
        )


@pytest.mark.parametrize("mode", ["inference", "training"])
def test_what_was_saved_is_read_back(mode: str, tmp_path: Path) -> None:
    found = computed(lstm_imdb, mode, words=4, units=3)
    reference.save(tmp_path / "r.npz", found, DIGESTS)
    loaded, digests = reference.load(tmp_path / "r.npz")
    assert same(loaded, found)
    assert digests == DIGESTS
    assert [path.name for path in tmp_path.iterdir()] == ["r.npz"]


def test_odd_numbers_and_names_are_read_back(tmp_path: Path) -> None:
    odd = [
        Expected(
            "größe/1:0",
            "output",
            TensorSample(3, np.array([np.nan, np.inf, -0.0]), np.inf),
            Errors(np.inf, np.inf, 0.1),
        ),
        Expected("empty", "output", TensorSample(0, np.zeros(0), 0.0), Errors(0.0, 0.0, 0.0)),
    ]
    reference.save(tmp_path / "r.npz", odd, {})
    loaded, digests = reference.load(tmp_path / "r.npz")
    assert same(loaded, odd)
    assert digests == {}


def test_a_reference_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "r.npz"
    for seed in (1, 2):
        array = np.random.default_rng(seed).normal(size=100)
        reference.save(
            path, [Expected("y", "output", tensor_sample("y", array), Errors(0, 0, 0))], {"seed": str(seed)}
        )
    (only,), digests = reference.load(path)
    assert np.array_equal(only.tensor_sample.values, array)
    assert digests == {"seed": "2"}


def test_many_writers_leave_one_whole_reference(tmp_path: Path) -> None:
    path = tmp_path / "r.npz"
    faults: list[BaseException] = []

    def write(number: int) -> None:
        expected = [
            Expected("y", "output", tensor_sample("y", np.full(50_000, float(number))), Errors(0, 0, 0))
        ]
        try:
            for _ in range(5):
                reference.save(path, expected, {"writer": str(number)})
                (found,), digests = reference.load(path)
                assert (found.tensor_sample.values == float(digests["writer"])).all()
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert [path.name for path in tmp_path.iterdir()] == ["r.npz"]


def test_nothing_is_left_of_a_save_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: Any, **arrays: Any) -> None:
        arguments[0].write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(OSError, match="No space left"):
        reference.save(tmp_path / "r.npz", [], {})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("damage", [b"", b"no archive", b"PK\x03\x04 cut short"])
def test_a_damaged_file_is_removed_and_said_so(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "reference.npz"
    path.write_bytes(damage)
    with pytest.raises(BenchmarkerError, match=r"the proof 'reference.npz' was damaged .* run again"):
        reference.load(path, "proof")
    assert not path.exists()


def test_switching_is_what_the_gradients_do_when_rectifiers_near_zero_switch(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(reference, "SWITCHED", 0.0)
    assert {e.switching for e in computed(mnist_mlp, "training")} == {0.0}
    monkeypatch.setattr(reference, "SWITCHED", 0.05)
    found = computed(mnist_mlp, "training")
    by_name = {e.name: e.switching for e in found}
    assert by_name["loss"] == 0.0
    assert by_name["fc3.weight"] == 0.0  # no rectifier lies behind it
    assert 0.01 < by_name["fc1.weight"] < 1.0
    reference.save(tmp_path / "kept.npz", found, DIGESTS)
    assert same(reference.load(tmp_path / "kept.npz")[0], found)
    assert {e.switching for e in computed(mnist_mlp, "inference")} == {0.0}
