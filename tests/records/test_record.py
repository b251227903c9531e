"""Records: valid however the run ended, and with a command that asks for the same run again."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from benchmarker import registry
from benchmarker.api.modifiers import Modifiers
from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem_scheme import ProblemReference
from benchmarker.cli.run import add_arguments, experiment
from benchmarker.execution.environments import Interpreter
from benchmarker.execution.outcomes import Failure
from benchmarker.experiment.planning import plan
from benchmarker.experiment.spec import RunSpec
from benchmarker.experiment.usual_sampling import DEFAULT_SAMPLING
from benchmarker.machine import identity
from benchmarker.machine.threads import usable_cpus
from benchmarker.records.assembly.command import rerun_command
from benchmarker.records.assembly.facts import RunFacts
from benchmarker.records.assembly.record import make_record
from benchmarker.records.schema import validate
from benchmarker.records.store import Store, read_record
from benchmarker.statistics import summarise
from benchmarker.worker.verification.samples import Errors, tensor_sample
from benchmarker.worker.verification.tolerances import Expected, tolerances
from benchmarker.worker.verification.verdicts import judge
from tests.conftest import Command
from tests.support.records import make_record as make_whole_record

# --- the command ---------------------------------------------------------------------------------


def parsed(command: list[str]) -> list[RunSpec]:
    assert command[:4] == ["python", "-m", "benchmarker", "run"]
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return plan(experiment(parser.parse_args(command[4:])))


def spec(name: str = "numpy", problem: str = "mnist_mlp", **changes: Any) -> RunSpec:
    described = registry.problem(problem)
    return RunSpec(
        framework=name,
        problem=ProblemReference(problem),
        problem_parameters=described.configure({}),
        framework_options=asdict(registry.framework(name).options()),
        optimizer=described.optimizer,
        **{"sampling": DEFAULT_SAMPLING[changes.get("mode", "training")], **changes},
    )


SPECS: dict[str, RunSpec] = {
    "plain": spec(),
    "inference": spec(mode="inference", batch_size=7),
    "steps": spec(steps=11, warmup=0, timeout=12.5),
    "collector": spec(garbage_collector="off"),
    "allocator": spec(allocator="no-trim"),
    "epochs": spec(batch_size=4, steps=24, samples_per_epoch=32),
    "optimizer": replace(spec(), optimizer=Optimizer("adam", 1e-05)),
    "rate": replace(spec(), optimizer=Optimizer("sgd", 0.1 + 0.2)),
    "around": replace(
        spec(),
        optimizer=Optimizer("adamw", modifiers=Modifiers(clip_norm=2.5, ema=0.99, decay_of="*.weight fc1*")),
    ),
    "own-rate": spec(problem="lstm_imdb"),
    "precision": spec(precision="fp64", threads=len(usable_cpus()), seed=2**31),
    "affinity": spec(affinity=tuple(usable_cpus()[:2])),
    "parameters": replace(spec(), problem_parameters={"inputs": 9, "hidden1": 8, "hidden2": 7, "classes": 3}),
    "boolean": replace(
        spec(problem="conv2d"),
        problem_parameters={
            **registry.problem("conv2d").configure({}),
            "bias": False,
            "height": 8,
            "width": 9,
        },
    ),
    "dropout": replace(
        spec(problem="vgg16"),
        problem_parameters={**registry.problem("vgg16").configure({}), "dropout": 1 / 3, "image_size": 32},
    ),
    "options": replace(
        spec("pytorch"),
        framework_options={
            **asdict(registry.framework("pytorch").options()),
            "compile": True,
            "channels_last": False,
        },
    ),
    "tensorflow": spec("tensorflow", mode="inference", precision="bf16"),
    "window": spec(mode="inference", window=2.5, samples_per_epoch=256),
    "constants": replace(
        spec(), optimizer=Optimizer("adamw", 1e-4, beta1=0.8, epsilon=1e-3, weight_decay=0.1)
    ),
    "decay": replace(spec(), optimizer=Optimizer("rmsprop", 0.1, decay=0.5)),
    "monitors": spec(monitors=("cpu", "os")),
    "no-monitors": spec(monitors=()),
    "layers": replace(
        spec(problem="architecture"),
        problem_parameters=registry.problem("architecture").configure(
            registry.problem("architecture").reduced
        ),
    ),
    "unverified": spec(verify=False, anonymous=True, environment="managed"),
    "latency": spec(sampling="latency"),
    "throughput": spec(mode="inference", sampling="throughput"),
    "how-long": spec(target_seconds=0.1 + 0.2, minimum_samples=31),
    "micro-batches": spec(batch_size=4, micro_batch=2),
    "folded": spec(mode="inference", sampling="latency", fold_batch_norm=True),
    "gradient": spec(mode="gradient", sampling="latency"),
    "generation": spec(
        problem="gpt2", mode="generation", sampling="latency", prompt_length=16, output_length=8
    ),
    "single-stream": spec(mode="inference", sampling="latency", scenario="single-stream"),
    "offline": spec(mode="inference", sampling="throughput", scenario="offline"),
    "server": spec(mode="inference", sampling="latency", scenario="server", latency_bound=0.05),
    "parts": spec(breakdown=True, price_per_hour=1 / 3),
    "fork": spec(start="fork"),
    "compile-cache": spec("pytorch", compile_cache="cold"),
    "ranks": spec(batch_size=4, ranks=2, scheme="averaging/8", exchange="mpi", network="100mbit"),
    "weak": spec(batch_size=4, ranks=2, scheme="all-reduce", exchange="mpi", scaling="weak"),
}


@pytest.mark.parametrize("name", SPECS)
def test_the_command_asks_for_the_same_run(name: str) -> None:
    asked = SPECS[name]
    assert parsed(rerun_command(asked, None)) == [asked]


def test_the_command_asks_for_the_same_data(own_home: Path) -> None:
    parameters = registry.problem("mnist_mlp").configure({"inputs": 64})
    asked = replace(spec(batch_size=32, steps=56, data="digits", inputs="fed"), problem_parameters=parameters)
    assert parsed(rerun_command(asked, None)) == [asked]


def test_the_command_pins_the_version_that_ran() -> None:
    assert "--framework=pytorch==2.13.0" in rerun_command(spec("pytorch"), "2.13.0+cpu")
    assert "--framework=pytorch==2.12.0" in rerun_command(
        spec("pytorch", framework_version="2.12.0"), "2.12.0+cpu"
    )
    assert "--framework=pytorch" in rerun_command(spec("pytorch"), None)
    (run,) = parsed(rerun_command(spec(), "2.0.0"))
    assert run == spec(framework_version="2.0.0")


def test_the_commands_of_these_runs_have_every_option_that_a_run_keeps() -> None:
    """No member of a run but is another than its default in one of them."""
    plain = spec()
    told = {
        name for run in SPECS.values() for name in vars(run) if getattr(run, name) != getattr(plain, name)
    }
    # The repetition is not repeated; GPUs, launchers and files are not on every machine; recipes have a command.
    elsewhere = {
        "training",
        "divergence",
        "repetition",
        "threads",
        "framework_version",
        "device",
        "gpus",
        "launcher",
        "data",
        "data_dir",
        "inputs",
        "prefetch",
        "problem_digest",
    }
    assert {name for name in vars(plain) if name not in told} <= elsewhere


def test_the_command_repeats_one_process() -> None:
    (run,) = parsed(rerun_command(spec(repetition=3), None))
    assert run.repetition == 0


def test_the_command_names_the_owner_of_each_setting() -> None:
    command = rerun_command(SPECS["options"], None)
    assert "--set=mnist_mlp.hidden1=128" in command
    assert "--set=pytorch.compile=true" in command


# --- runs that ended in each stage ---------------------------------------------------------------

START = datetime(2025, 3, 1, 12, 0, 0, 123456, tzinfo=timezone.utc)
INTERPRETER = Interpreter("/somewhere/python", "managed", "3.11.7", "numpy-0123")
DIGESTS = {"parameters": f"sha256:{'1' * 64}", "batch": f"sha256:{'2' * 64}"}
PREPARED = {
    "event": "prepared",
    "version": "2.0.0",
    "device_name": "cpu",
    "composed_operators": [],
    "digests": DIGESTS,
}
NANOSECONDS = [5_120_000, 5_080_000, 5_210_000, 5_090_000, 5_150_000, 5_300_000, 5_070_001]
STAGES = (
    "process_start",
    "import",
    "device",
    "initialise",
    "build",
    "verify",
    "compile",
    "warmup",
    "measure",
)
QUIET = make_whole_record()
"""A record whose evidence and costs of measuring the runs of these tests have too."""
RESULT = {
    "event": "result",
    "seconds": dict.fromkeys(STAGES, 0.5),
    "warmup_nanoseconds": [9_000_000, 5_200_000, 5_100_000],
    "samples_nanoseconds": NANOSECONDS,
    "wall_nanoseconds": 36_500_000,
    "steps": len(NANOSECONDS),
    "block_steps": 1,
    "overhead": QUIET["timing"]["overhead"],
    "evidence": QUIET["trust"]["evidence"],
    "checkpoints": QUIET["trust"]["checkpoints"],
    "device_event_seconds": None,
    "compilations": 0,
    "stage_compilations": None,
    "accuracy": None,
    "breakdown": None,
    "data": {"distinct_batches": 8, "resident_bytes": 25088, "epochs": []},
    "loss_first": 2.3,
    "loss_last": None,
    "memory": {"peak_bytes": 1 << 28, "framework": {"allocated": 3}},
    "libraries": {"blas": "some"},
    "packages": {"numpy": "2.0.0"},
    "python": {"version": "3.11.7", "implementation": "cpython"},
    "clock": "perf_counter_ns, clock_gettime(CLOCK_MONOTONIC)",
    "clock_resolution_seconds": 1e-9,
}
PASSED = {
    "event": "verification",
    "status": "passed",
    "reason": "every compared tensor is within its tolerance",
    "reference": "NumPy, float64",
    "samples": 4,
    "tolerance_reason": "because",
    "worst": None,
    "tensors": [],
}


def verification(found: float, **changes: Any) -> dict[str, Any]:
    """Return the event for a tensor of ones that was found to be ``found``."""
    import numpy as np

    expected = Expected("y", "output", tensor_sample("y", np.ones(3)), Errors(1e-7, 1e-7, 1e-7))
    verdict = judge(expected, np.full(3, found), tolerances([expected], "fp32")["y"])
    return {**PASSED, "worst": asdict(verdict), "tensors": [asdict(verdict)], **changes}


def facts_of(run: RunSpec, *events: Mapping[str, Any], started: bool = True) -> RunFacts:
    facts = RunFacts(run, START, ended_at=START + timedelta(seconds=9))
    if not started:
        return facts
    return replace(
        facts,
        interpreter=INTERPRETER,
        environment_variables={"OMP_NUM_THREADS": "1", "HOME": "/home/somebody", "MKL_NUM_THREADS": "1"},
        events={event["event"]: dict(event) for event in events},
        platform={"cpu": {"model": "Example CPU 3000"}, "host": None},
        collectors={
            "cpu": {"status": "ok", "reason": None},
            "host": {"status": "failed", "reason": "no name"},
        },
    )


ENDED: dict[str, tuple[RunFacts, Failure | None]] = {
    "refused": (
        facts_of(spec(), started=False),
        Failure("failed", "plan", "UnsupportedError", "framework 'numpy' has no bf16 on cpu"),
    ),
    "no-environment": (
        facts_of(spec("mxnet"), started=False),
        Failure("failed", "prepare", "EnvironmentCreationError", "no index"),
    ),
    "interrupted-early": (
        RunFacts.begin(spec()),
        Failure("interrupted", "prepare", "KeyboardInterrupt", "interrupted by the user"),
    ),
    "never-started": (facts_of(spec()), Failure("crashed", "start", "Exit", "exit status None")),
    "import": (facts_of(spec()), Failure("failed", "import", "ImportError", "no module")),
    "build": (facts_of(spec()), Failure("out_of_memory", "build", "SIGKILL", "the kernel killed the worker")),
    "timeout": (
        facts_of(spec(timeout=5.0), PREPARED),
        Failure("timeout", "compile", "Timeout", "still there"),
    ),
    "wrong": (
        facts_of(spec(), PREPARED, verification(2.0, status="failed", reason="output 'y' differs")),
        Failure("failed", "verify", "VerificationFailed", "output 'y' differs"),
    ),
    "not-a-number": (
        facts_of(spec(), PREPARED, verification(float("nan"), status="failed", reason="output 'y' differs")),
        Failure("failed", "verify", "VerificationFailed", "output 'y' differs"),
    ),
    "measure": (
        facts_of(spec(), PREPARED, verification(1.0)),
        Failure("crashed", "measure", "SIGSEGV", "the worker was ended by SIGSEGV"),
    ),
    "after-the-result": (
        facts_of(spec(), PREPARED, verification(1.0), RESULT),
        Failure("failed", "measure", "RuntimeError", "late"),
    ),
    "ok": (facts_of(spec(), PREPARED, verification(1.0), RESULT), None),
    "inconclusive": (
        facts_of(
            spec(), PREPARED, verification(2.0, status="inconclusive", reason="ill-conditioned"), RESULT
        ),
        None,
    ),
    "unverified": (facts_of(spec(verify=False), PREPARED, RESULT), None),
    "inference": (facts_of(spec(mode="inference"), PREPARED, verification(1.0), RESULT), None),
    "one-sample": (
        facts_of(
            spec(steps=1),
            PREPARED,
            verification(1.0),
            {**RESULT, "samples_nanoseconds": [5], "wall_nanoseconds": 5, "steps": 1},
        ),
        None,
    ),
    "blocks": (
        facts_of(
            spec(sampling="throughput"),
            PREPARED,
            verification(1.0),
            {**RESULT, "steps": 63, "block_steps": 10},
        ),
        None,
    ),
}


@pytest.mark.parametrize("end", ENDED)
def test_a_record_is_valid_and_kept_however_the_run_ended(end: str, tmp_path: Path) -> None:
    facts, failed = ENDED[end]
    path = Store(tmp_path).save(make_record(facts, failed, "last words"))
    record = read_record(path)
    assert validate(record) == []
    assert record["status"] == (failed.status if failed else "ok")
    assert (record["error"] is None) == (failed is None)
    if failed:
        assert record["error"]["stage"] == failed.stage
        assert record["error"]["message"] == failed.message
        assert record["error"]["log_tail"] == "last words"


@pytest.mark.parametrize("end", ENDED)
def test_what_was_asked_is_in_every_record(end: str) -> None:
    facts, failed = ENDED[end]
    record = make_record(facts, failed)
    assert record["framework"]["name"] == facts.spec.framework
    assert record["problem"]["parameters"] == facts.spec.problem_parameters
    assert record["problem"]["parameter_count"] == 109_386
    assert (record["mode"], record["batch_size"], record["seed"]) == (facts.spec.mode, 1, 42)
    assert record["command"][:4] == ["python", "-m", "benchmarker", "run"]
    assert len(record["id"]) == 32


def test_times_are_utc() -> None:
    record = make_record(*ENDED["ok"])
    assert record["started_at"] == "2025-03-01T12:00:00.123456Z"
    assert record["ended_at"] == "2025-03-01T12:00:09.123456Z"
    local = replace(ENDED["ok"][0], started_at=START.astimezone(timezone(timedelta(hours=5))))
    assert make_record(local, None)["started_at"] == "2025-03-01T12:00:00.123456Z"


def test_what_was_measured_is_in_the_record() -> None:
    record = make_record(*ENDED["ok"])
    samples = [value / 1e9 for value in NANOSECONDS]
    timing, metrics = record["timing"], record["metrics"]
    assert timing["samples_seconds"] == samples
    assert timing["total_seconds"] == pytest.approx(0.036020001, rel=1e-12)
    assert timing["step_seconds"]["median"] == 0.00512
    assert timing["step_seconds"]["std"] == summarise(samples).std
    assert [timing[f"{stage}_seconds"] for stage in STAGES[:-1]] == [0.5] * 8
    assert timing["warmup_steps"] == 3
    assert timing["warmup_samples_seconds"] == [0.009, 0.0052, 0.0051]
    assert (timing["steps"], timing["block_steps"], timing["wall_seconds"]) == (7, 1, 0.0365)
    assert metrics["throughput"] == pytest.approx(7 / 0.036020001)
    flops = record["problem"]["flops_per_step"]
    assert metrics["flops_per_second"] == pytest.approx(flops * 7 / 0.036020001)
    assert (metrics["loss_first"], metrics["loss_last"]) == (2.3, None)
    assert record["framework"]["full"] == "numpy-2.0.0"
    assert record["environment"]["packages"] == {"numpy": "2.0.0"}
    assert record["digests"] == DIGESTS
    assert record["memory"]["peak_bytes"] == 1 << 28


def test_throughput_counts_samples_and_an_epoch_lasts_as_long_as_its_samples() -> None:
    run = spec(batch_size=4, steps=7, samples_per_epoch=28)
    metrics = make_record(facts_of(run, PREPARED, verification(1.0), RESULT), None)["metrics"]
    assert metrics["throughput"] == pytest.approx(28 / 0.036020001)
    assert metrics["epoch_seconds"] == pytest.approx(0.036020001)
    assert make_record(*ENDED["ok"])["metrics"]["epoch_seconds"] is None


def test_the_last_block_may_be_shorter() -> None:
    record = make_record(*ENDED["blocks"])
    timing = record["timing"]
    assert (timing["steps"], timing["block_steps"]) == (63, 10)
    assert timing["samples_seconds"][0] == NANOSECONDS[0] / 10 / 1e9
    assert timing["samples_seconds"][-1] == NANOSECONDS[-1] / 3 / 1e9
    assert timing["total_seconds"] == pytest.approx(0.036020001, rel=1e-12)
    assert record["metrics"]["throughput"] == pytest.approx(63 / 0.036020001)
    reasons = timing["step_seconds"]["percentiles_reason"]
    assert set(reasons.values()) == {"a sample is the mean of a block of 10 steps"}


def test_statistics_leave_out_what_was_slower_at_first() -> None:
    slow, steady = [50_000_000] * 10, [5_000_000 + 10_000 * (37 * i % 61) for i in range(60)]
    result = {**RESULT, "samples_nanoseconds": slow + steady, "steps": 70, "wall_nanoseconds": 10**9}
    timing = make_record(facts_of(spec(), PREPARED, verification(1.0), result), None)["timing"]
    assert (timing["steady_state"]["kind"], timing["steady_state"]["start"]) == ("warmup", 10)
    assert len(timing["samples_seconds"]) == 70
    assert timing["step_seconds"]["count"] == 60
    assert timing["step_seconds"]["max"] < 0.006


def test_a_price_gives_the_cost_of_samples_and_of_the_run() -> None:
    run = spec(batch_size=4, price_per_hour=7.2)
    metrics = make_record(facts_of(run, PREPARED, verification(1.0), RESULT), None)["metrics"]
    assert metrics["cost_per_million_samples"] == pytest.approx(7.2 / 3600 * 1e6 / metrics["throughput"])
    assert metrics["cost_of_run"] == pytest.approx(7.2 / 3600 * 9)  # from its start to its end
    unpriced = make_record(*ENDED["ok"])["metrics"]
    assert (unpriced["cost_per_million_samples"], unpriced["cost_of_run"]) == (None, None)


def test_a_run_that_failed_has_its_cost_too() -> None:
    failed = Failure("crashed", "measure", "SIGSEGV", "the worker was ended by SIGSEGV")
    metrics = make_record(facts_of(spec(price_per_hour=7.2), PREPARED), failed)["metrics"]
    assert metrics["cost_per_million_samples"] is None
    assert metrics["cost_of_run"] == pytest.approx(7.2 / 3600 * 9)


def test_a_price_changes_nothing_that_is_compared() -> None:
    first, second = (
        make_record(facts_of(spec(price_per_hour=price), PREPARED, verification(1.0), RESULT), None)
        for price in (None, 7.2)
    )
    assert first["specification"] == second["specification"]
    assert first["comparable"] == second["comparable"]


@pytest.mark.parametrize(
    ("changes", "reasons"),
    [
        ({}, []),
        ({"evidence": {**QUIET["trust"]["evidence"], "steal_share": 0.2}}, [("steal", "contaminated")]),
        ({"evidence": {**QUIET["trust"]["evidence"], "foreign_cores": 0.2}}, [("foreign_load", "noisy")]),
    ],
    ids=["nothing", "steal", "others"],
)
def test_trust_follows_from_the_evidence(changes: dict[str, Any], reasons: list[tuple[str, str]]) -> None:
    events = (PREPARED, verification(1.0), {**RESULT, **changes})
    record = make_record(facts_of(spec(threads=2), *events), None)
    trust = record["trust"]
    assert [(reason["kind"], reason["severity"]) for reason in trust["reasons"]] == reasons
    assert trust["grade"] == (reasons[0][1] if reasons else "clean")
    assert validate({**record, "replication": None}) == []


def test_what_a_run_does_to_its_number_is_no_disturbance() -> None:
    record = make_record(
        facts_of(spec(threads=2), PREPARED, verification(1.0), {**RESULT, "compilations": 2}), None
    )
    trust = record["trust"]
    assert (trust["grade"], trust["reasons"]) == ("clean", [])
    assert [(finding["kind"], finding["excludes"]) for finding in trust["findings"]] == [
        ("compilation", True)
    ]
    assert validate({**record, "replication": None}) == []


def test_what_timed_nothing_has_no_trust() -> None:
    assert make_record(*ENDED["import"])["trust"] is None


def test_operations_of_training_and_inference() -> None:
    training, inference = (make_record(*ENDED[end])["problem"] for end in ("ok", "inference"))
    assert (
        inference["flops_per_step"] == inference["flops_per_sample"] == 2 * (784 * 128 + 128 * 64 + 64 * 10)
    )
    assert training["flops_per_sample"] == inference["flops_per_sample"]
    assert training["flops_per_step"] > 2 * inference["flops_per_step"]


def test_only_variables_that_matter_are_kept() -> None:
    variables = make_record(*ENDED["ok"])["execution"]["environment_variables"]
    assert variables == {"MKL_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def test_the_optimizer_belongs_to_training() -> None:
    assert make_record(*ENDED["ok"])["optimizer"]["kind"] == "sgd"
    assert make_record(*ENDED["inference"])["optimizer"] is None


def test_a_cpu_is_called_by_its_model_and_by_the_framework_where_that_is_unknown() -> None:
    facts, _ = ENDED["ok"]
    assert make_record(facts, None)["device"] == {"type": "cpu", "name": "Example CPU 3000", "count": 1}
    assert make_record(replace(facts, platform={"cpu": None}), None)["device"]["name"] == "cpu"


def test_verification_says_why_it_is_missing() -> None:
    assert make_record(*ENDED["unverified"])["verification"]["reason"] == "switched off by --no-verify"
    assert make_record(*ENDED["build"])["verification"]["reason"] == "the run ended before it"
    assert make_record(*ENDED["build"])["verification"]["status"] == "skipped"


def test_a_verdict_without_numbers_is_kept_as_null(tmp_path: Path) -> None:
    record = read_record(Store(tmp_path).save(make_record(*ENDED["not-a-number"])))
    assert record["verification"]["worst"]["max_relative_error"] is None
    assert record["verification"]["tensors"][0]["passed"] is False


NOT_A_NUMBER = """
import numpy
from benchmarker.api.framework import FrameworkPlugin
from benchmarker.plugins.numpy.framework import NumpyFramework
from benchmarker.plugins.numpy.program import NumpyProgram

