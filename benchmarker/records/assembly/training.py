"""What a record says of a training by a recipe: what was asked, and what the worker found."""

from __future__ import annotations

from benchmarker.experiment.recipes import recipe_digest
from benchmarker.records.assembly.facts import RunFacts
from benchmarker.records.schema.training import Recipe, Target, Training


def training_of(facts: RunFacts) -> Training | None:
    """Return the training of a run; None without a recipe, or if the run ended before its result."""
    requested, found = facts.spec.training, facts.event("result").get("training")
    if requested is None or found is None:
        return None
    return Training(
        recipe=Recipe(
            name=requested["name"], digest=recipe_digest(facts.spec), division=requested["division"]
        ),
        target=Target(**requested["target"]),
        **found,
    )
