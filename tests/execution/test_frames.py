"""Frames of several ranks through one stream: whatever is between them, and whatever order they come in."""

from __future__ import annotations

import random

import pytest

from benchmarker.execution.launchers.frames import (
    EVENTS,
    LOG,
    MAX_LINE_BYTES,
    PAYLOAD_BYTES,
    Frame,
    FrameReader,
    encode,
)


@pytest.mark.parametrize("size", [0, 1, PAYLOAD_BYTES - 1, PAYLOAD_BYTES, PAYLOAD_BYTES + 1, 100_000])
def test_what_ranks_say_at_once_comes_apart(size: int) -> None:
    said = {rank: random.Random(rank).randbytes(size) for rank in range(3)}
    lines = [[*encode(rank, EVENTS, data)] for rank, data in said.items()]
    assert max(len(line) for own in lines for line in own) <= MAX_LINE_BYTES
    stream = b"".join(b"".join(mixed) for mixed in zip(*lines))
    reader, heard = FrameReader(), dict.fromkeys(said, b"")
    for start in range(0, len(stream), 1000):
        for frame in reader.take(stream[start : start + 1000]):
            assert frame.kind == EVENTS
            heard[frame.rank] += frame.payload
    assert heard == said


def test_kinds_and_ranks_are_kept() -> None:
    assert [*FrameReader().take(b"".join(encode(99_999, LOG, b"\n\0")))] == [Frame(99_999, LOG, b"\n\0")]


WHOLE = next(encode(7, EVENTS, b"some event"))


@pytest.mark.parametrize(
    "line",
    [
        WHOLE.replace(b" 7 ", b" 8 "),
        WHOLE.replace(b" e ", b" l "),
        WHOLE[:30] + WHOLE[34:],
        WHOLE[:20] + WHOLE,
        b"Loading module python/3.11\n",
        b"\n",
        b"\xff\xfe\n",
        WHOLE.replace(b" 7 ", b" -7 "),
        b"x" * (MAX_LINE_BYTES + 1),
    ],
)
def test_what_is_no_frame_is_noticed(line: bytes) -> None:
    with pytest.raises(ValueError, match="in place of a frame"):
        list(FrameReader().take(line))
