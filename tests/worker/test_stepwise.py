"""A training is judged step by step, each from the framework's own weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarker.api.optimizer import Optimizer
from benchmarker.graph.graph import Graph
from benchmarker.problems import mnist_mlp
from benchmarker.worker.verification import reference, stepwise
from benchmarker.worker.verification.low_precision import rounded
from benchmarker.worker.verification.probes import PROBES, ProbeSpec
from benchmarker.worker.verification.stable_batches import CALM, stable_seeds
from benchmarker.worker.verification.tolerances import tolerances
from benchmarker.worker.verification.verdicts import judge_sample

PROBLEM = mnist_mlp.benchmarker_problem()


def spec(**changes: Any) -> ProbeSpec:
    graph = PROBLEM.graph(4, inputs=12, hidden1=6, hidden2=5, classes=3)
    return replace(ProbeSpec(graph, seed=7, probes=("momentum",), steps=3), **changes)


def failed(asked: ProbeSpec, trajectory: stepwise.Trajectory) -> set[str]:
    expected = stepwise.expected_changes(asked, {"momentum": trajectory})
    limits = tolerances(expected, "fp32")
    found = {f.name: f.tensor_sample for f in stepwise.changes({"momentum": trajectory})}
    verdicts = [judge_sample(e, found[e.name], limits[e.name]) for e in expected]
    return {v.name for v in verdicts if not v.passed}


def trajectory(asked: ProbeSpec) -> stepwise.Trajectory:
    return stepwise.train(asked, reference.build("fp32"), "momentum")


def test_a_course_holds_the_weights_around_each_step() -> None:
    asked = spec()
    found = trajectory(asked)
    assert found.losses.shape == (3,)
    assert found.states["fc1.weight"].shape == (4, 6, 12)
    assert np.array_equal(found.states["fc1.weight"][0], asked.parameters()["fc1.weight"])
    (losses, *changes) = stepwise.changes({"momentum": found})
    assert losses.name == "momentum: losses"
    first = {e.name: e for e in changes}["momentum: fc1.weight"]
    assert first.tensor_sample.elements == 3 * 6 * 12


def test_the_first_step_by_hand() -> None:
    asked = spec()
    program = reference.build("fp64")(asked.graph, asked.parameters(), "training", Optimizer())
    _, gradients = program.gradients(program.load(asked.batch()))
    expected = stepwise.expected_changes(asked, {"momentum": trajectory(asked)})
    change = {e.name: e for e in expected}["momentum: fc2.bias"].tensor_sample.values.reshape(3, -1)[0]
    assert change == pytest.approx(-PROBES["momentum"].learning_rate * gradients["fc2.bias"], rel=1e-6)


def test_a_right_training_follows_and_a_wrong_step_does_not() -> None:
    asked = spec()
    found = trajectory(asked)
    assert failed(asked, found) == set()
    wrong = {name: values.copy() for name, values in found.states.items()}
    wrong["fc2.weight"][3] = wrong["fc2.weight"][2]  # the last step left it where it was
    assert failed(asked, replace(found, states=wrong)) == {"momentum: fc2.weight"}


def test_steps_elsewhere_are_judged_from_where_they_started() -> None:
    """Weights that went another way are no fault of a later step: the reference starts from them."""
    asked = spec()

    def elsewhere(graph: Graph, parameters: Mapping[str, Any], mode: str, optimizer: Optimizer) -> Any:
        program = reference.build("fp32")(graph, parameters, mode, optimizer)
        train_step, steps = program.train_step, []

        def pushed(batch: Any) -> Any:
            steps.append(1)
            if len(steps) == 1:
                program.assign({"fc3.bias": program.value("fc3.bias") + np.float32(0.25)})
            return train_step(batch)

        program.train_step = pushed  # type: ignore[method-assign]
        return program

    found = stepwise.train(asked, elsewhere, "momentum")
    assert "momentum: fc3.bias" in failed(asked, found)
    later = {e.name: e for e in stepwise.expected_changes(asked, {"momentum": found})}
    own = {e.name: e for e in stepwise.changes({"momentum": found})}
    for name in ("momentum: fc1.weight", "momentum: fc2.weight"):
        ours, theirs = (which[name].tensor_sample.values.reshape(3, -1)[2] for which in (later, own))
        # Velocity of the first step differs; what the later gradients add does not.
        assert np.linalg.norm(ours - theirs) < 0.5 * np.linalg.norm(ours)


def test_courses_are_read_back(tmp_path: Path) -> None:
    found = {"momentum": trajectory(spec())}
    stepwise.save_trajectories(tmp_path / "course.npz", found)
    loaded = stepwise.load_trajectories(tmp_path / "course.npz", ("momentum",))
    assert np.array_equal(loaded["momentum"].losses, found["momentum"].losses)
    assert loaded["momentum"].states.keys() == found["momentum"].states.keys()
    for name, values in found["momentum"].states.items():
        assert np.array_equal(loaded["momentum"].states[name], values)


def test_a_problem_that_flies_apart_at_the_usual_rate_is_trained_more_slowly() -> None:
    slow = spec(own=Optimizer("momentum", learning_rate=1e-4))
    assert slow.optimizer("sgd").learning_rate == pytest.approx(1e-3)
    assert slow.optimizer("adam") == PROBES["adam"]
    assert spec(own=Optimizer("adam", learning_rate=1e-4)).optimizer("sgd") == PROBES["sgd"]


@pytest.mark.parametrize(("precision", "bits"), [("bf16", 7), ("fp16", 10), ("tf32", 10)])
def test_rounding_to_a_coarse_precision(precision: str, bits: int) -> None:
    unit = 2.0**-bits
    values = np.array([1.0, -1.0, 1 + unit, 1 + 0.4 * unit, 1 + 0.6 * unit, 1 + 0.5 * unit, 1 + 1.5 * unit])
    expected = np.array([1.0, -1.0, 1 + unit, 1.0, 1 + unit, 1.0, 1 + 2 * unit])
    found = rounded({"x": values.astype(np.float32), "n": np.arange(3)}, precision)
    assert np.array_equal(found["x"], expected.astype(np.float32))
    assert np.array_equal(found["n"], np.arange(3))
    assert np.array_equal(rounded({"x": found["x"]}, "fp32")["x"], found["x"])
    if precision == "fp16":
        drawn = np.random.default_rng(0).normal(size=1000).astype(np.float32)
        assert np.array_equal(rounded({"x": drawn}, precision)["x"], drawn.astype(np.float16))


def test_mini_batches_are_chosen_at_which_no_rectifier_is_near_to_switching(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # In so wide a band some rectifier is near at most mini-batches, but not at all.
    monkeypatch.setattr(reference, "SWITCHED", 0.002)
    calm = {}
    for seed in range(0, 100, 10):
        asked = spec(seed=seed, probes=("sgd",))
        seeds = stable_seeds(asked, "fp32")
        assert len(seeds["sgd"]) == 3
        assert seeds["sgd"][0] == seeds["common"][0]
        expected = reference.expected_probes(replace(asked, seeds=seeds))
        drawn = reference.expected_probes(asked)
        calm[seed] = [max(e.switching for e in found) <= CALM for found in (expected, drawn)]
    chosen, unchosen = zip(*calm.values())
    assert sum(chosen) > sum(unchosen)
    assert all(after or not before for after, before in calm.values())


def test_in_a_coarse_precision_no_training_is_followed_to_choose_mini_batches() -> None:
    assert stable_seeds(spec(), "tf32") == {}
    assert [*stable_seeds(spec(), "bf16")] == ["common"]
