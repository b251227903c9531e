"""How each member of a specification is shown in a table of runs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

from benchmarker import registry
from benchmarker.errors import BenchmarkerError
from benchmarker.experiment import RunSpec, specification
from benchmarker.framework import Optimizer
from benchmarker.hyperparameters import constants
from benchmarker.planning import DEFAULT_SAMPLING
from benchmarker.report.aspects import Aspect, differ
from benchmarker.report.settings import setting_texts

Asked = Mapping[str, Any]
"""The specification of a run."""

_USUAL = specification(RunSpec("", ""))


class _Shown(Protocol):
    """Members of a specification that are one aspect, and those beside which it is looked at."""

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def beside(self) -> tuple[str, ...]: ...

    def aspect(self, rows: Sequence[Asked]) -> Aspect: ...


@dataclass(frozen=True)
class _Plain:
    """Members that have one text.

    Parameters
    ----------
    names : tuple of str
        The members.
    show : callable
        Specification to text.
    title : str
        Heading of the column.
    caption : str
        How it is said once, with ``{}`` for the text.
    always : bool
        Whether it is said even at its default.
    within : tuple of str
        Members that own these: they vary only if rows with the same owner differ in them.
    """

    names: tuple[str, ...]
    show: Callable[[Asked], str]
    title: str
    caption: str
    always: bool = False
    within: tuple[str, ...] = ()

    @property
    def beside(self) -> tuple[str, ...]:
        return self.within

    def aspect(self, rows: Sequence[Asked]) -> Aspect:
        texts = tuple(map(self.show, rows))
        values = [[row[name] for name in self.names] for row in rows]
        said = texts[0] and (self.always or values[0] != [_USUAL.get(name) for name in self.names])
        return Aspect(
            self.title,
            texts,
            differ(values, [[row[name] for name in self.within] for row in rows]),
            self.caption.format(texts[0]) if said else "",
        )


def _one(name: str, caption: str, *, title: str = "", **how: Any) -> _Plain:
    return _Plain((name,), lambda asked: _text(asked[name]), title or name.replace("_", " "), caption, **how)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ",".join(map(str, value)) or "none"
    if isinstance(value, float):
        return f"{value:.12g}"
    return "" if value is None else str(value)


@dataclass(frozen=True)
class _Settings:
    """A member that holds named settings of a plugin; those that differ, or are not its defaults, are told."""

    name: str
    title: str
    owner: str
    defaults: Callable[[str], Mapping[str, Any]]

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)

    @property
    def beside(self) -> tuple[str, ...]:
        return (self.owner,)

    def aspect(self, rows: Sequence[Asked]) -> Aspect:
        settings, owners = [row[self.name] for row in rows], [row[self.owner] for row in rows]
        usual = {owner: self._usual(owner) for owner in set(owners)}
        told = [
            [name for name, value in row.items() if value != usual[owner].get(name, value)]
            for owner, row in zip(owners, settings)
        ]
        texts = tuple(setting_texts(settings, owners, told))
        return Aspect(self.title, texts, differ(settings, owners), texts[0] if len(usual) == 1 else "")

    def _usual(self, owner: str) -> Mapping[str, Any]:
        """Return the defaults; nothing for a plugin that is not installed here, whose records remain."""
        try:
            return self.defaults(owner)
        except BenchmarkerError:
            return {}


class _Optimizer:
    """The optimizer; inference has none."""

    names = ("optimizer",)
    beside = ("problem", "mode")

    def aspect(self, rows: Sequence[Asked]) -> Aspect:
        chosen = [row["optimizer"] or {} for row in rows]
        kinds = [str(optimizer.get("kind", "")) for optimizer in chosen]
        values = [{n: v for n, v in optimizer.items() if n != "kind"} for optimizer in chosen]
        owners: list[Hashable] = [(row["problem"], row["mode"]) for row in rows]
        settings = setting_texts(values, list(zip(owners, kinds)), list(map(_told, kinds, values)))
        texts = tuple(f"{kind} {setting}".strip() for kind, setting in zip(kinds, settings))
        return Aspect("optimizer", texts, differ(chosen, owners), texts[0] if len(set(texts)) == 1 else "")


def _told(kind: str, values: Mapping[str, Any]) -> Collection[str]:
    """Return the learning rate and what differs from the kind's usual constants."""
    if not kind:
        return ()
    usual = Optimizer.default(kind)
    return ["learning_rate", *(n for n in constants(kind) if values.get(n) != getattr(usual, n))]


def _device(asked: Asked) -> str:
    gpus = asked["gpus"]
    return f"{asked['device']} {','.join(map(str, gpus))}" if gpus else str(asked["device"])


def _threads(asked: Asked) -> str:
    if asked["threads"] is None:
        return ""
    return "1 thread" if asked["threads"] == 1 else f"{asked['threads']} threads"


