"""TOML blueprints: the line of everything, every fault at once, and what they become."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem_scheme import ProblemReference
from benchmarker.api.suite import Request
from benchmarker.errors import UsageError
from benchmarker.experiment.blueprint.loading import check, load
from benchmarker.experiment.blueprint.toml_lines import key_lines
from benchmarker.experiment.planning import plan
from benchmarker.experiment.spec import Experiment, RunSpec
from tests.support.toml import tomllib

TRICKY = r'''# title = "in a comment"
a = 1 # [not.a.table]
"b # = [c]" = "x = # ["
d.e . "f.g" = [1, # one
  2, [3,
 4], {x = 1, y.z = [ "a,]", 'b}'] } ]
s = """
[no]
k = 1 \""" x
""""
t = '''
TRICKY += """'''
[[no]]'''
u = 1979-05-27 07:32:00
[p]
name = "x\\"="
[[p.layers]]
layer = "A"
[[p.layers]]
layer = "B"
  [p.layers.sub]
  q = 1
[p.layers.sub.r]
[[z]]
[[z]]
'y' = -1e5
"""
AT = {
    ("a",): 2,
    ("b # = [c]",): 3,
    ("d", "e", "f.g", 1): 5,
    ("d", "e", "f.g", 2, 1): 6,
    ("d", "e", "f.g", 3, "y", "z", 1): 6,
    ("s",): 7,
    ("t",): 11,
    ("u",): 13,
    ("p",): 14,
    ("p", "layers", 0): 16,
    ("p", "layers", 1, "layer"): 19,
    ("p", "layers", 1, "sub", "q"): 21,
    ("p", "layers", 1, "sub", "r"): 22,
    ("z", 0): 23,
    ("z", 1, "y"): 25,
}


def paths(value: Any, steps: tuple[Any, ...] = ()) -> set[tuple[Any, ...]]:
    found = {steps} if steps else set()
    members = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for step, member in members:
        found |= paths(member, (*steps, step))
    return found


def test_every_key_and_item_has_its_line() -> None:
    lines = key_lines(TRICKY)
    assert set(lines) == paths(tomllib.loads(TRICKY))
    assert {steps: lines[steps] for steps in AT} == AT


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_lines_do_not_depend_on_how_they_end(ending: str, tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_bytes(ending.join(["# x", 'framework = "numpy"', "batch_size = [", " 4,", " 0]", ""]).encode())
    found, _ = check(path)
    assert [fault.line for fault in found] == [None, 5]


WRONG = """\
description = "x = # not a comment"
frameworks = "numpy"
framework = ["numpy", "numppy", { name = "pytorch", compile = "often", compil = true }]
batch_size = [
  4, # fine
  0,
]
mode = "train"
epochs = 3
[optimizer]
kind = "sgd"
momentum = 0.5
learning_rate = -1
[[problem]]
name = "mnist_mlp"
hiden1 = 3
hidden2 = ["x", 4]
[[problem]]
loss = "l2"
[[problem.layers]]
layer = "InputLayer"
shape = [8]
[[problem.layers]]
layer = "Convolution"
channel = 0
kernel_size = 3
[accept]
min_thruput = 3
[set]
when = 1979-05-27
"""
FAULTS = [
    (2, "frameworks", "is not a field of a blueprint; did you mean 'framework'?"),
    (3, "framework[1]", "unknown framework 'numppy'; did you mean 'numpy'?"),
    (3, "framework[2].compile", "'compile' must be true or false, got 'often'"),
    (3, "framework[2].compil", "has no parameter 'compil'; did you mean 'compile'?"),
    (6, "batch_size[1]", "must be a whole number from 1 to 2147483647, got 0"),
    (
        8,
        "mode",
        "must be 'inference', 'training', 'gradient' or 'generation', or a list of them, got 'train'; did you mean",
    ),
    (9, "epochs", "3 epochs need a problem size, the number of samples of an epoch"),
    (
        12,
        "optimizer.momentum",
        "optimizer 'sgd' has no momentum; momentum, nesterov, lars, muon, schedule_free_sgd have",
    ),
    (13, "optimizer.learning_rate", "must be a number of at least 0, or a list of them, got -1"),
    (16, "problem[0].hiden1", "problem 'mnist_mlp' has no parameter 'hiden1'; did you mean 'hidden1'?"),
    (17, "problem[0].hidden2[0]", "'hidden2' must be a whole number, got 'x'"),
    (
        19,
        "problem[1].loss",
        "must be 'cross_entropy', 'mean_squared_error' or 'soft_cross_entropy', or a list of them",
    ),
    (25, "problem[1].layers[1].channel", "layer 2 (Convolution): 'channel' must be a whole number of at"),
    (28, "accept.min_thruput", "is not known; did you mean 'min_throughput'?"),
    (30, "set.when", "must be a text, a finite number, true or false, or a list of them, got 1979-05-27"),
]


def written(tmp_path: Path, text: str, name: str = "bp.toml") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def test_every_fault_is_told_at_once_with_line_field_value_and_what_is_allowed(tmp_path: Path) -> None:
    found, runs = check(written(tmp_path, WRONG))
    assert runs == 0
    assert [(fault.line, fault.field) for fault in found] == [(line, field) for line, field, _ in FAULTS]
    for fault, (_, field, message) in zip(found, FAULTS):
        assert fault.message.startswith(field)
        assert message in fault.message
        assert str(fault).startswith(f"{tmp_path}/bp.toml:{fault.line}: {field}")


SINGLE = [
    ('framework = "numpy"', None, "problem is missing"),
    ('problem = "mnist_mlp"', None, "framework is missing"),
    ('framework = "numpy"\nproblem = "mnist_mpl"', 2, "did you mean 'mnist_mlp'?"),
    (
        'framework = "numpy"\n[problem]\nname = "x"\n[[problem.layers]]\nlayer = "Dropout"',
        4,
        "problem.layers cannot be given together with 'name': a problem is either named or described by its layers",
    ),
    ('framework = "numpy"\nproblem.layers = [{layer = ["LSTM"]},\n{layer = "Dropout"}]', 2, "layer 1 must be 'Input"),
    ('framework = "numpy"\nproblem.layers = [{layer = {a = 1}},\n{layer = "Dropout"}]', 2, 'got {"a": 1}'),
    ('framework = "numpy"\nproblem = "mnist_mlp"\nresults = "a\\u0000"', 3, "no null character, got 'a\\x00'"),
    ('framework = "numpy"\nproblem = "mnist_mlp"\n"a\\nb" = 3', 3, "a\\nb is not a field of a blueprint"),
    ('framework = "numpy"\nproblem = "mnist_mlp"\ntimeout = 1' + "0" * 400, 3, "a number above 0, got 1000"),
    ('framework = "numpy"\nproblem = {loss = "x"}', 2, "needs 'name', the name of a problem, or 'layers'"),
    ('framework = {version = "2"}\nproblem = "mnist_mlp"', 1, "framework needs 'name', a name"),
    ('framework = {name = "numpy", version = "new"}\nproblem = "mnist_mlp"', 1, "must look like 2.13.0"),
    ('framework = 3\nproblem = "mnist_mlp"', 1, "must be a name like 'pytorch' or 'pytorch==2.13.0', or a table"),
    ('framework = ["numpy", "numpy"]\nproblem = "mnist_mlp"', 1, "must be named once, got 'numpy' again"),
    ('framework = "numpy"\nproblem = "mnist_mlp"\nseed = [1, 2, 1]', 3, "seed[2] must be named once, got 1 again"),
    ('framework = "numpy"\nproblem = "mnist_mlp"\nseed = true', 3, "0 to 4294967295, or a list of them, got true"),
    ('framework = "numpy"\nproblem = "mnist_mlp"\nrepeats = [1]', 3, "repeats must be a whole number from 1"),
    ('framework = "numpy"\nproblem = "mnist_mlp"\ntimeout = inf', 3, "timeout must be a number above 0, got"),
    ('framework = "numpy"\nproblem = "mnist_mlp"\nmonitors = ["cpuu"]', 3, "unknown collector 'cpuu'; did you mean"),
    ('framework = "numpy"\nproblem = "mnist_mlp"\nlauncher = "slrum"', 3, "unknown launcher 'slrum'; did you mean"),
    ('framework = "numpy"\nproblem = "mnist_mlp"\nset.hiden1 = 3', 3, "set.hiden1: none of 'mnist_mlp', 'numpy' has"),
    ('framework = "numpy"\nproblem = "mnist_mlp"\n[set.mnist_mlp]\nhidden1 = "x"', 4, "set.mnist_mlp.hidden1: "),
    ('framework = "numpy"\nproblem = "mnist_mlp"\nproblem_size = 30', 3, "multiple of the batch size, got 30"),
    ('framework = "numpy"\nproblem = "mnist_mlp"\nsteps = 3\nproblem_size = 128', 3, "either a number of steps or"),
    ('framework = "numpy"\nproblem = "mnist_mlp"\nwindow = 3', 3, "window is for inference, got the mode training"),
    ('framework = "numpy"\nproblem = "mnist_mlp"\nmode = "inference"\nwindow = 3\nsteps = 3', 4, "not both"),
    ('framework = "numpy"\nproblem = "mnist_mlp"\naccept.min_batches_per_second = 3', 3, "is for inference, got"),
    ('framework = "numpy"\nproblem = "mnist_mlp"\naccept.min_accuracy = 0.9', 3, "needs a data set"),
    ('framework = "numpy"\nproblem = "mnist_mlp"\naccept.max_loss = nan', 3, "a finite number, got NaN"),
    ('framework = "numpy"\nproblem = "mnist_mlp"\noptimizer = {kind = "sgdd"}', 3, "did you mean 'sgd'?"),
    ('framework = "numpy"\nproblem = "mnist_mlp"\noptimizer = {momentum = 0.5}', 3, "'sgd' has no momentum"),
    ('framework = "numpy"\nproblem = "mnist_mlp"\nprecision = "bf16"', None, "no run is possible: framework 'numpy'"),
    ('framework = "numpy"\nproblem = {name = "mnist_mlp", hidden1 = 0}', 2, "'hidden1' must be a whole number from 1"),
    ('framework = "numpy"\nproblem = "mnist_mlp"\ngpus = [0]\ndevice = "cpu"', 3, "--gpus=0 needs --device=cuda"),
    ('framework = "numpy"\nproblem = "mnist_mlp"\ngpus = [0, [1]]', 3, "0 to 2147483647, or a list of such lists"),
    ('framework = "numpy"\nproblem = "mnist_mlp"\ndata = "voices"', 3, "unknown data set 'voices'; known: breast"),
    ('framework = "numpy"\n[[problem.layers]]\nlayer="InputLayer"\nshape=[3]\n[[problem.layers]]\nlayer="LSTM"\nsize=2',
     5, "layer 2 (LSTM) needs a sequence, got features of 3"),
    ('framework = "numpy"\nproblem.layers = []', 2, "an InputLayer and at least one layer after it, got 0"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line", "message"), SINGLE, ids=[text[-40:] for text, _, _ in SINGLE])
def test_a_single_fault(tmp_path: Path, text: str, line: int | None, message: str) -> None:
    found, _ = check(written(tmp_path, text))
    assert len(found) == 1, [str(fault) for fault in found]
    assert found[0].line == line
    assert message in str(found[0])
    assert "\n" not in str(found[0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = 1\nb = ", "bp.toml:2: the blueprint is not TOML: Invalid value"),
        (
            "a = 1\na = 2\nb = 1",
            "bp.toml:2: the blueprint is not TOML: Cannot overwrite a value, at column 6",
        ),
        ("# x\n[a\n", "bp.toml:2: the blueprint is not TOML: "),
        ("a = 1\nb = '\0'", "bp.toml:2: a blueprint is text, but there is a null character here"),
        ("a = " + "[" * 9999 + "]" * 9999, "bp.toml' is nested too deeply"),
        ("a = 1" + "0" * 9999, "bp.toml' has a value that cannot be read: ValueError: "),
    ],
)
def test_what_is_not_toml_is_told_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        load(written(tmp_path, text))
    assert message in str(error.value)


@pytest.mark.parametrize("ending", ["toml", "py"])
def test_a_byte_order_mark_is_no_part_of_a_blueprint(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"bp.{ending}"
    path.write_text('framework = "numpy"\nproblem = "mnist_mlp"\nbatch_size = 0\n', encoding="utf-8-sig")
    found, _ = check(path)
    assert [(fault.line, fault.field) for fault in found] == [(3, "batch_size")]


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.toml' cannot be read: No such file"):
        load(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b"description = '\xff'")
    with pytest.raises(UsageError, match="must be UTF-8, but byte 15 is not"):
        load(tmp_path / "latin.toml")


# --- what it becomes -------------------------------------------------------------------------------


def runs(tmp_path: Path, text: str) -> list[RunSpec]:
    path = written(tmp_path, text)
    found, count = check(path)
    assert found == []
    planned = plan(Experiment(**load(path).values))
    assert count == len(planned)
    return planned


BASE = 'framework = "numpy"\nproblem = "mnist_mlp"\n'


def test_a_small_blueprint_is_the_command_with_the_same_options(tmp_path: Path) -> None:
    assert runs(tmp_path, BASE) == plan(Experiment(("numpy",), ("mnist_mlp",)))


def test_every_list_spans_the_matrix(tmp_path: Path) -> None:
    text = BASE + (
        'mode = ["training", "inference"]\nbatch_size = [2, 4]\nprecision = ["fp32", "fp64"]\nseed = [1, 2]\n'
        "threads = [1, 2]\nsteps = [3, 5]\nwarmup = [0, 1]\nrepeats = 2\n"
    )
    planned = runs(tmp_path, text)
    assert len(planned) == 2**8
    assert len({repr(run) for run in planned}) == 2**8
    assert {run.repetition for run in planned[: 2**7]} == {0}


def test_every_field_reaches_the_run(tmp_path: Path) -> None:
    (run,) = runs(
        tmp_path,
        BASE
        + 'mode = "inference"\nbatch_size = 2\nprecision = "fp64"\nseed = 7\nthreads = 1\naffinity = [0]\n'
        'env = "managed"\nwindow = 2\nwarmup = 0\ntimeout = 5\nverify = false\nmonitors = ["cpu", "os"]\n'
        'anonymous = true\ndescription = "all of it"\n',
    )
    assert run == RunSpec(
        "numpy",
        ProblemReference("mnist_mlp"),
        problem_parameters={"inputs": 784, "hidden1": 128, "hidden2": 64, "classes": 10},
        mode="inference",
        batch_size=2,
        precision="fp64",
        optimizer=Optimizer("sgd"),
        threads=1,
        affinity=(0,),
        seed=7,
        window=2.0,
        warmup=0,
        monitors=("cpu", "os"),
        verify=False,
        timeout=5.0,
        environment="managed",
        anonymous=True,
    )


def test_versions_and_options_of_frameworks(tmp_path: Path) -> None:
    planned = runs(
        tmp_path,
        'problem = "mnist_mlp"\n[[framework]]\nname = "pytorch"\nversion = ["2.12.0", "2.13.0"]\n'
        'compile = [false, true]\n[[framework]]\nname = "numpy"\n',
    )
    assert [(r.framework, r.framework_version, r.framework_options.get("compile")) for r in planned] == [
        ("pytorch", "2.12.0", False),
        ("pytorch", "2.12.0", True),
        ("pytorch", "2.13.0", False),
        ("pytorch", "2.13.0", True),
        ("numpy", None, None),
    ]


def test_problems_with_parameters_of_their_own(tmp_path: Path) -> None:
    planned = runs(
        tmp_path,
        'framework = "numpy"\nproblem = [{name = "conv2d", filters = [2, 4], height = 9}, "mnist_mlp", '
        '{name = "conv2d", kernel = 5}]\nset.conv2d.channels = 4\nset.classes = 3\n',
    )
    keys = ("channels", "height", "filters", "kernel", "classes")
    assert [tuple(run.problem_parameters.get(key) for key in keys) for run in planned] == [
        (4, 9, 2, 3, None),
        (4, 9, 4, 3, None),
        (None, None, None, None, 3),
        (4, 56, 64, 5, None),
    ]


def test_constants_of_optimizers_span_the_matrix(tmp_path: Path) -> None:
    planned = runs(
        tmp_path,
        BASE + '[[optimizer]]\nkind = ["momentum", "nesterov"]\nlearning_rate = [0.1, 0.2]\nmomentum = 0.8\n'
        '[[optimizer]]\nlearning_rate = 0.3\n[[optimizer]]\nkind = "rmsprop"\ndecay = [0.5, 0.9]\n'
        "epsilon = 1e-3\nweight_decay = 0.1\n",
    )
    assert [run.optimizer for run in planned] == [
        Optimizer("momentum", 0.1, 0.8),
        Optimizer("momentum", 0.2, 0.8),
        Optimizer("nesterov", 0.1, 0.8),
        Optimizer("nesterov", 0.2, 0.8),
        Optimizer("sgd", 0.3),
        Optimizer("rmsprop", decay=0.5, epsilon=1e-3, weight_decay=0.1),
        Optimizer("rmsprop", decay=0.9, epsilon=1e-3, weight_decay=0.1),
    ]


def test_epochs_and_a_window_stand_beside_each_other(tmp_path: Path) -> None:
    training, inference = runs(
        tmp_path, BASE + 'mode = ["training", "inference"]\nproblem_size = 256\nepochs = 3\nwindow = 0.5\n'
    )
    assert (training.steps, training.window) == (6, None)
    assert (inference.steps, inference.window) == (None, 0.5)


def test_layers_become_the_problem_architecture(tmp_path: Path) -> None:
    planned = runs(
        tmp_path,
        'framework = "numpy"\n[problem]\nloss = ["cross_entropy", "mean_squared_error"]\n'
        '[[problem.layers]]\nlayer = "InputLayer"\nshape = [8]\n'
        '[[problem.layers]]\nlayer = "FullyConnected"\nactivation = "relu"\nsize = 3\n',
    )
    text = '[{"layer":"InputLayer","shape":[8]},{"layer":"FullyConnected","size":3,"activation":"relu"}]'
    assert [(run.problem.name, run.problem_parameters) for run in planned] == [
        ("architecture", {"layers": text, "loss": loss, "softmax": False})
        for loss in ("cross_entropy", "mean_squared_error")
    ]


def test_sets_of_cpus(tmp_path: Path) -> None:
    values = load(written(tmp_path, BASE + "affinity = [[0], [0, 1]]\ngpus = [2]\n")).values
    assert values["affinity"] == ((0,), (0, 1))
    assert (values["gpus"], values["devices"]) == (((2,),), ("cuda",))
    assert values["problems"] == (Request("mnist_mlp"),)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ('data = "mnits"', "did you mean 'mnist'?"),
        ('inputs = "feed"', "did you mean 'fed'?"),
        ('data_dir = "x"', "the folder 'x' needs the name of a data set"),
    ],
)
def test_data_sets_that_make_no_sense_are_named(tmp_path: Path, fields: str, message: str) -> None:
    found, _ = check(written(tmp_path, BASE + fields))
    assert [fault.line for fault in found] == [3]
    assert message in found[0].message
