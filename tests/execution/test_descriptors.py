"""Descriptors of any number can be waited for."""

from __future__ import annotations

import fcntl
import os
import resource
from collections.abc import Iterator

import pytest

from benchmarker.execution.descriptors import can_be_read

BEYOND_SELECT = 1024


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """Return both ends of a pipe, of which the first has a number that ``select.select`` refuses."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limits[1], limits[1]))
    read, write = os.pipe()
    high = fcntl.fcntl(read, fcntl.F_DUPFD, BEYOND_SELECT)
    yield high, write
    for descriptor in (read, write, high):
        os.close(descriptor)
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


class Holder:
    """What has a descriptor."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def fileno(self) -> int:
        return self._descriptor


def test_a_descriptor_of_any_number_is_waited_for(pipe: tuple[int, int]) -> None:
    read, write = pipe
    assert read >= BEYOND_SELECT
    assert not can_be_read(Holder(read), 0.01)
    os.write(write, b"x")
    assert can_be_read(Holder(read), 10.0)
