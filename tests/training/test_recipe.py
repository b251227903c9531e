"""The training table of a recipe: what it may say, what is refused, and how JSON has it."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from benchmarker import registry
from benchmarker.errors import UsageError
from benchmarker.experiment.blueprint.loading import load
from benchmarker.experiment.planning import matrix
from benchmarker.experiment.recipes import recipe, recipe_digest
from benchmarker.experiment.spec import Experiment
from benchmarker.training.fields import TableOf, made, to_json
from benchmarker.training.recipe import Target, Training
from benchmarker.training.reference_runs import MIN_SEEDS, ReferenceRuns

LEAST = {"target": {"value": 0.95}, "limits": {"epochs": 20}}


def training(**changes: Any) -> Training:
    return made(Training, {**LEAST, **changes}, "training")


def test_defaults() -> None:
    found = training()
    assert found.target == Target(0.95, "accuracy", "test")
    assert found.split.shares == {"train": 0.8, "test": 0.2}
    assert found.sampler_table == {"name": "shuffled"}
    assert found.limits.most_steps(44) == 880
    assert found.evaluation_steps(32, 44) == 44
    assert found.early_stop


def test_lengths() -> None:
    assert training(limits={"epochs": 2, "steps": 50}).limits.most_steps(44) == 50
    assert training(limits={"epochs": 0.5}).limits.most_steps(44) == 22
    assert training(evaluate_every=100).evaluation_steps(32, 44) == 4


def test_json_goes_there_and_back() -> None:
    found = training(
        name="mine",
        schedules={"learning_rate": {"kind": "cosine", "warmup": 10}},
        augmentation=[{"name": "shift"}],
        limits={"steps": 70, "no_improvement": 3},
    )
    assert made(Training, to_json(found), "training") == found


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"target": {"value": 95}},
            "training: target.value must be above 0 and at most 1, as an accuracy is, got 95",
        ),
        ({"target": {"metric": "acuracy", "value": 0.9}}, "did you mean 'accuracy'?"),
        ({"limits": {"seconds": 3}}, "limits needs 'epochs' or 'steps'"),
        ({"sampler": "shufled"}, "unknown sampler 'shufled'; did you mean 'shuffled'?"),
        ({"augmentation": ["shfit"]}, "unknown augmentation 'shfit'; did you mean 'shift'?"),
        ({"schedules": {"lerning_rate": {}}}, "did you mean 'learning_rate'?"),
        ({"schedules": {"learning_rate": {"kind": "cosin"}}}, "did you mean 'cosine'?"),
        ({"split": {"train": 0.5, "test": 0.2}}, "must have shares that add up to 1, got 0.7"),
        ({"split": {"train": 1.0}}, "must give 'test' a share: the target is evaluated on it"),
        ({"may_change": ["precision"]}, "belongs to an open recipe, but this one is closed"),
        ({"evaluate_evry": 3}, "is not known; did you mean 'evaluate_every'?"),
    ],
)
def test_what_is_wrong_is_one_sentence(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError) as refused:
        training(**changes)
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


def test_every_fault_is_found_at_once() -> None:
    found = TableOf(Training).faults({"target": {"value": "x"}, "limits": 3, "splitt": {}})
    assert [steps for steps, _ in found] == [("target", "value"), ("limits",), ("splitt",)]


@pytest.mark.parametrize("name", registry.names("recipes"))
def test_every_recipe_that_is_shipped_can_be_read(name: str) -> None:
    described = registry.recipe(name)
    assert described.description
    blueprint = load(described.file)
    assert blueprint.values["training"].name == name
    assert blueprint.document.fields["description"]


def test_an_unknown_recipe_is_offered_a_near_one() -> None:
    with pytest.raises(UsageError, match="unknown recipe 'digits_mpl'; did you mean 'digits_mlp'"):
        registry.recipe("digits_mpl")


RESTING = [name for name in registry.names("recipes") if registry.recipe(name).reference_runs is not None]


def test_recipes_of_data_that_is_here_have_reference_runs() -> None:
    assert {"breast_cancer", "char_lstm", "digits_cnn", "digits_mlp"} <= set(RESTING)


@pytest.mark.parametrize("name", RESTING)
def test_every_shipped_target_rests_on_reference_runs_of_that_very_recipe(name: str) -> None:
    path = registry.recipe(name).reference_runs
    assert path is not None
    found, blueprint = ReferenceRuns.read(path), recipe(name)
    target = blueprint.values["training"].target
    assert len({run.seed for run in found.runs}) >= MIN_SEEDS
    assert target.is_reached(median(run.best for run in found.runs))
    (run,) = matrix(Experiment(**{**blueprint.values, "frameworks": ("numpy",), "seeds": (0,)}))
    assert recipe_digest(run) == found.recipe


def test_a_target_that_no_reference_run_reached_is_refused(tmp_path: Path) -> None:
    runs = [{"seed": seed, "steps": None, "best": 0.9 + seed / 1000, "last": 0.9} for seed in range(20)]
    path = tmp_path / "runs.json"
    path.write_text(json.dumps({"recipe": "sha256:0", "framework": "numpy", "runs": runs}))
    found = ReferenceRuns.read(path)
    found.check(Target(0.919), "mine")
    with pytest.raises(
        UsageError, match=r"was not reached by any of its 20 reference runs, the best of which came to 0.919"
    ):
        found.check(Target(0.92), "mine")


@pytest.mark.parametrize("text", ["", "{}", '{"recipe": "a", "framework": "b", "runs": [3]}'])
def test_what_holds_no_reference_runs_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "runs.json"
    path.write_text(text)
    with pytest.raises(UsageError, match="holds no reference runs of a recipe"):
        ReferenceRuns.read(path)
