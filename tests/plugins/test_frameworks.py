"""The real frameworks, each in an environment of its own, made on first use and kept in the cache folder."""

from __future__ import annotations

import json
from typing import Any

import pytest
from packaging.utils import canonicalize_name

from tests.conftest import CACHE_HOME, Command, Finished
from tests.support.quick_compilers import kept_compilations

FRAMEWORKS = ("pytorch", "tensorflow", "mxnet", "chainer")
ALL = f"--framework={','.join(FRAMEWORKS)}"
PROBLEMS = {
    "conv2d": ("--set=channels=8", "--set=filters=8", "--set=groups=2", "--set=dilation=2"),
    "lstm_imdb": ("--set=words=20", "--batch-size=8"),
    "mnist_mlp": ("--batch-size=32",),
    "resnet50": ("--set=image_size=64", "--batch-size=4"),
}
MLP = ("--problem=mnist_mlp", "--batch-size=32")
IMAGES = ("--problem=conv2d", "--set=channels=8", "--set=filters=8", "--batch-size=2")
BRIEF = ("--steps=3", "--warmup=1", "--json")


def ok(finished: Finished) -> list[dict[str, Any]]:
    """Return the records after seeing that each run ended well and was verified."""
    assert [why_not(record) for record in finished.records if why_not(record)] == []
    assert finished.status == 0, finished.stderr
    return finished.records


def why_not(record: dict[str, Any]) -> str:
    if record["status"] == "ok" and record["verification"]["status"] == "passed":
        return ""
    name = f"{record['framework']['full'] or record['framework']['name']}, {record['mode']}"
    reason = record["error"]["message"] if record["error"] else record["verification"]["reason"]
    return f"{name}: {record['status']}: {reason}"


@pytest.mark.framework
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("framework", [*FRAMEWORKS, "jax", "paddle"])
def test_it_conforms(command: Command, framework: str) -> None:
    # NumPy against itself is tests/worker/test_conformance_suite.py.
    if framework == "jax":
        command.environment.update(kept_compilations(CACHE_HOME))
    results = checked(command, framework)
    assert sum(result["status"] == "passed" for result in results) > 200
    failed = [result["name"] for result in results if result["status"] == "failed"]
    if failed and framework == "jax":
        # Quickly compiled programs round otherwise: what counts is what XLA makes for anyone.
        command.environment.pop("XLA_FLAGS")
        failed = [
            why for why in map(why_failed, checked(command, framework, f"--only={','.join(failed)}")) if why
        ]
    assert failed == []


def checked(command: Command, framework: str, *only: str) -> list[dict[str, Any]]:
    """Return the results of a framework's checks, all of which came to a verdict."""
    # Threads of several commands that wait for each other by spinning make a busy machine ten times slower.
    finished = command("check", framework, "--threads=1", "--json", *only, timeout=1800)
    report = json.loads(finished.stdout)
    assert report["failure"] is None
    results: list[dict[str, Any]] = report["results"]
    assert finished.status == any(result["status"] == "failed" for result in results)
    return results


def why_failed(result: dict[str, Any]) -> str:
    """Return why a check failed, or nothing."""
    if result["status"] != "failed":
        return ""
    return f"{result['name']}: {result['detail']} (error {result['error']}, allowed {result['tolerance']})"


@pytest.mark.all_frameworks
@pytest.mark.timeout(600)
@pytest.mark.parametrize("problem", PROBLEMS)
def test_one_command_runs_a_problem_on_all_of_them(command: Command, problem: str) -> None:
    # Each framework is imported once for both modes.
    modes = ("--mode=inference,training", "--device=cpu", "--start=fork")
    records = ok(command(ALL, f"--problem={problem}", *PROBLEMS[problem], *modes, *BRIEF, timeout=600))
    assert {record["precision"] for record in records} == {"fp32"}
    assert all(len(record["timing"]["samples_seconds"]) == 3 for record in records)
    for mode in ("inference", "training"):
        chosen = [record for record in records if record["mode"] == mode]
        assert sorted(record["framework"]["name"] for record in chosen) == sorted(FRAMEWORKS)
        for name in ("parameters", "batch"):
            assert len({record["digests"][name] for record in chosen}) == 1
    losses = [record["metrics"]["loss_first"] for record in records if record["mode"] == "training"]
    assert losses == pytest.approx([losses[0]] * 4, rel=1e-4)
    assert command("validate").status == 0


def packages_of(record: dict[str, Any]) -> dict[str, str]:
    """Return versions by distribution, named as indexes compare them."""
    return {canonicalize_name(name): held for name, held in record["environment"]["packages"].items()}


