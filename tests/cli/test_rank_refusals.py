"""Several ranks as they cannot be: one sentence before anything is started or written."""

from __future__ import annotations

import pytest

from tests.conftest import Command

RUN = ("run", "--problem=mnist_mlp", "--batch-size=64", "--threads=1", "--steps=3")
NUMPY = (*RUN, "--framework=numpy")
TWO = (*NUMPY, "--ranks=2")


def refused(command: Command, *arguments: str) -> str:
    """Return the sentence that a command is refused with."""
    finished = command(*arguments)
    assert finished.status == 2, finished.stderr
    assert finished.stdout == ""
    (sentence,) = finished.stderr.splitlines()
    assert not (command.folder / "results").exists()
    return sentence.removeprefix("benchmarker: ").removeprefix("benchmarker run: ")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            (*NUMPY, "--ranks=3"),
            "--ranks must divide the batch size, so that all of them weigh the same, got 3 for a batch size of 64",
        ),
        (
            (*TWO, "--micro-batch=64"),
            "--micro-batch must divide the 32 rows of a rank, got 64",
        ),
        (
            (*TWO, "--exchange=native"),
            "framework 'numpy' has no scheme 'all-reduce' of its own, it has none; use --exchange=mpi",
        ),
        (
            (*RUN, "--framework=pytorch", "--ranks=2", "--scheme=averaging/4", "--exchange=native"),
            (
                "framework 'pytorch' has no scheme 'averaging/4' of its own, it has all-reduce, sharded; "
                "use --exchange=mpi"
            ),
        ),
        (
            (
                *RUN,
                "--framework=tensorflow",
                "--ranks=2",
                "--scheme=asynchronous-server",
                "--exchange=native",
            ),
            (
                "framework 'tensorflow' has no scheme 'asynchronous-server' for ranks: with ParameterServerStrategy "
                "one coordinator gives the steps to whichever worker is free, so that no rank makes steps of its own, "
                "on its own rows, that could be timed and followed; use --exchange=mpi"
            ),
        ),
        (
            (*RUN, "--framework=keras_jax", "--ranks=2", "--exchange=native", "--set=jit=off"),
            (
                "keras.distribution.DataParallel over gloo takes the option jit as auto, on, got off; "
                "use --exchange=mpi"
            ),
        ),
        (
            (*RUN, "--framework=keras_tensorflow", "--ranks=2", "--exchange=native", "--set=jit=on"),
            (
                "MultiWorkerMirroredStrategy, RING over gRPC takes the option jit as auto, off, got on; "
                "use --exchange=mpi"
            ),
        ),
        (
            ("--framework=jax", "--problem=res10ssd", "--ranks=2", "--exchange=native"),
            (
                "'res10ssd' by jax's own 'all-reduce' would take the statistics of all ranks' rows, but the mean over "
                "matched boxes of each rank's; use --exchange=mpi"
            ),
        ),
        (
            (
                *("--framework=keras_jax", "--problem=bert_base", "--ranks=2", "--exchange=native"),
                "--micro-batch=1",
            ),
            (
                "--micro-batch is not for 'bert_base' by keras_jax's own 'all-reduce', which looks at the samples of "
                "all ranks at once; leave it out or use --exchange=mpi"
            ),
        ),
        (
            (*RUN, "--framework=onnxruntime", "--ranks=2"),
            "framework 'onnxruntime' cannot do training, only inference and generation",
        ),
        (
            (*TWO, "--scheme=sharded", "--clip-norm=0.1"),
            (
                "scheme 'sharded' updates parts of the weights on each rank, which optimizer 'sgd' and what is done "
                "around it do not allow: they look at more than one element at a time"
            ),
        ),
        ((*TWO, "--start=fork"), "--start=fork is for a run of one rank; use --start=spawn"),
        (
            (*TWO, "--breakdown"),
            "--breakdown is for a run of one rank; the parts of a rank's step are always in its record",
        ),
        ((*TWO, "--mode=inference"), "ranks is for training, got the mode inference; add training"),
        (
            (*TWO, "--scheme=all-redce"),
            "unknown scheme 'all-redce'; did you mean 'all-reduce'?",
        ),
        (
            (*TWO, "--scheme=averaging/0"),
            "averaging/STEPS takes a whole number from 1 to 1000000, got '0'",
        ),
        (
            (*TWO, "--scheme=stale-synchronous/-1"),
            "stale-synchronous/BOUND takes a whole number from 0 to 1000000, got '-1'",
        ),
        ((*TWO, "--scheme=no.py"), "a scheme that ends in .py must be a file that is there, got 'no.py'"),
        (
            (*TWO, "--network=nonsense"),
            (
                "a link must be a rate such as 10mbit or 1gbit, or a rate and a latency such as 100mbit/1ms; "
                "got 'nonsense', or 'shared'"
            ),
        ),
        (
            (*TWO, "--network=1kbit"),
            "the rate of a link must be from 64kbit to 100gbit; got '1kbit', or 'shared'",
        ),
        ((*NUMPY, "--scheme=all-reduce"), "scheme is for several ranks, got --ranks=1"),
        ((*NUMPY, "--exchange=mpi"), "exchange is for several ranks, got --ranks=1"),
        ((*NUMPY, "--scaling=weak"), "scaling is for several ranks, got --ranks=1"),
        ((*NUMPY, "--network=shared"), "network is for several ranks, got --ranks=1"),
    ],
    ids=lambda value: " ".join(value[5:]) if isinstance(value, tuple) else "",
)
def test_what_does_not_fit_together_is_one_sentence(
    command: Command, arguments: tuple[str, ...], sentence: str
) -> None:
    assert refused(command, *arguments) == sentence


@pytest.mark.parametrize("text", ["0", "-1", "250", "1e3", "two", "2.0", ""])
def test_what_is_no_number_of_ranks_is_one_sentence(command: Command, text: str) -> None:
    assert refused(command, *NUMPY, f"--ranks={text}").startswith(
        "--ranks must be a whole number from 1 to 249"
    )


@pytest.mark.parametrize("option", ["exchange", "scaling"])
def test_what_is_none_of_the_choices_is_one_sentence(command: Command, option: str) -> None:
    assert refused(command, *TWO, f"--{option}=nonsense").startswith(f"--{option} must be '")


def test_an_interpreter_without_mpi_is_refused_by_what_it_lacks(command: Command) -> None:
    sentence = refused(command, *TWO, "--env=current")
    assert "cannot run 'numpy': mpi4py==" in sentence
    assert "mpich==" in sentence
    assert sentence.endswith("install what it lacks, or use --env managed")


def test_ranks_are_for_the_cpu(command: Command) -> None:
    sentence = refused(command, *RUN, "--framework=pytorch", "--ranks=2", "--device=cuda")
    # Without a GPU that is what is said of it first.
    assert "cpu" in sentence


def test_what_one_number_of_ranks_cannot_others_can(command: Command) -> None:
    finished = command(*NUMPY, "--ranks=1,3", "--dry-run")
    assert finished.status == 0, finished.stderr
    assert "--ranks must divide the batch size" in finished.stdout + finished.stderr
