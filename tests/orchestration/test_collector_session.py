"""One collector and the others: faults, anonymity and cost."""

from __future__ import annotations

import json
import os
import pwd
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarker.api.collector import Run, Unavailable
from benchmarker.machine.nvml import library_exists
from benchmarker.orchestration.collector_session import CollectorSession
from tests.support.collectors import ANONYMOUS, RUN, built_in, collected, git, make_checkout

pytestmark = pytest.mark.usefixtures("facts_folder")


def test_neither_host_nor_user_is_named_in_an_anonymous_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_checkout(tmp_path)
    monkeypatch.chdir(tmp_path)
    user, host = pwd.getpwuid(os.getuid()).pw_name, socket.gethostname()
    git("remote", "add", "origin", f"https://{user}@{host}/{user}/work.git")
    git("checkout", "--quiet", "-b", f"{user}/topic")

    odd = SimpleNamespace(benchmarker_collect=throw(PermissionError(f"/home/{user}/file on {host}")))
    plugins = {**built_in(), "odd": odd}

    def named(collection: CollectorSession) -> list[str]:
        text = json.dumps([collection.readings, collection.statuses])
        return [name for name in (user, host) if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text)]

    assert named(collected(plugins)) == [user, host]
    assert named(collected(plugins, ANONYMOUS)) == []


class Odd:
    """A collector that does one thing wrong, at the place given."""

    def __init__(self, place: str, fault: Callable[[], Any]) -> None:
        self.place, self.fault, self.left = place, fault, False

    def at(self, place: str) -> None:
        if place == self.place:
            self.fault()

    @contextmanager
    def benchmarker_collect(self, run: Run) -> Iterator[Any]:
        self.at("enter")
        try:
            yield {"read": "before"}
            self.at("leave")
        finally:
            self.left = True

    def benchmarker_before_timing(self) -> None:
        self.at("timing")


def throw(error: BaseException) -> Callable[[], Any]:
    def thrower() -> Any:
        raise error

    return thrower


def around(odd: Any, run: Run = RUN) -> tuple[CollectorSession, list[Odd]]:
    good = [Odd("nowhere", lambda: None) for _ in range(2)]
    plugins = {"first": good[0], "odd": odd, "last": good[1]}
    collection = collected(plugins, run)
    for name, collector in zip(("first", "last"), good):
        assert collection.statuses[name] == {"status": "ok", "reason": None}
        assert collection.readings[name] == {"read": "before"}
        assert collector.left
    return collection, good


@pytest.mark.parametrize("error", [ValueError("oops"), SystemExit(3), GeneratorExit()])
@pytest.mark.parametrize("place", ["enter", "timing", "leave"])
def test_a_fault_stays_with_the_collector(place: str, error: BaseException) -> None:
    collection, _ = around(Odd(place, throw(error)))
    assert collection.statuses["odd"]["status"] == "failed"
    assert type(error).__name__ in str(collection.statuses["odd"]["reason"])
    assert collection.readings["odd"] == (None if place == "enter" else {"read": "before"})


@pytest.mark.parametrize("place", ["enter", "timing", "leave"])
def test_an_absence_may_show_at_any_time(place: str) -> None:
    collection, _ = around(Odd(place, throw(Unavailable("no such thing"))))
    assert collection.statuses["odd"] == {"status": "absent", "reason": "no such thing"}


@contextmanager
def _no_yield(run: Run) -> Iterator[Any]:
    if run.anonymous:
        yield {}


def _yielding(value: Any) -> Callable[[], Any]:
    @contextmanager
    def collect() -> Iterator[Any]:
        yield value

    return collect


CIRCULAR: list[Any] = []
CIRCULAR.append(CIRCULAR)


