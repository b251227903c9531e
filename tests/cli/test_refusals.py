"""What cannot be run is refused in one sentence, with exit status 2, no traceback and nothing written."""

from __future__ import annotations

import os
import re
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarker.execution.environments.gpu_driver import nvidia_driver_present
from tests.conftest import Command, Finished
from tests.support.command_lines import replaced

MLP = ("--framework=numpy", "--problem=mnist_mlp")
QUICK = (*MLP, "--batch-size=2", "--steps=2", "--warmup=0")
ALL_CPUS = range(os.cpu_count() or 1)


def assert_refused(command: Command, finished: Finished, *parts: str) -> None:
    assert finished.status == 2, finished
    assert finished.stdout == ""
    assert re.fullmatch(r"benchmarker[^:\n]*: [^\n]+\n", finished.stderr), finished.stderr
    for part in parts:
        assert part in finished.stderr
    assert not list(command.folder.rglob("*.json"))


NAMES = [
    (("--framework=nunpy", "--problem=mnist_mlp"), "unknown framework 'nunpy'; did you mean 'numpy'?"),
    (("--framework=numpy", "--problem=resnet5"), "unknown problem 'resnet5'; did you mean 'resnet50'?"),
    (("--framework=numpy,zzz", "--problem=mnist_mlp"), "unknown framework 'zzz'; known: chainer, "),
    (
        (*MLP, "--mode=trainin"),
        "--mode must be 'inference', 'training', 'gradient' or 'generation',",
        "got 'trainin'; did you mean 'training'?",
    ),
    ((*MLP, "--precision=fp23"), "--precision must be 'fp32', ", "got 'fp23'; did you mean 'fp32'?"),
    ((*MLP, "--device=cdua"), "--device must be 'cpu' or 'cuda', got 'cdua'; did you mean 'cuda'?"),
    ((*MLP, "--optimizer=adamm"), "unknown optimizer 'adamm'; did you mean 'adam'?"),
    (("--framework=numpy,numpy", "--problem=mnist_mlp"), "framework 'numpy' is named twice", "--repeats"),
    ((*MLP, "--launcher=locl"), "unknown launcher 'locl'; did you mean 'local'?"),
    ((*MLP, "--set=hiden1=3"), "a parameter 'hiden1'; did you mean 'hidden1'?", "'mnist_mlp'", "'numpy'"),
    ((*MLP, "--set=numpy.hidden1=3"), "a parameter 'numpy.hidden1'; did you mean 'hidden1'?"),
    (("rnu",), "unknown command 'rnu'; did you mean 'run'?"),
    (("help", "comapre"), "unknown command 'comapre'; did you mean 'compare'?"),
    (("show", "resnet5"), "unknown problem 'resnet5'; did you mean 'resnet50'?"),
    (("check", "nunpy"), "unknown framework 'nunpy'; did you mean 'numpy'?"),
    (("env", "path", "nunpy"), "unknown framework 'nunpy'; did you mean 'numpy'?"),
    (("env", "remove", "nothing"), "no managed environment 'nothing'"),
    ((*MLP, "--stesp=3"), "unknown option '--stesp'; did you mean '--steps'?"),
    ((*MLP, "--batchsize=3"), "unknown option '--batchsize'; did you mean '--batch-size'?"),
    ((*MLP, "one", "two"), "unexpected argument 'two'"),
    ((*MLP, "--mode=trainig"), "did you mean 'training'?"),
    (("verify", "--framwork=numpy"), "unknown option '--framwork'; did you mean '--framework'?"),
    (("results", "list", "--colums=id"), "unknown option '--colums'; did you mean '--columns'?"),
    (("results", "list", "--column=id"), "unknown option '--column'; did you mean '--columns'?"),
    (("list", "framework"), "did you mean 'frameworks'?"),
    (("plot", "speedp"), "unknown chart 'speedp'; did you mean 'speedup'?"),
]

