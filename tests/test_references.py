"""The cache of references: a name for each content, and a bound to its size."""

from __future__ import annotations

import os
import shutil
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarker.framework import Device, Optimizer
from benchmarker.packages import package_folders
from benchmarker.problems.resnet50 import benchmarker_problem
from benchmarker.references import (
    BUDGET_FLOPS,
    reference_job,
    reference_path,
    remove_least_recently_used,
    verification_samples,
)
from benchmarker.worker.job import Job
from tests.conftest import ROOT

JOB = Job(
    "run",
    "benchmarker.plugins.pytorch",
    "benchmarker.problems.mnist_mlp",
    problem_parameters={"hidden1": 128, "hidden2": 64},
    batch_size=8,
    verification_samples=8,
    seed=42,
)
PACKAGES = package_folders((JOB.problem,))


def path(job: Job, packages: dict[str, str] = PACKAGES) -> Path:
    return reference_path(Path("folder"), job, packages)


DECISIVE: dict[str, Job] = {
    "problem": replace(JOB, problem="benchmarker.problems.vgg16"),
    "parameters": replace(JOB, problem_parameters={"hidden1": 128, "hidden2": 65}),
    "mode": replace(JOB, mode="inference"),
    "batch_size": replace(JOB, batch_size=16),
    "samples": replace(JOB, verification_samples=4),
    "seed": replace(JOB, seed=43),
    "coarse precision": replace(JOB, precision="bf16"),
}
INDIFFERENT: dict[str, Job] = {
    "framework": replace(JOB, framework="benchmarker.plugins.mxnet"),
    "options": replace(JOB, framework_options={"compile": True}),
    "precision": replace(JOB, precision="fp64"),
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


CODE = {
    "graph/graph.py": True,
    "graph/operators.py": True,
    "plugins/numpy/gradients.py": True,
    "worker/values.py": True,
    "worker/reference.py": True,
    "framework.py": True,
    "problem.py": True,
    "problems/mnist_mlp.py": True,
    "problems/vgg16.py": False,
    "plugins/pytorch/program.py": False,
    "orchestrator.py": False,
}


@pytest.mark.parametrize("file", CODE)
def test_the_code_of_the_reference_is_in_the_name_and_other_code_is_not(file: str, tmp_path: Path) -> None:
    shutil.copytree(
        ROOT / "benchmarker", tmp_path / "benchmarker", ignore=shutil.ignore_patterns("__pycache__")
    )
    packages = {"benchmarker": str(tmp_path)}
    before = path(JOB, packages)
    changed = tmp_path / "benchmarker" / file
    changed.write_text(changed.read_text() + "\n# changed\n")
    assert (path(JOB, packages) != before) == CODE[file]


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
    before = path(job, packages)
    (tmp_path / "net.py").write_text("x = 1\n")
    assert path(job, packages) != before


def test_the_job_of_the_reference_runs_numpy_and_keeps_the_rest() -> None:
    job = replace(JOB, device=Device("cuda", 2), framework_options={"compile": True}, reference="old")
    found = Job.from_json(reference_job(job, Path("new.npz")))
    assert found == replace(
        JOB,
        action="reference",
        framework="benchmarker.plugins.numpy",
        framework_options={},
        device=Device("cpu"),
        reference="new.npz",
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
    assert verification_samples(batch, flops) == samples


def test_the_main_job_is_verified_whole() -> None:
    problem = benchmarker_problem()
    assert verification_samples(problem.batch_size, 8.18e9) == problem.batch_size


def fill(folder: Path, sizes: list[int]) -> list[Path]:
    """Write files, the first one used longest ago."""
    files = [folder / f"{chr(ord('a') + i)}.npz" for i in range(len(sizes))]
    for age, (file, size) in enumerate(zip(files, sizes)):
        file.write_bytes(bytes(size))
        os.utime(file, (1000 + age, 1000 + age))
    return files


def kept(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def test_the_least_recently_used_go_first(tmp_path: Path) -> None:
    fill(tmp_path, [100, 100, 100, 100])
    remove_least_recently_used(tmp_path, 250)
    assert kept(tmp_path) == ["c.npz", "d.npz"]


def test_a_use_keeps_a_reference(tmp_path: Path) -> None:
    files = fill(tmp_path, [100, 100, 100])
    files[0].touch()
    remove_least_recently_used(tmp_path, 250)
    assert kept(tmp_path) == ["a.npz", "c.npz"]


def test_nothing_goes_below_the_limit_and_nothing_else_ever(tmp_path: Path) -> None:
    fill(tmp_path, [100, 100])
    (tmp_path / "notes.txt").write_bytes(bytes(1000))
    remove_least_recently_used(tmp_path, 200)
    assert kept(tmp_path) == ["a.npz", "b.npz", "notes.txt"]
    remove_least_recently_used(tmp_path, 0)
    assert kept(tmp_path) == ["notes.txt"]
    remove_least_recently_used(tmp_path / "missing", 0)


def test_several_may_tidy_at_once(tmp_path: Path) -> None:
    faults: list[BaseException] = []

    def tidy() -> None:
        try:
            for _ in range(20):
                remove_least_recently_used(tmp_path, 2000)
        except BaseException as fault:
            faults.append(fault)

    for _ in range(5):
        for number in range(200):
            (tmp_path / f"{number}.npz").write_bytes(bytes(100))
        threads = [threading.Thread(target=tidy) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert faults == []
    assert len(kept(tmp_path)) == 20