@pytest.mark.parametrize(
    ("hook", "reason"),
    [
        (_no_yield, "didn't yield"),
        (lambda run: None, "returned NoneType, not a context manager"),
        (lambda run: {"a": 1}, "returned dict, not a context manager"),
        (_yielding({"a": object()}), "the readings are not JSON"),
        (_yielding({"a": float("nan")}), "the readings are not JSON"),
        (_yielding(CIRCULAR), "the readings are not JSON"),
        (_yielding("\udc80"), "the readings are not JSON"),
        (_yielding({1, 2}), "the readings are not JSON"),
        (throw(Unavailable("", readings=object())), "the readings are not JSON"),
    ],
)
def test_nonsense_is_recorded_as_such(hook: Any, reason: str) -> None:
    collection, _ = around(SimpleNamespace(benchmarker_collect=hook))
    assert collection.statuses["odd"]["status"] != "ok"
    assert re.search(reason, str(collection.statuses["odd"]["reason"]))
    assert collection.readings["odd"] is None


def test_an_absence_without_a_reason_still_gets_one() -> None:
    collection, _ = around(Odd("enter", throw(Unavailable(""))))
    assert collection.statuses["odd"] == {"status": "absent", "reason": "no reason was given"}


def test_what_could_not_be_loaded_is_recorded() -> None:
    with CollectorSession(RUN, {}, {"third": "failed to import"}) as collection:
        collection.before_timing()
    assert collection.statuses == {"third": {"status": "failed", "reason": "failed to import"}}
    assert collection.readings == {"third": None}


def test_contexts_are_left_when_the_run_fails_and_the_run_s_error_is_kept() -> None:
    class Swallowing(Odd):
        def benchmarker_collect(self, run: Run) -> Any:
            return self

        def __enter__(self) -> dict[str, Any]:
            return {}

        def __exit__(self, *error: object) -> bool:
            self.left = True
            return True

    plugins = {"one": Odd("nowhere", print), "two": Swallowing("nowhere", print)}
    with pytest.raises(LookupError, match="the run"), CollectorSession(RUN, plugins, {}) as collection:
        raise LookupError("the run")
    assert all(plugin.left for plugin in plugins.values())
    assert collection.statuses["one"]["status"] == "ok"


@pytest.mark.parametrize("place", ["enter", "timing", "leave"])
def test_an_interruption_passes_after_every_context_was_left(place: str) -> None:
    first, last = Odd("nowhere", print), Odd("nowhere", print)
    plugins = {"first": first, "odd": Odd(place, throw(KeyboardInterrupt())), "last": last}
    with pytest.raises(KeyboardInterrupt), CollectorSession(RUN, plugins, {}) as collection:
        collection.before_timing()
    assert first.left
    assert last.left == (place != "enter")


class Monitor:
    """A collector that watches in the timed part, notes what is asked of it and may do one thing wrong."""

    def __init__(self, place: str = "nowhere", fault: Callable[[], Any] = lambda: None) -> None:
        self.place, self.fault = place, fault
        self.asked: list[str] = []

    def at(self, place: str) -> None:
        if place == self.place:
            self.fault()

    def benchmarker_before_timing(self) -> None:
        self.asked.append("before timing")
        self.at("before timing")

    def benchmarker_idle(self, run: Run) -> None:
        self.asked.append("idle")
        self.at("idle")

    @contextmanager
    def benchmarker_watch(self, run: Run, pid: int) -> Iterator[Any]:
        self.asked.append(f"watch {run.framework} {pid}")
        self.at("enter")
        readings = {"read": "before"}
        yield readings
        self.asked.append("left")
        readings["read"] = "whole"
        self.at("leave")


class Apart:
    """A collector that needs a pass of its own."""

    @contextmanager
    def benchmarker_watch_untimed(self, pid: int) -> Iterator[Any]:
        yield {"watched": pid}


def test_monitors_are_entered_and_left_with_the_timed_part() -> None:
    monitor, apart = Monitor(), Apart()
    with CollectorSession(RUN, {"monitor": monitor, "apart": apart}, {}) as collection:
        assert collection.statuses["monitor"] == {
            "status": "absent",
            "reason": "the timed part was not reached",
        }
        collection.before_timing()
        collection.timing_begins(77)
        assert monitor.asked == ["before timing", "idle", "watch numpy 77"]
        collection.timing_ends()
        assert monitor.asked[-1] == "left"
        assert collection.monitors == {"monitor": {"read": "whole"}, "apart": None}
        assert collection.statuses["apart"] == {"status": "absent", "reason": "no untimed pass was made"}
        assert collection.untimed_pass_begins(78) is True
        collection.untimed_pass_ends()
    assert monitor.asked.count("left") == 1
    assert collection.monitors == {"monitor": {"read": "whole"}, "apart": {"watched": 78}}
    assert collection.readings == {}
    assert {s["status"] for s in collection.statuses.values()} == {"ok"}