class _Amount:
    """How much is timed: a number of steps or a window."""

    names = ("steps", "window")
    beside = ("mode", "target_seconds")

    def aspect(self, rows: Sequence[Asked]) -> Aspect:
        texts = tuple(map(_amount, rows))
        values = [[row[name] for name in self.names] for row in rows]
        kinds = {"steps" if row["window"] is None else "window" for row in rows}
        return Aspect(
            kinds.pop() if len(kinds) == 1 else "length",
            texts,
            differ(values, [row["mode"] for row in rows]),
            ", ".join(dict.fromkeys(filter(None, map(_stated_amount, rows)))),
        )


def _stated_amount(asked: Asked) -> str:
    if asked["window"] is not None:
        return f"window {_amount(asked)}"
    return "" if asked["steps"] is None else f"steps {_amount(asked)}"


class _Sampling:
    """What samples are for; told where it is not what the mode does by itself."""

    names = ("sampling",)
    beside = ("mode",)

    def aspect(self, rows: Sequence[Asked]) -> Aspect:
        texts = tuple(str(row["sampling"]) for row in rows)
        usual = all(text == DEFAULT_SAMPLING.get(row["mode"]) for text, row in zip(texts, rows))
        varies = not usual and len(set(texts)) > 1
        return Aspect("sampling", texts, varies, "" if usual else f"sampling for {texts[0]}")


def _amount(asked: Asked) -> str:
    if asked["window"] is not None:
        return f"{asked['window']:.12g} s"
    return f"about {asked['target_seconds']:.12g} s" if asked["steps"] is None else f"{asked['steps']:,}"


def _content(asked: Asked) -> str:
    """Return the beginning of the digest of a problem that is a file."""
    return str(asked["problem_digest"] or "")[: len("sha256:") + 12]


def _monitors(asked: Asked) -> str:
    return "all" if asked["monitors"] is None else _text(asked["monitors"])


_SHOWN: tuple[_Shown, ...] = (
    _one("problem", "{}", always=True),
    _Plain(("problem_digest",), _content, "content", "content {}", within=("problem",)),
    _Settings(
        "problem_parameters", "parameters", "problem", lambda n: registry.installed_problem(n).configure({})
    ),
    _Settings("framework_options", "options", "framework", lambda n: asdict(registry.framework(n).options())),
    _one("mode", "{}", always=True),
    _one("batch_size", "batch size {}", always=True),
    _one("precision", "{}", always=True),
    _Optimizer(),
    _Plain(("device", "gpus"), _device, "device", "{}", always=True),
    _Plain(("threads",), _threads, "threads", "{}", always=True),
    _one("affinity", "bound to CPU {}"),
    _one("seed", "seed {}"),
    _Plain(("data",), lambda asked: asked["data"] or "drawn", "data", "data {}"),
    _one("data_dir", "from {}", title="data folder", within=("data",)),
    _one("inputs", "inputs {}"),
    _Amount(),
    _one("target_seconds", "about {} s", title="aim [s]"),
    _one("minimum_samples", "at least {} samples"),
    _Sampling(),
    _one("samples_per_epoch", "epochs of {} samples"),
    _one("warmup", "warm-up {}", title="warm-up"),
    _one("environment", "environment {}"),
    _one("launcher", "launcher {}"),
    _one("start", "start {}"),
    _one("compile_cache", "compile cache {}"),
    _Plain(("monitors",), _monitors, "monitors", "monitors {}"),
    _one("verify", "verify {}"),
)
_APART = ("framework", "framework_version", "repetition")
"""Members that a table of runs has in columns of its own."""


def asked_aspects(rows: Sequence[Asked]) -> list[Aspect]:
    """Return the aspects of what was asked: each member in which rows differ varies in one of them.

    A member that has no way of its own to be shown, because it is new, is shown by its name.
    """
    known = {*_APART, *(name for shown in _SHOWN for name in shown.names)}
    new = dict.fromkeys(name for row in rows for name in row if name not in known)
    every = (*_SHOWN, *(_one(name, f"{name} {{}}") for name in new))
    complete = [{**dict.fromkeys(new), **row} for row in rows] if new else rows
    names = {name for shown in every for name in (*shown.names, *shown.beside)}
    columns = {name: [row[name] for row in complete] for name in names}
    varying = {name: values for name, values in columns.items() if values.count(values[0]) < len(values)}
    return [_aspect(shown, complete, varying) for shown in every]


def _aspect(shown: _Shown, rows: Sequence[Asked], varying: Mapping[str, Sequence[Any]]) -> Aspect:
    """Return an aspect of all rows, worked out once for those that are alike in what it looks at."""
    seen = [map(repr, varying[name]) for name in (*shown.names, *shown.beside) if name in varying]
    keys = list(zip(*seen)) if seen else [()] * len(rows)
    distinct = dict(zip(keys, rows))
    aspect = shown.aspect(list(distinct.values()))
    text_of = dict(zip(distinct, aspect.texts))
    return replace(aspect, texts=tuple([text_of[key] for key in keys]))
