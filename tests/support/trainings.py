"""Records of trainings by a recipe, as far as tables and pictures read them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from benchmarker.records.migration import newest
from tests.conftest import ROOT
from tests.support.records import make_record

TARGET = 0.9


def trained(
    correct: Sequence[int],
    *,
    seed: int = 0,
    framework: str = "numpy",
    slowness: float = 1.0,
    recipe: str = "small",
) -> dict[str, Any]:
    """A record of a training that is evaluated every 10 steps of 0.1 s each, on 100 samples, after a first of 1 s."""
    steps = [10 * index for index in range(len(correct))]
    reached = correct[-1] >= 100 * TARGET
    spent = [slowness * 0.1 * max(0, step - 1) for step in steps]
    target = {"metric": "accuracy", "value": TARGET, "split": "test"}
    training = {
        "recipe": {"name": recipe, "digest": "sha256:0", "division": "closed"},
        "target": target,
        "diverged": None,
        "evaluated_samples": 100,
        "steps": steps[-1],
        "first_step_seconds": slowness,
        "training_seconds": spent[-1],
        "loading_seconds": 0.0,
        "curve": {
            "step": steps,
            "correct": list(correct),
            "evaluation_loss": [1.0] * len(steps),
            "training_seconds": spent,
            "loading_seconds": [0.0] * len(steps),
        },
    }
    record = make_record(
        [0.1] * 24,
        framework__name=framework,
        framework__full=f"{framework}-1.0",
        seed=seed,
        training=training,
        metrics__steps_to_target=steps[-1] if reached else None,
        metrics__seconds_to_target=slowness + spent[-1] if reached else None,
    )
    record["specification"]["training"] = {"name": recipe, "division": "closed", "target": target}
    return {**record, "comparable": {"hash": recipe, "keys": {"recipe": recipe}}}


STEPS = [1, 2, 3]
Shares = dict[str, list[float | None]]


def diverging(followed: Shares, free: Shares | None = None, **options: Any) -> dict[str, Any]:
    """A training alongside the reference, of the same shares in both norms."""
    record = trained([10, 95], **options)
    free = free or followed
    parameters = [
        {
            "name": name,
            "elements": 4,
            "followed_l2": shares,
            "followed_max": shares,
            "free_l2": free[name],
            "free_max": free[name],
        }
        for name, shares in followed.items()
    ]
    told = {"steps": 3, "state": "framework", "step": STEPS, "parameters": parameters, "seconds": 1.0}
    return {**record, "training": {**record["training"], "divergence": told}}


def two_recipes() -> list[dict[str, Any]]:
    """Trainings by two recipes on two frameworks."""
    return [
        trained([10, 95], framework=framework, recipe=recipe, slowness=slowness)
        for recipe, slowness in (("a", 1.0), ("b", 3.0))
        for framework in ("numpy", "jax")
    ]


def kept_trainings(recipes: Sequence[str], frameworks: Sequence[str]) -> list[Any]:
    """Return kept records of real trainings, ten seeds each, in the order in which they were made."""
    paths = sorted((ROOT / "results" / "training").glob("*.json"))
    records = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
    return [
        newest(record)
        for record in records
        if record["training"]["recipe"]["name"] in recipes and record["framework"]["name"] in frameworks
    ]