TYPES = [
    ((*MLP, "--set=hidden1=3,hidden2=4"), "--set: takes one name: --set hidden1=3 --set hidden2=4"),
    (("--framework=numpy", "--problem=resnet50", "--set=image_size=abc"), "'image_size'", "'abc'"),
    (("--framework=numpy", "--problem=resnet50", "--set", "image_size=32.5"), "a whole number", "'32.5'"),
    (("--framework=numpy", "--problem=conv2d", "--set=bias=maybe"), "true or false, got 'maybe'"),
    (("--framework=numpy", "--problem=vgg16", "--set=dropout=half"), "a number, got 'half'"),
    ((*MLP, "--batch-size=x"), "--batch-size", "a whole number", "'x'"),
    ((*MLP, "--batch-size=4,x"), "a whole number", "'4,x'"),
    ((*MLP, "--steps=1.5"), "--steps", "'1.5'"),
    ((*MLP, "--timeout=soon"), "--timeout", "'soon'"),
    ((*MLP, "--set=hidden1"), "NAME=VALUE", "'hidden1'"),
    ((*MLP, "--set=hidden1="), "NAME=VALUE", "'hidden1='"),
    ((*MLP, "--set=hidden1=3,,4"), "a whole number, got ''"),
    ((*MLP, "--mode="), "--mode", "''"),
    ((*MLP, "--seed=,"), "--seed", "','"),
    (("--framework=", "--problem=mnist_mlp"), "--framework", "''"),
    (("--framework=numpy",), "required", "--problem"),
    (("train", "digits_mlp"), "--framework required, e.g. ", "(see benchmarker train --help)"),
    (("show", "mnist_mlp", "--batch-size=x"), "'x'"),
    (("show", "mnist_mlp", "--set=hidden1=3,4"), "one value of 'hidden1', got 3, 4"),
    (
        ("check", "numpy", "--gradients", "--problem=mnist_mlp", "--set=hidden1=3,4"),
        "check takes one value of 'hidden1', got 3, 4",
    ),
    (("check", "pytorch", "--set=compile=on,off"), "check takes one value of 'compile', got on, off"),
    (("check", "pytorch", "--set=compile=perhaps"), "'compile' must be true or false, got 'perhaps'"),
    (("check", "pytorch", "--set=compiled=on"), "has a parameter 'compiled'; did you mean 'compile'?"),
]

SIZES = [
    (("env", "check", "nothing"), "there is no managed environment 'nothing'"),
    (("plot", "--list", "speedup"), "--list shows all kinds of pictures; give it without 'speedup'"),
    ((*MLP, "--batch-size=0"), "--batch-size must be a whole number from 1 to 2147483647, got 0"),
    ((*MLP, "--batch-size=4,0"), "--batch-size must be a whole number from 1 to 2147483647, got 0"),
    ((*MLP, "--set=classes=0"), "from 1 to", "0"),
    ((*MLP, "--set=hidden1=-5"), "from 1 to", "-5"),
    (("--framework=numpy", "--problem=conv2d", "--set=height=1", "--set=kernel=5"), "window of 5", "size 1"),
    (("--framework=numpy", "--problem=conv2d", "--set=groups=3"), "64", "multiples of the 3 groups"),
    (("--framework=numpy", "--problem=conv2d", "--set=stride=0"), "'stride' must be", "from 1 to"),
    (("--framework=numpy", "--problem=vgg16", "--set=image_size=8"), "window of 2", "size 1"),
    (("--framework=numpy", "--problem=vgg16", "--set=dropout=1"), "below 1, got 1"),
    ((*MLP, "--steps=0"), "--steps must be a whole number from 1 to 2147483647, got 0"),
    ((*MLP, "--warmup=-1"), "--warmup must be a whole number from 0 to 2147483647, got -1"),
    ((*MLP, "--repeats=0"), "--repeats must be a whole number from 1 to 10000, got 0"),
    ((*MLP, "--threads=0"), "--threads must be a whole number from 1 to 2147483647, got 0"),
    ((*MLP, "--seed=-1"), "--seed must be a whole number from 0 to 4294967295, got -1"),
    ((*MLP, "--timeout=0"), "--timeout must be a number above 0, got 0"),
    ((*MLP, "--timeout=nan"), "--timeout must be a number above 0, got NaN"),
    ((*MLP, "--timeout=inf"), "--timeout must be a number above 0, got Infinity"),
    ((*MLP, "--learning-rate=nan"), "learning rate", "got nan"),
    ((*MLP, "--learning-rate=-1"), "learning rate", "got -1"),
    (
        (*MLP, "--optimizer=adamw", "--weight-decay=0.1", "--decay-of=fc1.* conv*"),
        "weight decay is set for 'conv*', but no parameter of 'mnist_mlp' has such a name; they have names such as ",
    ),
    ((*MLP, "--checkpoint-every=2"), "checkpoint_every is for trainings by a recipe; use benchmarker train"),
    ((*MLP, "--resume-from=a.safetensors"), "resume_from is for trainings by a recipe"),
    ((*MLP, "--problem_size=7", "--batch_size=4"), "multiple of the batch size", "7 samples", "of 4"),
    ((*MLP, "--problem_size=8", "--batch_size=4", "--steps=2"), "a number of steps or a problem size"),
    ((*MLP, "--epochs=2"), "2 epochs need a problem size"),
    ((*MLP, "--profile=quik"), "got 'quik'; did you mean 'quick'?"),
    ((*MLP, "--profile=quick", "--repeats=3"), "either a number of repeats or a profile, not both"),
    ((*MLP, "--half-width=0"), "--half-width must be a number above 0 and below 1, got 0"),
    ((*MLP, "--half-width=0.05x"), "--half-width", "0.05x"),
    ((*MLP, "--budget=inf"), "--budget must be a number above 0, got Infinity"),
    ((*MLP, "--min-processes=5", "--max-processes=4"), "must not be above the largest, got 5 and 4"),
    ((*MLP, "--seconds=0"), "--seconds must be a number above 0, got 0"),
    ((*MLP, "--min-samples=0"), "--min-samples must be a whole number from 1 to 2147483647, got 0"),
    ((*MLP, "--sampling=block"), "--sampling must be 'latency' or 'throughput', got 'block'"),
    (
        (*MLP, "--price-per-hour=-1"),
        "--price-per-hour must be a number of at least 0 and at most 1e+09, got -1",
    ),
    (
        ("check", "numpy", "--only=forward/gemm/*,forwrd/*"),
        "--only must fit the name of a check, such as description/sound or forward/conv/*, got 'forwrd/*'",
    ),
    (
        ("check", "numpy", "--onnx", "--only=forward/*"),
        "--only chooses checks of the suite; give it without --onnx and --gradients",
    ),
    (("check", "numpy", "--threads=0"), "--threads must be a whole number from 1 to 2147483647, got 0"),
    (
        ("show", "mnist_mlp", "--batch-size=0"),
        "--batch-size must be a whole number from 1 to 2147483647, got '0'",
    ),
]

