from __future__ import annotations

import math
import re
from typing import Any

import pytest

from benchmarker.report.layout import Column, align_points, table
from benchmarker.report.table import comparison_table, record_summary
from benchmarker.report.units import count, duration, significant, size, time_unit
from benchmarker.statistics import geometric_mean, student_t_interval
from tests.records import SAMPLES, make_failed_record, make_record

FRAMEWORKS = {"pytorch": "2.13.0+cpu", "tensorflow": "2.21.0", "mxnet": "1.9.1", "chainer": "7.8.1"}


def steps(median: float, samples: int = 9) -> tuple[float, ...]:
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
    assert text.startswith("mnist_mlp, inference, batch size 4, fp32, cpu, 2 threads\n\n")
    titles = "framework           median step [ms]  95 % interval [ms]  samples/s  relative  verification"
    assert heading(text) == titles
    assert body(text)[0].split() == [
        *("pytorch", "2.13.0+cpu", "50.00", "[48.50,", "51.50]", "80.00", "1.00", "passed"),
    ]
    assert "within one process" in text
    assert "Relative" not in text


def test_frameworks_are_told_apart_by_nothing_else() -> None:
    """Options, Python and processor names of different frameworks are no aspect that varies."""
    text = comparison_table(
        [
            run_of("pytorch", 0.05, framework__options={"compile": False}),
            run_of("mxnet", 0.1, framework__options={"hybridize": True}, environment__python="3.9.18"),
            run_of("chainer", 0.4, framework__options={}, device__name="cpu"),
        ]
    )
    assert heading(text).split()[0:3] == ["framework", "median", "step"]
    assert [re.search(r"(\d\.\d\d)  passed", line)[1] for line in body(text)] == ["1.00", "2.00", "8.00"]  # type: ignore[index]


def test_what_varies_becomes_a_column_and_leaves_the_caption() -> None:
    text = comparison_table(
        [
            run_of("pytorch", 0.05, batch_size=4, execution__threads=1),
            run_of("pytorch", 0.08, batch_size=8, execution__threads=1),
        ],
        width=200,
    )
    assert "batch size" in heading(text)
    assert text.startswith("mnist_mlp, inference, fp32, cpu, 1 thread\n")
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
    low, high = student_t_interval(medians)
    assert len(body(text)) == 1
    assert f" {geometric_mean(medians) * 1e3:.2f}    [{low * 1e3:.2f}, {high * 1e3:.2f}] " in body(text)[0]
    assert f" {4 * 27 / (9 * sum(medians)):.2f} " in body(text)[0]
    assert re.search(r" 3  passed$", body(text)[0])
    assert "t interval between processes" in text.replace("\n  ", " ")
    assert "within one process" not in text


def test_work_that_differs_has_its_own_baseline() -> None:
    text = comparison_table(
        [
            run_of("pytorch", 0.05),
            run_of("pytorch", 0.15, batch_size=8),
            run_of("mxnet", 0.10),
            run_of("mxnet", 0.60, batch_size=8),
        ]
    )
    assert [line.split()[-2] for line in body(text)] == ["1.00", "1.00", "2.00", "4.00"]
    assert "with the same problem, mode and batch size" in text.replace("\n  ", " ")


def test_a_run_that_failed_has_no_number_and_says_why() -> None:
    failed = make_failed_record(framework__name="mxnet")
    text = comparison_table([failed, run_of("pytorch", 0.05), run_of("chainer", 0.1)])
    first, second, third = body(text)
    assert first.split() == ["mxnet", *"-----", "crashed"]
    assert second.endswith("1.00  passed        ok")
    assert third.endswith("2.00  passed        ok")
    assert "mxnet: crashed in stage 'import': the worker was ended by signal 11 (SIGSEGV)" in text
    assert "first row that ended well" in text


def test_a_repetition_that_failed_joins_its_row() -> None:
    failed = [make_failed_record("timeout", repetition=i) for i in (0, 2)]
    text = comparison_table([failed[0], run_of("pytorch", 0.05, repetition=1), failed[1]])
    assert len(body(text)) == 1
    assert "2.13.0+cpu" in body(text)[0]
    assert body(text)[0].endswith("2 -, 1 passed  2 timeout, 1 ok")
    assert text.count("timeout in stage") == 1


def test_other_weights_are_not_compared() -> None:
    other = run_of("mxnet", 0.1, digests__parameters=f"sha256:{'7' * 64}")
    text = comparison_table([run_of("pytorch", 0.05), other])
    assert [line.split()[-2] for line in body(text)] == ["1.00", "-"]
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
    assert "at least 6 samples" in text


def test_no_records() -> None:
    assert comparison_table([]) == "no records"


def many() -> list[dict[str, Any]]:
    return [
        run_of(name, base * batch, batch_size=batch, mode=mode, optimizer=None)
        for name, base in zip(FRAMEWORKS, (0.0125, 0.0119, 0.0231, 0.0890))
        for mode in ("inference", "training")
        for batch in (4, 32, 256)
    ]


@pytest.mark.parametrize("width", [100, 110, 140])
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
    wide, narrow = (comparison_table(many(), width=width) for width in (200, 40))
    number = re.compile(r"[\d,.]+[\d]")
    assert sorted(number.findall(" ".join(body(wide)))) == sorted(number.findall(" ".join(body(narrow))))


def test_only_ascii_and_the_micro_sign_are_used() -> None:
    text = comparison_table([*many(), make_failed_record()]) + record_summary(make_record())
    assert set(text) - {"µ"} <= {chr(i) for i in range(32, 127)} | {"\n"}


def test_summary_of_a_run() -> None:
    lines = record_summary(make_record(), "results/some where.json").split("\n")
    assert lines[0] == "mnist_mlp, inference, on pytorch 2.13.0+cpu: ok"
    text = re.sub(r"\s+", " ", "\n".join(lines))
    for part in (
        "where cpu (Example CPU 3000), 2 threads, Python 3.11.7 (managed)",
        "what batch size 4, fp32, 109,386 parameters, 872.4 kFLOP a step",
        "import 1.62 s, device 400 µs, values 120 ms, build 210 ms, verify 350 ms, first step 84.0 ms",
        "warm-up 260 ms (5 steps)",
        f"median 51.15 ms, 95 % interval [50.80 ms, 52.10 ms] within one process, {len(SAMPLES)} steps",
        "throughput 77.79 samples/s, 16.97 MFLOP/s",
        "verification passed against numpy fp64, worst output 'fc3': largest error 1.1e-06, allowed 0.0001",
        "memory 392.9 MiB peak on the host",
    ):
        assert part in text
    assert lines[-1].endswith("  results/some where.json")
    assert max(map(len, lines)) <= 100


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
    text = comparison_table([run_of("pytorch", 100.0), run_of("pytorch", 1e-5, batch_size=8)])
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
    assert table(columns, 10).split("\n") == [
        *("name                    n", "---------------------  --"),
        *("a long name             1", "averyveryverylongword  23"),
    ]
    columns = [Column("name", ("a long name of words",)), Column("number", ("1",), numeric=True)]
    assert table(columns, 14).split("\n") == [
        *("name    number", "------  ------", "a long       1", "name", "of", "words"),
    ]
