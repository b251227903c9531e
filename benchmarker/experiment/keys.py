"""When two runs are the same one: three answers, for three questions. Records have theirs in ``records/keys.py``."""

from __future__ import annotations

import json
import operator
from collections.abc import Hashable
from dataclasses import fields, replace

from benchmarker.experiment.spec import RunSpec, specification

canonical = json.JSONEncoder(sort_keys=True).encode
"""Writes JSON values as a text that is equal if, and only if, they are."""


def identity(run: RunSpec) -> str:
    """Return a text that runs of the same specification have in common: they measure the same.

    By it a campaign knows the processes of a run, a comparison the runs that its sides share, and ``--resume`` what
    is finished.
    """
    return canonical(specification(run))


def likeness(run: RunSpec) -> Hashable:
    """Return what :func:`identity` tells apart, quickly, and among the runs of one matrix only.

    Each choice of settings is one object in all of these.
    """
    optimizer = run.optimizer if run.mode == "training" else None
    settings = (run.problem_parameters, run.framework_options, run.training)
    return (_WITHOUT_SETTINGS(run), optimizer, *map(id, settings))


_SETTINGS = ("problem_parameters", "framework_options", "optimizer", "training")
_WITHOUT_SETTINGS = operator.attrgetter(*(one.name for one in fields(RunSpec) if one.name not in _SETTINGS))


def early_stop_key(run: RunSpec) -> str:
    """Return what runs have in common that differ in batch size and process alone.

    Where one of these runs out of memory, those of larger batch sizes will too.
    """
    steps = None if run.samples_per_epoch else run.steps
    return identity(replace(run, batch_size=1, steps=steps, repetition=0))