def test_nobody_idles_before_every_collector_is_quiet() -> None:
    order: list[str] = []
    first, last = Monitor("idle", lambda: order.append("idle")), Odd("timing", lambda: order.append("quiet"))
    with CollectorSession(RUN, {"first": first, "last": last}, {}) as collection:
        collection.before_timing()
    assert order == ["quiet", "idle"]


def test_no_pass_apart_is_made_for_nobody() -> None:
    with CollectorSession(RUN, {"monitor": Monitor()}, {}) as collection:
        assert collection.untimed_pass_begins(1) is False


def test_a_monitor_of_a_worker_that_died_is_left_and_what_it_read_is_kept() -> None:
    monitor = Monitor()
    with CollectorSession(RUN, {"monitor": monitor}, {}) as collection:
        collection.timing_begins(1)
    assert monitor.asked[-1] == "left"
    assert collection.monitors == {"monitor": {"read": "whole"}}


@pytest.mark.parametrize("place", ["before timing", "idle", "enter", "leave"])
def test_a_fault_stays_with_the_monitor_and_nothing_more_is_asked_of_it(place: str) -> None:
    odd, good = Monitor(place, throw(SystemExit("oops"))), Monitor()
    with CollectorSession(RUN, {"odd": odd, "good": good}, {}) as collection:
        collection.before_timing()
        collection.timing_begins(1)
        collection.timing_ends()
    assert collection.statuses["odd"] == {"status": "failed", "reason": "SystemExit: oops"}
    assert collection.monitors["odd"] == ({"read": "whole"} if place == "leave" else None)
    assert ("watch numpy 1" in odd.asked) == (place in ("enter", "leave"))
    assert collection.monitors["good"] == {"read": "whole"}
    assert collection.statuses["good"]["status"] == "ok"


def test_a_monitor_may_find_nothing_to_read() -> None:
    absent = Monitor("before timing", throw(Unavailable("no counter")))
    with CollectorSession(RUN, {"absent": absent}, {}) as collection:
        collection.before_timing()
        collection.timing_begins(1)
        collection.timing_ends()
    assert collection.statuses["absent"] == {"status": "absent", "reason": "no counter"}
    assert absent.asked == ["before timing"]


def test_a_monitor_watches_in_one_place() -> None:
    class Both(Monitor, Apart):
        pass

    with CollectorSession(RUN, {"both": Both()}, {}) as collection:
        collection.timing_begins(1)
        collection.timing_ends()
    assert collection.statuses["both"]["status"] == "failed"
    assert "defines both" in str(collection.statuses["both"]["reason"])
    assert collection.monitors == {"both": None}


@pytest.mark.parametrize("place", ["enter", "leave"])
def test_an_interruption_passes_after_every_monitor_was_left(place: str) -> None:
    first, last = Monitor(), Monitor()
    plugins = {"first": first, "odd": Monitor(place, throw(KeyboardInterrupt())), "last": last}
    collection = CollectorSession(RUN, plugins, {})
    if place == "leave":
        collection.timing_begins(1)
    with pytest.raises(KeyboardInterrupt), collection:
        collection.timing_begins(1) if place == "enter" else collection.timing_ends()
    assert first.asked[-1] == "left"
    assert ("left" in last.asked) == (place != "enter")


def test_nothing_heavy_is_imported() -> None:
    script = (
        "import sys; from benchmarker import registry\n"
        "from benchmarker.orchestration.collector_session import CollectorSession\n"
        "from benchmarker.api.collector import Run\n"
        "with CollectorSession(Run('numpy', 'mnist_mlp'), *registry.collectors()) as c: c.before_timing()\n"
        "assert 'ok' == c.statuses['cpu']['status']\n"
        "print([m for m in ('psutil', 'pynvml', 'cpuinfo', 'numpy', 'uv') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    expected = "['pynvml']" if library_exists() else "[]"
    assert done.stdout.strip() == expected or sys.platform != "linux"
