"""All collectors around one run: none of them can disturb another, the run, or what is measured."""

from __future__ import annotations

import copy
import inspect
import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from types import ModuleType, TracebackType
from typing import Any

from benchmarker.api.collector import Run, Unavailable
from benchmarker.machine.identity import without_names

OK, ABSENT, FAILED = "ok", "absent", "failed"
COLLECT, WATCH, UNTIMED = "benchmarker_collect", "benchmarker_watch", "benchmarker_watch_untimed"
NOT_REACHED = {WATCH: "the timed part was not reached", UNTIMED: "no untimed pass was made"}


def own_copy(plugin: Any) -> Any:
    """Return a collector for one run: of an object a shallow copy, since two runs may be made at once."""
    if isinstance(plugin, (ModuleType, type)):
        return plugin
    try:
        return copy.copy(plugin)
    except Exception:  # an object that cannot be copied has no state of a run to mix up, or is broken anyway
        return plugin


class CollectorSession:
    """Context that enters every collector's context, and leaves all that were entered.

    A collector is always left as after a run that ended well, so that it reads what there is to read.
    Whatever a collector raises, ``SystemExit`` included, becomes its status; only ``KeyboardInterrupt``
    passes, after every context was left.

    Parameters
    ----------
    run : Run
        The run, shown to every collector.
    collectors : mapping
        Plugins by name.
    broken : mapping
        Why further collectors could not be loaded, by name.

    Attributes
    ----------
    readings : dict
        JSON values by name of each collector that looks at the machine, ``None`` where there are none;
        complete once the context is left.
    monitors : dict
        The same for each collector that watches the worker in the timed part, or in an untimed pass.
    statuses : dict
        By collector's name ``{"status": "ok" | "absent" | "failed", "reason": str | None}``.
    """

    def __init__(self, run: Run, collectors: Mapping[str, Any], broken: Mapping[str, str]) -> None:
        self.readings: dict[str, Any] = {}
        self.monitors: dict[str, Any] = {}
        self.statuses: dict[str, dict[str, str | None]] = {}
        self._run = run
        self._plugins = dict(collectors)
        self._entered: dict[tuple[str, str], tuple[AbstractContextManager[Any], Any]] = {}
        """Contexts and what they yielded, by hook and collector's name."""
        self._out: set[str] = set()
        """Collectors that have raised something, which are asked for nothing more."""
        for name, plugin in collectors.items():
            self._prepare(name, plugin)
        for name, reason in broken.items():
            self.readings[name] = None
            self._record(name, FAILED, reason)

    def _prepare(self, name: str, plugin: Any) -> None:
        watched = [hook for hook in (WATCH, UNTIMED) if hasattr(plugin, hook)]
        self.statuses[name] = {"status": OK, "reason": None}
        if watched:
            self.monitors[name] = None
        if hasattr(plugin, COLLECT):
            self.readings[name] = None
        elif watched:
            self._record(name, ABSENT, NOT_REACHED[watched[0]])
        if len(watched) > 1:
            self._out.add(name)
            self._record(name, FAILED, f"defines both {WATCH} and {UNTIMED}, but may have only one of them")

    def __enter__(self) -> CollectorSession:
        try:
            self._enter_all(COLLECT)
        except BaseException:
            self._leave_all(COLLECT)
            raise
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # A worker that died in a pass leaves its monitors to be ended here.
        self._leave_all(UNTIMED, WATCH, COLLECT)

    def before_timing(self) -> None:
        """Return when no collector has anything of its own running beside the worker."""
        for hook in ("benchmarker_before_timing", "benchmarker_idle"):
            for name in self._willing():
                self._guarded(COLLECT, name, self._call, hook, name)

    def timing_begins(self, pid: int) -> None:
        """Let collectors watch the worker, process ``pid``, in the timed part."""
        self._enter_all(WATCH, pid=pid)

    def timing_ends(self) -> None:
        """End what :meth:`timing_begins` began; its readings are complete."""
        self._leave_all(WATCH)

    def untimed_pass_begins(self, pid: int) -> bool:
        """Let collectors that could disturb it watch the worker, process ``pid``, in a pass of its own.

        Returns
        -------
        bool
            Whether any of them does, so that the pass is worth its time.
        """
        self._enter_all(UNTIMED, pid=pid)
        return any(hook == UNTIMED for hook, _ in self._entered)

    def untimed_pass_ends(self) -> None:
        """End what :meth:`untimed_pass_begins` began; its readings are complete."""
        self._leave_all(UNTIMED)

    def _willing(self) -> list[str]:
        return [name for name in self._plugins if name not in self._out]

    def _call(self, hook: str, name: str) -> None:
        function = getattr(self._plugins[name], hook, None)
        if function is not None:
            _called(function, run=self._run)

    def _enter_all(self, hook: str, **given: Any) -> None:
        for name in self._willing():
            if hasattr(self._plugins[name], hook):
                self._guarded(hook, name, self._enter, hook, name, given)

    def _enter(self, hook: str, name: str, given: Mapping[str, Any]) -> None:
        context = _called(getattr(self._plugins[name], hook), run=self._run, **given)
        if not isinstance(context, AbstractContextManager):
            raise TypeError(f"{hook}() returned {type(context).__name__}, not a context manager")
        self._entered[hook, name] = (context, context.__enter__())
        if self.statuses[name]["reason"] == NOT_REACHED.get(hook):
            self.statuses[name] = {"status": OK, "reason": None}

    def _leave(self, hook: str, name: str) -> None:
        context, readings = self._entered.pop((hook, name))
        try:
            context.__exit__(None, None, None)
        finally:
            # What was read before a fault is still true.
            self._place(hook)[name] = _as_json(readings)

    def _leave_all(self, *hooks: str) -> None:
        """Leave the contexts of hooks, the last entered first; an interruption waits until all are left."""
        interruption: KeyboardInterrupt | None = None
        for hook, name in reversed(list(self._entered)):
            if hook not in hooks:
                continue
            try:
                self._guarded(hook, name, self._leave, hook, name)
            except KeyboardInterrupt as error:
                interruption = error
        if interruption is not None:
            raise interruption

    def _place(self, hook: str) -> dict[str, Any]:
        return self.readings if hook == COLLECT else self.monitors

    def _guarded(self, hook: str, name: str, step: Callable[..., None], *arguments: Any) -> None:
        try:
            step(*arguments)
        except KeyboardInterrupt:
            self._record(name, FAILED, "was interrupted")
            raise
        except Unavailable as absence:
            self._out.add(name)
            self._absent(hook, name, absence)
        except BaseException as error:
            self._out.add(name)
            self._record(name, FAILED, _sentence(error))

    def _absent(self, hook: str, name: str, absence: Unavailable) -> None:
        self._record(name, ABSENT, absence.reason)
        try:
            readings = _as_json(absence.readings)
        except Exception as error:
            self._record(name, FAILED, _sentence(error))
            return
        place = self._place(hook)
        if name in place:
            place[name] = readings

    def _record(self, name: str, status: str, reason: str) -> None:
        """Note the first fault; what follows from it says less."""
        if self.statuses.get(name, {}).get("status") == FAILED:
            return
        text = str(reason).encode("utf-8", "backslashreplace").decode() or "no reason was given"
        self.statuses[name] = {
            "status": status,
            "reason": without_names(text) if self._run.anonymous else text,
        }


def _called(hook: Callable[..., Any], **given: Any) -> Any:
    """Call a hook with those of the arguments that it wants, as pluggy does."""
    wanted = inspect.signature(hook).parameters
    return hook(**{name: value for name, value in given.items() if name in wanted})


def _as_json(readings: Any) -> Any:
    """Return a copy of ``readings`` that holds nothing but JSON.

    Raises
    ------
    TypeError
        If they hold anything else, infinity, not-a-number and text that UTF-8 cannot spell included.
    """
    try:
        text = json.dumps(readings, allow_nan=False, ensure_ascii=False)
        return json.loads(text.encode("utf-8"))
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(f"the readings are not JSON: {error}") from error


def _sentence(error: BaseException) -> str:
    kind = type(error).__name__
    try:
        return f"{kind}: {error}" if str(error) else kind
    except Exception:
        return kind
