"""The table of run options: every reader takes an option from its one declaration, and all agree on it."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import MISSING, fields
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from benchmarker.api.rules import Choice, Flag, ListOf, Real, Rule, Whole
from benchmarker.cli.run_options import add_arguments, given
from benchmarker.experiment.blueprint.json_schema import blueprint_schema
from benchmarker.experiment.blueprint.requests import convert
from benchmarker.experiment.options import OPTION_OF_KEY, OPTIONS, RUN_OPTIONS
from benchmarker.experiment.planning import matrix
from benchmarker.experiment.run_option import RunOption
from benchmarker.experiment.spec import Experiment, RunSpec, specification
from benchmarker.orchestration.rerun import experiment_from_record
from benchmarker.records.assembly.command import rerun_command
from benchmarker.records.keys import comparable
from benchmarker.records.reading import parse_json
from benchmarker.worker.job import RunJob
from tests.conftest import ROOT

# --- a new option ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def planted() -> Mapping[str, Any]:
    """What the readers make of an option that one line in the table declares."""
    command = [sys.executable, "-m", "tests.support.planted_option"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert found.returncode == 0, found.stderr
    told: Mapping[str, Any] = json.loads(found.stdout)
    return told


RULE = "must be 'plain', 'spiced' or 'smoked', got 'spicy'; did you mean 'spiced'?"


def test_a_new_option_is_one_of_the_command(planted: Mapping[str, Any]) -> None:
    assert "--flavour NAME,...  " in planted["help"]
    assert "how it tastes" in planted["help"]
    assert planted["command"] == ["spiced", "smoked"]
    assert planted["refused"] == [
        2,
        f"benchmarker run: --flavour {RULE} (see benchmarker run --help)\n",
    ]


def test_a_new_option_is_a_field_of_blueprints(planted: Mapping[str, Any]) -> None:
    assert planted["blueprint"] == ["spiced", "smoked"]
    assert planted["blueprint faults"] == [f"flavour {RULE.replace(', got', ', or a list of them, got')}"]
    one = {"enum": ["plain", "spiced", "smoked"]}
    assert planted["schema"] == {
        "description": "How it tastes.",
        "anyOf": [one, {"type": "array", "items": one, "minItems": 1, "uniqueItems": True}],
    }


def test_a_new_option_is_checked_planned_and_repeated(planted: Mapping[str, Any]) -> None:
    assert planted["faults"] == [[["flavour"], f"flavour {RULE}"]]
    plain, spiced = planted["repeated"]
    assert "--flavour=spiced" in spiced
    assert not any("flavour" in part for part in plain)
    assert planted["again"] == ["spiced"]


def test_a_new_option_tells_records_apart_and_leaves_older_ones_comparable(
    planted: Mapping[str, Any],
) -> None:
    assert planted["compared"] == [None, "spiced"]
    assert planted["hashes differ"]
    assert planted["older"] == "plain"
    assert planted["columns"] == [["flavour", ["plain", "spiced"]]]


# --- those there are --------------------------------------------------------------------------------


def some(rule: Rule) -> Any:
    """Return a value that a rule allows."""
    if isinstance(rule, Choice):
        return rule.names[-1]
    if isinstance(rule, ListOf):
        return [some(rule.rule)]
    if isinstance(rule, Real):
        return 0.5
    return {Whole: 7, Flag: True}.get(type(rule), "word")


def commanded(*words: str) -> dict[str, Any]:
    """Return what an experiment is given by the command."""
    return given(_parser().parse_args(words))


@cache
def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    add_arguments(parser)
    return parser


@pytest.mark.parametrize("option", OPTIONS.values(), ids=lambda option: option.key)
def test_the_command_and_a_blueprint_say_the_same(option: RunOption) -> None:
    value = some(option.rule)
    word = option.flag if option.is_switch else f"{option.flag}={value[0] if option.is_set else value}"
    assert Draft202012Validator(blueprint_schema()["properties"][option.key]).is_valid(value)
    assert commanded(word) == convert({option.key: value}).values


@pytest.mark.parametrize("option", OPTIONS.values(), ids=lambda option: option.key)
def test_a_default_is_allowed_and_nothing_is_said_of_it(option: RunOption) -> None:
    assert option.default in (None, ()) or not option.rule.faults(option.default)
    assert option.spelled_out or option.arguments(option.default) == []


def test_a_job_has_the_defaults_of_the_table() -> None:
    own = {field.name: field.default for field in fields(RunJob) if field.default is not MISSING}
    taken = {name: default for name, default in own.items() if name in RUN_OPTIONS}
    assert {"garbage_collector", "sampling", "micro_batch"} <= set(taken)
    assert taken == {name: RUN_OPTIONS[name].default for name in taken}


# --- records that are kept ---------------------------------------------------------------------------


@cache
def kept() -> list[tuple[Path, dict[str, Any]]]:
    """Return every record with a specification that the repository has."""
    paths = sorted((ROOT / "results").rglob("*.json"))
    records = [(path, parse_json(path.read_bytes())) for path in paths]
    return [(path, record) for path, record in records if record.get("specification")]


def only_run(record: Mapping[str, Any]) -> RunSpec:
    """Return the run that a record asks for."""
    (run,) = matrix(experiment_from_record(record))
    return run


def test_kept_records_keep_their_specification_and_their_comparison_key() -> None:
    assert len(kept()) > 500
    for path, record in kept():
        run, data = only_run(record), (record.get("inputs") or {}).get("data")
        asked = record["specification"]
        pinned = {"framework_version": run.framework_version, "repetition": 0}
        said = json.loads(json.dumps(specification(run)))
        options = {**said["framework_options"], **asked["framework_options"]}
        assert said == {**said, **asked, **pinned, "framework_options": options}, path
        if "comparable" in record:
            assert comparable(run, data) == record["comparable"], path


def test_the_command_that_repeats_a_kept_record_says_all_of_its_specification() -> None:
    # A training's command names its recipe; tests/cli/test_train.py repeats one.
    records = [record for _, record in kept() if record["specification"].get("training") is None]
    runs = {json.dumps(sorted(rerun_command(run, None))): run for run in map(only_run, records[::7])}
    assert len(runs) > 50
    for run in runs.values():
        words = rerun_command(run, None)[4:]
        (again,) = matrix(Experiment(**commanded(*words)))
        assert specification(again) == specification(run), words


def test_no_two_options_have_a_name_in_common() -> None:
    assert len(OPTION_OF_KEY) == len(OPTIONS) == len({option.keyword for option in OPTIONS.values()})
