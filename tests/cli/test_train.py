"""``train`` as its user sees it: records, tables, resuming, and what is refused in a sentence."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest

import benchmarker
from benchmarker.errors import UsageError
from benchmarker.records.schema import validate
from tests.conftest import Command

QUICK = """\
data = "digits"
batch_size = 64
optimizer = {{ kind = "momentum", learning_rate = 0.1, momentum = 0.9 }}
[problem]
layers = [
    {{ layer = "InputLayer", shape = [64] }},
    {{ layer = "FullyConnected", size = 16, activation = "relu" }},
    {{ layer = "FullyConnected", size = 10 }},
]
[training]
target = {{ metric = "accuracy", value = {target} }}
limits = {{ epochs = 3 }}
{more}
"""


def quick(command: Command, target: float = 0.5, more: str = "", name: str = "quick.toml") -> str:
    (command.folder / name).write_text(QUICK.format(target=target, more=more))
    return name


@pytest.fixture
def numpy_here(command: Command) -> list[str]:
    return ["--framework=numpy", "--env=current", "--threads=1"]


@pytest.mark.framework("numpy")
def test_each_seed_is_a_record_with_its_curve(command: Command, numpy_here: list[str]) -> None:
    finished = command("train", quick(command), *numpy_here, "--seeds=2", "--json")
    assert finished.status == 0, finished.stderr
    first, second = finished.records
    assert [first["seed"], second["seed"]] == [0, 1]
    for record in (first, second):
        assert validate(record) == []
        assert record["status"] == "ok"
        assert record["verification"]["status"] == "passed"
        assert record["verification"]["after_timing"]["status"] == "passed"
        training = record["training"]
        assert training["recipe"]["name"] == "quick"
        assert training["outcome"] == "target"
        assert record["metrics"]["steps_to_target"] == training["hit"]["step"]
        assert training["curve"]["step"][0] == 0
    assert first["training"]["recipe"]["digest"] == second["training"]["recipe"]["digest"]
    assert first["training"]["digests"]["split"] == second["training"]["digests"]["split"]
    assert first["training"]["digests"]["order"] != second["training"]["digests"]["order"]
    assert first["comparable"]["hash"] == second["comparable"]["hash"]


@pytest.mark.framework("numpy")
def test_a_training_again_is_the_same(command: Command, numpy_here: list[str]) -> None:
    arguments = ("train", quick(command), *numpy_here, "--seed=4", "--json")
    found = [command(*arguments).records[0]["training"] for _ in range(2)]
    assert found[0]["digests"] == found[1]["digests"]
    assert found[0]["curve"]["correct"] == found[1]["curve"]["correct"]


@pytest.mark.framework("numpy")
def test_its_command_repeats_it(command: Command, numpy_here: list[str]) -> None:
    finished = command("train", quick(command), *numpy_here, "--seed=4", "--no-early-stop", "--json")
    (record,) = finished.records
    assert record["command"][:5] == ["python", "-m", "benchmarker", "train", "quick.toml"]
    again = command(*record["command"][3:], "--json")
    assert again.status == 0, again.stderr
    asked = {**record["specification"], "framework_version": record["framework"]["version"]}
    assert again.records[0]["specification"] == asked
    assert again.records[0]["training"]["digests"] == record["training"]["digests"]


def test_run_takes_a_recipe_too(command: Command, numpy_here: list[str]) -> None:
    (plan,) = command("run", f"--recipe={quick(command)}", *numpy_here, "--dry-run", "--json").records
    assert plan["training"]["name"] == "quick"
    both = command("run", "quick.toml", "--recipe=digits_mlp", *numpy_here)
    assert both.status == 2
    assert "give either a blueprint or the recipe 'digits_mlp'" in both.stderr


@pytest.mark.framework("numpy")
def test_one_training_is_a_summary_and_several_a_table(command: Command, numpy_here: list[str]) -> None:
    recipe = quick(command)
    one = command("train", recipe, *numpy_here, "--seed=0")
    assert one.status == 0, one.stderr
    text = " ".join(one.stdout.split())
    assert "recipe quick, on numpy" in text
    assert "steps (" in text
    assert "evaluation left out" in text
    assert "by the float64 reference" in text
    assert "shares differ from the data set's by" in text
    wide = replace(command, environment={**command.environment, "COLUMNS": "200"})
    several = wide("train", recipe, *numpy_here, "--seeds=3")
    assert several.status == 0, several.stderr
    assert "quick (closed): accuracy of at least 0.5 on the test split" in several.stdout
    assert "3 of 3 [0.29, 1.00]" in several.stdout
    assert "Olympic mean: without the fastest and the slowest run." in several.stdout


@pytest.mark.framework("numpy")
def test_resuming_leaves_out_what_was_trained(command: Command, numpy_here: list[str]) -> None:
    arguments = ("train", quick(command), *numpy_here, "--resume")
    assert command(*arguments, "--seed=0").status == 0
    again = command(*arguments, "--seed=0,1")
    assert again.status == 0, again.stderr
    assert "1 of 2 runs already have an ok record" in again.stderr


@pytest.mark.framework("numpy")
def test_a_target_that_is_missed_is_censored_and_no_failure(command: Command, numpy_here: list[str]) -> None:
    finished = command("train", quick(command, 0.999), *numpy_here, "--seed=0", "--json")
    assert finished.status == 0, finished.stderr
    (record,) = finished.records
    assert record["training"]["outcome"] == "epochs"
    assert not record["training"]["reached"]
    assert record["metrics"]["steps_to_target"] is None
    assert "not reached" in command("train", "quick.toml", *numpy_here, "--seed=0").stdout
    limited = command("train", "quick.toml", *numpy_here, "--seed=0", "--accept=max_steps_to_target=1000")
    assert limited.status == 1
    assert "steps_to_target is missing, as the target was not reached, must be at most 1000" in limited.stderr


@pytest.mark.framework("numpy")
def test_a_diverging_training_is_a_record(command: Command, numpy_here: list[str]) -> None:
    recipe = quick(command)
    text = (command.folder / recipe).read_text().replace("learning_rate = 0.1", "learning_rate = 1e30")
    (command.folder / recipe).write_text(text)
    finished = command("train", recipe, *numpy_here, "--seed=0", "--json", "--no-verify")
    assert finished.status == 0, finished.stderr
    (record,) = finished.records
    assert validate(record) == []
    assert record["training"]["outcome"] == "diverged"
    assert record["training"]["diverged"]["step"] >= 1


def test_a_plan_runs_nothing(command: Command, numpy_here: list[str]) -> None:
    finished = command("train", "digits_mlp", *numpy_here, "--seeds=3", "--dry-run", "--json")
    assert finished.status == 0, finished.stderr
    plans: list[dict[str, Any]] = [json.loads(line) for line in finished.stdout.splitlines()]
    assert [plan["seed"] for plan in plans] == [0, 1, 2]
    assert {plan["training"]["name"] for plan in plans} == {"digits_mlp"}
    assert not (command.folder / "results").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("digits_mpl",), "unknown recipe 'digits_mpl'; did you mean 'digits_mlp'?"),
        (("absent.toml",), "the blueprint 'absent.toml' cannot be read"),
        (
            ("digits_mlp", "--batch-size=64"),
            "recipe 'digits_mlp' fixes its batch size, and leaves nothing to change",
        ),
        (("digits_mlp", "--learning-rate=0.1"), "recipe 'digits_mlp' fixes its optimizer"),
        (("digits_mlp", "--precision=fp64"), "recipe 'digits_mlp' fixes its precision"),
        (("digits_mlp", "--seeds=2", "--seed=1"), "give either --seeds, how many there are, or --seed"),
        (("digits_mlp", "--steps=3"), "unknown option '--steps'"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(
    arguments: tuple[str, ...], sentence: str, command: Command, numpy_here: list[str]
) -> None:
    finished = command("train", *arguments, *numpy_here)
    assert finished.status == 2
    assert sentence in finished.stderr
    assert finished.stderr.count("\n") == 1
    assert not (command.folder / "results").exists()


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (
            "[training.schedules.learning_rate]\nkind = 'cosine'\nlength = 10",
            "ends after 10 steps, but the training",
        ),
        (
            "[training.schedules.weight_decay]\nkind = 'cosine'",
            "a schedule multiplies the weight decay of the",
        ),
        ("split = { train = 0.999, test = 0.001 }", "leaves none of class"),
        ("sampler = 'shufled'", "quick.toml:13: training.sampler is not valid: unknown sampler 'shufled'"),
        (
            "evaluate_evry = 3",
            "quick.toml:13: training.evaluate_evry is not known; did you mean 'evaluate_every'?",
        ),
        ("division = 'opne'", "did you mean 'open'?"),
        (
            "[training.schedules.learning_rate]\nkind = 'exponential'\nfactor = 1e300\nevery = 1",
            "the schedule of the learning rate grows beyond all numbers",
        ),
        (
            "augmentation = 'flip'",
            "training.augmentation is not valid: augmentation must be a list of steps",
        ),
    ],
)
def test_a_recipe_that_makes_no_sense_is_refused_with_its_place(
    more: str, sentence: str, command: Command, numpy_here: list[str]
) -> None:
    finished = command("train", quick(command, more=more), *numpy_here)
    assert finished.status == 2
    assert sentence in finished.stderr
    assert finished.stderr.count("\n") == 1


@pytest.mark.parametrize("limits", ["epochs = 1e300", "epochs = 1e308", "steps = 2147483647"])
def test_a_training_beyond_all_bounds_is_refused(
    limits: str, command: Command, numpy_here: list[str]
) -> None:
    recipe = quick(command)
    (command.folder / recipe).write_text((command.folder / recipe).read_text().replace("epochs = 3", limits))
    finished = command("train", recipe, *numpy_here)
    assert finished.status == 2
    assert "a training takes at most 10,000,000 steps, got 2,147,483,647; lower its limits" in finished.stderr
    assert finished.stderr.count("\n") == 1
    assert not (command.folder / "results").exists()


@pytest.mark.parametrize("where", ["quick.toml", "/proc/no-such-folder"])
def test_a_folder_of_checkpoints_that_cannot_be_written_is_refused(
    where: str, command: Command, numpy_here: list[str]
) -> None:
    more = ("--checkpoint-every=1", f"--checkpoints={where}")
    finished = command("train", quick(command), *numpy_here, *more)
    assert finished.status == 2
    assert f"checkpoints must go to a folder that can be written, got '{where}'" in finished.stderr
    assert finished.stderr.count("\n") == 1
    assert not (command.folder / "results").exists()


def test_patterns_of_weight_decay_that_no_parameter_has_are_refused(
    command: Command, numpy_here: list[str]
) -> None:
    recipe = quick(command)
    decay = "momentum = 0.9, weight_decay = 0.1, decay_of = 'layer2.* conv*'"
    text = (command.folder / recipe).read_text().replace("momentum = 0.9", decay)
    (command.folder / recipe).write_text(text)
    finished = command("train", recipe, *numpy_here)
    assert finished.status == 2
    assert "quick.toml:3: optimizer: weight decay is set for 'conv*', but no parameter of" in finished.stderr
    assert finished.stderr.count("\n") == 1


def test_a_blueprint_without_a_training_is_no_recipe(command: Command, numpy_here: list[str]) -> None:
    (command.folder / "steps.toml").write_text('problem = "mnist_mlp"\n')
    finished = command("train", "steps.toml", *numpy_here)
    assert finished.status == 2
    assert "'steps.toml' has no [training] table, so it is not a recipe" in finished.stderr


@pytest.mark.framework("numpy")
def test_an_open_recipe_may_be_changed_where_it_says(command: Command, numpy_here: list[str]) -> None:
    recipe = quick(command, more="division = 'open'\nmay_change = ['optimizer']")
    changed = command("train", recipe, *numpy_here, "--learning-rate=0.2", "--seed=0", "--json")
    assert changed.status == 0, changed.stderr
    plain = command("train", recipe, *numpy_here, "--seed=0", "--json")
    digests = [found.records[0]["training"]["recipe"]["digest"] for found in (changed, plain)]
    assert digests[0] != digests[1]
    refused = command("train", recipe, *numpy_here, "--batch-size=32")
    assert refused.status == 2
    assert "fixes its batch size, and leaves optimizer to change" in refused.stderr


CHANGED = ("--set=training.limits.epochs=1", '--set=training.schedules.learning_rate={"kind":"cosine"}')


@pytest.mark.framework("numpy")
def test_an_open_recipe_s_schedules_limits_and_augmentation_are_set(
    command: Command, numpy_here: list[str]
) -> None:
    recipe = quick(command, 0.999, "division = 'open'\nmay_change = ['schedules', 'limits', 'augmentation']")
    arguments = ("train", recipe, *numpy_here, "--seed=0", "--json")
    (plain,) = command(*arguments).records
    changed = command(*arguments, *CHANGED, '--set=training.augmentation=[{"name":"shift","pixels":1}]')
    assert changed.status == 0, changed.stderr
    (record,) = changed.records
    assert record["training"]["steps"] == plain["training"]["steps"] / 3
    assert record["specification"]["training"]["augmentation"] == [{"name": "shift", "pixels": 1}]
    assert record["training"]["digests"]["constants"].keys() == {"learning_rate"}
    assert record["training"]["recipe"]["digest"] != plain["training"]["recipe"]["digest"]
    (again,) = command(*record["command"][3:], "--json").records
    assert again["training"]["digests"] == record["training"]["digests"]


@pytest.mark.framework("numpy")
def test_python_run_and_blueprints_set_the_same_of_an_open_recipe(
    command: Command, numpy_here: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = quick(command, 0.999, "division = 'open'\nmay_change = ['schedules', 'limits', 'augmentation']")
    monkeypatch.chdir(command.folder)
    step = {"name": "shift", "pixels": 1}
    settings: dict[str, Any] = {
        "training.limits.epochs": 1,
        "training.schedules.learning_rate": {"kind": "cosine"},
        "training.augmentation": [step],
    }
    own = "\n[set.training]\n'limits.epochs' = 1\naugmentation = [{ name = 'shift', pixels = 1 }]\n"
    own += "schedules = { learning_rate = { kind = 'cosine' } }\n"
    (command.folder / "changed.toml").write_text((command.folder / recipe).read_text() + own)
    fixed: dict[str, Any] = {"framework": "numpy", "dry_run": True}
    (planned,) = benchmarker.run(recipe=recipe, set=settings, **fixed).plan
    nested_settings = {"training": {name.partition(".")[2]: value for name, value in settings.items()}}
    (nested,) = benchmarker.run(recipe, set=nested_settings, **fixed).plan
    (of_file,) = benchmarker.run("changed.toml", **fixed).plan
    flags = [*CHANGED, f"--set=training.augmentation={json.dumps([step])}", "--dry-run", "--json"]
    (commanded,) = command("run", f"--recipe={recipe}", "--framework=numpy", *flags).records
    tables = [one["training"] for one in (planned, nested, of_file, commanded)]
    assert [table | {"name": ""} for table in tables] == [tables[0] | {"name": ""}] * 4
    assert tables[0]["limits"] == {"epochs": 1.0}
    assert tables[0]["schedules"]["learning_rate"]["kind"] == "cosine"
    assert tables[0]["augmentation"] == [step]


def test_what_a_recipe_does_not_leave_open_is_refused_in_python_too(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = quick(command, more="division = 'open'\nmay_change = ['schedules']")
    monkeypatch.chdir(command.folder)
    fixed: dict[str, Any] = {"framework": "numpy", "dry_run": True}
    with pytest.raises(UsageError, match="fixes its limits, and leaves schedules to change"):
        benchmarker.run(recipe=recipe, set={"training.limits.epochs": 1}, **fixed)
    with pytest.raises(UsageError, match="only schedules, limits, augmentation of a recipe can be set"):
        benchmarker.run(recipe=recipe, set={"training.target": None}, **fixed)
    with pytest.raises(UsageError, match=r"'training.limits.epochs' is of a recipe, and none is named"):
        benchmarker.run(problem="mnist_mlp", set={"training.limits.epochs": 1}, **fixed)


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("training.limits.epochs=1", "recipe 'quick' fixes its limits, and leaves schedules to change"),
        ("training.augmentation=['flip'", "the recipe: augmentation is not valid"),
        ("training.limits.epoch=1", "the recipe: limits.epoch is not known; did you mean 'epochs'?"),
        ("training.target.value=0.1", "only schedules, limits, augmentation of a recipe can be set"),
        ("training.augmentation.flip=1", "'training.augmentation' is no table, so it has no 'flip'"),
        ("training.limits.epochs=1,2", "'training.limits.epochs' takes one value, got 2"),
    ],
)
def test_what_a_recipe_does_not_leave_open_is_not_set(
    setting: str, sentence: str, command: Command, numpy_here: list[str]
) -> None:
    recipe = quick(command, more="division = 'open'\nmay_change = ['schedules']")
    finished = command("train", recipe, *numpy_here, f"--set={setting}")
    assert finished.status == 2
    assert sentence in finished.stderr
    assert finished.stderr.count("\n") == 1
    closed = command("train", "digits_mlp", *numpy_here, *CHANGED)
    assert closed.status == 2
    assert "recipe 'digits_mlp' fixes its limits, and leaves nothing to change" in closed.stderr


COUNTING_ALIKE = (
    "numpy,pytorch,jax,tensorflow,chainer,mxnet,paddle,tinygrad,keras_jax,keras_tensorflow,keras_pytorch"
)
"""All that train; the others infer only."""


@pytest.mark.framework
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("recipe", "more", "evaluations"),
    [("digits_mlp", (), 81), ("breast_cancer", ("--max-steps=200",), 35)],
    ids=["digits_mlp", "breast_cancer"],
)
def test_frameworks_count_alike_at_the_same_seed(
    recipe: str, more: tuple[str, ...], evaluations: int, command: Command
) -> None:
    """Each evaluation of the training, in whole numbers: of digits to its limit, where a slow drift shows."""
    arguments = ("--seed=1", "--threads=1", "--no-early-stop", "--json")
    finished = command("train", recipe, f"--framework={COUNTING_ALIKE}", *arguments, *more)
    assert finished.status == 0, finished.stderr
    curves = {
        record["framework"]["name"]: record["training"]["curve"]["correct"] for record in finished.records
    }
    assert ",".join(curves) == COUNTING_ALIKE
    assert len(curves["numpy"]) == evaluations
    assert {name: curve for name, curve in curves.items() if curve != curves["numpy"]} == {}


SOFT = 'loss = "soft_cross_entropy"\nlayers ='


@pytest.mark.framework("numpy")
def test_labels_as_weights_of_classes_train_as_class_indices_do(
    command: Command, numpy_here: list[str]
) -> None:
    curves = []
    for layers in ("layers =", SOFT):
        path = command.folder / quick(command, 0.99)
        path.write_text(path.read_text().replace("layers =", layers))
        (record,) = command("train", path.name, *numpy_here, "--seed=0", "--json").records
        curves.append(record["training"]["curve"])
    hard, soft = curves
    assert hard["correct"] == soft["correct"]
    assert soft["evaluation_loss"] == pytest.approx(hard["evaluation_loss"], rel=1e-4)


@pytest.mark.framework
def test_mixed_and_smoothed_labels_train_alike(command: Command) -> None:
    more = "augmentation = ['mixup', { name = 'label_smoothing', epsilon = 0.2 }]"
    path = command.folder / quick(command, 0.99, more)
    path.write_text(path.read_text().replace("layers =", SOFT))
    arguments = ("--framework=numpy,pytorch", "--threads=1", "--seed=0", "--json")
    finished = command("train", path.name, *arguments)
    assert finished.status == 0, finished.stderr
    ours, theirs = (record["training"]["curve"] for record in finished.records)
    assert ours["correct"] == theirs["correct"]
    assert ours["correct"][-1] > 0.8 * finished.records[0]["training"]["evaluated_samples"]
    assert theirs["evaluation_loss"] == pytest.approx(ours["evaluation_loss"], rel=1e-4)
    assert ours["train_loss"][-1] > 1.2 * ours["evaluation_loss"][-1]  # of labels that are never certain
    path.write_text(path.read_text().replace(SOFT, "layers ="))
    refused = command("train", path.name, *arguments)
    assert refused.status == 2
    assert refused.stderr.count("\n") == 1


@pytest.mark.framework("pytorch")
def test_updates_that_overflow_in_fp16_are_counted_and_told(command: Command) -> None:
    """Rates that grow 120-fold twice move the weights until gradients leave fp16's numbers, and later the loss does."""
    schedule = "[training.schedules.learning_rate]\nkind = 'step'\nat = [20, 36]\nfactor = {}"
    found = {}
    for factor in (1.0, 120.0):
        recipe = quick(command, 0.999, schedule.format(factor))
        path = command.folder / recipe
        path.write_text(f'precision = "fp16"\n{path.read_text()}')
        arguments = ("--framework=pytorch", "--threads=1", "--seed=42", "--no-verify", f"--results={factor}")
        told = command("train", recipe, *arguments)
        assert told.status == 0, told.stderr
        (kept,) = (command.folder / str(factor)).glob("*.json")
        skipped = json.loads(kept.read_text())["training"]["skipped_steps"]
        sentence = f"{skipped} of "
        assert (sentence in told.stdout and "made no update" in told.stdout) == (skipped > 0)
        found[factor] = skipped
    assert found[1.0] == 0
    assert found[120.0] > 0


@pytest.mark.framework("numpy")
def test_kept_trainings_are_compared_by_time_to_target(command: Command, numpy_here: list[str]) -> None:
    recipe = quick(command)
    for folder in ("a", "b"):
        assert command("train", recipe, *numpy_here, "--seeds=2", f"--results={folder}").status == 0
    finished = command("compare", "a", "b")
    assert finished.status == 0, finished.stderr
    text = " ".join(finished.stdout.split())
    assert "Equal in steps, at each of 2 seeds: a, b." in text
    assert re.search(r"(too few (undisturbed )?trainings for a verdict|no verdict on seconds)", text)
    assert command("compare", "a", "b", "--require-conclusive").status == 4
    assert json.loads(command("compare", "a", "b", "--json").stdout)["rows"][0]["equal_steps"]
