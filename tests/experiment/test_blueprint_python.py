"""Python blueprints: Rysia's files after changing their import, and what is wrong with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarker import registry
from benchmarker.api.optimizer import Optimizer
from benchmarker.errors import UsageError
from benchmarker.experiment.blueprint.loading import Blueprint, check, load
from benchmarker.experiment.blueprint.rysia import RYSIA_FIELDS
from benchmarker.experiment.planning import plan
from benchmarker.experiment.spec import Experiment, RunSpec

IMPORT = "from benchmarker import blueprint as bp\n"
MLP = 'architecture = bp.model(bp.InputLayer((6,)), bp.FullyConnected(4, "relu"), bp.FullyConnected(3, "linear"))\n'
LSTM = 'architecture = bp.model(bp.InputLayer((5, 4)), bp.LSTM(3, False), bp.FullyConnected(2, "linear"))\n'

RYSIA: dict[str, Any] = {
    "learning_rate": 0.02,
    "epochs": 2,
    "batch_size": 4,
    "loss_function": "cross_entropy",
    "optimizer": "adam",
    "optimizer_mode": "default",
    "state_sizes": None,
    "train_seq_length": None,
    "test_seq_length": None,
    "truncated_backprop_length": None,
    "reshape_input_data": [None],
    "runs": 3,
    "python_seed": 42,
    "numpy_seed": 7,
    "framework_seed": 7,
    "monitors": ["cpu", "diskIO"],
    "mode": "training",
    "frameworks": ["pytorch", "numpy"],
    "aws": False,
    "region_name": "region",
    "bucket_name": "bucket",
    "instance_types": ["c4.2xlarge"],
    "job_name": "job",
    "ami_id": "ami",
    "env_min_cpu": 0,
    "env_desired_cpu": 0,
    "env_max_cpu": 512,
    "subnets": ["subnet"],
    "security_group_ids": ["group"],
    "instance_role": "role",
    "service_role": "role",
    "account_id": "account",
    "container_images": ["cpu", "gpu"],
    "job_def_names": ["cpu", "gpu"],
    "job_num_vcpu": None,
    "job_memory_size": None,
    "tear_down_comp_env": False,
    "train_data_path": "train_data_path",
    "train_label_path": "labels",
    "test_data_path": None,
    "test_label_path": None,
    "result_folder_path": "folder",
    "model_params_path": None,
}
"""Every field but the architecture, in the form that Rysia's own files have."""


def written(folder: Path, architecture: str = MLP, **changes: Any) -> Path:
    path = folder / "bp.py"
    fields = {**RYSIA, **changes}
    path.write_text(
        IMPORT + architecture + "".join(f"{name} = {value!r}\n" for name, value in fields.items())
    )
    return path


def loaded(folder: Path, *arguments: Any, **changes: Any) -> tuple[Blueprint, list[RunSpec]]:
    blueprint = load(written(folder, *arguments, **changes))
    return blueprint, plan(Experiment(**blueprint.values))


def test_there_are_44_fields() -> None:
    assert len(set(RYSIA_FIELDS)) == len(RYSIA_FIELDS) == 44
    assert {*RYSIA, "architecture"} == set(RYSIA_FIELDS)


def test_a_rysia_file_becomes_runs(tmp_path: Path) -> None:
    blueprint, runs = loaded(tmp_path)
    assert len(runs) == 6
    assert [run.framework for run in runs[:2]] == ["pytorch", "numpy"]
    assert [run.repetition for run in runs] == [0, 0, 1, 1, 2, 2]
    text = (
        '[{"layer":"InputLayer","shape":[6]},{"layer":"FullyConnected","size":4,"activation":"relu"},'
        '{"layer":"FullyConnected","size":3}]'
    )
    assert runs[0].problem.name == "architecture"
    assert runs[0].problem_parameters == {"layers": text, "loss": "cross_entropy", "softmax": False}
    assert (runs[0].optimizer, runs[0].batch_size, runs[0].seed) == (Optimizer("adam", 0.02), 4, 7)
    assert runs[0].monitors is None
    assert blueprint.results == "folder/job"


def test_what_no_longer_applies_is_told_in_one_line(tmp_path: Path) -> None:
    blueprint, _ = loaded(tmp_path)
    (unused,) = [note for note in blueprint.notes if note.startswith("not used: ")]
    assert unused.removeprefix("not used: ").split(", ") == [
        "account_id", "ami_id", "bucket_name", "container_images", "env_max_cpu", "instance_role",
        "instance_types", "job_def_names", "monitors", "optimizer_mode", "python_seed", "region_name",
        "security_group_ids", "service_role", "subnets", "train_label_path",
    ]  # fmt: skip


