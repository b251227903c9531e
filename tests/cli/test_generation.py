"""``run --mode=generation``: one record of a small model, what is printed of it, and what is refused."""

from __future__ import annotations

import pytest

from benchmarker.records.schema import validate
from tests.conftest import Command
from tests.support.command_lines import replaced

SMALL = (
    "--set=llama.layers=2",
    "--set=llama.width=32",
    "--set=llama.heads=4",
    "--set=llama.kv_heads=2",
    "--set=llama.feed_forward=48",
    "--set=llama.vocabulary=50",
)
RUN = ("run", "--framework=numpy", "--problem=llama", "--mode=generation", "--threads=1")


@pytest.mark.framework("numpy")
def test_a_small_model_generates(command: Command) -> None:
    lengths = ("--prompt-length=8", "--output-length=4,6", "--batch-size=2")
    finished = command(*RUN, *SMALL, *lengths, "--steps=5", "--warmup=1", "--timeout=60", "--json")
    assert finished.status == 0, finished.stderr
    for record, output in zip(finished.records, (4, 6)):
        assert validate(record) == []
        assert record["verification"]["status"] == "passed"
        metrics, timing = record["metrics"], record["timing"]
        assert record["specification"]["output_length"] == output
        assert metrics["tokens_per_second"] == pytest.approx(2 * output * 5 / timing["total_seconds"])
        whole = metrics["time_to_first_token"] + (output - 1) * metrics["time_per_output_token"]
        # Medians of parts need not add up to that of the whole; some step is as short, and some is as long.
        assert 0.9 * min(timing["samples_seconds"]) <= whole <= 1.1 * max(timing["samples_seconds"])
    first, second = (record["problem"]["flops_per_step"] for record in finished.records)
    assert second > first
    assert len({record["comparable"]["hash"] for record in finished.records}) == 2
    shown = command("results", "show", finished.records[0]["id"])
    assert "4 after prompts of 8; the first after" in " ".join(shown.stdout.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--problem=alexnet",),
            "problem 'alexnet' is for inference and training and gradient only, got generation",
        ),
        (("--problem=gpt2", "--prompt-length=1024"), "a sequence of 1055 needs as many positions"),
        (("--problem=gpt2", "--output-length=1"), "--output-length must be a whole number from 2"),
        (("--problem=gpt2", "--mode=inference", "--prompt-length=4"), "prompt_length is for generation"),
    ],
)
def test_what_cannot_generate_is_refused(command: Command, arguments: tuple[str, ...], message: str) -> None:
    finished = command(*replaced(("run", "--framework=numpy", "--mode=generation"), *arguments))
    assert finished.status == 2
    assert message in " ".join(finished.stderr.split())
