"""``benchmarker scale`` as a person calls it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarker.cli.main import main
from benchmarker.records.migration import newest
from benchmarker.records.store import Store
from tests.conftest import ROOT
from tests.support.records import PRESSURE, make_failed_record, make_record

TRAINING = min((ROOT / "results").glob("*_pytorch-*_resnet50_training_*.json"))
INFERENCE = min((ROOT / "results").glob("*_pytorch-*_resnet50_inference_*.json"))


def training(seconds: float, batch_size: int) -> dict[str, Any]:
    """Return the record of a training's steady steps."""
    optimizer = newest(json.loads(TRAINING.read_text(encoding="utf-8")))["optimizer"]
    known = {name: optimizer[name] for name in ("kind", "learning_rate", "momentum")}
    record = make_record([seconds] * 12, batch_size=batch_size, mode="training", optimizer=known)
    return {**record, "optimizer": optimizer}


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Return what a command says that is refused."""
    try:
        status = main(["scale", *arguments])
    except SystemExit as ended:
        status = int(ended.code or 0)
    captured = capsys.readouterr()
    assert (status, captured.out) == (2, "")
    assert captured.err.count("\n") == 1
    return captured.err


def test_a_kept_record_is_predicted_on_many_ranks(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scale", str(TRAINING), "--ranks=1..8", "--network=10gbe"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Predicted, not measured: resnet50 by pytorch")
    assert "all-reduce (ring) over 10gbe (flat" in out
    assert "the latency is assumed" in out
    assert "100.0%" in out
    assert max(map(len, out.splitlines())) <= 80


def test_json_has_each_scheme_over_each_network(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--scheme=all-reduce,sharded", "--network=100gbe,1gbit/1ms", "--ranks=4,2,100000", "--json"]
    assert main(["scale", str(TRAINING), *arguments]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["predicted"] is True
    assert [(curve["scheme"], curve["network"]["name"]) for curve in found["curves"]] == [
        (scheme, network) for scheme in ("all-reduce", "sharded") for network in ("100gbe", "1gbit/1ms")
    ]
    points = found["curves"][0]["points"]
    assert [point["ranks"] for point in points] == [2, 4, 100000]
    assert [point["is_known"] for point in points] == [True, True, False]
    record = json.loads(TRAINING.read_text(encoding="utf-8"))
    assert points[0]["bytes_per_rank"] == 4 * record["problem"]["parameter_count"]


def test_disturbed_steps_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scale", str(TRAINING)]) == 0
    assert "Disturbed" not in capsys.readouterr().out
    record = newest(json.loads(TRAINING.read_text(encoding="utf-8")))
    reason = {**PRESSURE, "severity": "contaminated", "value": 0.9, "limit": 0.2}
    record["trust"].update(grade="contaminated", reasons=[reason])
    path = tmp_path / TRAINING.name
    path.write_text(json.dumps(record), encoding="utf-8")
    assert main(["scale", str(path)]) == 0
    assert "Disturbed: a record is contaminated" in capsys.readouterr().out


def test_overlap_hides_what_is_sent_early(capsys: pytest.CaptureFixture[str]) -> None:
    steps = []
    for more in ([], ["--no-overlap"]):
        assert main(["scale", str(TRAINING), "--ranks=16", "--network=10gbe", "--json", *more]) == 0
        steps.append(json.loads(capsys.readouterr().out)["curves"][0]["points"][0]["step_seconds"])
    assert steps[0] < steps[1]


def test_a_picture_is_drawn_beside(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "scaling.svg"
    assert main(["scale", str(TRAINING), "--network=10gbe,100gbe", f"--output={target}"]) == 0
    assert capsys.readouterr().out.endswith(f"{target}\n")
    drawn = target.read_text(encoding="utf-8")
    assert "<svg" in drawn
    assert len(drawn) > 10_000
    assert "exists" in refused(capsys, str(TRAINING), f"--output={target}")


def test_strong_scaling_takes_records_of_smaller_mini_batches(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = Store(tmp_path)
    sizes = {32: 0.08, 16: 0.05, 8: 0.03}
    paths = [str(store.save(training(seconds, size))) for size, seconds in sizes.items()]
    assert main(["scale", *paths, "--scaling=strong", "--ranks=1,2,4", "--network=1000GB/0s", "--json"]) == 0
    points = json.loads(capsys.readouterr().out)["curves"][0]["points"]
    assert [point["speedup"] for point in points] == pytest.approx([1, 8 / 5, 8 / 3], rel=1e-3)
    assert "needs a one-rank record of batch size 4" in refused(
        capsys, *paths, "--scaling=strong", "--ranks=8"
    )
    assert "weak scaling takes one record, got 3" in refused(capsys, *paths)
    changed = training(0.03, 8)
    changed["problem"] = {**changed["problem"], "parameters": {"x": 1}}
    other = str(Store(tmp_path / "other").save(changed))
    assert "agree in problem.parameters" in refused(capsys, paths[0], other, "--scaling=strong")
    assert "two of these have the same" in refused(capsys, paths[0], paths[0], "--scaling=strong")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--ranks=0"], "--ranks must be whole numbers from 1 to 1,048,576"),
        (["--ranks=2,2"], "must name each value once"),
        (["--ranks=8..2"], "must count up from the first to the last"),
        (["--ranks=1..99999999"], "got '1..99999999'"),
        (["--scheme=all-redce"], "did you mean 'all-reduce'"),
        (["--scheme="], "a scheme must be one of"),
        (["--network=fast"], "a network must be one of"),
        (["--scaling=big"], "--scaling"),
        (["--output=picture.txt"], "a picture's file must end in"),
    ],
)
def test_bad_input_is_told_in_a_sentence(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert told in refused(capsys, str(TRAINING), *arguments)


def test_records_without_training_steps_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "only training is predicted" in refused(capsys, str(INFERENCE))
    failed = Store(tmp_path).save(make_failed_record())
    assert "has no timed steps: its run ended as 'crashed'" in refused(capsys, str(failed))
    assert "fits no record" in refused(capsys, "nothing", f"--results={tmp_path}")
