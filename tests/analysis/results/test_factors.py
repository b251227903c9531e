"""Aspects are worked out once for rows that are alike, and are those of all rows."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

from benchmarker.analysis.text import factors as module
from benchmarker.analysis.text.factors import specification_factors
from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem_scheme import ProblemReference
from benchmarker.experiment.spec import RunSpec, specification

VARIED: dict[str, tuple[Any, ...]] = {
    "problem": (ProblemReference("mnist_mlp"), ProblemReference("gemm")),
    "mode": ("training", "inference"),
    "framework": ("numpy", "pytorch"),
    "target_seconds": (3.0, 1.0),
    "steps": (None, 5),
    "window": (None, 2.0),
    "sampling": ("latency", "throughput"),
    "optimizer": (Optimizer(), Optimizer.default("adam")),
    "framework_options": ({}, {"compile": True}),
    "problem_parameters": ({"a": 1}, {"a": 2}),
    "data": ("mnist", "digits"),
    "data_dir": ("x", "y"),
    "affinity": ((), (0, 1)),
    "batch_size": (1, 4),
}


def test_aspects_are_those_of_all_rows_whatever_two_members_vary() -> None:
    usual = RunSpec("numpy", ProblemReference("mnist_mlp"))
    for first, second in itertools.combinations(VARIED, 2):
        values = itertools.product(VARIED[first], VARIED[second])
        every = [specification(replace(usual, **{first: a, second: b})) for a, b in values]
        some = list(itertools.combinations(every, 3))
        for rows in (*some, *(rows[::-1] for rows in some)):
            each = [shown.factor(rows) for shown in module._SHOWN]
            assert specification_factors(rows)[: len(each)] == each, (first, second)


def test_a_member_that_is_new_is_an_aspect_where_rows_have_it() -> None:
    rows = [
        {**specification(RunSpec("numpy", ProblemReference("gemm"))), **new}
        for new in ({}, {"mood": "good"}, {})
    ]
    factor = specification_factors(rows)[-1]
    assert (factor.title, factor.texts, factor.varies) == ("mood", ("", "good", ""), True)
