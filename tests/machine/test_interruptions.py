"""Interruptions that wait."""

from __future__ import annotations

import signal
import threading

import pytest

from benchmarker.machine.interruptions import interruptions_later


def test_an_interruption_comes_when_the_block_has_ended() -> None:
    done = []

    def interrupted() -> None:
        with interruptions_later():
            signal.raise_signal(signal.SIGINT)
            done.append("the rest of the block")

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert done == ["the rest of the block"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_what_is_ignored_stays_so_and_other_threads_pass() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interruptions_later():
            signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
    done = []

    def elsewhere() -> None:
        with interruptions_later():
            done.append(True)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert done == [True]
