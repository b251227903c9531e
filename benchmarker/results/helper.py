"""A process that reads files for another: lists of paths come in, parts of the table go out."""

from __future__ import annotations

import gc
import json
import struct
import sys

from benchmarker.results.chunks import read_chunk

LENGTH = struct.Struct("<Q")
"""Before each answer: its length in bytes."""


def main() -> None:
    """Answer each line of paths until there are no more."""
    # Parsed records hold no cycles, and looking for them takes a third of the time.
    gc.disable()
    for line in sys.stdin.buffer:
        answer = read_chunk(json.loads(line))
        sys.stdout.buffer.write(LENGTH.pack(len(answer)) + answer)
        sys.stdout.buffer.flush()
