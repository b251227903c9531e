from __future__ import annotations

import math
import re
from dataclasses import fields, replace
from typing import Any

import pytest

from benchmarker.analysis.text.experiment_table import comparison_table, record_summary
from benchmarker.analysis.text.layout import Column, align_points, table
from benchmarker.analysis.text.plan import plan_table
from benchmarker.analysis.text.setting_labels import shortened
from benchmarker.analysis.text.units import count, duration, significant, size, time_unit
from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem_scheme import ProblemReference
from benchmarker.experiment.precision import PROFILES
from benchmarker.experiment.spec import RunSpec, specification
from benchmarker.statistics import geometric_mean, student_t_interval
from tests.support.records import PRESSURE, make_failed_record, make_old_record, make_record

FRAMEWORKS = {"pytorch": "2.13.0+cpu", "tensorflow": "2.21.0", "mxnet": "1.9.1", "chainer": "7.8.1"}


def steps(median: float, samples: int = 21) -> tuple[float, ...]:
    """Samples around a median that is one of them."""
    return tuple(median * (1 + 0.01 * (i - samples // 2)) for i in range(samples))


def run_of(framework: str, median: float, **changes: Any) -> dict[str, Any]:
    return make_record(
        steps(median),
        framework__name=framework,
        framework__full=f"{framework}-{FRAMEWORKS[framework]}",
        **changes,
    )


def body(text: str) -> list[str]:
    """The lines of the rows: those between the rule and the next empty line."""
    lines = text.split("\n")
    rule = next(i for i, line in enumerate(lines) if line.startswith("---"))
    return lines[rule + 1 : lines.index("", rule)]


def heading(text: str) -> str:
    lines = text.split("\n")
    return next(lines[i - 1] for i, line in enumerate(lines) if line.startswith("---"))


def test_one_run() -> None:
    text = comparison_table([run_of("pytorch", 0.05)])
    caption = "mnist_mlp, inference, batch size 4, fp32, cpu, 2 threads, verification passed, trust: clean"
    caption += ", usable for differences above 17 %"
    assert " ".join(text.split("\n\n")[0].split("\n")) == caption
    assert heading(text) == "framework           median step [ms]  95 % interval [ms]  samples/s"
    name, version, median, low, high, rate = body(text)[0].split()
    assert (name, version, median, rate) == ("pytorch", "2.13.0+cpu", "50.00", "80.00")
    assert float(low.strip("[,")) < 50 < float(high.strip("]"))
    assert "within one process" in text
    assert "Relative" not in text


def test_frameworks_are_told_apart_by_nothing_else() -> None:
    """Options, Python and processor names of different frameworks are no factor that varies."""
    text = comparison_table(
        [
            run_of("pytorch", 0.05, framework__options={"compile": False}),
            run_of("mxnet", 0.1, framework__options={"hybridize": True}, environment__python="3.9.18"),
            run_of("chainer", 0.4, framework__options={}, device__name="cpu"),
        ]
    )
    assert heading(text).split()[0:3] == ["framework", "median", "step"]
    assert [line.split()[-1] for line in body(text)] == ["1.00", "2.00", "8.00"]


def test_builds_of_one_python_have_a_column_and_those_of_two_pythons_have_none() -> None:
    built = {"GCC 12.2.0, main, Dec 4 2023": 0.05, "Clang 17.0.6, main, Jan 14 2025": 0.04}
    records = [run_of("pytorch", seconds, environment__build=build) for build, seconds in built.items()]
    text = comparison_table(records, width=200)
    assert "Python build" in heading(text)
    assert all(build in text for build in built)
    records[1]["environment"]["python"] = "3.12.1"
    assert "Python build" not in heading(comparison_table(records, width=200))


def test_what_varies_becomes_a_column_and_leaves_the_caption() -> None:
    text = comparison_table(
        [
            run_of("pytorch", 0.05, batch_size=4, execution__threads=1),
            run_of("pytorch", 0.08, batch_size=8, execution__threads=1),
        ],
        width=200,
    )
    assert "batch size" in heading(text)
    caption = "mnist_mlp, inference, fp32, cpu, 1 thread, verification passed, trust: clean"
    assert text.startswith(f"{caption}, usable for differences above 17 %\n")
    assert [line.split()[2] for line in body(text)] == ["4", "8"]


def test_only_options_that_vary_are_shown() -> None:
    rows = body(
        comparison_table(
            [
                run_of("pytorch", 0.05, framework__options={"compile": False, "layout": "nchw"}),
                run_of("pytorch", 0.03, framework__options={"compile": True, "layout": "nchw"}),
            ]
        )
    )
    assert ["compile=false" in rows[0], "compile=true" in rows[1]] == [True, True]
    assert not any("layout" in row for row in rows)


def test_parameters_two_versions_and_hosts_can_vary() -> None:
    old = run_of("pytorch", 0.05, problem__parameters={"image_size": 32})
    new = run_of("pytorch", 0.05, problem__parameters={"image_size": 64}, platform__host={"name": "other"})
    new["framework"]["full"] = "pytorch-1.0"
    rows = body(comparison_table([old, new], width=200))
    assert re.search(r"^pytorch 2\.13\.0\+cpu .*image_size=32.* example ", rows[0])
    assert re.search(r"^pytorch 1\.0 .*image_size=64.* other ", rows[1])


def test_repetitions_are_one_row_between_processes() -> None:
    medians = [0.050, 0.052, 0.057]
    text = comparison_table([run_of("pytorch", m, repetition=i) for i, m in enumerate(medians)])
    assert "verification passed,\ntrust: clean, usable for differences above 27 %, 3 processes each\n" in text
    low, high = student_t_interval(medians)
    assert len(body(text)) == 1
    numbers = f"{geometric_mean(medians) * 1e3:.2f} [{low * 1e3:.2f}, {high * 1e3:.2f}]"
    assert f" {numbers} " in " ".join(body(text)[0].split())
    assert body(text)[0].endswith(f" {4 * 3 / sum(medians):.2f}")
    assert "t interval between processes" in text.replace("\n  ", " ")
    assert "within one process" not in text


def test_two_processes_show_both_medians_and_no_interval() -> None:
    text = comparison_table([run_of("pytorch", m, repetition=i) for i, m in enumerate((0.052, 0.050))])
    assert " 50.99 50.00 to 52.00 " in " ".join(body(text)[0].split())
    joined = text.replace("\n  ", " ")
    assert "an interval between processes needs at least 3 (--repeats)" in joined
    assert "Student" not in joined


BASE = RunSpec(
    "pytorch",
    ProblemReference("mnist_mlp"),
    problem_parameters={"hidden1": 128},
    framework_options={"compile": False},
    optimizer=Optimizer.default("adam"),
    data_dir="one",
)
OTHER: dict[str, Any] = {
    "framework": "mxnet",
    "framework_version": "1.0",
    "problem": ProblemReference("conv2d"),
    "problem_parameters": {"hidden1": 64},
    "framework_options": {"compile": True},
    "mode": "inference",
    "precision": "bf16",
    "device": "cuda",
    "gpus": (0, 1),
    "affinity": (1,),
    "steps": 7,
    "warmup": 7,
    "window": 7.0,
    "samples_per_epoch": 7,
    "data": "digits",
    "data_dir": "other",
    "inputs": "fed",
    "monitors": ("cpu",),
    "repetition": 1,
    "environment": "current",
    "launcher": "other",
    "micro_batch": 1,
}
OTHERS: dict[str, Any] = {
    **{
        field.name: not getattr(BASE, field.name)
        if isinstance(getattr(BASE, field.name), bool)
        else OTHER.get(field.name, "other" if isinstance(field.default, str) else 7)
        for field in fields(BASE)
        if field.name in specification(BASE) and field.name != "optimizer"
    },
    **{
        f"optimizer {name}": replace(BASE.optimizer, **dict[str, Any]({name: 0.125}))
        for name in ("learning_rate", "beta1", "beta2", "epsilon", "weight_decay")
    },
    "problem digest": replace(BASE.problem, digest="sha256:0123"),
    "optimizer": Optimizer.default("sgd"),
}
"""Every member of a specification, and another value of it."""


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("width", [80, 300])
def test_whatever_rows_differ_in_shows(name: str, width: int) -> None:
    of_ranks: dict[str, Any] = {"scheme": "all-reduce", "exchange": "mpi"} if name == "ranks" else {}
    runs = [replace(BASE, **of_ranks), replace(BASE, **of_ranks, **{name.split()[0]: OTHERS[name]})]
    # A third row with everything else, so that nothing shows by being the only thing that varies.
    if name != "launcher":  # a plan is of plugins that are there
        planned = plan_table([*runs, replace(BASE, seed=99)], width=width)
        first, second, _ = rows_of(planned, 3)
        assert first != second, planned
    if name == "repetition":
        return
    records = [
        run_of(
            spec.framework,
            0.05,
            specification=specification(spec),
            framework__requested_version=spec.framework_version,
        )
        for spec in (*runs, replace(BASE, seed=99))
    ]
    compared = comparison_table(records, width=width)
    first, second, _ = rows_of(compared, 3)
    assert first != second, compared


def rows_of(text: str, count: int) -> list[list[str]]:
    """Return the words of each row over all parts of a table, without numbers of rows and runs."""
    found: list[list[str]] = [[] for _ in range(count)]
    lines = text.split("\n")
    for rule in (i for i, line in enumerate(lines) if line.startswith("---")):
        starts = [match.start() for match in re.finditer("-+", lines[rule])]
        numbered = lines[rule - 1].lstrip().startswith(("row", "run"))
        row = -1
        for line in lines[rule + 1 : lines.index("", rule)]:
            # Where numbers of rows are shown, only a first line has one; else it is the framework's.
            row += bool(line[: starts[1] - 2].strip()) if numbered else FRAMEWORK.match(line) is not None
            found[row] += line[starts[1] :].split() if numbered else line.split()
    return found


FRAMEWORK = re.compile("pytorch|mxnet")


def caption(*specs: RunSpec) -> str:
    return " ".join(plan_table(specs, width=1000).partition("\n\n")[0].split())


def test_sampling_is_told_where_it_is_not_the_modes_own() -> None:
    training = RunSpec("numpy", ProblemReference("mnist_mlp"), sampling="throughput")
    inference = replace(training, mode="inference", sampling="latency")
    assert "sampling" not in plan_table([training])
    assert "sampling" not in plan_table([inference])
    assert "sampling" not in plan_table([training, inference])
    assert "sampling for latency" in caption(replace(training, sampling="latency"))
    assert "sampling for throughput" in caption(replace(inference, sampling="throughput"))
    assert "sampling for latency" in caption(inference, replace(training, sampling="latency"))
    each = plan_table([training, replace(training, sampling="latency")])
    assert [row[1] for row in rows_of_plan(each)] == ["throughput", "latency"]


def rows_of_plan(text: str) -> list[list[str]]:
    return [line.split() for line in text.split("\n\n")[1].splitlines()[2:]]


def test_a_window_and_steps_are_called_what_they_are() -> None:
    inference = RunSpec("numpy", ProblemReference("mnist_mlp"), mode="inference", window=1.0)
    training = RunSpec("numpy", ProblemReference("mnist_mlp"), steps=3, sampling="throughput")
    assert caption(inference).endswith("window 1 s")
    assert caption(training).endswith("steps 3")
    assert caption(inference, training).endswith("window 1 s, steps 3")
    windows = plan_table([inference, replace(inference, window=2.0)])
    assert [row[1:] for row in rows_of_plan(windows)] == [["1", "s"], ["2", "s"]]
    assert re.search(r"^run +window *$", windows, re.MULTILINE)
    assert re.search(
        r"^run +length *$", plan_table([inference, replace(inference, window=None, steps=3)]), re.MULTILINE
    )


def test_a_plan_says_what_a_profile_asks_for() -> None:
    runs = [replace(RunSpec("numpy", ProblemReference("mnist_mlp")), repetition=index) for index in range(5)]
    told = " ".join(plan_table(runs, wanted=PROFILES["quick"]).split())
    assert told.endswith(
        "5 runs at least profile quick, 5 to 10 fresh processes each, until the number is known to within 5 %, "
        "for at most 120 s each"
    )
    own = replace(PROFILES["standard"], profile=None, half_width=0.015)
    told = " ".join(plan_table(runs, wanted=own).split())
    assert "at least 10 to 30 fresh processes each, until the number is known to within 1.5 %" in told
    assert "profile" not in told
    assert plan_table(runs).endswith("\n5 runs")


def test_a_finished_table_names_the_profile() -> None:
    asked_for = {"replication__profile": "quick", "replication__target_half_width": 0.05}
    first, second = (run_of(name, 0.05, **asked_for) for name in ("pytorch", "mxnet"))
    assert "profile quick, within 5 %" in " ".join(comparison_table([first, second]).split())
    without = run_of("mxnet", 0.05)
    text = comparison_table([first, without], width=200)
    assert "precision asked" in text
    assert [("quick, within 5 %" in row) for row in body(text)] == [True, False]
    assert "within 5 %" not in comparison_table([without])
    first["replication"]["half_width"] = 0.01
    assert "1 process of profile quick, within 1.0%" in " ".join(record_summary(first).split())
    newer = run_of("mxnet", 0.05, repetition=1, **asked_for)
    assert "profile quick, within 5 %" in " ".join(comparison_table([without, newer]).split())


def test_two_networks_written_layer_by_layer_show_where_they_differ() -> None:
    layers = '[{"layer": "InputLayer", "shape": [784]}, {"layer": "FullyConnected", "size": %d, "activation": "relu"}]'
    runs = [
        RunSpec("numpy", ProblemReference("architecture"), problem_parameters={"layers": layers % n})
        for n in (10, 100)
    ]
    plan = plan_table(runs)
    assert max(map(len, plan.split("\n"))) <= 80
    assert '"size": 10...' in plan
    assert '"size": 100...' in plan


def test_long_settings_that_differ_all_over_have_digests() -> None:
    long = ["a" * 60, "b" * 60, "ab" * 30]
    assert len(set(shortened(long).values())) == 3
    assert max(map(len, shortened(long).values())) <= 40


def test_records_of_the_first_schema_have_no_specification_and_are_told_apart() -> None:
    old = [make_old_record("1.0", execution__steps_requested=n) for n in (10, 20)]
    assert "specification" not in old[0]
    assert [line.split()[2] for line in body(comparison_table(old))] == ["10", "20"]


def test_work_that_differs_has_its_own_baseline() -> None:
    text = comparison_table(
        [
            run_of("pytorch", 0.05),
            run_of("pytorch", 0.15, batch_size=8),
            run_of("mxnet", 0.10),
            run_of("mxnet", 0.60, batch_size=8),
        ]
    )
    assert [line.split()[-1] for line in body(text)] == ["1.00", "1.00", "2.00", "4.00"]
    assert "with the same problem, mode and batch size" in text.replace("\n  ", " ")


def test_a_run_that_failed_has_no_number_and_says_why() -> None:
    failed = make_failed_record(framework__name="mxnet")
    text = comparison_table([failed, run_of("pytorch", 0.05), run_of("chainer", 0.1)], width=100)
    first, second, third = body(text)
    assert first.split() == ["mxnet", *"-------", "crashed"]
    assert second.endswith("1.00  passed    clean  17 %      ok")
    assert third.endswith("2.00  passed    clean  17 %      ok")
    assert "mxnet: crashed in stage 'import': the worker was ended by signal 11 (SIGSEGV)" in text
    assert "first row that ended well" in text


def test_a_repetition_that_failed_joins_its_row() -> None:
    failed = [make_failed_record("timeout", repetition=i) for i in (0, 2)]
    text = comparison_table([failed[0], run_of("pytorch", 0.05, repetition=1), failed[1]], width=200)
    assert len(body(text)) == 1
    assert "2.13.0+cpu" in body(text)[0]
    assert "verification 2 -, 1 passed, trust: clean, usable for differences above 17 %\n" in text
    assert body(text)[0].endswith("  2 timeout, 1 ok")
    assert text.count("timeout in stage") == 1


def test_a_rate_that_the_median_contradicts_is_explained() -> None:
    skewed = make_record([0.0003] * 57 + [0.5] * 3)
    said = "3 of 60 samples, over 1.5 times the median, took 99% of the time"
    assert said in " ".join(record_summary(skewed, width=200).split())
    assert said in comparison_table([skewed], width=200)
    assert "on the mean" not in comparison_table([make_record([0.05, 0.051] * 30)], width=200)


def test_a_row_that_is_not_usable_is_not_ranked_as_if_it_were() -> None:
    text = comparison_table(
        [run_of("pytorch", 0.05), run_of("mxnet", 0.1, trust__grade="contaminated")], width=200
    )
    assert "(2.00)" in body(text)[1]
    assert "Relative in brackets: one of the two rows is not usable for comparisons." in text


def test_findings_are_told_with_what_to_change() -> None:
    finding = {
        "kind": "x",
        "text": "threads waited",
        "advice": "fewer",
        "excludes": False,
        "value": 1,
        "limit": 0,
    }
    record = run_of("pytorch", 0.05, trust__findings=[finding])
    assert "pytorch 2.13.0+cpu: threads waited: try fewer" in comparison_table([record], width=200)
    assert "findings      threads waited: try fewer" in record_summary(record, width=200)


def test_trust_is_told_with_its_first_reason() -> None:
    noisy = run_of("mxnet", 0.1, trust__grade="noisy", trust__reasons=[PRESSURE])
    text = comparison_table([run_of("pytorch", 0.05), noisy], width=200)
    assert [line.split()[-1] for line in body(text)] == ["clean", "noisy"]
    assert f"mxnet 1.9.1: {PRESSURE['text']}" in text
    summary = record_summary(noisy, width=200)
    assert "noisy; usable for differences above 17 % within this process" in summary
    assert f"how processes differ is not known; {PRESSURE['text']}" in summary
    assert "trust" not in comparison_table([make_old_record("1.1")])


def test_other_weights_are_not_compared() -> None:
    other = run_of("mxnet", 0.1, digests__parameters=f"sha256:{'7' * 64}")
    text = comparison_table([run_of("pytorch", 0.05), other])
    assert [line.split()[-1] for line in body(text)] == ["1.00", "-"]
    joined = text.replace("\n  ", " ")
    assert (
        "digests.parameters differ: sha256:111111111111... in pytorch 2.13.0+cpu, sha256:777777777777..."
        in joined
    )
    assert "Not comparable" not in comparison_table([run_of("pytorch", 0.05), {**other, "seed": 7}])


def test_few_samples_have_no_interval() -> None:
    text = comparison_table([make_record((0.1, 0.1, 0.1))])
    assert " 100.0  " in body(text)[0]
    assert "  -  " in body(text)[0]
    assert "at least 12 samples" in text


def test_no_records() -> None:
    assert comparison_table([]) == "no records"


def many() -> list[dict[str, Any]]:
    return [
        run_of(name, base * batch, batch_size=batch, mode=mode, optimizer=None)
        for name, base in zip(FRAMEWORKS, (0.0125, 0.0119, 0.0231, 0.0890))
        for mode in ("inference", "training")
        for batch in (4, 32, 256)
    ]


@pytest.mark.parametrize("width", [80, 100, 140])
def test_a_large_table_fits_and_is_aligned(width: int) -> None:
    text = comparison_table(many(), width=width)
    lines = text.split("\n")
    assert max(map(len, lines)) <= width
    columns = [
        match.span() for match in re.finditer("-+", next(line for line in lines if line.startswith("---")))
    ]
    gaps = {i for (_, end), (start, _) in zip(columns, columns[1:]) for i in range(end, start)}
    assert all(line[i : i + 1] in ("", " ") for line in body(text) for i in gaps)
    points = {line.index(".", columns[3][0]) for line in body(text) if "." in line[slice(*columns[3])]}
    assert len(points) == 1


def test_a_narrow_table_cuts_no_number() -> None:
    wide, narrow = (comparison_table(many(), width=width) for width in (200, 60))
    assert max(map(len, narrow.split("\n"))) <= 60
    number = re.compile(r"\d+\.\d\d|\[[\d,.]+ [\d,.]+\]")
    assert sorted(number.findall(" ".join(body(wide)))) == sorted(number.findall(narrow))


def test_only_ascii_and_the_micro_sign_are_used() -> None:
    text = comparison_table([*many(), make_failed_record()]) + record_summary(make_record())
    assert set(text) - {"µ"} <= {chr(i) for i in range(32, 127)} | {"\n"}


def test_summary_of_a_run() -> None:
    lines = record_summary(make_record(steps(0.05)), "results/some where.json").split("\n")
    assert lines[0] == "mnist_mlp, inference, on pytorch 2.13.0+cpu: ok"
    text = re.sub(r"\s+", " ", "\n".join(lines))
    for part in (
        "where cpu (Example CPU 3000), 2 threads, Python 3.11.7 (managed)",
        "what batch size 4, fp32, 109,386 parameters, 872.4 kFLOP per step",
        "import 1.62 s, device 400 µs, values 120 ms, build 210 ms, verify 350 ms, first step 84.0 ms",
        "warm-up 260 ms (5 steps)",
        "step median 50.00 ms, 95 % interval [4",
        " ms] within one process, 21 steps",
        "throughput 80.00 samples/s, 17.45 MFLOP/s",
        "verification passed against numpy fp64, worst output 'fc3': largest error 1.1e-06, allowed 0.0001",
        "memory 392.9 MiB peak on the host",
    ):
        assert part in text
    assert lines[-1].endswith("  results/some where.json")
    assert max(map(len, lines)) <= 80


def test_summary_tells_which_samples_the_numbers_are_of() -> None:
    record = make_record(steps(0.05))
    record["timing"]["step_seconds"]["count"] = 15
    assert "the last 15 of 21 steps" in " ".join(record_summary(record).split())
    record["timing"]["block_steps"] = 4
    assert "the last 15 of 21 blocks of 4 steps" in " ".join(record_summary(record).split())


def test_it_is_said_where_the_rate_is_of_more_steps_than_the_median() -> None:
    record = make_record(steps(0.05))
    assert "all steps" not in record_summary(record)
    assert "of all timed steps" not in comparison_table([record])
    record["timing"]["step_seconds"]["count"] = 15
    assert "samples/s, 17.45 MFLOP/s (all steps)\n" in record_summary(record)
    assert "Samples/s: of all timed steps; the median is of those from the steady" in comparison_table(
        [record]
    )


def test_summary_of_a_failure_leaves_out_what_is_not_known() -> None:
    text = record_summary(make_failed_record("out_of_memory"))
    assert text.startswith("mnist_mlp, inference, on pytorch: out of memory\n")
    assert "in stage 'import': the worker was ended by signal 11" in text
    assert not re.search("None|median|throughput|verification|memory  ", text)


def test_summary_says_why_verification_did_not_judge_and_what_was_not_finite() -> None:
    skipped = make_record(
        verification__status="skipped",
        verification__reason="--no-verify",
        verification__worst=None,
        verification__tensors=[],
    )
    assert "verification  skipped: --no-verify" in record_summary(skipped)
    unclear = make_record(verification__status="inconclusive", verification__reason="rounding is too large")
    assert "allowed 0.0001: rounding is too large" in re.sub(r"\s+", " ", record_summary(unclear))
    broken = make_record()
    broken["verification"]["worst"]["max_relative_error"] = None
    assert "largest error not finite, allowed 0.0001" in re.sub(r"\s+", " ", record_summary(broken))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (51.153, "51.15"),
        (9.9996, "10.00"),
        (0.00123456, "0.001235"),
        (12345.6, "12,346"),
        (math.inf, "inf"),
    ],
)
def test_significant(value: float, text: str) -> None:
    assert significant(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (2.5e-9, "2.500 ns"),
        (1e-6, "1.000 µs"),
        (0.02, "20.00 ms"),
        (75, "75.00 s"),
        (3e-10, "0.3000 ns"),
    ],
)
def test_duration(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_times_share_a_unit_unless_too_far_apart() -> None:
    assert time_unit([0.5, 0.002]) == (1e-3, "ms")
    assert time_unit([100.0, 1e-5]) is None
    text = comparison_table([run_of("pytorch", 100.0), run_of("pytorch", 1e-5, batch_size=8)], width=120)
    assert ["100.0 s" in body(text)[0], "10.00 µs" in body(text)[1]] == [True, True]


def test_prefixes() -> None:
    assert [count(0.5, "FLOP"), count(999, "FLOP"), count(8.178e9, "FLOP")] == [
        "0.5000 FLOP",
        "999.0 FLOP",
        "8.178 GFLOP",
    ]
    assert [size(100), size(1536), size(2**40)] == ["100.0 B", "1.500 KiB", "1.000 TiB"]


def test_points_are_below_each_other() -> None:
    assert align_points(["1.00", "12", "3.1", ""]) == ("1.00", "12   ", "3.1 ", "")


def test_texts_wrap_between_words_only() -> None:
    columns = [
        Column("name", ("a long name", "averyveryverylongword")),
        Column("n", ("1", "23"), numeric=True),
    ]
    assert table(columns, 25).split("\n") == [
        *("name                    n", "---------------------  --"),
        *("a long name             1", "averyveryverylongword  23"),
    ]
    columns = [Column("name", ("a long name of words",)), Column("number", ("1",), numeric=True)]
    assert table(columns, 14).split("\n") == [
        *("name    number", "------  ------", "a long       1", "name", "of", "words"),
    ]


def test_a_table_that_cannot_fit_is_split_and_its_rows_are_numbered() -> None:
    columns = [
        Column("name", ("first", "second")),
        Column("what", ("averylongword", "another")),
        Column("n", ("1,000.25", "7.00"), numeric=True),
    ]
    assert table(columns, 20).split("\n\n") == [
        "row  name\n---  ------\n  1  first\n  2  second",
        "row  what\n---  -------------\n  1  averylongword\n  2  another",
        "row         n\n---  --------\n  1  1,000.25\n  2      7.00",
    ]
    keyed = [replace(columns[0], key=True), *columns[1:]]
    assert table(keyed, 22).split("\n\n")[1].split("\n")[2] == "first   1,000.25"


def test_names_break_where_they_may() -> None:
    column = Column("name", ("stage1.block1.shortcut.conv",), breaks=".")
    assert table([column], 16).split("\n") == ["name", "-" * 16, "stage1.block1.", "shortcut.conv"]
