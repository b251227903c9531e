"""All collectors around one run: none of them can disturb another, the run, or what is measured."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

from benchmarker.anonymity import without_names
from benchmarker.collector import NothingToRead
from benchmarker.experiment import RunSpec

OK, ABSENT, FAILED = "ok", "absent", "failed"


class Collecting:
    """Context that enters every collector's context, and leaves all that were entered.

    A collector is always left as after a run that ended well, so that it reads what there is to read.
    Whatever a collector raises, ``SystemExit`` included, becomes its status; only ``KeyboardInterrupt``
    passes, after every context was left.

    Parameters
    ----------
    run : RunSpec
        The run, shown to every collector.
    collectors : mapping
        Plugins by name.
    broken : mapping
        Why further collectors could not be loaded, by name.

    Attributes
    ----------
    readings : dict
        JSON values by collector's name, ``None`` where there are none; complete once the context is left.
    statuses : dict
        By collector's name ``{"status": "ok" | "absent" | "failed", "reason": str | None}``.
    """

    def __init__(self, run: RunSpec, collectors: Mapping[str, Any], broken: Mapping[str, str]) -> None:
        self.readings: dict[str, Any] = {}
        self.statuses: dict[str, dict[str, str | None]] = {}
        self._run = run
        self._plugins = dict(collectors)
        self._entered: dict[str, tuple[AbstractContextManager[Any], Any]] = {}
        for name in (*collectors, *broken):
            self.readings[name] = None
            self.statuses[name] = {"status": OK, "reason": None}
        for name, reason in broken.items():
            self._record(name, FAILED, reason)

    def __enter__(self) -> Collecting:
        try:
            for name in self._plugins:
                self._guarded(name, self._enter)
        except BaseException:
            self._leave_all()
            raise
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._leave_all()

    def before_timing(self) -> None:
        """Return when no collector has anything of its own running beside the worker."""
        for name in self._entered:
            self._guarded(name, self._before_timing)

    def _enter(self, name: str) -> None:
        context = _called(self._plugins[name].benchmarker_collect, self._run)
        if not isinstance(context, AbstractContextManager):
            raise TypeError(f"benchmarker_collect() returned {type(context).__name__}, not a context manager")
        self._entered[name] = (context, context.__enter__())

    def _before_timing(self, name: str) -> None:
        hook = getattr(self._plugins[name], "benchmarker_before_timing", None)
        if hook is not None:
            _called(hook, self._run)

    def _leave(self, name: str) -> None:
        context, readings = self._entered[name]
        try:
            context.__exit__(None, None, None)
        finally:
            # What was read before a fault is still true.
            self.readings[name] = _as_json(readings)

    def _leave_all(self) -> None:
        """Leave the contexts, the last entered first; an interruption waits until all are left."""
        interruption: KeyboardInterrupt | None = None
        for name in reversed(self._entered):
            try:
                self._guarded(name, self._leave)
            except KeyboardInterrupt as error:
                interruption = error
        self._entered = {}
        if interruption is not None:
            raise interruption

    def _guarded(self, name: str, step: Callable[[str], None]) -> None:
        try:
            step(name)
        except KeyboardInterrupt:
            self._record(name, FAILED, "was interrupted")
            raise
        except NothingToRead as absence:
            self._absent(name, absence)
        except BaseException as error:
            self._record(name, FAILED, _sentence(error))

    def _absent(self, name: str, absence: NothingToRead) -> None:
        self._record(name, ABSENT, absence.reason)
        try:
            self.readings[name] = _as_json(absence.readings)
        except Exception as error:
            self._record(name, FAILED, _sentence(error))

    def _record(self, name: str, status: str, reason: str) -> None:
        """Note the first fault; what follows from it says less."""
        if self.statuses[name]["status"] == FAILED:
            return
        text = str(reason).encode("utf-8", "backslashreplace").decode() or "no reason was given"
        self.statuses[name] = {
            "status": status,
            "reason": without_names(text) if self._run.anonymous else text,
        }


def _called(hook: Callable[..., Any], run: RunSpec) -> Any:
    """Call a hook with ``run`` if it wants it, as pluggy does."""
    return hook(run=run) if "run" in inspect.signature(hook).parameters else hook()


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
