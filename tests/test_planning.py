"""From what was asked to the runs: the matrix, its defaults, who takes which setting, and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarker import planning, registry
from benchmarker.errors import UsageError
from benchmarker.experiment import RunSpec
from benchmarker.framework import FrameworkPlugin, Optimizer
from benchmarker.planning import Experiment, parse_framework, plan, refusal
from benchmarker.worker_environment import default_threads, usable_cpus

SMALL = {"resnet50.image_size": ("32",)}


def planned(framework: str = "numpy", problem: str = "mnist_mlp", **options: Any) -> list[RunSpec]:
    return plan(Experiment(tuple(framework.split(",")), tuple(problem.split(",")), **options))


def refused(*arguments: Any, **options: Any) -> str:
    with pytest.raises(UsageError) as error:
        planned(*arguments, **options)
    assert error.value.exit_status == 2
    return str(error.value)


# --- defaults ------------------------------------------------------------------------------------


def test_every_default_is_filled_in() -> None:
    assert planned() == [
        RunSpec(
            framework="numpy",
            problem="mnist_mlp",
            problem_parameters={"inputs": 784, "hidden1": 128, "hidden2": 64, "classes": 10},
            mode="training",
            batch_size=128,
            precision="fp32",
            optimizer=Optimizer("sgd", 0.01),
            device="cpu",
            threads=default_threads(),
            seed=42,
        )
    ]


def test_each_problem_brings_its_own_batch_size_and_optimizer() -> None:
    small, large = planned(problem="conv2d,lstm_imdb")
    assert (small.batch_size, small.optimizer.kind) == (4, "sgd")
    assert (large.batch_size, large.optimizer) == (128, Optimizer("adam", 0.01))


def test_what_is_asked_for_goes_into_the_run() -> None:
    cpu = usable_cpus()[0]
    (run,) = planned(
        modes=("inference",),
        batch_sizes=(2,),
        precisions=("fp64",),
        threads=(1,),
        affinity=(cpu,),
        seeds=(7,),
        steps=11,
        warmup=0,
        verify=False,
        timeout=5.0,
        environment="managed",
        anonymous=True,
    )
    assert (run.mode, run.batch_size, run.precision, run.threads) == ("inference", 2, "fp64", 1)
    assert (run.affinity, run.seed, run.steps, run.warmup) == ((cpu,), 7, 11, 0)
    assert (run.verify, run.timeout, run.environment, run.anonymous) == (False, 5.0, "managed", True)
    assert run.gpus == ()


# --- the matrix ----------------------------------------------------------------------------------


def test_frameworks_vary_fastest_and_repetitions_slowest() -> None:
    runs = planned("numpy,pytorch", "mnist_mlp,conv2d", batch_sizes=(1, 2), repeats=2)
    cells = [(r.repetition, r.problem, r.batch_size, r.framework) for r in runs]
    assert cells == [
        (repetition, problem, batch, framework)
        for repetition in (0, 1)
        for problem in ("mnist_mlp", "conv2d")
        for batch in (1, 2)
        for framework in ("numpy", "pytorch")
    ]


def test_the_matrix_of_all_lists() -> None:
    runs = planned(
        modes=("inference", "training"),
        batch_sizes=(1, 2),
        precisions=("fp32", "fp64"),
        optimizers=("sgd", "adam"),
        threads=(1, 2),
        seeds=(0, 1),
    )
    # Inference has no optimizer, so two of them are one run of it.
    assert len(runs) == 2**6 - 2**4
    assert len({repr(run) for run in runs}) == len(runs)
    axes = [(r.mode, r.batch_size, r.precision, r.optimizer.kind, r.threads, r.seed) for r in runs]
    assert axes[0] == ("inference", 1, "fp32", "sgd", 1, 0)
    assert axes[1] == ("inference", 1, "fp32", "sgd", 1, 1)
    assert axes[2] == ("inference", 1, "fp32", "sgd", 2, 0)
    assert axes[-1] == ("training", 2, "fp64", "adam", 2, 1)


def test_two_versions_of_one_framework() -> None:
    runs = planned("numpy==1.26.4,numpy==2.0.0,numpy")
    assert [(r.framework, r.framework_version) for r in runs] == [
        ("numpy", "1.26.4"),
        ("numpy", "2.0.0"),
        ("numpy", None),
    ]


# --- settings ------------------------------------------------------------------------------------


def test_a_setting_goes_to_the_problem_that_has_it() -> None:
    (run,) = planned(settings={"hidden1": ("32",)})
    assert run.problem_parameters == {"inputs": 784, "hidden1": 32, "hidden2": 64, "classes": 10}
    assert run.framework_options == {}


def test_a_setting_goes_to_the_framework_that_has_it() -> None:
    numpy, pytorch = planned("numpy,pytorch", settings={"compile": ("true",)})
    assert numpy.framework_options == {}
    assert pytorch.framework_options["compile"] is True
    assert numpy.problem_parameters == pytorch.problem_parameters


def test_only_the_owner_of_a_setting_is_run_with_each_of_its_values() -> None:
    runs = planned("numpy,pytorch", settings={"compile": ("false", "true")})
    assert [(r.framework, r.framework_options.get("compile")) for r in runs] == [
        ("numpy", None),
        ("pytorch", False),
        ("pytorch", True),
    ]


def test_values_of_a_problems_parameters_make_a_matrix() -> None:
    runs = planned(settings={"hidden1": ("8", "9"), "hidden2": ("5", "6")})
    assert [(r.problem_parameters["hidden1"], r.problem_parameters["hidden2"]) for r in runs] == [
        (8, 5),
        (8, 6),
        (9, 5),
        (9, 6),
    ]


def test_an_owner_may_be_named_and_goes_before_the_bare_name() -> None:
    settings = {"classes": ("7",), "mnist_mlp.classes": ("5",), **SMALL}
    mlp, resnet = planned(problem="mnist_mlp,resnet50", settings=settings)
    assert mlp.problem_parameters["classes"] == 5
    assert resnet.problem_parameters["classes"] == 7
    assert resnet.problem_parameters["image_size"] == 32


def test_a_framework_may_be_named() -> None:
    (run,) = planned("pytorch", settings={"pytorch.compile": ("yes",)})
    assert run.framework_options["compile"] is True


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"hiden1": ("3",)},
            "none of 'mnist_mlp', 'numpy' has a parameter 'hiden1'; did you mean 'hidden1'?",
        ),
        ({"mnist_mlp.hiden1": ("3",)}, "did you mean 'mnist_mlp.hidden1'?"),
        ({"resnet50.classes": ("3",)}, "none of 'mnist_mlp', 'numpy' has a parameter 'resnet50.classes'"),
        ({"compile": ("true",)}, "none of 'mnist_mlp', 'numpy' has a parameter 'compile'"),
        ({"hidden1": ("many",)}, "problem 'mnist_mlp': 'hidden1' must be a whole number, got 'many'"),
        ({"hidden1": ("",)}, "'hidden1' must be a whole number, got ''"),
        ({"hidden1": ("0",)}, "every size of 'fc1.weight' must be at least 1"),
        ({"hidden1": ("8", "-8")}, "every size of 'fc1.weight' must be at least 1"),
    ],
)
def test_a_wrong_setting_is_refused(settings: dict[str, tuple[str, ...]], message: str) -> None:
    assert message in refused(settings=settings)


def test_a_wrong_option_of_a_framework_is_refused() -> None:
    assert "framework 'pytorch': 'compile' must be true or false, got 'often'" in refused(
        "pytorch", settings={"compile": ("often",)}
    )


# --- optimizer -----------------------------------------------------------------------------------


def test_the_problems_own_optimizer_is_kept_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    own = Optimizer("adam", learning_rate=0.3, beta1=0.8)
    problem = replace(registry.problem("mnist_mlp"), optimizer=own)
    monkeypatch.setattr(registry, "problem", lambda name: problem)
    runs = planned(optimizers=("adam", "sgd"))
    assert [run.optimizer for run in runs] == [own, Optimizer("sgd")]
    assert [run.optimizer for run in planned()] == [own]


def test_another_optimizer_has_its_own_defaults() -> None:
    (run,) = planned(problem="resnet50", optimizers=("adam",), settings=SMALL)
    assert run.optimizer == Optimizer("adam")


def test_a_learning_rate_goes_over_both() -> None:
    runs = planned(problem="resnet50", optimizers=("momentum", "adam"), learning_rate=0.5, settings=SMALL)
    own = registry.problem("resnet50").optimizer
    assert [run.optimizer for run in runs] == [replace(own, learning_rate=0.5), Optimizer("adam", 0.5)]


# --- the problem size of the earlier tool --------------------------------------------------------


def test_a_problem_size_gives_whole_epochs() -> None:
    (run,) = planned(batch_sizes=(4,), samples_per_epoch=32)
    assert (run.steps, run.samples_per_epoch) == (8, 32)
    (run,) = planned(batch_sizes=(4,), samples_per_epoch=32, epochs=3)
    assert run.steps == 24
    assert [r.steps for r in planned(batch_sizes=(4, 8), samples_per_epoch=32)] == [8, 4]


def test_a_problem_size_must_be_whole_batches() -> None:
    assert refused(batch_sizes=(4,), samples_per_epoch=30) == (
        "the problem size must be a multiple of the batch size, got 30 samples in batches of 4"
    )
    assert "multiple" in refused(batch_sizes=(5, 4), samples_per_epoch=30)


def test_steps_and_problem_size_exclude_each_other() -> None:
    assert refused(batch_sizes=(4,), samples_per_epoch=32, steps=8) == (
        "give either a number of steps or a problem size, not both"
    )


def test_epochs_need_a_problem_size() -> None:
    assert refused(epochs=2) == "2 epochs need a problem size, the number of samples of an epoch"


# --- refusals ------------------------------------------------------------------------------------

USAGE: tuple[tuple[dict[str, Any], str], ...] = (
    ({"modes": ("train",)}, "unknown mode 'train'; did you mean 'training'?"),
    ({"modes": ("gradient",)}, "unknown mode 'gradient'"),
    ({"precisions": ("fp8",)}, "unknown precision 'fp8'; known: bf16, fp16, fp32, fp64, tf32"),
    ({"optimizers": ("lion",)}, "unknown optimizer 'lion'; known: adam, momentum, sgd"),
    ({"devices": ("tpu",)}, "unknown device 'tpu'"),
    ({"launcher": "slurm"}, "unknown launcher 'slurm'; known: local"),
    ({"batch_sizes": (0,)}, "the batch size must be at least 1, got 0"),
    ({"batch_sizes": (4, -4)}, "the batch size must be at least 1, got -4"),
    ({"threads": (0,)}, "the number of threads must be at least 1, got 0"),
    ({"seeds": (-1,)}, "the seed must be at least 0, got -1"),
    ({"steps": 0}, "the number of steps must be at least 1, got 0"),
    ({"warmup": -1}, "the number of warm-up steps must be at least 0, got -1"),
    ({"repeats": 0}, "the number of repeats must be at least 1, got 0"),
    ({"epochs": 0}, "the number of epochs must be at least 1, got 0"),
    ({"samples_per_epoch": 0}, "the problem size must be at least 1, got 0"),
    ({"timeout": 0.0}, "the timeout must be more than 0 seconds and finite, got 0"),
    ({"timeout": -2.5}, "the timeout must be more than 0 seconds and finite, got -2.5"),
    ({"timeout": math.nan}, "the timeout must be more than 0 seconds and finite, got nan"),
    ({"timeout": math.inf}, "the timeout must be more than 0 seconds and finite, got inf"),
    ({"learning_rate": math.nan}, "the learning rate must be at least 0 and finite, got nan"),
    ({"learning_rate": -0.1}, "the learning rate must be at least 0 and finite, got -0.1"),
    ({"gpus": (0, 1)}, "a run uses one GPU, got --gpus=0,1"),
    ({"gpus": (-1,)}, "the index of the GPU must be at least 0, got -1"),
    ({"affinity": (9999,)}, "CPU 9999 cannot be used; usable are "),
    ({"affinity": (-1,)}, "CPU -1 cannot be used; usable are "),
    ({"modes": ()}, "there must be at least one mode, got none"),
    ({"precisions": ()}, "there must be at least one precision, got none"),
    ({"seeds": ()}, "there must be at least one seed, got none"),
    ({"devices": ()}, "there must be at least one device, got none"),
)


@pytest.mark.parametrize(("options", "message"), USAGE, ids=[str(options) for options, _ in USAGE])
def test_what_makes_no_sense_is_refused(options: dict[str, Any], message: str) -> None:
    assert message in refused(**options)


def test_unknown_names_offer_the_nearest() -> None:
    assert refused("pytorsh") == "unknown framework 'pytorsh'; did you mean 'pytorch'?"
    assert refused(problem="resnet5") == "unknown problem 'resnet5'; did you mean 'resnet50'?"
    assert "unknown framework 'numpy>=1.2'" in refused("numpy>=1.2")
    assert "unknown framework ''" in refused("==1.2")


def test_a_version_must_be_named() -> None:
    assert refused("numpy==") == "'numpy==' names no version; write for example numpy==1.2.3"
    plugin, version = parse_framework(" numpy == 2.0.0 ")
    assert (plugin.name, version) == ("numpy", "2.0.0")
    assert parse_framework("numpy")[1] is None
    assert "newest" in refused("numpy==newest")


LIMITED = FrameworkPlugin(
    "numpy", "numpy", (), "none", modes=("inference",), precisions={"cpu": ("fp32",), "cuda": ()}
)


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (
            RunSpec("numpy", "mnist_mlp", mode="training"),
            "framework 'numpy' cannot do training, only inference",
        ),
        (RunSpec("numpy", "mnist_mlp", mode="inference", device="cuda"), "does not run on cuda, only on cpu"),
        (
            RunSpec("numpy", "mnist_mlp", mode="inference", precision="bf16"),
            "has no bf16 on cpu; it has fp32",
        ),
        (RunSpec("numpy", "mnist_mlp", mode="inference"), None),
    ],
)
def test_what_a_framework_cannot_do_is_said(
    run: RunSpec, message: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "framework", lambda name: LIMITED)
    found = refusal(run)
    assert (found is None) == (message is None)
    assert message is None or message in (found or "")


def test_a_device_without_any_precision_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = replace(LIMITED, devices=("cpu", "cuda"))
    monkeypatch.setattr(registry, "framework", lambda name: plugin)
    found = refusal(RunSpec("numpy", "mnist_mlp", mode="inference", device="cuda"))
    assert found == "framework 'numpy' has no fp32 on cuda; it has nothing there"


def test_a_matrix_is_refused_only_if_none_of_it_can_run() -> None:
    assert refused(precisions=("bf16",)) == "framework 'numpy' has no bf16 on cpu; it has fp32, fp64"
    runs = planned("numpy,pytorch", precisions=("bf16",))
    assert [refusal(run) is None for run in runs] == [False, True]


def test_cuda_needs_a_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[bool] = [False]

    class Files(type(Path())):  # type: ignore[misc]
        def exists(self, **options: Any) -> bool:
            return loaded[0] if str(self) == "/proc/driver/nvidia/version" else super().exists(**options)

    monkeypatch.setattr(planning, "Path", Files)
    assert refused("pytorch", devices=("cuda",)) == (
        "device cuda was asked for, but no NVIDIA driver is loaded here; use --device=cpu"
    )
    loaded[0] = True
    cpu, cuda = planned("pytorch", devices=("cpu", "cuda"), gpus=(3,))
    assert (cpu.gpus, cuda.gpus) == ((), (3,))
    assert planned("pytorch", devices=("cuda",))[0].gpus == (0,)
    assert "does not run on cuda" in refused("numpy", devices=("cuda",))


def test_several_optimizers_are_one_run_of_inference() -> None:
    runs = plan(
        Experiment(
            ("numpy",),
            ("mnist_mlp",),
            modes=("inference", "training"),
            optimizers=("sgd", "momentum", "adam"),
        )
    )
    assert [(run.mode, run.optimizer.kind) for run in runs] == [
        ("inference", "sgd"),
        ("training", "sgd"),
        ("training", "momentum"),
        ("training", "adam"),
    ]


def test_a_gpu_on_a_cpu_is_refused() -> None:
    with pytest.raises(UsageError, match="--gpus=0 needs --device=cuda, got --device=cpu"):
        plan(Experiment(("numpy",), ("mnist_mlp",), gpus=(0,)))