def test_inference_has_no_optimizer(tmp_path: Path) -> None:
    blueprint, runs = loaded(tmp_path, mode="inference")
    assert {run.mode for run in runs} == {"inference"}
    (unused,) = [note for note in blueprint.notes if note.startswith("not used: ")]
    assert {"learning_rate", "optimizer"} <= set(unused.removeprefix("not used: ").split(", "))


def test_an_epoch_is_as_long_as_the_data_without_the_last_incomplete_batch(tmp_path: Path) -> None:
    np.save(tmp_path / "data.npy", np.zeros((11, 6), np.float32))
    blueprint, runs = loaded(tmp_path, train_data_path=str(tmp_path / "data.npy"))
    assert {(run.steps, run.samples_per_epoch) for run in runs} == {(4, 8)}
    assert (
        "mini-batches are drawn from the seed; an epoch is as long as train_data_path" in blueprint.notes[0]
    )


def test_samples_that_are_no_array_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "data.npy"
    path.write_text("1.0,2.0\n")
    with pytest.raises(UsageError) as raised:
        loaded(tmp_path, train_data_path=str(path))
    assert str(raised.value).endswith(f"must be a .npy file with samples, got '{path}'")


def test_samples_and_labels_that_are_there_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHMARKER_HOME", str(tmp_path / "home"))
    np.save(tmp_path / "data.npy", np.ones((11, 6), np.float32))
    np.save(tmp_path / "labels.npy", np.arange(11) % 3)
    paths = {f"train_{name}_path": str(tmp_path / f"{name}s.npy") for name in ("label",)}
    blueprint, runs = loaded(tmp_path, train_data_path=str(tmp_path / "data.npy"), **paths)
    assert {(run.data, run.data_dir) for run in runs} == {
        ("npy", f"{tmp_path / 'data.npy'},{tmp_path / 'labels.npy'}")
    }
    assert {run.steps for run in runs} == {4}
    assert not any("drawn from the seed" in note for note in blueprint.notes)


def test_data_that_are_not_there_leave_the_number_of_steps_open(tmp_path: Path) -> None:
    blueprint, runs = loaded(tmp_path)
    assert {run.steps for run in runs} == {None}
    assert "there is no train_data_path 'train_data_path'" in blueprint.notes[0]
    _, runs = loaded(tmp_path, problem_size=12)
    assert {run.steps for run in runs} == {6}
    _, runs = loaded(tmp_path, steps=5)
    assert {run.steps for run in runs} == {5}


def test_inference_is_repeated_for_60_seconds_and_ends_with_a_softmax(tmp_path: Path) -> None:
    _, runs = loaded(tmp_path, mode="inference")
    assert {(run.window, run.steps) for run in runs} == {(60.0, None)}
    assert runs[0].problem_parameters["softmax"] is True
    _, runs = loaded(tmp_path, mode="inference", window=5)
    assert {run.window for run in runs} == {5.0}


def test_recurrent_settings_agree_with_the_layers(tmp_path: Path) -> None:
    recurrent = {
        "optimizer_mode": "recurrent",
        "state_sizes": [3],
        "train_seq_length": 5,
        "test_seq_length": 5,
        "truncated_backprop_length": 5,
    }
    assert len(loaded(tmp_path, LSTM, **recurrent)[1]) == 6
    wrong = {"state_sizes": [4], "train_seq_length": 6, "truncated_backprop_length": 2}
    found, _ = check(written(tmp_path, LSTM, **{**recurrent, **wrong}))
    assert [fault.field for fault in found] == [
        "state_sizes",
        "train_seq_length",
        "truncated_backprop_length",
    ]
    assert "gradients are not truncated" in found[-1].message


def test_aws_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, aws=True)
    with pytest.raises(UsageError) as error:
        load(path)
    line = path.read_text().splitlines().index("aws = True") + 1
    assert str(error.value).startswith(
        f"{path}:{line}: aws must be False, got true: runs happen on this machine"
    )


WRONG = """\
from benchmarker import blueprint as bp
_size = 4
architecture = bp.model(
    bp.InputLayer((6,)),
    bp.FullyConnected(_size, activation="rellu"),
    bp.LSTM(3, False),
)
loss_function = "l2"
learning_rte = 0.1
learning_rate = -0.1
optimizer = "shampoo"
frameworks = ["numpy", "caffe"]
batch_size = 0
runs = "many"
numpy_seed = -1
aws = True
helper = 3
import os
def tool(): return 1
"""