PLACES = [
    ((*MLP, "--precision=tf32"), "'numpy' has no tf32 on cpu; it has fp32, fp64"),
    ((*MLP, "--gpus=0,1"), "one GPU, got --gpus=0,1"),
    ((*MLP, f"--affinity={len(ALL_CPUS) + 4000}"), f"CPU {len(ALL_CPUS) + 4000} cannot be used; usable are"),
    ((*MLP, "--affinity=-1"), "--affinity must be a whole number of at least 0, got -1"),
    (
        (*MLP, "--env=/no/such/python"),
        "there is no '/no/such/python'",
        "--env must be auto, current, managed",
    ),
    ((*MLP, "--env=manged"), "there is no 'manged'; did you mean 'managed'?"),
    ((*MLP, "--env=/etc/passwd"), "'/etc/passwd' is not an executable file"),
    ((*MLP, "--env=/bin/true"), "'/bin/true' does not answer as a Python interpreter does"),
    (("--framework=mxnet", "--problem=mnist_mlp", "--env=current"), "cannot run 'mxnet'", "--env managed"),
    (("--framework=numpy==", "--problem=mnist_mlp"), "'numpy==' names no version; write for example"),
    (("--framework=numpy==new", "--problem=mnist_mlp"), "must look like 2.13.0", "got 'new'"),
    (("check", "numpy=="), "'numpy==' names no version"),
    (("env", "create", "numpy=="), "'numpy==' names no version"),
    (("env", "create", "numpy", "jaxx,pytorch"), "unknown framework 'jaxx'; did you mean 'jax'?"),
    (("env", "create", ","), "must be a name, or several with commas, got ','"),
    ((*MLP, "--set=hidden1=3", "--set=hidden1=4"), "--set names a parameter twice", "NAME=A,B"),
    (("show", "mnist_mlp", "--set=hidden1=3", "--set=hidden1=4"), "--set names a parameter twice"),
    (("validate", "nowhere"), "a file or a folder that exists, got 'nowhere'"),
    (("env",), "ACTION (one of list, create, check, remove, path) is required"),
    (("data",), "ACTION (latency) is required"),
    (("env", "remove"), "benchmarker env remove: one of NAME, --all is required"),
    (("verify",), "--problem and --framework are required"),
    (("export", "mnist_mlp"), "benchmarker export: --output is required"),
]


@pytest.mark.parametrize("case", [*NAMES, *TYPES, *SIZES, *PLACES], ids=lambda case: " ".join(case[0])[-60:])
def test_it_is_refused(command: Command, case: tuple[tuple[str, ...], str]) -> None:
    arguments, *parts = case
    assert_refused(command, command(*arguments), *parts)
    assert not (command.folder / "results").exists()


@pytest.mark.skipif(nvidia_driver_present(), reason="there is an NVIDIA driver")
@pytest.mark.parametrize("option", ["--device=cuda", "--gpus=0", "--device=cpu,cuda"])
def test_a_gpu_without_a_driver_is_refused(command: Command, option: str) -> None:
    assert_refused(command, command(*MLP, option), "no NVIDIA driver is loaded here", "--device=cpu")


