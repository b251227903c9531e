"""Trainings over several recipes in one table."""

from __future__ import annotations

import copy

from benchmarker.analysis.page.trainings import trainings
from benchmarker.analysis.text.trainings import RANKING_HEADINGS, ranking_table, trainings_table
from tests.support.trainings import trained

SEEDS = ([10, 95], [10, 20, 95], [10, 20, 30, 95], [10, 20, 95], [10, 20, 95], [10, 20])
RECORDS = [
    trained(correct, seed=seed, framework=name, slowness=slowness, recipe=recipe)
    for recipe in ("small", "other")
    for name, slowness in (("jax", 50.0), ("numpy", 1.0))
    for seed, correct in enumerate(SEEDS)
]


def test_each_recipe_has_its_frameworks_below_it_the_first_first() -> None:
    lines = ranking_table(RECORDS, width=120).splitlines()
    table = [line.split() for line in lines[lines.index("") - 6 : lines.index("")]]
    assert [row[0] for row in table] == ["small", "numpy", "jax", "other", "numpy", "jax"]
    assert " ".join(table[1]) == "numpy 1.0 5 of 6 20 [10, missed] 2.90 [1.90, missed] - first"
    assert " ".join(table[2]) == "jax 1.0 5 of 6 20 [10, missed] 145 [95.0, missed] equal slower"


def test_its_notes_say_how_it_was_tested() -> None:
    text = " ".join(ranking_table(RECORDS, width=100).split())
    assert "corrected for all pairs (Holm)" in text
    assert "from the sign test" in text
    assert "did not end well" not in text
    failed = {**trained([10, 95], framework="mxnet"), "training": None}
    named = " ".join(ranking_table([failed, *RECORDS], width=100).split())
    assert named.endswith("Without a training that ended well: mxnet 1.0 (small).")


def test_it_fits_a_terminal() -> None:
    text = ranking_table(RECORDS, width=80)
    assert max(map(len, text.splitlines())) <= 80
    assert all(word in text for title in RANKING_HEADINGS[1:] for word in title.split())


def test_whose_seconds_were_disturbed_is_told_with_the_recipe() -> None:
    records = copy.deepcopy(RECORDS)
    for record in records[:2]:
        record["trust"]["grade"] = "contaminated"
    told = "Left out of seconds, not of steps, as disturbed or otherwise not to be ranked: 2 of 6 of jax 1.0 (small)"
    for text in (ranking_table(records, width=200), "\n".join(trainings(records).notes)):
        assert told in " ".join(text.split())
    assert "2 of 6 of jax 1.0." in " ".join(trainings_table(records[:12], width=200).split())
    assert "disturbed" not in ranking_table(RECORDS, width=200)