def test_every_fault_is_told_at_once_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "bp.py"
    path.write_text(WRONG)
    found, _ = check(path)
    assert [(fault.line, fault.field) for fault in found] == [
        (3, "architecture[1].activation"),
        (8, "loss_function"),
        (9, "learning_rte"),
        (10, "learning_rate"),
        (11, "optimizer"),
        (12, "frameworks[1]"),
        (13, "batch_size"),
        (14, "runs"),
        (15, "numpy_seed"),
        (16, "aws"),
        (17, "helper"),
    ]
    text = "\n".join(map(str, found))
    assert "layer 2 (FullyConnected): 'activation' must be 'linear'" in text
    assert "learning_rte is not a field of a blueprint; did you mean 'learning_rate'?" in text
    assert "unknown framework 'caffe'" in text
    assert "a name of your own begins with _" in text


def test_layers_that_do_not_fit_are_told_with_the_line_of_the_architecture(tmp_path: Path) -> None:
    found, _ = check(written(tmp_path, LSTM.replace("InputLayer((5, 4))", "InputLayer((5,))")))
    assert [(fault.line, fault.field) for fault in found] == [(2, "architecture[1]")]
    assert "layer 2 (LSTM) needs a sequence, got features of 5" in found[0].message


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("from rysia.core import blueprint as bp\n", ":1: Rysia's layers are here: write 'from benchmarker"),
        ("import nothing_like_this\n", ":1: the blueprint ended with ModuleNotFoundError: No module"),
        (
            IMPORT + "\narchitecture = bp.model(bp.InputLayer((3,)), 4)\n",
            ":3: the blueprint ended with layer 2 of",
        ),
        (IMPORT + "architecture = bp.FullyConnected()\n", ":2: the blueprint ended with TypeError: "),
        ("x = (1\n", ":1: the blueprint is not Python: '(' was never closed"),
        ("raise SystemExit(3)\n", ":1: the blueprint ended with SystemExit: 3"),
        ("def f():\n    return 1 / 0\n\nf()\n", ":2: the blueprint ended with ZeroDivisionError"),
        ("raise ValueError('one\\ntwo\\n\\nthree')\n", ":1: the blueprint ended with ValueError: one"),
        ("raise ValueError\n", ":1: the blueprint ended with ValueError"),
        ("x = 1\ny = '\0'\n", ":2: a blueprint is text, but there is a null character here"),
        ("x = " + "-" * 99999 + "1\n", "' is nested too deeply"),
        (
            IMPORT + "_x = bp.Dropout()\nbp.Residual(_x, layers=[_x])\n",
            ":3: the blueprint ended with a Residual takes its layers one after the other or as layers=[...]",
        ),
    ],
)
def test_a_file_that_does_not_run_is_one_sentence(tmp_path: Path, source: str, message: str) -> None:
    path = tmp_path / "bp.py"
    path.write_text(source)
    with pytest.raises(UsageError) as error:
        load(path)
    assert f"{path}{message}" in str(error.value)
    assert "\n" not in str(error.value)


def test_an_architecture_must_be_a_model(tmp_path: Path) -> None:
    found, _ = check(written(tmp_path, "architecture = bp.model\n"))
    assert [(fault.line, fault.field) for fault in found] == [(2, "architecture")]
    assert "must be bp.model(...), got <function model" in found[0].message


