"""From what was asked to the runs: the matrix, its defaults, who takes which setting, and what is refused."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarker import registry
from benchmarker.api.framework import FrameworkPlugin
from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem_scheme import ProblemReference
from benchmarker.api.suite import Request
from benchmarker.errors import UsageError
from benchmarker.execution.environments import gpu_driver
from benchmarker.experiment import planning
from benchmarker.experiment.faults import faults
from benchmarker.experiment.framework_version import parse_framework
from benchmarker.experiment.keys import early_stop_key, identity
from benchmarker.experiment.planning import plan
from benchmarker.experiment.precision import PROFILES
from benchmarker.experiment.spec import Experiment, RunSpec, specification
from benchmarker.experiment.suitability import unsupported_reason, unsupported_reasons
from benchmarker.machine.threads import default_threads, usable_cpus

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
            problem=ProblemReference("mnist_mlp"),
            problem_parameters={"inputs": 784, "hidden1": 128, "hidden2": 64, "classes": 10},
            mode="training",
            batch_size=128,
            precision="fp32",
            optimizer=Optimizer("sgd", 0.01),
            device="cpu",
            threads=default_threads(),
            seed=42,
            sampling="throughput",
        )
    ]


def test_training_asks_for_throughput_and_inference_for_latency() -> None:
    both = ("inference", "training")
    assert [run.sampling for run in planned(modes=both)] == ["latency", "throughput"]
    chosen = [(run.mode, run.sampling) for run in planned(modes=both, sampling=("latency", "throughput"))]
    assert chosen == [(mode, sampling) for mode in both for sampling in ("latency", "throughput")]


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
        affinity=((cpu,),),
        seeds=(7,),
        steps=(11,),
        warmup=(0,),
        verify=False,
        timeout=5.0,
        environments=("managed",),
        anonymous=True,
    )
    assert (run.mode, run.batch_size, run.precision, run.threads) == ("inference", 2, "fp64", 1)
    assert (run.affinity, run.seed, run.steps, run.warmup) == ((cpu,), 7, 11, 0)
    assert (run.verify, run.timeout, run.environment, run.anonymous) == (False, 5.0, "managed", True)
    assert run.gpus == ()


# --- the matrix ----------------------------------------------------------------------------------


def test_frameworks_vary_fastest_and_repetitions_slowest() -> None:
    runs = planned("numpy,pytorch", "mnist_mlp,conv2d", batch_sizes=(1, 2), repeats=2)
    cells = [(r.repetition, r.problem.name, r.batch_size, r.framework) for r in runs]
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
        ({"hidden1": ("0",)}, "'hidden1' must be a whole number from 1 to 2147483647, got 0"),
        ({"hidden1": ("8", "-8")}, "'hidden1' must be a whole number from 1 to 2147483647, got -8"),
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
    assert run.optimizer == Optimizer.default("adam")


def test_a_learning_rate_goes_over_both() -> None:
    runs = planned(
        problem="resnet50",
        optimizers=("momentum", "adam"),
        hyperparameters={"learning_rate": (0.5,)},
        settings=SMALL,
    )
    own = registry.problem("resnet50").optimizer
    assert [run.optimizer for run in runs] == [replace(own, learning_rate=0.5), Optimizer("adam", 0.5)]


# --- the problem size of the earlier tool --------------------------------------------------------


def test_a_problem_size_gives_whole_epochs() -> None:
    (run,) = planned(batch_sizes=(4,), samples_per_epoch=(32,))
    assert (run.steps, run.samples_per_epoch) == (8, 32)
    (run,) = planned(batch_sizes=(4,), samples_per_epoch=(32,), epochs=(3,))
    assert run.steps == 24
    assert [r.steps for r in planned(batch_sizes=(4, 8), samples_per_epoch=(32,))] == [8, 4]


def test_a_problem_size_must_be_whole_batches() -> None:
    assert refused(batch_sizes=(4,), samples_per_epoch=(30,)) == (
        "the problem size must be a multiple of the batch size, got 30 samples in batches of 4"
    )
    assert "multiple" in refused(batch_sizes=(5, 4), samples_per_epoch=(30,))


def test_steps_and_problem_size_exclude_each_other() -> None:
    assert refused(batch_sizes=(4,), samples_per_epoch=(32,), steps=(8,)) == (
        "give either a number of steps or a problem size, not both"
    )


def test_epochs_need_a_problem_size() -> None:
    assert refused(epochs=(2,)) == (
        "2 epochs need a problem size, the number of samples of an epoch, or a data set"
    )


# --- unsupported_reasons ------------------------------------------------------------------------------------

USAGE: tuple[tuple[dict[str, Any], str], ...] = (
    (
        {"modes": ("train",)},
        "or 'generation', got 'train'; did you mean 'training'?",
    ),
    (
        {"modes": ("sampling",)},
        "mode must be 'inference', 'training', 'gradient' or 'generation', got 'sampling'",
    ),
    (
        {"precisions": ("fp8",)},
        "precision must be 'fp32', 'fp64', 'tf32', 'bf16', 'fp16' or 'int8', got 'fp8'",
    ),
    ({"optimizers": ("shampoo",)}, "unknown optimizer 'shampoo'; known: accelegrad, adafactor"),
    ({"devices": ("tpu",)}, "device must be 'cpu' or 'cuda', got 'tpu'"),
    ({"launchers": ("slrum",)}, "unknown launcher 'slrum'; did you mean 'slurm'"),
    ({"batch_sizes": (0,)}, "batch_size must be a whole number from 1 to 2147483647, got 0"),
    ({"batch_sizes": (4, -4)}, "batch_size must be a whole number from 1 to 2147483647, got -4"),
    ({"threads": (0,)}, "threads must be a whole number from 1 to 2147483647, got 0"),
    ({"seeds": (-1,)}, "seed must be a whole number from 0 to 4294967295, got -1"),
    ({"seeds": (2**32,)}, "seed must be a whole number from 0 to 4294967295, got 4294967296"),
    ({"batch_sizes": (10**26,)}, "batch_size must be a whole number from 1 to 2147483647, got 1" + 26 * "0"),
    ({"steps": (2**31,)}, "steps must be a whole number from 1 to 2147483647, got 2147483648"),
    ({"steps": (0,)}, "steps must be a whole number from 1 to 2147483647, got 0"),
    ({"warmup": (-1,)}, "warmup must be a whole number from 0 to 2147483647, got -1"),
    ({"repeats": 0}, "repeats must be a whole number from 1 to 10000, got 0"),
    ({"epochs": (0,)}, "epochs must be a whole number from 1 to 2147483647, got 0"),
    ({"samples_per_epoch": (0,)}, "problem_size must be a whole number from 1 to 2147483647, got 0"),
    ({"timeout": 0.0}, "timeout must be a number above 0, got 0.0"),
    ({"timeout": -2.5}, "timeout must be a number above 0, got -2.5"),
    ({"timeout": math.nan}, "timeout must be a number above 0, got NaN"),
    ({"timeout": math.inf}, "timeout must be a number above 0, got Infinity"),
    (
        {"hyperparameters": {"learning_rate": (math.nan,)}},
        "the learning rate must be a number of at least 0, got nan",
    ),
    (
        {"hyperparameters": {"learning_rate": (-0.1,)}},
        "the learning rate must be a number of at least 0, got -0.1",
    ),
    ({"gpus": ((0, 1),)}, "a run uses one GPU, got --gpus=0,1"),
    ({"gpus": ((-1,),)}, "gpus must be a whole number from 0 to 2147483647, got -1"),
    ({"affinity": ((9999,),)}, "CPU 9999 cannot be used; usable are "),
    ({"affinity": ((-1,),)}, "affinity must be a whole number of at least 0, got -1"),
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
            RunSpec("numpy", ProblemReference("mnist_mlp"), mode="training"),
            "framework 'numpy' cannot do training, only inference",
        ),
        (
            RunSpec("numpy", ProblemReference("mnist_mlp"), mode="inference", device="cuda"),
            "does not run on cuda, only on cpu",
        ),
        (
            RunSpec("numpy", ProblemReference("mnist_mlp"), mode="inference", precision="bf16"),
            "has no bf16 on cpu; it has fp32",
        ),
        (RunSpec("numpy", ProblemReference("mnist_mlp"), mode="inference"), None),
    ],
)
def test_what_a_framework_cannot_do_is_said(
    run: RunSpec, message: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "framework", lambda name: LIMITED)
    found = unsupported_reason(run)
    assert (found is None) == (message is None)
    assert message is None or message in (found or "")


def test_a_device_without_any_precision_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = replace(LIMITED, devices=("cpu", "cuda"))
    monkeypatch.setattr(registry, "framework", lambda name: plugin)
    found = unsupported_reason(
        RunSpec("numpy", ProblemReference("mnist_mlp"), mode="inference", device="cuda")
    )
    assert found == "framework 'numpy' has no fp32 on cuda; it has nothing there"


def test_a_matrix_is_refused_only_if_none_of_it_can_run() -> None:
    assert refused(precisions=("bf16",)) == "framework 'numpy' has no bf16 on cpu; it has fp32, fp64"
    runs = planned("numpy,pytorch", precisions=("bf16",))
    assert [unsupported_reason(run) is None for run in runs] == [False, True]


def test_refusals_of_many_runs_are_those_of_each() -> None:
    experiment = Experiment(
        ("numpy", "pytorch", "mxnet"),
        ("mnist_mlp",),
        modes=("training", "inference"),
        precisions=("fp32", "bf16", "tf32"),
        starts=("spawn", "fork"),
        compile_caches=("kept", "cold"),
        seeds=(1, 2),
    )
    runs = planning.matrix(experiment)
    assert unsupported_reasons(runs) == [unsupported_reason(run) for run in runs]
    assert len(set(unsupported_reasons(runs))) > 3


def test_ten_thousand_cells_are_all_there_and_all_different() -> None:
    runs = planned("numpy,pytorch", batch_sizes=tuple(range(1, 51)), seeds=tuple(range(100)))
    assert len({identity(run) for run in runs}) == len(runs) == 10_000


def test_the_same_choice_of_options_asked_for_twice_is_one_run() -> None:
    options = {"compile": ("true", "false", "1", True)}
    runs = planned("pytorch", settings=options, batch_sizes=(4,))
    assert [run.framework_options["compile"] for run in runs] == [True, False]


def test_cuda_needs_a_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_driver, "nvidia_driver_present", lambda: False)
    assert refused("pytorch", devices=("cuda",)) == (
        "device cuda was asked for, but no NVIDIA driver is loaded here; use --device=cpu"
    )
    monkeypatch.setattr(gpu_driver, "nvidia_driver_present", lambda: True)
    monkeypatch.setattr(planning, "gpu_count", lambda: None)
    cpu, cuda = planned("pytorch", devices=("cpu", "cuda"), gpus=((3,),))
    assert (cpu.gpus, cuda.gpus) == ((), (3,))
    assert planned("pytorch", devices=("cuda",))[0].gpus == (0,)
    assert "does not run on cuda" in refused("numpy", devices=("cuda",))


@pytest.mark.parametrize(("there", "known"), [(1, "only 0"), (4, "0 to 3")])
def test_a_gpu_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch, there: int, known: str) -> None:
    monkeypatch.setattr(gpu_driver, "nvidia_driver_present", lambda: True)
    monkeypatch.setattr(planning, "gpu_count", lambda: there)
    found = refused("pytorch", devices=("cuda",), gpus=((0,), (there,)))
    assert found == f"GPU {there} cannot be used; available: {known}"
    assert planned("pytorch", devices=("cuda",), gpus=((there - 1,),))[0].gpus == (there - 1,)


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
        plan(Experiment(("numpy",), ("mnist_mlp",), gpus=((0,),)))


# --- requests, constants and amounts ---------------------------------------------------------------


def test_a_request_brings_its_settings_and_those_of_the_experiment_go_over_them() -> None:
    problems = (Request("mnist_mlp", {"hidden1": (8, 9), "classes": (3,)}), "mnist_mlp")
    runs = plan(Experiment(("numpy",), problems, settings={"classes": ("4",)}))
    keys = [(run.problem_parameters["hidden1"], run.problem_parameters["classes"]) for run in runs]
    assert keys == [(8, 4), (9, 4), (128, 4)]


def test_constants_of_a_flag_go_over_those_of_every_optimizer_that_has_them() -> None:
    runs = planned(
        optimizers=(Request("momentum", {"momentum": (0.5, 0.6), "learning_rate": (0.1,)}), "adam"),
        hyperparameters={"learning_rate": (0.2, 0.3), "beta1": (0.7,)},
    )
    assert [run.optimizer for run in runs] == [
        *(Optimizer("momentum", rate, momentum) for momentum in (0.5, 0.6) for rate in (0.2, 0.3)),
        *(Optimizer("adam", rate, beta1=0.7) for rate in (0.2, 0.3)),
    ]


def test_an_epoch_of_a_data_set_is_all_its_whole_mini_batches(own_home: Path) -> None:
    asked: dict[str, Any] = {"data": ("digits",), "settings": {"inputs": ("64",)}, "batch_sizes": (32,)}
    assert [run.steps for run in planned(**asked, epochs=(1, 3))] == [1797 // 32, 3 * (1797 // 32)]
    assert planned(**asked)[0].steps is None
    (run,) = planned(**asked, epochs=(2,), samples_per_epoch=(64,))
    assert run.steps == 4  # of the problem size, which was asked for


def test_a_profile_says_how_much_each_process_measures_and_how_many_there_are_at_least() -> None:
    runs = planned(profile="rigorous")
    assert [run.repetition for run in runs] == list(range(15))
    assert {(run.target_seconds, run.minimum_samples) for run in runs} == {(5.0, 50)}
    runs = planned(profile="rigorous", min_processes=3, seconds=0.5, min_samples=7)
    assert len(runs) == 3
    assert {(run.target_seconds, run.minimum_samples) for run in runs} == {(0.5, 7)}
    (plain,) = planned()
    assert (plain.target_seconds, plain.minimum_samples) == (3.0, 20)


def test_a_length_that_nothing_measures_by_is_not_asked_for() -> None:
    usual = (RunSpec.target_seconds, RunSpec.minimum_samples)
    stated: tuple[dict[str, Any], ...] = (
        {"steps": (7,)},
        {"batch_sizes": (4,), "samples_per_epoch": (32,)},
        {"windows": (1.0,), "modes": ("inference",)},
    )
    for options in stated:
        (run, *_) = planned(profile="rigorous", **options)
        assert (run.target_seconds, run.minimum_samples) == usual
    both = planned(modes=("inference", "training"), windows=(1.0,), seconds=0.5)
    assert [(run.window, run.target_seconds) for run in both] == [(1.0, usual[0]), (None, 0.5)]


def test_limits_that_some_value_can_pass_are_accepted() -> None:
    limits = {"min_loss": -1.0, "max_loss": -0.5, "min_throughput": 2.0, "max_throughput": 2.0}
    assert len(planned(accept=limits)) == 1


def test_one_number_of_a_profile_asks_for_the_rest_of_the_standard_one() -> None:
    asked = Experiment(("numpy",), ("mnist_mlp",), half_width=0.1)
    assert asked.wanted_precision == replace(PROFILES["standard"], profile=None, half_width=0.1)
    assert len(plan(asked)) == 10
    assert Experiment(("numpy",), ("mnist_mlp",), repeats=3).wanted_precision is None


def test_what_makes_no_difference_is_one_run() -> None:
    runs = planned(
        modes=("inference", "training"),
        steps=(3, 5),
        windows=(0.5,),
        hyperparameters={"learning_rate": (1, 2)},
    )
    found = [(run.mode, run.steps, run.window, run.optimizer.learning_rate) for run in runs]
    assert found[0][:3] == ("inference", None, 0.5)
    assert found[1:] == [("training", steps, None, rate) for rate in (1.0, 2.0) for steps in (3, 5)]


def test_amounts_span_the_matrix() -> None:
    runs = planned(batch_sizes=(2, 4), samples_per_epoch=(8, 16), epochs=(1, 3), warmup=(0, 1))
    assert [(r.batch_size, r.samples_per_epoch, r.steps, r.warmup) for r in runs[:6]] == [
        (2, 8, 4, 0),
        (2, 8, 12, 0),
        (2, 8, 4, 1),
        (2, 8, 12, 1),
        (2, 16, 8, 0),
        (2, 16, 24, 0),
    ]
    assert len(runs) == 16


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"hyperparameters": {"momentum": (0.5,)}},
            "optimizer 'sgd' has no momentum; momentum, nesterov, lars, muon, schedule_free_sgd have it",
        ),
        (
            {"hyperparameters": {"beta1": (1.0,)}, "optimizers": ("adam",)},
            "beta1 must be a number of at least 0 and",
        ),
        ({"hyperparameters": {"rate": (1.0,)}}, "an optimizer has no 'rate'; known: adam_ratio, beta1"),
        ({"optimizers": (Request("adam", {"momentum": (0.5,)}),)}, "optimizer 'adam' has no momentum"),
        ({"problem": "mnist_mlp,mnist_mlp"}, "problem 'mnist_mlp' is named twice"),
        ({"windows": (1.0,)}, "window is for inference, got the mode training; add inference"),
        (
            {"windows": (0.0,), "modes": ("inference",)},
            "window must be a number above 0, got 0.0",
        ),
        (
            {"windows": (1.0,), "modes": ("inference",), "steps": (2,)},
            "a number of steps or a window, not both",
        ),
        ({"monitors": ("cpus",)}, "unknown collector 'cpus'; did you mean 'cpu'?"),
        ({"accept": {"min_speed": 1.0}}, "unknown threshold 'min_speed'"),
        ({"accept": {"max_loss": math.inf}}, "the threshold max_loss must be a finite number, got inf"),
        (
            {"accept": {"min_batches_per_second": 1.0}},
            "min_batches_per_second is for inference, got training only",
        ),
        ({"accept": {"min_accuracy": 1.0}}, "min_accuracy needs a data set"),
        ({"accept": {"max_steps_to_target": 90.0}}, "max_steps_to_target needs a recipe, which has a target"),
        ({"data": ("mnits",)}, "unknown data set 'mnits'; did you mean 'mnist'?"),
        ({"inputs": ("feed",)}, "inputs must be 'resident' or 'fed', got 'feed'; did you mean 'fed'?"),
        ({"data_dir": "somewhere"}, "the folder 'somewhere' needs the name of a data set"),
        (
            {"profile": "quik"},
            "profile must be 'quick', 'standard' or 'rigorous', got 'quik'; did you mean 'quick'?",
        ),
        (
            {"sampling": ("latencies",)},
            "or 'throughput', got 'latencies'; did you mean 'latency'?",
        ),
        ({"starts": ("forks",)}, "start must be 'spawn' or 'fork', got 'forks'; did you mean 'fork'?"),
        ({"profile": "quick", "repeats": 3}, "give either a number of repeats or a profile, not both"),
        ({"half_width": 0.1, "repeats": 3}, "give either a number of repeats or a half-width, not both"),
        ({"budget": 9.0, "repeats": 1}, "give either a number of repeats or a budget, not both"),
        ({"min_processes": 3, "repeats": 3}, "a number of repeats or a least number of processes"),
        ({"half_width": 0.0}, "half_width must be a number above 0 and below 1, got 0.0"),
        ({"half_width": 1.0}, "half_width must be a number above 0 and below 1, got 1.0"),
        ({"half_width": math.nan}, "half_width must be a number above 0 and below 1, got NaN"),
        ({"budget": math.inf}, "budget must be a number above 0, got Infinity"),
        ({"budget": 0.0}, "budget must be a number above 0, got 0.0"),
        ({"seconds": -1.0}, "seconds must be a number above 0, got -1.0"),
        ({"seconds": math.inf}, "seconds must be a number above 0, got Infinity"),
        ({"min_samples": 0}, "min_samples must be a whole number from 1 to 2147483647, got 0"),
        ({"min_processes": 0}, "min_processes must be a whole number from 1 to 10000, got 0"),
        ({"max_processes": 0}, "max_processes must be a whole number from 1 to 10000, got 0"),
        (
            {"profile": "quick", "min_processes": 11},
            "the least number of processes must not be above the largest, got 11 and 10",
        ),
        (
            {"min_processes": 4, "max_processes": 3},
            "the least number of processes must not be above the largest, got 4 and 3",
        ),
        (
            {"price_per_hour": -1.0},
            "price_per_hour must be a number of at least 0 and at most 1e+09, got -1.0",
        ),
        (
            {"price_per_hour": math.inf},
            "price_per_hour must be a number of at least 0 and at most 1e+09, got Infinity",
        ),
        (
            {"price_per_hour": 1e308},
            "price_per_hour must be a number of at least 0 and at most 1e+09, got 1e+308",
        ),
        ({"steps": (3,), "seconds": 2.0}, "a number of steps or a time of the timed part, not both"),
        ({"steps": (3,), "min_samples": 7}, "a number of steps or a least number of samples, not both"),
        ({"samples_per_epoch": (256,), "seconds": 2.0}, "a problem size or a time of the timed part"),
        ({"data": ("digits",), "epochs": (1,), "min_samples": 7}, "a number of epochs or a least number"),
        (
            {"windows": (1.0,), "modes": ("inference",), "seconds": 2.0},
            "give either a window or a time of the timed part, not both",
        ),
        ({"repeats": 1_000_000}, "repeats must be a whole number from 1 to 10000, got 1000000"),
        ({"min_processes": 10_001}, "min_processes must be a whole number from 1 to 10000, got 10001"),
        ({"max_processes": 10_001}, "max_processes must be a whole number from 1 to 10000, got 10001"),
        ({"affinity": ((0, 0),)}, "affinity must be named once, got 0 again"),
        (
            {"accept": {"min_loss": 3.0, "max_loss": 1.0}},
            "min_loss must not be above max_loss, got 3 and 1",
        ),
        (
            {"accept": {"max_memory_bytes": -3.0}},
            "the threshold max_memory_bytes must be a finite number of at least 0, got -3",
        ),
        (
            {"accept": {"min_accuracy": 1.5}, "data": ("digits",)},
            "the threshold min_accuracy must be a number from 0 to 1, got 1.5",
        ),
        ({"optimizers": ("adam",), "modes": ("inference",)}, "an optimizer is for training, got inference"),
        (
            {"hyperparameters": {"learning_rate": (0.1,)}, "modes": ("inference",)},
            "the learning rate is for training, got inference only",
        ),
    ],
    ids=lambda value: str(value)[:50],
)
def test_what_does_not_fit_together_is_refused(options: dict[str, Any], message: str) -> None:
    assert message in refused(**options)


def test_a_fault_says_where_it_is() -> None:
    experiment = Experiment(
        ("numpy", Request("numpy", {"compil": ("x",)})),
        ("mnist_mlp", Request("conv2d", {"filters": (2, "x"), "filter": (1,)})),
        batch_sizes=(0,),
        optimizers=("adam", Request("sgd", {"beta1": (0.1,)})),
        settings={"hidden1": ("many",), "nobody": ("1",)},
    )
    assert {fault.where for fault in faults(experiment)} == {
        ("batch_size",),
        ("framework", 1, "compil"),
        ("problem", 1, "filters", 1),
        ("problem", 1, "filter"),
        ("optimizer", 1, "beta1"),
        ("set", "hidden1", 0),
        ("set", "nobody"),
    }


def test_every_impossible_problem_is_told() -> None:
    wrong = Request("resnet18", {"blocks": ("2",)})
    layers = Request("architecture", {"layers": ("[]",)})
    found = list(faults(Experiment(("numpy",), (wrong, "mnist_mlp", layers))))
    assert [fault.where for fault in found] == [("problem", 0), ("problem", 2)]


WEIGHTLESS = Request(
    "architecture",
    {"layers": ('[{"layer":"InputLayer","shape":[4]},{"layer":"Activation","function":"relu"}]',)},
)


@pytest.mark.parametrize("framework", ["numpy", "pytorch", "tensorflow", "mxnet", "chainer"])
def test_a_model_without_weights_is_not_trained(framework: str) -> None:
    (fault,) = faults(Experiment((framework,), (WEIGHTLESS,)))
    assert fault.where == ("mode",)
    assert fault.message == "problem 'architecture' has no weights to train; choose the mode inference alone"
    assert list(faults(Experiment((framework,), (WEIGHTLESS,), modes=("inference",)))) == []


def test_the_largest_seed_is_allowed() -> None:
    assert planned(seeds=(2**32 - 1,))[0].seed == 2**32 - 1


def test_runs_that_differ_in_batch_size_alone_stop_together() -> None:
    runs = planned("numpy,pytorch", batch_sizes=(2, 4), samples_per_epoch=(8,), seeds=(1, 2), repeats=2)
    groups = {early_stop_key(run) for run in runs}
    assert len(groups) == 4
    assert len({early_stop_key(run) for run in runs if run.framework == "numpy" and run.seed == 1}) == 1


def test_a_specification_is_json_and_leaves_out_what_changes_nothing() -> None:
    (run,) = planned(timeout=3.0, anonymous=True, windows=(1.0,), modes=("inference",), monitors=("cpu",))
    found = specification(run)
    assert json.loads(json.dumps(found)) == found
    assert not {"timeout", "anonymous", "price_per_hour"} & set(found)
    assert found["optimizer"] is None
    assert found["monitors"] == ["cpu"]
    assert specification(planned(timeout=4.0, price_per_hour=2.0)[0]) == specification(planned()[0])


def test_a_matrix_of_a_million_runs_is_refused_before_it_is_planned() -> None:
    sentence = refused("numpy", seeds=tuple(range(1000)), batch_sizes=tuple(range(1, 1001)))
    assert sentence == (
        "an experiment may have 200,000 runs, got 1,000,000; give fewer values, or several experiments"
    )
    settings = {name: tuple(range(1, 101)) for name in ("hidden1", "hidden2", "inputs")}
    assert "got 1,000,000" in refused("numpy", settings=settings)
    assert "got 1,000,000" in refused("numpy", seeds=tuple(range(100)), repeats=10_000)
