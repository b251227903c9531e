"""Records run again: what runs, which records count, and what may be said of two numbers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy

from benchmarker.analysis.reproduction import (
    compare,
    experiment_from_record,
    fit_to_machine,
    judge,
    processes_of,
    with_interpreter,
)
from benchmarker.analysis.reproduction.verdict import MAX_HALF_WIDTH, SAME
from benchmarker.analysis.results.selection import find_record
from benchmarker.api.problem_scheme import ProblemReference
from benchmarker.cli.rerun import exit_status
from benchmarker.errors import UsageError
from benchmarker.experiment.keys import identity
from benchmarker.experiment.planning import matrix
from benchmarker.experiment.spec import UNSTATED, RunSpec, specification
from benchmarker.records.keys import conditions
from benchmarker.statistics import geometric_mean, summarise
from tests.conftest import ROOT, Command, Finished
from tests.support.records import make_failed_record, make_record
from tests.support.timed_frameworks import with_clockwork

pytestmark = pytest.mark.framework("numpy")

OLDER = Path(__file__).resolve().parents[1] / "data" / "old_records"
STEP_MS = 40
STEADY = ("--framework=clockwork", "--problem=mnist_mlp", "--mode=inference", "--set=clockwork.asleep=true")
SHORT = ("--batch-size=4", "--steps=12", "--warmup=1")


# --- the rule -------------------------------------------------------------------------------------


def drawn(draw: np.random.Generator, deviation: float, count: int) -> list[float]:
    """Return the medians of processes of one program."""
    return list(0.01 * np.exp(deviation * draw.standard_normal(count)))


@pytest.mark.parametrize(("then", "now"), [(5, 5), (10, 3), (1, 5), (3, 12)])
def test_equal_programs_are_seldom_called_different(then: int, now: int) -> None:
    draw = np.random.default_rng(7)
    verdicts = [judge(drawn(draw, 0.03, then), drawn(draw, 0.03, now)).verdict for _ in range(1000)]
    # Welch's t with three processes on one side and many on the other errs in up to 7 %.
    assert 10 <= verdicts.count("not reproduced") <= (60 if min(then, now) != 3 else 85)


def test_a_tenth_slower_is_found() -> None:
    draw = np.random.default_rng(8)
    verdicts = [
        judge(drawn(draw, 0.01, 5), [1.1 * median for median in drawn(draw, 0.01, 5)]).verdict
        for _ in range(200)
    ]
    assert verdicts.count("not reproduced") >= 198


@pytest.mark.parametrize(("then", "now", "equal"), [(6, 4, False), (3, 9, False), (1, 6, True), (7, 2, True)])
def test_the_interval_is_the_one_of_scipy(then: int, now: int, equal: bool) -> None:
    draw = np.random.default_rng(9)
    logs = [np.log(0.01) + 0.02 * draw.standard_normal(count) for count in (then, now)]
    found = judge(*(np.exp(values) for values in logs))
    assert found.ci95 is not None
    assert found.ratio == pytest.approx(np.exp(logs[1].mean() - logs[0].mean()))
    if equal:
        spread = np.concatenate([values - values.mean() for values in logs])
        degrees = then + now - 2
        error = np.sqrt((spread**2).sum() / degrees * (1 / then + 1 / now))
    else:
        parts = [values.var(ddof=1) / len(values) for values in logs]
        error = np.sqrt(sum(parts))
        degrees = int(scipy.stats.ttest_ind(*logs, equal_var=False).df)
    half = scipy.stats.t.ppf(0.975, degrees) * error
    assert np.log(found.ci95) == pytest.approx(np.log(found.ratio) + np.array([-half, half]))


def spread(centre: float, deviation: float, count: int = 5) -> list[float]:
    logs = np.linspace(-1, 1, count)
    return list(centre * np.exp(deviation * logs / logs.std(ddof=1)))


def test_the_rule_is_as_documented() -> None:
    assert judge(spread(1, 0.01), spread(1, 0.01)).verdict == "reproduced"
    assert judge(spread(1, 0.01), spread(2, 0.01)).verdict == "not reproduced"
    assert judge(spread(1, 0.01), spread(0.5, 0.01)).verdict == "not reproduced"
    # 1 is outside of the interval, but all of it is nearer than 2 %.
    near = judge(spread(1, 0.001), spread(1.01, 0.001))
    assert near.ci95 is not None
    assert 1 < near.ci95[0] < near.ci95[1] < 1 + SAME
    assert near.verdict == "reproduced"
    assert judge(spread(1, 0.001), spread(1.03, 0.001)).verdict == "not reproduced"


def test_an_interval_that_is_too_wide_tells_nothing_and_the_number_that_it_takes_would() -> None:
    then, now = spread(1, 0.1, 30), spread(1.02, 0.1, 4)
    wide = judge(then, now)
    assert wide.ci95 is not None
    assert wide.ci95[0] < 1 < wide.ci95[1]
    assert wide.verdict == "cannot tell"
    assert wide.needed is not None
    assert wide.needed > 4
    enough = judge(then, spread(1.02, 0.1, wide.needed))
    assert enough.ci95 is not None
    assert enough.ci95[1] / enough.ratio == pytest.approx(1 + MAX_HALF_WIDTH, abs=0.01)
    assert enough.verdict == "reproduced"
    assert judge(then, spread(1.02, 0.1, wide.needed - 1)).verdict == "cannot tell"


def test_of_an_original_too_uncertain_no_number_of_repeats_is_proposed() -> None:
    hopeless = judge([1.0], spread(1.02, 0.1))
    assert (hopeless.verdict, hopeless.needed) == ("cannot tell", None)


@pytest.mark.parametrize(("then", "now"), [(1, 1), (2, 1), (2, 2)])
def test_fewer_than_three_on_both_sides_tell_nothing(then: int, now: int) -> None:
    found = judge([1.0, 1.1][:then], [5.0, 5.1][:now])
    assert (found.verdict, found.ci95, found.needed) == ("cannot tell", None, 3)


# --- what runs ------------------------------------------------------------------------------------

SPECS = {
    "plain": RunSpec("numpy", ProblemReference("mnist_mlp"), batch_size=8, sampling="throughput"),
    "steps": RunSpec(
        "numpy", ProblemReference("mnist_mlp"), batch_size=8, steps=7, warmup=2, breakdown=True, seed=3
    ),
    "epochs": RunSpec("numpy", ProblemReference("mnist_mlp"), batch_size=8, samples_per_epoch=64, steps=24),
    "window": RunSpec(
        "numpy", ProblemReference("mnist_mlp"), mode="inference", batch_size=2, window=1.5, monitors=()
    ),
    "where": RunSpec(
        "numpy", ProblemReference("gemm"), affinity=(0,), inputs="fed", start="fork", monitors=("energy",)
    ),
    "options": RunSpec(
        "pytorch", ProblemReference("resnet18"), mode="inference", target_seconds=0.5, minimum_samples=7
    ),
    "ranks": RunSpec(
        "numpy",
        ProblemReference("mnist_mlp"),
        batch_size=16,
        sampling="throughput",
        ranks=2,
        scheme="averaging/4",
        exchange="mpi",
        scaling="weak",
    ),
}


def complete(run: RunSpec) -> RunSpec:
    """Return the run with the parameters, options and optimizer that a plan fills in."""
    asked = experiment_from_record(
        {**make_record(), "specification": {**specification(run), "optimizer": None}}
    )
    (planned,) = matrix(asked)
    return replace(
        run,
        problem_parameters=planned.problem_parameters,
        framework_options=planned.framework_options,
        optimizer=planned.optimizer,
    )


@pytest.mark.parametrize("name", SPECS)
def test_a_record_asks_for_its_own_specification(name: str) -> None:
    run = complete(replace(SPECS[name], verify=False))
    record = make_record(specification=specification(replace(run, repetition=4)))
    assert [identity(again) for again in matrix(experiment_from_record(record))] == [identity(run)]


def test_a_training_by_a_recipe_asks_for_its_own_specification() -> None:
    kept = sorted((ROOT / "results" / "training").glob("*.json"))
    records = [json.loads(path.read_text(encoding="utf-8")) for path in kept]
    recipes = {record["specification"]["training"]["name"]: record for record in records}
    assert len(recipes) >= 3
    for record in recipes.values():
        (again,) = matrix(experiment_from_record(record))
        asked = {**record["specification"], "framework_version": None, "repetition": 0}
        assert {**specification(again), "framework_version": None} == {**UNSTATED, **asked}


def test_settings_that_are_no_defaults_are_kept() -> None:
    run = complete(SPECS["options"])
    run = replace(
        run,
        problem_parameters={**run.problem_parameters, "image_size": 64},
        framework_options={**run.framework_options, "compile": True},
    )
    assert [
        identity(again)
        for again in matrix(experiment_from_record(make_record(specification=specification(run))))
    ] == [identity(run)]


def test_a_specification_of_before_sampling_synchronised_every_step() -> None:
    older = specification(complete(SPECS["plain"]))
    for name in ("sampling", "target_seconds", "minimum_samples", "breakdown", "monitors", "start"):
        del older[name]
    (run,) = matrix(experiment_from_record(make_record(specification=older)))
    assert (run.sampling, run.start, run.monitors) == ("latency", "spawn", None)


def test_the_version_is_pinned_without_its_local_part() -> None:
    asked = experiment_from_record(make_record(specification=specification(complete(SPECS["options"]))))
    (run,) = matrix(with_interpreter(asked, "2.13.0+cpu", "managed"))
    assert (run.framework_version, run.environment) == ("2.13.0", "managed")
    (run,) = matrix(with_interpreter(asked, None, "current"))
    assert (run.framework_version, run.environment) == (None, "current")


def test_threads_and_cpus_that_are_not_here_are_left_out() -> None:
    wanted = experiment_from_record(
        make_record(
            specification=specification(complete(replace(SPECS["where"], threads=8, affinity=(6, 7))))
        )
    )
    fitted = fit_to_machine(wanted, usable=[0, 1], granted=lambda cpus: len(cpus) or 2)
    assert (fitted.threads, fitted.affinity) == ((2,), ())
    fitted = fit_to_machine(wanted, usable=range(16), granted=lambda cpus: len(cpus) or 16)
    assert (fitted.threads, fitted.affinity) == ((2,), ((6, 7),))


# --- which records count --------------------------------------------------------------------------


def of_campaign(name: str, repetition: int, resumed: Sequence[str] = (), **changes: Any) -> dict[str, Any]:
    values = specification(replace(SPECS["plain"], repetition=repetition))
    record = make_record(specification=values, repetition=repetition, **changes)
    record["replication"] = {"campaign": name, "resumed": list(resumed)}
    record["started_at"] = f"2026-01-01T00:00:{repetition:02}.000000Z"
    return record


def test_processes_are_those_of_the_cell_and_campaign_that_ended_well() -> None:
    ours = [of_campaign("a", repetition) for repetition in range(3)]
    other_cell = of_campaign("a", 3)
    other_cell["specification"]["batch_size"] += 1
    failed = {
        **make_failed_record(),
        "specification": ours[0]["specification"],
        "replication": {"campaign": "a", "resumed": []},
    }
    found = processes_of(ours[1], [failed, of_campaign("b", 0), other_cell, *reversed(ours)])
    assert found == ours
    assert processes_of(ours[0], []) == [ours[0]]


def ids(*records: Mapping[str, Any]) -> list[str]:
    return [record["id"] for record in records]


def test_processes_that_were_resumed_are_of_one_number() -> None:
    """Round 1 had failed and was made up for; then two more were asked for."""
    first, third = of_campaign("a", 0), of_campaign("a", 2)
    second = of_campaign("b", 1, ids(first, third))
    more = [of_campaign("c", count, ids(first, second, third)) for count in (3, 4)]
    stranger = of_campaign("d", 0)
    beside = [stranger, *more, third, second, first]
    for record in (first, second, third, *more):
        assert processes_of(record, beside) == [first, second, third, *more]
    assert processes_of(second, [first, second, third]) == [first, second, third]
    assert processes_of(stranger, beside) == [stranger]


def test_what_a_resumed_number_left_behind_is_not_of_it() -> None:
    """Of two campaigns with the same cell, only the newest record of each round is taken up."""
    left = [of_campaign("a", count) for count in range(3)]
    taken = [of_campaign("b", count) for count in range(2)]
    new = of_campaign("c", 3, ids(*taken, left[2]))
    beside = [*left, *taken, new]
    assert set(ids(*processes_of(taken[0], beside))) == set(ids(*taken, left[2], new))
    assert set(ids(*processes_of(left[0], beside))) == set(ids(*left))


def test_a_record_from_before_campaigns_can_be_taken_up() -> None:
    old = of_campaign("", 0)
    old["replication"] = None
    new = of_campaign("a", 1, ids(old))
    assert processes_of(old, [old, new]) == [old, new]
    assert processes_of(new, [old, new]) == [old, new]


def test_records_without_a_campaign_are_of_one_while_their_repetitions_count_up() -> None:
    records = []
    for minute, repetition in enumerate([0, 1, 0, 1, 2, 0]):
        record = make_record(repetition=repetition, command=["python", "-m", "benchmarker", "run"])
        record["started_at"] = f"2026-01-01T00:{minute:02}:00.000000Z"
        for name in ("specification", "replication"):
            record.pop(name, None)
        records.append(record)
    assert processes_of(records[3], records) == records[2:5]
    assert processes_of(records[0], records) == records[:2]
    assert processes_of(records[5], records) == records[5:]


# --- what must match ------------------------------------------------------------------------------


def side(centre: float, count: int = 5, **changes: Any) -> list[dict[str, Any]]:
    return [
        make_record(samples=tuple(spread(median, 0.01, 10)), **changes)
        for median in spread(centre, 0.01, count)
    ]


def test_equal_sides_are_reproduced_and_what_else_differs_is_told() -> None:
    now = side(0.05)
    for record in now:
        record["environment"]["packages"]["numpy"] = "0.0"
    found = compare(side(0.05), now)
    assert found.verdict == "reproduced"
    assert [name for name in found.also if name.startswith("packages.")] == ["packages.numpy"]
    assert found.function["weights"][2]
    assert found.now is not None
    assert found.now.median_seconds == pytest.approx(0.05, rel=1e-5)


@pytest.mark.parametrize(
    ("path", "value", "name"),
    [
        ("device__name", "another", "device_name"),
        ("framework__version", "0.0", "framework_version"),
        ("execution__threads", 64, "threads"),
        ("digests__batch", "sha256:" + "0" * 64, "first_batch"),
        ("environment__python", "3.4.1", "python"),
        ("batch_size", 3, "batch_size"),
    ],
)
def test_what_must_match_and_does_not_is_named_and_takes_the_verdict(
    path: str, value: Any, name: str
) -> None:
    found = compare(side(0.05), side(0.05, **{path: value}))
    assert found.verdict == "not comparable"
    (changed,) = found.differences
    assert changed == name
    assert found.differences[name][0] == conditions(make_record())[name]
    assert found.numbers is not None
    assert found.numbers.verdict == "reproduced"


def test_a_loss_that_comes_out_otherwise_is_told() -> None:
    then, now = side(0.05), side(0.05)
    for record in (*then, *now):
        record["metrics"].update(loss_first=2.3, loss_last=1.1)
    now[0]["metrics"]["loss_last"] = 1.2
    found = compare(then, now).function
    assert found["loss_first"] == (2.3, 2.3, True)
    assert found["loss_last"] == (1.1, 1.2, False)
    now[0]["timing"]["warmup_steps"] += 1  # another number of steps: another loss is no wonder
    assert "loss_last" not in compare(then, now).function


def test_processes_that_fail_are_told_and_none_that_ended_well_tells_nothing() -> None:
    found = compare(side(0.05), [*side(0.05), make_failed_record()])
    assert found.verdict == "reproduced"
    assert found.failures == ("crashed: the worker was ended by signal 11 (SIGSEGV)",)
    assert compare(side(0.05), [make_failed_record()]).verdict == "cannot tell"


# --- the command ----------------------------------------------------------------------------------


def saved(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.json"))


def doctored(source: Path, target: Path, change: Callable[[dict[str, Any]], None]) -> list[Path]:
    """Write changed copies of all records of a folder into another one."""
    target.mkdir()
    for path in saved(source):
        record = json.loads(path.read_text(encoding="utf-8"))
        change(record)
        (target / path.name).write_text(json.dumps(record), encoding="utf-8")
    return saved(target)


def halve(record: dict[str, Any]) -> None:
    timing, block_steps = record["timing"], record["timing"]["block_steps"]
    timing["samples_seconds"] = [seconds / 2 for seconds in timing["samples_seconds"]]
    timing["total_seconds"] /= 2
    steady = timing["samples_seconds"][timing["steady_state"]["start"] :]
    timing["step_seconds"] = json.loads(json.dumps(asdict(summarise(steady, block_steps=block_steps))))
    for name in ("throughput", "flops_per_second", "bytes_per_second"):
        record["metrics"][name] *= 2


@pytest.fixture
def clockwork(command: Command, tmp_path: Path) -> Command:
    """The command with a framework whose steps take 40 ms, and three processes of it in ``results``."""
    timed = with_clockwork(command, tmp_path / "modules")
    measure(timed, "results")
    return timed


def measure(timed: Command, results: str) -> list[Path]:
    """Return the records of three processes."""
    waits = f"--set=clockwork.wait_ms={STEP_MS}"
    made = timed(*STEADY, *SHORT, waits, "--repeats=3", "--quiet", f"--results={results}")
    assert made.status == 0, made.stderr
    return saved(timed.folder / results)


def only(finished: Finished) -> dict[str, Any]:
    (line,) = finished.stdout.splitlines()
    found: dict[str, Any] = json.loads(line)
    return found


def test_a_number_is_reproduced_and_one_that_was_halved_is_not(clockwork: Command) -> None:
    originals = saved(clockwork.folder / "results")
    # On a busy machine both may be too wide to tell, which is then measured again.
    for attempt in range(6):
        new = clockwork.folder / f"again{attempt}"
        again = clockwork("rerun", str(originals[1]), "--repeats=3", f"--results={new.name}", "--json")
        found = only(again)
        if found["verdict"] != "cannot tell":
            break
        originals = measure(clockwork, f"results{attempt}")
    assert (found["verdict"], again.status) == ("reproduced", 0), found
    assert found["original"]["processes"] == found["now"]["processes"] == 3
    assert sorted(clockwork.folder / path for path in found["new_records"]) == saved(new)
    assert all(same for _, _, same in found["function"].values())
    records = [json.loads(path.read_text()) for path in saved(new)]
    first = json.loads(originals[0].read_text())
    assert {record["comparable"]["hash"] for record in records} == {first["comparable"]["hash"]}
    assert {record["replication"]["campaign"] for record in records} != {first["replication"]["campaign"]}
    medians = [record["timing"]["step_seconds"]["median"] for record in records]
    assert found["now"]["median_seconds"] == pytest.approx(geometric_mean(medians))

    faked = doctored(clockwork.folder / "results", clockwork.folder / "faked", halve)
    assert clockwork("validate", "faked").status == 0
    told = clockwork("rerun", *map(str, faked), "--repeats=3", "--results=once_more", "--quiet")
    assert told.status == 1, told.stdout
    assert len(saved(clockwork.folder / "once_more")) == 3  # three records of one number run once
    words = " ".join(told.stdout.split())
    assert "not reproduced: " in words
    assert " % slower, 95 % interval [" in words
    assert "3 processes" in words


def test_a_number_that_was_resumed_is_reproduced_with_all_of_its_processes(clockwork: Command) -> None:
    results = clockwork.folder / "results"
    lost = next(path for path in saved(results) if json.loads(path.read_text())["repetition"] == 1)
    lost.unlink()
    asked = (*STEADY, *SHORT, f"--set=clockwork.wait_ms={STEP_MS}", "--repeats=4", "--resume", "--json")
    resumed = clockwork(*asked)
    assert [record["repetition"] for record in resumed.records] == [1, 3], resumed.stderr
    for path in (saved(results)[0], saved(results)[-1]):
        again = clockwork("rerun", str(path), "--repeats=1", "--results=again", "--json")
        assert only(again)["original"]["processes"] == 4


def test_a_record_is_found_by_its_file_name_and_both_ends_of_its_id(tmp_path: Path) -> None:
    records = [make_record(id=f"aa{count}0{'0' * 24}bb{count}f") for count in range(2)]
    paths = [tmp_path / f"2026-01-01T000000Z_numpy-2.1_mnist_mlp_{count}.json" for count in range(2)]
    for path, record in zip(paths, records):
        path.write_text(json.dumps(record))
    for name in ("aa1", "bb1f", "1f", paths[1].stem, paths[1].name, records[1]["id"], str(paths[1])):
        assert find_record(name, tmp_path) == paths[1]
    for name, many in (("aa", "2 records"), ("f", "2 records"), ("00", "no record"), ("x.json", "no record")):
        with pytest.raises(UsageError, match=f"'{name}' is no file, .* it fits {many} in "):
            find_record(name, tmp_path)
    with pytest.raises(UsageError, match="fits no record in"):
        find_record("aa", tmp_path / "nowhere")


def test_a_single_process_each_tells_nothing_and_says_what_would(clockwork: Command) -> None:
    path = saved(clockwork.folder / "results")[0]
    alone = doctored(clockwork.folder / "results", clockwork.folder / "alone", lambda record: None)
    for other in alone[1:]:
        other.unlink()
    identifier = json.loads(path.read_text())["id"][:12]
    told = clockwork("rerun", identifier, "--repeats=1", "--results=alone", "--quiet")
    assert told.status == 4, told.stdout
    words = " ".join(told.stdout.split())
    assert "cannot tell: " in words
    assert "within one process, 1 process" in words
    assert "--repeats=3" in words


def test_a_record_whose_plugin_is_gone(clockwork: Command, command: Command) -> None:
    path = saved(clockwork.folder / "results")[0]
    told = command("rerun", str(path), "--results=again")
    assert told.status == 2
    assert told.stderr.count("\n") == 1
    assert "unknown framework 'clockwork'" in told.stderr
    assert path.name in told.stderr
    assert not (command.folder / "again").exists()


def test_a_new_process_that_fails_tells_nothing(clockwork: Command) -> None:
    def cannot_end(record: dict[str, Any]) -> None:
        record["execution"]["timeout_seconds"] = 0.001

    path = doctored(clockwork.folder / "results", clockwork.folder / "hurried", cannot_end)[0]
    told = clockwork("rerun", str(path), "--repeats=1", "--results=again", "--quiet")
    assert told.status == 4, told.stdout
    assert "no new process ended well (timeout: " in " ".join(told.stdout.split())


@pytest.mark.parametrize("framework", ["numpy", pytest.param("pytorch", marks=pytest.mark.framework)])
def test_a_training_computes_the_same_function_again(command: Command, framework: str) -> None:
    asked = ("--problem=mnist_mlp", "--batch-size=8", "--steps=3", "--quiet")
    made = command(f"--framework={framework}", *asked)
    assert made.status == 0, made.stderr
    (path,) = saved(command.folder / "results")
    again = command("rerun", str(path), "--repeats=1", "--results=again", "--json")
    found = only(again)
    assert (found["verdict"], again.status) == ("cannot tell", 4)
    assert found["differences"] == {}
    assert set(found["function"]) == {"weights", "first mini-batch", "loss_first", "loss_last"}
    assert all(same for _, _, same in found["function"].values())
    (new,) = saved(command.folder / "again")
    values = [json.loads(file.read_text()) for file in (path, new)]
    assert values[0]["environment"]["packages"] == values[1]["environment"]["packages"]
    assert values[1]["framework"]["requested_version"] == values[0]["framework"]["version"].partition("+")[0]


def test_a_number_of_another_environment_is_rebuilt_from_its_packages(command: Command) -> None:
    made = command("--framework=numpy", "--problem=mnist_mlp", "--batch-size=8", "--steps=3", "--quiet")
    assert made.status == 0, made.stderr
    (path,) = saved(command.folder / "results")
    record = json.loads(path.read_text())
    record["environment"]["packages"] = {"NumPy": record["framework"]["version"], "benchmarker": "0.0.1"}
    path.write_text(json.dumps(record))
    told = command("rerun", str(path), "--env=recorded", "--repeats=1", "--results=again", "--quiet")
    assert told.status == 4, told.stderr
    (new,) = [json.loads(file.read_text()) for file in saved(command.folder / "again")]
    assert new["environment"]["packages"] == {"numpy": record["framework"]["version"]}
    assert new["environment"]["kind"] == "recorded"
    assert new["environment"]["key"].startswith("numpy-")
    assert "interpreter current -> recorded" in " ".join(told.stdout.split())


def test_a_record_from_before_specifications_runs_by_its_command(command: Command) -> None:
    (path,) = OLDER.glob("2026-11-20T*_numpy-*_mnist_mlp_inference_*.json")
    record = json.loads(path.read_text())
    assert (record["schema_version"], "specification" in record) == ("1.0", False)
    told = command("rerun", str(path), "--repeats=1", "--json", "--env=current")
    found = only(told)
    assert told.status == 4, told.stderr
    assert found["verdict"] == "not comparable"
    assert found["differences"]["distinct_batches"][0] == 1
    assert found["function"]["weights"][2]
    assert found["original"]["trust"] == {"not graded": 1}
    (new,) = [json.loads(file.read_text()) for file in saved(command.folder / "results")]
    assert new["timing"]["sampling"] == "latency"
    assert new["problem"]["parameters"] == record["problem"]["parameters"]


# --- what cannot be run again ---------------------------------------------------------------------


def wrong(command: Command, *arguments: str) -> str:
    told = command("rerun", *arguments)
    assert told.status == 2, told.stderr
    assert told.stdout == ""
    (sentence,) = [line for line in told.stderr.splitlines() if not line.startswith("left out: ")]
    return sentence


def test_bad_input_is_told_in_one_sentence(command: Command) -> None:
    folder = command.folder / "records"
    folder.mkdir()
    (folder / "broken.json").write_text("{")
    (folder / "failed.json").write_text(json.dumps(make_failed_record()))
    (folder / "torn.json").write_text(json.dumps({**make_record(), "timing": {}}))
    good = make_record()
    (folder / "good.json").write_text(json.dumps(good))
    (folder / "twin.json").write_text(json.dumps({**make_record(), "id": good["id"][:16] + "f" * 16}))
    assert "not JSON" in wrong(command, "records/broken.json")
    assert "'crashed'" in wrong(command, "records/failed.json")
    assert "not a valid record: $.timing" in wrong(command, "records/torn.json")
    assert "cannot be read" in wrong(command, "records/absent.json")
    assert "is a folder" in wrong(command, "records")
    assert "fits no record in 'results'" in wrong(command, "abcdef012345")
    assert "fits 2 records in 'records'" in wrong(command, good["id"][:16], "--results=records")
    assert "from 1 to 10000, got " in wrong(command, "records/good.json", "--repeats=0")
    assert "or 'rigorous', got 'hasty'" in wrong(command, "records/good.json", "--profile=hasty")
    assert not (command.folder / "results").exists()


@pytest.mark.parametrize(
    ("verdicts", "was_rescued", "status"),
    [
        ({"reproduced"}, False, 0),
        ({"reproduced"}, True, 1),
        ({"cannot tell", "reproduced"}, True, 4),
        ({"not reproduced", "cannot tell"}, False, 1),
    ],
)
def test_the_exit_status_is_the_worst_verdict_s_and_tells_of_records_kept_elsewhere(
    verdicts: set[str], was_rescued: bool, status: int
) -> None:
    assert exit_status(verdicts, was_rescued=was_rescued) == status