OWN = "problem = 'mnist_mlp'\nframework = 'numpy'\n"
ITSELF = "_itself = []\n_itself.append(_itself)\n"
ODD = [
    (
        OWN + "batch_size = (n for n in (2, 4))\n",
        "batch_size must be a whole number from 1 to 2147483647, or a list of",
    ),
    (
        OWN + "batch_size = [(n for n in (2, 4))]\n",
        "batch_size[0] must be a whole number from 1 to 2147483647, got <gen",
    ),
    (OWN + ITSELF + "batch_size = _itself\n", "batch_size contains itself or is nested too deeply"),
    (OWN + "set = {}\nset['a'] = set\n", "set contains itself or is nested too deeply"),
    (OWN + "set = {1: 2}\n", "set.1: none of 'mnist_mlp', 'numpy' has a parameter '1'"),
    (OWN + "timeout = 10**400\n", "timeout must be a number above 0, got 1000"),
    (OWN + "timeout = -10**5000\n", "timeout must be a number above 0, got a value of type int"),
    (OWN + "data_dir = 'a\\0b'\n", "data_dir must have no null character, got 'a\\x00b'"),
    (ITSELF + "framework = _itself\nproblem = 'mnist_mlp'\n", "framework contains itself or is nested too"),
    (
        IMPORT
        + ITSELF
        + "framework = 'numpy'\narchitecture = bp.model(bp.InputLayer(_itself), bp.Dropout())\n",
        "architecture contains itself or is nested too deeply",
    ),
    (
        IMPORT
        + "framework = 'numpy'\narchitecture = bp.model(bp.InputLayer((3,)), bp.LSTM(n for n in (1, 2)))\n",
        "architecture[1].size: layer 2 (LSTM): 'size' must be a whole number of at least 1, got <generator",
    ),
    (
        IMPORT + "framework = 'numpy'\narchitecture = bp.model(bp.InputLayer((3,)), bp.Residual(layers=3))\n",
        "architecture[1].layers: layer 2 (Residual): 'layers' must be a list of layers, at least 1, got 3",
    ),
]


@pytest.mark.parametrize(("source", "message"), ODD, ids=[message[:30] for _, message in ODD])
def test_a_value_that_no_blueprint_can_hold_is_one_fault(tmp_path: Path, source: str, message: str) -> None:
    path = tmp_path / "bp.py"
    path.write_text(source)
    found, _ = check(path)
    assert [fault.message for fault in found if fault.message.startswith(message)] == [found[0].message]
    assert len(found) == 1
    assert "\n" not in str(found[0])


def test_numbers_and_arrays_of_numpy_are_values(tmp_path: Path) -> None:
    path = tmp_path / "bp.py"
    path.write_text(
        IMPORT + "import numpy as np\nfrom pathlib import Path\nframework = 'numpy'\n"
        "architecture = bp.model(bp.InputLayer(np.array([6])), bp.Dropout(np.float32(0.25)),"
        " bp.FullyConnected(np.int64(4)))\n"
        "batch_size = np.int64(4)\nseed = np.arange(2)\nlearning_rate = np.float32(0.5)\n"
        "verify = np.bool_(False)\nresults = Path('a') / 'b'\n"
    )
    assert check(path) == ([], 2)
    blueprint = load(path)
    runs = plan(Experiment(**blueprint.values))
    assert [(run.batch_size, run.seed) for run in runs] == [(4, 0), (4, 1)]
    assert {type(run.batch_size) for run in runs} == {type(run.seed) for run in runs} == {int}
    assert (runs[0].optimizer.learning_rate, runs[0].verify) == (0.5, False)
    assert json.loads(runs[0].problem_parameters["layers"])[1:] == [
        {"layer": "Dropout", "ratio": 0.25},
        {"layer": "FullyConnected", "size": 4},
    ]
    assert blueprint.results == "a/b"


def test_our_own_fields_may_stand_in_a_python_file(tmp_path: Path) -> None:
    path = tmp_path / "bp.py"
    path.write_text(
        "problem = ['mnist_mlp', {'name': 'conv2d', 'filters': 2}]\nframework = 'numpy'\nmonitors = ['cpu']\n"
        "optimizer = {'kind': 'adam', 'beta1': 0.8}\nlearning_rate = [0.1, 0.2]\nbatch_size = (2, 4)\n"
    )
    found, count = check(path)
    assert (found, count) == ([], 8)
    runs = plan(Experiment(**load(path).values))
    assert {run.monitors for run in runs} == {("cpu",)}
    assert {run.optimizer for run in runs} == {Optimizer("adam", rate, beta1=0.8) for rate in (0.1, 0.2)}


def test_what_a_file_prints_goes_to_standard_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bp.py"
    path.write_text("print('hello')\nproblem = 'mnist_mlp'\nframework = 'numpy'\n")
    load(path)
    assert capsys.readouterr() == ("", "hello\n")


def test_the_layers_of_a_file_are_the_problems(tmp_path: Path) -> None:
    _, runs = loaded(tmp_path, LSTM)
    built = registry.problem("architecture").graph(2, **runs[0].problem_parameters)
    assert built.parameter_count == 4 * 3 * (4 + 3 + 2) + 3 * 2 + 2
    assert json.loads(runs[0].problem_parameters["layers"])[1] == {"layer": "LSTM", "size": 3}