class Program(NumpyProgram):
    def fetch(self, output):
        return tuple(array * numpy.nan for array in super().fetch(output))

class Framework(NumpyFramework):
    def build(self, *arguments, **options):
        program = super().build(*arguments, **options)
        program.__class__ = Program
        return program

def benchmarker_framework():
    return FrameworkPlugin("nan", "numpy", ("numpy",), "nan_framework:Framework")
"""


@pytest.mark.framework("numpy")
def test_a_printed_record_is_json_whatever_was_found(
    command: Command, distribution: Callable[..., Path]
) -> None:
    folder = distribution("nan", {"frameworks": ["nan = nan_framework"]}, {"nan_framework": NOT_A_NUMBER})
    finished = command.with_path(folder)(
        *("--framework=nan", "--problem=mnist_mlp", "--batch-size=2", "--mode=inference", "--json")
    )
    assert finished.status == 1, finished.stderr
    assert "Infinity" not in finished.stdout
    assert "NaN" not in finished.stdout
    (record,) = finished.records
    assert record["error"]["type"] == "VerificationFailed"
    assert record["verification"]["worst"]["max_relative_error"] is None


def test_no_log_is_null() -> None:
    facts, failed = ENDED["import"]
    assert make_record(facts, failed)["error"]["log_tail"] is None


def test_every_record_has_its_own_identifier() -> None:
    assert len({make_record(*ENDED["ok"])["id"] for _ in range(10)}) == 10


def test_an_anonymous_record_names_neither_host_nor_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identity, "host_name", lambda: "secrethost")
    monkeypatch.setattr(identity, "user_name", lambda: "secretuser")
    run = spec(anonymous=True, environment="/home/secretuser/env/bin/python")
    facts = replace(
        facts_of(run, PREPARED, verification(1.0), RESULT),
        environment_variables={"LD_LIBRARY_PATH": "/home/secretuser/lib:/net/secrethost"},
    )
    failed = Failure("failed", "measure", "OSError", "no such file: /home/secretuser/x")
    text = json.dumps(make_record(facts, failed, "File /home/secretuser/y on secrethost"))
    assert "secretuser" not in text
    assert "secrethost" not in text
    assert "--anonymous" in text
    named = json.dumps(make_record(replace(facts, spec=replace(run, anonymous=False)), failed))
    assert "secretuser" in named


def test_an_anonymous_record_does_not_tell_where_our_own_files_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHMARKER_HOME", "/srv/kept")
    facts = replace(
        facts_of(spec("pytorch", anonymous=True), PREPARED, verification(1.0), RESULT),
        environment_variables={"TORCHINDUCTOR_CACHE_DIR": "/srv/kept/compile-caches/pytorch"},
    )
    variables = make_record(facts, None)["execution"]["environment_variables"]
    assert variables["TORCHINDUCTOR_CACHE_DIR"] == "$BENCHMARKER_HOME/compile-caches/pytorch"