@pytest.mark.all_frameworks
def test_each_has_an_environment_that_suits_it_alone(command: Command) -> None:
    records = ok(command(ALL, *MLP, "--mode=inference", "--env=managed", *BRIEF))
    packages = {record["framework"]["name"]: packages_of(record) for record in records}
    for record in records:
        name, version = record["framework"]["distribution"], record["framework"]["version"]
        assert packages[record["framework"]["name"]][name] == version
        assert record["environment"]["kind"] == "managed"
        assert record["environment"]["key"].startswith(record["framework"]["name"])
    numpy = {name: tuple(map(int, held["numpy"].split(".")[:2])) for name, held in packages.items()}
    assert numpy["mxnet"] < (1, 24)
    assert numpy["chainer"] < (1, 24)
    assert numpy["tensorflow"] >= (2, 0)
    assert numpy["pytorch"] >= (2, 0)
    for name, foreign in (("pytorch", "mxnet"), ("mxnet", "torch"), ("tensorflow", "chainer")):
        assert foreign not in packages[name]


@pytest.mark.all_frameworks
def test_bfloat16_is_verified_with_a_wider_tolerance(command: Command) -> None:
    options = ("--framework=pytorch,tensorflow", *IMAGES, "--precision=fp32,bf16")
    records = ok(command(*options, *BRIEF))
    assert [(record["precision"], record["framework"]["name"]) for record in records] == [
        ("fp32", "pytorch"),
        ("fp32", "tensorflow"),
        ("bf16", "pytorch"),
        ("bf16", "tensorflow"),
    ]
    for full, half in zip(records[:2], records[2:]):
        assert full["digests"] == half["digests"]
        assert worst(half)["norm_tolerance"] > 100 * worst(full)["norm_tolerance"]
        assert worst(half)["norm_error"] > 1e-4 > worst(full)["norm_error"]
        assert "bf16" in half["verification"]["tolerance_reason"]


def worst(record: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = record["verification"]["worst"]
    return found


@pytest.mark.parametrize(
    ("framework", "precision"), [("mxnet", "bf16"), ("chainer", "fp16"), ("mxnet", "fp64")]
)
def test_a_precision_it_lacks_is_refused(command: Command, framework: str, precision: str) -> None:
    finished = command(f"--framework={framework}", *MLP, f"--precision={precision}")
    assert finished.status == 2
    assert finished.stderr.startswith(
        f"benchmarker: framework '{framework}' has no {precision} on cpu; it has "
    )


@pytest.mark.framework
def test_channels_last_either_way_computes_the_same(command: Command) -> None:
    records = ok(command("--framework=pytorch", *IMAGES, "--set=channels_last=true,false", *BRIEF))
    assert [record["framework"]["options"]["channels_last"] for record in records] == [True, False]
    assert records[0]["metrics"]["loss_last"] == pytest.approx(records[1]["metrics"]["loss_last"], rel=1e-5)


@pytest.mark.framework
def test_torch_compile_compiles_in_the_first_step(command: Command) -> None:
    run = ("--framework=pytorch", *MLP, "--mode=inference", "--set=pytorch.compile=false,true", *BRIEF)
    plain, compiled = ok(command(*run))
    assert compiled["framework"]["options"]["compile"] is True
    assert not plain["execution"]["compile_cache"]["compilations"]
    assert compiled["execution"]["compile_cache"]["compilations"]["compile"] >= 1
    assert (plain["timing"]["compilations"], compiled["timing"]["compilations"]) == (0, 0)
    # The shortest step: an interruption makes another as long as compiling.
    assert compiled["timing"]["compile_seconds"] > 5 * compiled["timing"]["step_seconds"]["min"]


@pytest.mark.framework
@pytest.mark.parametrize(
    ("option", "mode"), [("xla", "training"), ("xla", "inference"), ("freeze", "inference")]
)
def test_tensorflows_options_compute_the_same(command: Command, option: str, mode: str) -> None:
    (record,) = ok(command("--framework=tensorflow", *IMAGES, f"--mode={mode}", f"--set={option}=on", *BRIEF))
    assert record["framework"]["options"][option] is True
    assert f"--set=tensorflow.{option}=true" in record["command"]


@pytest.mark.framework
@pytest.mark.parametrize(
    ("framework", "optimizer"),
    [("pytorch", "adam"), ("tensorflow", "momentum"), ("mxnet", "adam"), ("chainer", "momentum")],
)
def test_the_records_own_command_repeats_the_run(command: Command, framework: str, optimizer: str) -> None:
    run = (f"--framework={framework}", *MLP, f"--optimizer={optimizer}", "--learning-rate=0.01", *BRIEF)
    (first,) = ok(command(*run))
    (again,) = ok(command(*first["command"][3:], "--json"))
    for record in (first, again):
        del record["execution"]["worker_seconds"], record["execution"]["process"]
        # How many files a kept cache held is the machine's state, not the run's.
        for state in ("files_before", "files_after"):
            del record["execution"]["compile_cache"][state]
    for name in ("digests", "problem", "optimizer", "execution", "mode", "batch_size", "command"):
        assert again[name] == first[name]
    assert again["framework"]["full"] == first["framework"]["full"]
    assert again["framework"]["options"] == first["framework"]["options"]
    assert again["environment"]["packages"] == first["environment"]["packages"]
    assert again["metrics"]["loss_last"] == pytest.approx(first["metrics"]["loss_last"], rel=1e-5)
