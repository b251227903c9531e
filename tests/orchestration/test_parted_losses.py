"""Ranks that train what is no mean over samples, or what numbers the rows of its mini-batch."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarker import registry
from tests.conftest import CACHE_HOME
from tests.support.quick_compilers import kept_compilations
from tests.support.rank_runs import BRIEF, proven, rank_command

pytestmark = [pytest.mark.framework, pytest.mark.timeout(300)]

LONGER = {"bert_base": {"length": 16, "layers": 1}, "roberta_base": {"length": 16, "layers": 1}}
"""So that each rank has masked words; to compile one layer takes half as long as two."""


def reduced(name: str) -> list[str]:
    """Return the options of a problem's small version."""
    values = {**registry.problem(name).reduced, **LONGER.get(name, {})}
    return [f"--problem={name}", *(f"--set={option}={value}" for option, value in values.items())]


@pytest.mark.parametrize(
    ("framework", "problem", "exchange", "whose"),
    [
        ("numpy", "bert_base", "mpi", "local"),
        ("numpy", "ssd300", "mpi", "local"),
        ("numpy", "dimenet", "mpi", None),
        ("pytorch", "roberta_base", "native", "local"),
        ("chainer", "schnet", "native", None),
        ("jax", "bert_base", "native", "local"),
        ("keras_jax", "bert_base", "native", "global"),
        ("keras_jax", "schnet", "native", None),
    ],
)
def test_ranks_train_the_mean_of_their_own_means_or_that_of_all(
    framework: str, problem: str, exchange: str, whose: str | None, tmp_path: Path
) -> None:
    command = rank_command(tmp_path)
    command.environment.update(kept_compilations(CACHE_HOME))
    arguments = (*reduced(problem), "--batch-size=4", *BRIEF, "--threads=1", "--monitors=none")
    (record,) = proven(
        command(f"--framework={framework}", *arguments, "--ranks=2", f"--exchange={exchange}", "--json")
    )
    assert record["distributed"].get("loss") == whose
    assert record["distributed"]["exchange"] == exchange
