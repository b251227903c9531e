"""Aspects are worked out once for rows that are alike, and are those of all rows."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

from benchmarker.experiment import RunSpec, specification
from benchmarker.framework import Optimizer
from benchmarker.report import asked_aspects as module
from benchmarker.report.asked_aspects import asked_aspects

VARIED: dict[str, tuple[Any, ...]] = {
    "problem": ("mnist_mlp", "gemm"),
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
    usual = RunSpec("numpy", "mnist_mlp")
    for first, second in itertools.combinations(VARIED, 2):
        values = itertools.product(VARIED[first], VARIED[second])
        every = [specification(replace(usual, **{first: a, second: b})) for a, b in values]
        for rows in itertools.permutations(every, 3):
            each = [shown.aspect(rows) for shown in module._SHOWN]
            assert asked_aspects(rows)[: len(each)] == each, (first, second)


def test_a_member_that_is_new_is_an_aspect_where_rows_have_it() -> None:
    rows = [{**specification(RunSpec("numpy", "gemm")), **new} for new in ({}, {"mood": "good"}, {})]
    aspect = asked_aspects(rows)[-1]
    assert (aspect.title, aspect.texts, aspect.varies) == ("mood", ("", "good", ""), True)
