"""The libraries underneath frameworks, by their own calls: the operators that they have, and no others."""

from __future__ import annotations

import json

import pytest

from tests.conftest import Command
from tests.support.framework_process import output

LIBRARIES = {"onednn": 50, "openblas": 20}
"""How many checks each passes at least; the other operators it does not have."""
SIZES = {
    "deepbench_gemm": ("--set=m=17", "--set=n=5", "--set=k=33", "--set=a_transposed=true"),
    "deepbench_conv": ("--set=width=14", "--set=height=9", "--set=in_channels=8", "--set=filters=16"),
    "deepbench_rnn": ("--set=type=vanilla,lstm,gru", "--set=hidden=8", "--set=batch=3", "--set=time_steps=4"),
}


@pytest.mark.framework
@pytest.mark.parametrize("library", LIBRARIES)
def test_it_conforms_in_what_it_has(command: Command, library: str) -> None:
    report = json.loads(command("check", library, "--threads=1", "--json").stdout)
    statuses = [result["status"] for result in report["results"]]
    assert [result["name"] for result in report["results"] if result["status"] == "failed"] == []
    assert report["failure"] is None
    assert statuses.count("passed") >= LIBRARIES[library]


@pytest.mark.framework
@pytest.mark.parametrize("problem", SIZES)
def test_operators_of_deepbench_are_verified_in_either_layout(command: Command, problem: str) -> None:
    run = ("--framework=onednn", "--mode=inference", "--set=onednn.layout=best,plain", "--start=fork")
    records = command(
        *run, f"--problem={problem}", *SIZES[problem], "--steps=2", "--warmup=1", "--json"
    ).records
    assert len(records) == (6 if problem == "deepbench_rnn" else 2)
    assert {record["framework"]["options"]["layout"] for record in records} == {"best", "plain"}
    assert {(r["status"], r["verification"]["status"]) for r in records} == {("ok", "passed")}
    # The version of the library is not that of its package.
    assert {r["framework"]["version"] for r in records} == {"2023.2.0"}
    assert all(r["framework"]["libraries"]["onednn"].startswith("3.2.0 (") for r in records)


@pytest.mark.framework
def test_a_product_of_openblas_is_verified_and_its_kernels_are_told(command: Command) -> None:
    run = ("--framework=openblas", "--problem=deepbench_gemm", *SIZES["deepbench_gemm"], "--mode=inference")
    (record,) = command(*run, "--steps=2", "--warmup=1", "--json").records
    assert (record["status"], record["verification"]["status"]) == ("ok", "passed")
    assert "kernels " in record["framework"]["libraries"]["openblas"]


@pytest.mark.framework
@pytest.mark.parametrize("library", LIBRARIES)
def test_values_that_are_used_in_several_ways_are_right(library: str) -> None:
    found = json.loads(output(library, "-m", "tests.in_framework.libraries", library))
    grown = found.pop("growth")
    assert max(found.values()) < 1e-5, found
    assert grown < 50_000_000  # of 200 megabytes that were loaded


@pytest.mark.framework
def test_gates_in_another_order_are_found() -> None:
    found = json.loads(output("onednn", "-m", "tests.in_framework.libraries", "onednn", "misplaced"))
    assert found["layer"] > 1e-2
    assert found["convolutions"] < 1e-5


@pytest.mark.framework
@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            ("--framework=openblas", "--problem=deepbench_conv", "--mode=inference"),
            "has no conv (nodes conv)",
        ),
        (("--framework=onednn", "--problem=mnist_mlp", "--mode=inference"), "has no "),
    ],
)
def test_what_it_lacks_is_refused_by_name(command: Command, options: tuple[str, ...], told: str) -> None:
    (record,) = command(*options, "--steps=1", "--json").records
    assert record["status"] == "failed"
    assert told in record["error"]["message"]


@pytest.mark.parametrize("library", LIBRARIES)
def test_it_cannot_be_trained(command: Command, library: str) -> None:
    finished = command(f"--framework={library}", "--problem=deepbench_gemm", "--mode=gradient")
    assert finished.status == 2
    assert f"framework '{library}' cannot do gradient, only inference" in finished.stderr
