"""Which runs count as finished: the same specification, and the same content of the data set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarker import registry
from benchmarker.api.problem_scheme import ProblemReference
from benchmarker.data import prepared
from benchmarker.experiment.spec import RunSpec
from benchmarker.orchestration.resume import finished_before, recorded_specification
from tests.support.records import make_record


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BENCHMARKER_HOME", str(tmp_path / "home"))
    return tmp_path


def write_data(folder: Path, first: float) -> None:
    folder.mkdir(exist_ok=True)
    samples = np.arange(32.0).reshape(8, 4)
    samples[0, 0] = first
    np.save(folder / "data.npy", samples)
    np.save(folder / "labels.npy", np.arange(8) % 2)
    prepared.prepare.cache_clear()  # as in another process


def keep(folder: Path, run: RunSpec, **changes: Any) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / f"{len(list(folder.iterdir()))}.json"
    record = make_record(**{"specification": recorded_specification(run), **changes})
    path.write_text(json.dumps(record), encoding="utf-8")
    return path


def description(folder: Path) -> dict[str, Any]:
    found = prepared.prepare("npy", registry.dataset_reader("npy"), folder).description
    members = ("name", "source", "digest", "samples", "sample_shape", "classes", "files")
    return {name: found[name] for name in members}


def test_a_run_on_data_that_has_changed_is_not_finished(home: Path) -> None:
    data, results = home / "data", home / "results"
    write_data(data, 0.0)
    run = RunSpec("numpy", ProblemReference("mnist_mlp"), data="npy", data_dir=str(data))
    path = keep(results, run, inputs={"data": description(data)})
    assert finished_before([run], results)[0].path == path
    write_data(data, 1.0)
    assert finished_before([run], results) == {}
    newer = keep(results, run, inputs={"data": description(data)})
    assert finished_before([run], results)[0].path == newer
    write_data(data, 0.0)
    assert finished_before([run], results)[0].path == path


def test_a_record_on_data_is_none_of_a_run_without(home: Path) -> None:
    write_data(home / "data", 0.0)
    run = RunSpec("numpy", ProblemReference("mnist_mlp"))
    keep(home / "results", run, inputs={"data": description(home / "data")})
    assert finished_before([run], home / "results") == {}


@pytest.mark.parametrize("odd", [[], ["numpy"], "numpy mnist_mlp", 7, True, None])
def test_a_record_with_an_odd_specification_is_none(home: Path, odd: Any) -> None:
    results, run = home / "results", RunSpec("numpy", ProblemReference("mnist_mlp"))
    path = keep(results, run)
    keep(results, run, specification=odd)
    assert finished_before([run], results)[0].path == path
    path.unlink()
    assert finished_before([run], results) == {}


@pytest.mark.parametrize("odd", [[], "fed", None])
def test_a_record_with_odd_inputs_has_no_data(home: Path, odd: Any) -> None:
    results, run = home / "results", RunSpec("numpy", ProblemReference("mnist_mlp"))
    keep(results, run, inputs=odd)
    assert set(finished_before([run], results)) == {0}
