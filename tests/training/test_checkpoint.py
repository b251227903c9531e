"""The file of a checkpoint: what was written is read, anything else is refused in a sentence."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from benchmarker.api.training_state import TrainingState
from benchmarker.training import checkpoint
from benchmarker.training.checkpoint import About, CheckpointError, Place, Subject, Writer

SUBJECT = Subject("small", "sha256:1", 5, "sha256:2", "sha256:3", "sha256:4", {"learning_rate": "sha256:5"})
ABOUT = About(
    "0.6.0",
    "2026-11-23T04:11:54.936915Z",
    Writer("numpy", "2.4.6", {}, "cpu", "fp32", "native"),
    SUBJECT,
    Place(33, 2112, 1, 11, 0.25, 33, {"training": 7}, ({"step": 0, "train_loss": None},)),
    {"weights": 0.1 + 0.2},
)
ROW = np.linspace(0.0, 1.0, 7, dtype=np.float32)
STATE = TrainingState(
    33,
    {"w": ROW.reshape(7, 1), "b": np.float64(1 / 3) * np.ones(3)},
    {"m": {"w": ROW.reshape(7, 1) * 2}, "v": {"w": np.zeros((7, 1), np.float32)}},
    {"weights": 0.1 + 0.2},
    {
        "generator": np.array([2**64 - 1, 1], np.uint64),
        "step": np.array(4),
        "seed": np.arange(3, dtype=np.uint8),
    },
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = checkpoint.checkpoint_path(tmp_path, 33)
    checkpoint.write(path, ABOUT, STATE)
    return path


def test_what_was_written_is_read_bit_for_bit(file: Path) -> None:
    found = checkpoint.read(file)
    assert found.about == ABOUT
    assert (found.state.steps, found.state.numbers) == (33, STATE.numbers)
    told, kept = checkpoint.arrays_of(found.state), checkpoint.arrays_of(STATE)
    assert told.keys() == kept.keys()
    for name, array in kept.items():
        assert told[name].dtype == array.dtype
        assert np.array_equal(told[name], array)
        assert told[name].shape == array.shape


def test_other_tools_read_the_file(file: Path) -> None:
    """It is a safetensors file: an 8-byte length, a JSON header of texts and offsets that cover the rest."""
    content = file.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    metadata = header.pop("__metadata__")
    assert all(isinstance(value, str) for value in metadata.values())
    offsets = sorted(tuple(entry["data_offsets"]) for entry in header.values())
    assert offsets[0][0] == 0
    assert all(first[1] == second[0] for first, second in zip(offsets, offsets[1:]))
    assert 8 + length + offsets[-1][1] == len(content)
    first, last = header["parameter/w"]["data_offsets"]
    assert np.array_equal(np.frombuffer(content[8 + length :][first:last], "<f4"), ROW)


def replaced(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    return lambda data: data.replace(old, new)


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda data: data[:-1], "is cut short; continue from an earlier one"),
        (lambda data: data[:200], "is cut short; continue from an earlier one"),
        (lambda data: data[:5], "is cut short; continue from an earlier one"),
        (lambda data: b"", "is cut short; continue from an earlier one"),
        (lambda data: data[:-1] + bytes([data[-1] ^ 1]), "is damaged: its content is not what was written"),
        (replaced(b'\\"step\\": 33', b'\\"step\\": 44'), "is damaged: its content is not what was written"),
        (replaced(b'"shape": [7, 1]', b'"shape": [1, 7]'), "is damaged: its content is not what was written"),
        (replaced(b'"data_offsets"', b'"data_0ffsets"'), "is damaged: its header cannot be read"),
        (
            replaced(b'"format": "1"', b'"format": "9"'),
            "has format 9, but this benchmarker reads formats up to 1",
        ),
        (replaced(b'"benchmarker"', b'"benchmarkes"'), "is not a checkpoint of a training"),
        (lambda data: b"\x10" + bytes(7) + b"no JSON at all..", "is not a checkpoint of a training"),
        (lambda data: b"PK\x03\x04" + data, "is not a checkpoint of a training"),
    ],
)
def test_what_is_not_whole_is_refused(damage: Callable[[bytes], bytes], sentence: str, file: Path) -> None:
    whole = file.read_bytes()
    assert damage(whole) != whole
    file.write_bytes(damage(whole))
    with pytest.raises(CheckpointError) as refused:
        checkpoint.read(file)
    assert sentence in str(refused.value)
    assert str(file) in str(refused.value)


def test_every_byte_counts(file: Path) -> None:
    whole = file.read_bytes()
    for place in range(0, len(whole), 7):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 0x20]) + whole[place + 1 :])
        try:
            found = checkpoint.read(file)
        except CheckpointError:
            continue
        assert (found.about, checkpoint.arrays_of(found.state).keys()) == (
            ABOUT,
            checkpoint.arrays_of(STATE).keys(),
        )


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"absent' cannot be read \(No such file or directory\)"):
        checkpoint.read(tmp_path / "absent")


def test_a_write_that_fails_leaves_what_there_was(file: Path) -> None:
    before = file.read_bytes()
    broken = TrainingState(34, {"w": np.zeros(2, np.complex64)}, {})
    with pytest.raises(TypeError, match="got an array of complex64"):
        checkpoint.write(file, ABOUT, broken)
    assert file.read_bytes() == before
    assert list(file.parent.iterdir()) == [file]


def test_the_last_ones_stay_and_those_of_a_process_that_was_further(tmp_path: Path) -> None:
    for step in (11, 22, 33, 99):
        checkpoint.checkpoint_path(tmp_path, step).write_bytes(b"")
    checkpoint.prune(tmp_path, 33, 2)
    assert [path.name for path in checkpoint.checkpoint_files(tmp_path)] == [
        f"step-{step:09d}.safetensors" for step in (99, 33, 22)
    ]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({}, None),
        ({"data": "sha256:9"}, "the data set has changed since the checkpoint"),
        ({"recipe_digest": "sha256:9"}, "is of recipe 'small' as it was before it was changed (sha256:1)"),
        (
            {"recipe": "large", "recipe_digest": "sha256:9"},
            "is of recipe 'small' but this training is by 'large'",
        ),
        ({"seed": 6}, "has seed 5, but this training has seed 6"),
        ({"order": "sha256:9"}, "has a different order of samples from this training"),
        ({"constants": {}}, "has a different schedule from this training"),
    ],
)
def test_another_training_is_told_by_what_differs(
    changes: dict[str, object], sentence: str | None, file: Path
) -> None:
    subject = Subject(**{**vars(SUBJECT), **changes})
    found = list(checkpoint.mismatches(checkpoint.read(file), subject, {"w": (7, 1), "b": (3,)}))
    assert len(found) == (sentence is not None)
    assert sentence is None or sentence in found[0]


def test_another_model_is_told_by_its_shape(file: Path) -> None:
    read = checkpoint.read(file)
    (sentence,) = checkpoint.mismatches(read, SUBJECT, {"w": (7, 2), "b": (3,)})
    assert sentence.endswith("is of a different model: it has (7, 1) as 'w', but this training has (7, 2)")
    (sentence,) = checkpoint.mismatches(read, SUBJECT, {"w": (7, 1)})
    assert sentence.endswith("it has (3,) as 'b', but this training has none")


@pytest.mark.timeout(30)
def test_a_pipe_or_a_header_nested_deeply_is_no_checkpoint(tmp_path: Path) -> None:
    pipe, deep = tmp_path / "pipe", tmp_path / "deep"
    os.mkfifo(pipe)
    deep.write_bytes((100_000).to_bytes(8, "little") + b"[" * 100_000)
    with pytest.raises(CheckpointError, match="Not a file"):
        checkpoint.read(pipe)
    with pytest.raises(CheckpointError, match="is not a checkpoint"):
        checkpoint.read(deep)
