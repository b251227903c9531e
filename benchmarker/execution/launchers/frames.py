"""What ranks and benchmarker say to each other through a stream that an engine such as Slurm lets them share.

A frame is a line of text, shorter than what engines pass on at once: Slurm passes on whole lines where these fit into
a message of its own, so that the frames of several ranks come in any order, and none lies within another.
"""

from __future__ import annotations

import binascii
import zlib
from collections.abc import Iterator

from benchmarker.quick_dataclass import dataclass

MAX_LINE_BYTES = 900
"""Slurm's messages have 1 KiB with their own header."""
_MAGIC = "benchmarker"
PAYLOAD_BYTES = 600

TELL, BEGIN, EVENTS, CONTROL, LOG, SOCKET, SIGNAL, EXIT = b"t", b"b", b"e", b"c", b"l", b"s", b"k", b"x"
"""Kinds: where a rank is; how its worker is started; its events; what it is told; what it prints; what goes through the
socket that it inherits; a signal for it; its exit status."""


@dataclass(frozen=True)
class Frame:
    """A part of what a rank says, or is told.

    Parameters
    ----------
    rank : int
        Whose it is.
    kind : bytes
        One letter.
    payload : bytes
        At most :data:`PAYLOAD_BYTES`.
    """

    rank: int
    kind: bytes
    payload: bytes


def encode(rank: int, kind: bytes, data: bytes) -> Iterator[bytes]:
    """Yield the lines that hold data, at least one."""
    for start in range(0, max(len(data), 1), PAYLOAD_BYTES):
        part = data[start : start + PAYLOAD_BYTES]
        header = f"{_MAGIC} {rank} {kind.decode()} {_checksum(rank, kind, part):08x} "
        yield header.encode() + binascii.b2a_base64(part)


def _checksum(rank: int, kind: bytes, part: bytes) -> int:
    return zlib.crc32(kind + rank.to_bytes(4, "big") + part)


class FrameReader:
    """Takes bytes and gives the frames that are whole."""

    def __init__(self) -> None:
        self._pending = b""

    def take(self, data: bytes) -> Iterator[Frame]:
        """Yield the frames that are whole now.

        Raises
        ------
        ValueError
            If something else is among them.
        """
        *lines, self._pending = (self._pending + data).split(b"\n")
        if len(self._pending) > MAX_LINE_BYTES:
            lines.append(self._pending)
        for line in lines:
            yield _decoded(line)


def _decoded(line: bytes) -> Frame:
    try:
        magic, rank, kind, checksum, text = line.split(b" ")
        frame = Frame(int(rank), kind, binascii.a2b_base64(text))
        whole = magic.decode() == _MAGIC
        if whole and int(checksum, 16) == _checksum(frame.rank, kind, frame.payload):
            return frame
    except (ValueError, OverflowError):  # binascii's own among them
        pass
    raise ValueError(f"what arrived in place of a frame begins with {line[:60]!r}")