@pytest.mark.framework("numpy")
def test_one_impossible_run_does_not_stop_the_others(command: Command) -> None:
    finished = command(*replaced(QUICK, "--framework=mxnet,numpy"), "--env=current", "--json")
    assert finished.status == 1
    refused, ran = finished.records
    assert (refused["status"], ran["status"]) == ("failed", "ok")
    assert "cannot run 'mxnet'" in refused["error"]["message"]
    assert "cannot run 'mxnet'" in finished.stderr
    assert "Traceback" not in finished.stderr


@pytest.mark.parametrize("where", ["file", "file/below", "/proc/no-such-folder"])
def test_an_unwritable_results_folder_is_refused_before_anything_runs(command: Command, where: str) -> None:
    (command.folder / "file").write_text("")
    finished = command(*QUICK, f"--results={where}")
    assert_refused(command, finished, f"got '{where}'", "choose another with --results")
    assert (command.folder / "file").read_text() == ""


def test_a_cache_folder_that_cannot_be_made_fails_the_run_in_a_sentence(command: Command) -> None:
    (command.folder / "file").write_text("")
    environment = {**command.environment, "BENCHMARKER_HOME": str(command.folder / "file")}
    finished = Command(command.folder, environment)(*QUICK, "--json")
    assert finished.status == 1
    (record,) = finished.records
    assert record["status"] == "failed"
    assert "BENCHMARKER_HOME" in record["error"]["message"]
    assert "Traceback" not in finished.stderr


def assert_nothing_half_written(finished: Finished, results: Path, reason: str) -> None:
    assert finished.status == 1
    assert finished.stdout.startswith(
        "mnist_mlp, training, on numpy"
    )  # what was measured is shown all the same
    assert f"benchmarker: the record could not be written to '{results}': {reason}" in finished.stderr
    assert "Traceback" not in finished.stderr
    assert list(results.iterdir()) == []


@pytest.mark.framework("numpy")
def test_a_file_that_may_not_grow_is_one_sentence(command: Command) -> None:
    # Python would write half of the bytecode of a module that nobody imported before.
    unwritten = Command(command.folder, {**command.environment, "PYTHONDONTWRITEBYTECODE": "1"})
    process = unwritten.start(
        *QUICK,
        "--no-verify",
        f"--results={command.folder / 'results'}",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)),
    )
    stdout, stderr = process.communicate(timeout=60)
    finished = Finished(process.returncode, stdout, stderr)
    assert_nothing_half_written(finished, command.folder / "results", "File too large")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 160 KiB, where some records fit and eight do not."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=160k", "none", str(disk)]
    try:
        done = subprocess.run(mount, capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount")
    if done.returncode != 0:
        pytest.skip("no right to mount a small file system")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.framework("numpy")
def test_a_full_disk_is_one_sentence(command: Command, small_disk: Path) -> None:
    (small_disk / "filler").write_bytes(bytes(156 << 10))
    finished = command(*QUICK, f"--results={small_disk / 'results'}")
    assert_nothing_half_written(finished, small_disk / "results", "No space left on device")


@pytest.mark.framework("numpy")
def test_a_full_disk_keeps_the_records_before(command: Command, small_disk: Path) -> None:
    finished = command(*QUICK, "--seed=1,2,3,4,5,6,7,8", f"--results={small_disk / 'results'}", "--json")
    assert finished.status == 1
    written = sorted((small_disk / "results").iterdir())
    kept = re.findall(r"No space left on device; it is kept as '(.*)'$", finished.stderr, re.MULTILINE)
    assert 0 < len(written) == 8 - len(kept) < 8
    assert len(finished.records) == 8
    assert command("validate", str(small_disk / "results"), *kept).status == 0


@pytest.mark.parametrize(
    ("framework", "setting", "allowed"),
    [
        ("jax", "layout=nwhc", "nhwc"),
        ("keras_pytorch", "jit=yes", "auto"),
        ("onnxruntime", "optimization=most", "all"),
    ],
)
def test_an_option_that_is_a_choice_takes_no_other_text(
    command: Command, framework: str, setting: str, allowed: str
) -> None:
    finished = command(
        f"--framework={framework}", "--problem=mnist_mlp", "--mode=inference", f"--set={setting}"
    )
    assert finished.status == 2
    assert f"'{setting.partition('=')[0]}' must be" in finished.stderr
    assert allowed in finished.stderr
    assert len(finished.stderr.splitlines()) == 1


def test_verify_refuses_a_device_that_no_framework_has(command: Command) -> None:
    finished = command("verify", "--problem=mnist_mlp", "--framework=numpy,openblas", "--device=cuda")
    assert finished.status == 2
    assert finished.stderr == "benchmarker: framework 'numpy' does not run on cuda, only on cpu\n"
