"""The cache of references: a name for each content, and a bound to its size."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarker.api.framework import Device
from benchmarker.api.optimizer import Optimizer
from benchmarker.execution.import_roots import import_roots
from benchmarker.orchestration.references import (
    BUDGET_FLOPS,
    reference_job,
    reference_path,
    verification_samples,
)
from benchmarker.problems.resnet import RESNET50
from benchmarker.worker.job import ReferenceJob, RunJob, from_json, to_json
from tests.conftest import ROOT

JOB = RunJob(
    framework="benchmarker.plugins.pytorch",
    device=Device("cpu"),
    threads=1,
    seed=42,
    problem="benchmarker.problems.mnist_mlp",
    problem_parameters={"hidden1": 128, "hidden2": 64},
    mode="training",
    batch_size=8,
    precision="fp32",
    verification_samples=8,
)
PACKAGES = import_roots((JOB.problem,))


def path(job: RunJob, packages: dict[str, str] = PACKAGES) -> Path:
    return reference_path(Path("folder"), job, packages)


DECISIVE: dict[str, RunJob] = {
    "problem": replace(JOB, problem="benchmarker.problems.alexnet"),
    "parameters": replace(JOB, problem_parameters={"hidden1": 128, "hidden2": 65}),
    "mode": replace(JOB, mode="inference"),
    "batch_size": replace(JOB, batch_size=16),
    "samples": replace(JOB, verification_samples=4),
    "seed": replace(JOB, seed=43),
    "low precision": replace(JOB, precision="bf16"),
    "double precision": replace(JOB, precision="fp64"),
}
INDIFFERENT: dict[str, RunJob] = {
    "framework": replace(JOB, framework="benchmarker.plugins.mxnet"),
    "options": replace(JOB, framework_options={"compile": True}),
    "optimizer": replace(JOB, optimizer=Optimizer("adam", 0.1)),
    "device": replace(JOB, device=Device("cuda", 1)),
    "threads": replace(JOB, threads=7),
    "steps": replace(JOB, steps=9, warmup=9),
    "order": replace(JOB, problem_parameters={"hidden2": 64, "hidden1": 128}),
}


@pytest.mark.parametrize("what", DECISIVE)
def test_what_decides_the_content_is_in_the_name(what: str) -> None:
    assert path(DECISIVE[what]) != path(JOB)


@pytest.mark.parametrize("what", INDIFFERENT)
def test_what_does_not_decide_it_is_not(what: str) -> None:
    assert path(INDIFFERENT[what]) == path(JOB)


def test_two_problems_of_one_module_have_names_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "zoo.py").write_text("")
    packages = {**PACKAGES, "zoo": str(tmp_path)}
    assert path(replace(JOB, problem="zoo:A"), packages) != path(replace(JOB, problem="zoo:B"), packages)


def test_a_person_can_read_the_name() -> None:
    assert path(JOB).parent == Path("folder")
    assert path(JOB).name.startswith("mnist_mlp-training-")
    assert path(JOB).suffix == ".npz"
    member = replace(JOB, problem="benchmarker.problems.resnet:RESNET50")
    assert path(member).name.startswith("resnet50-training-")


CODE = {
    "graph/graph.py": True,
    "graph/operators.py": True,
    "plugins/numpy/gradients.py": True,
    "data/values.py": True,
    "worker/verification/reference.py": True,
    "api/framework.py": True,
    "api/problem.py": True,
    "problems/mnist_mlp.py": True,
    "problems/vgg.py": False,
    "plugins/pytorch/program.py": False,
    "orchestration/orchestrator.py": False,
}


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a copy of our package."""
    folder = tmp_path_factory.mktemp("copied")
    shutil.copytree(
        ROOT / "benchmarker", folder / "benchmarker", ignore=shutil.ignore_patterns("__pycache__")
    )
    return folder


@pytest.mark.parametrize("file", CODE)
def test_the_code_of_the_reference_is_in_the_name_and_other_code_is_not(file: str, copied: Path) -> None:
    packages = {"benchmarker": str(copied)}
    before = path(JOB, packages)
    changed = copied / "benchmarker" / file
    text = changed.read_text()
    changed.write_text(text + "\n# changed\n")
    assert (path(JOB, packages) != before) == CODE[file]
    changed.write_text(text)
    assert path(JOB, packages) == before


@pytest.mark.parametrize("value", ["zoo", "zoo.nets", "zoo.nets:Net", "zoo.deep.net"])
@pytest.mark.parametrize("file", ["__init__.py", "nets.py", "layers.py", "deep/net.py"])
def test_all_code_of_another_packages_problem_counts(value: str, file: str, tmp_path: Path) -> None:
    for name in ("__init__.py", "nets.py", "layers.py", "deep/__init__.py", "deep/net.py"):
        (tmp_path / "zoo" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "zoo" / name).write_text("")
    job, packages = replace(JOB, problem=value), {**PACKAGES, "zoo": str(tmp_path)}
    before = path(job, packages)
    (tmp_path / "zoo" / file).write_text("x = 1\n")
    assert path(job, packages) != before


def test_the_code_of_a_problem_in_a_single_module_counts(tmp_path: Path) -> None:
    job, packages = replace(JOB, problem="net:Net"), {**PACKAGES, "net": str(tmp_path)}
    (tmp_path / "net.py").write_text("")
    before = path(job, packages)
    (tmp_path / "net.py").write_text("x = 1\n")
    assert path(job, packages) != before


def test_the_job_of_the_reference_runs_numpy_and_keeps_the_rest() -> None:
    job = replace(JOB, device=Device("cuda", 2), framework_options={"compile": True}, reference="old")
    found = from_json(to_json(reference_job(job, Path("new.npz"))))
    assert found == ReferenceJob(
        framework="benchmarker.plugins.numpy",
        device=Device("cpu"),
        threads=JOB.threads,
        seed=JOB.seed,
        problem=JOB.problem,
        problem_parameters=JOB.problem_parameters,
        mode=JOB.mode,
        batch_size=JOB.batch_size,
        precision=JOB.precision,
        path="new.npz",
        samples=JOB.verification_samples,
    )


@pytest.mark.parametrize(
    ("batch", "flops", "samples"),
    [
        (4, 8e9, 4),
        (64, 8e9, 15),
        (64, BUDGET_FLOPS, 2),
        (64, 1e15, 2),
        (1, 1e15, 1),
        (128, 200_000, 128),
        (3, 0.0, 3),
    ],
)
def test_as_many_samples_as_the_budget_allows(batch: int, flops: float, samples: int) -> None:
    job = replace(JOB, mode="inference", batch_size=batch)
    assert verification_samples(job, flops) == samples


def test_the_main_job_is_verified_whole() -> None:
    job = replace(JOB, batch_size=RESNET50.batch_size)
    assert verification_samples(job, 8.18e9) == RESNET50.batch_size
