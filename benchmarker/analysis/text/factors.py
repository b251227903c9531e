"""What tells the rows of a table apart: factors that vary become columns, the rest is said once; how each is shown."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Protocol

from benchmarker import registry
from benchmarker.analysis.text.setting_labels import setting_texts
from benchmarker.api.optimizer import Optimizer, constants, settings_of
from benchmarker.errors import BenchmarkerError, plural
from benchmarker.experiment.keys import canonical
from benchmarker.experiment.options import RUN_OPTIONS
from benchmarker.experiment.run_option import RunOption
from benchmarker.experiment.spec import UNSTATED
from benchmarker.experiment.usual_sampling import DEFAULT_SAMPLING, usual_sampling
from benchmarker.quick_dataclass import dataclass
from benchmarker.records.lookup import Record, value_at


@dataclass(frozen=True)
class Factor:
    """Something that may vary over the rows of a table.

    Parameters
    ----------
    title : str
        Heading of its column.
    texts : tuple of str
        What it is in each row.
    varies : bool
        Whether it deserves a column.
    caption : str
        What is said once if it does not vary; empty if nothing.
    """

    title: str
    texts: tuple[str, ...]
    varies: bool
    caption: str = ""


def differ(values: Sequence[Any], owners: Sequence[Any]) -> bool:
    """Tell whether two rows of one owner have different values, all of them JSON."""
    if len(values) < 2:
        return False
    found: dict[str, str] = {}
    return any(
        found.setdefault(owner, value) != value
        for owner, value in zip(map(json.dumps, owners), map(canonical, values))
    )


def framework_label(record: Record) -> str:
    """Return the framework with its version, e.g. ``"pytorch 2.13.0+cpu"``."""
    framework = record["framework"]
    name = str(framework["name"])
    if framework["full"]:
        return f"{name} {framework['full'].removeprefix(f'{name}-')}"
    version = framework["version"] or framework["requested_version"]
    return f"{name} {version}" if version else name


def trainer_label(record: Record) -> str:
    """Return who made a training: the framework, and of several ranks how many with what scheme."""
    found = record.get("distributed")
    if not found:
        return framework_label(record)
    return f"{framework_label(record)}, {found['ranks']} ranks, {found['scheme']} ({found['exchange']})"


_FOUND = (
    ("device name", "device.name", "framework.name"),
    ("Python", "environment.python", "framework.full"),
    ("Python build", "environment.build", "environment.python"),
    ("interpreter", "environment.kind", "framework.full"),
    ("image digest", "environment.container.digest", "environment.kind"),
    ("network of ranks", "distributed.network.kind", "specification.network"),
    ("data digest", "inputs.data.digest", "inputs.data.name"),
    ("host", "platform.host.name", ""),
    ("processor", "platform.cpu.model", ""),
)
"""Title, path of the value, path of its owner."""


def environment_factors(records: Sequence[Record]) -> list[Factor]:
    """Return the factors of what only the runs found out; what a run did not is no variation."""
    return [_requested_version(records), *(_found(records, *row) for row in _FOUND)]


def _requested_version(records: Sequence[Record]) -> Factor:
    """Tell runs that asked for a version from those that got the same one unasked."""
    texts = tuple(str(value_at(record, "framework.requested_version") or "any") for record in records)
    return Factor("version asked", texts, differ(texts, list(map(framework_label, records))))


def _found(records: Sequence[Record], title: str, path: str, owner: str) -> Factor:
    values = [value_at(record, path) for record in records]
    known = [(value, value_at(record, owner)) for value, record in zip(values, records) if value is not None]
    varies = differ([value for value, _ in known], [of for _, of in known])
    return Factor(title, tuple("" if value is None else short_digest(str(value)) for value in values), varies)


def short_digest(text: str) -> str:
    """Return the beginning of a SHA-256 digest, and any other text as it is."""
    return f"{text[:19]}..." if text.startswith("sha256:") else text


Specification = Mapping[str, Any]
"""The specification of a run."""


class _Shown(Protocol):
    """Members of a specification that are one factor, and those beside which it is looked at."""

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def context(self) -> tuple[str, ...]: ...

    def factor(self, rows: Sequence[Specification]) -> Factor: ...


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
    show: Callable[[Specification], str]
    title: str
    caption: str
    always: bool = False
    within: tuple[str, ...] = ()

    @property
    def context(self) -> tuple[str, ...]:
        return self.within

    def factor(self, rows: Sequence[Specification]) -> Factor:
        texts = tuple(map(self.show, rows))
        values = [[row[name] for name in self.names] for row in rows]
        said = texts[0] and (self.always or values[0] != [UNSTATED.get(name) for name in self.names])
        return Factor(
            self.title,
            texts,
            differ(values, [[row[name] for name in self.within] for row in rows]),
            self.caption.format(texts[0]) if said else "",
        )


def _one(name: str, option: RunOption | None = None) -> _Plain:
    """Return how a member is shown: as its option says, by its name if it is none."""
    words = name.replace("_", " ")
    if option is None:
        return _Plain((name,), lambda specification: _text(specification[name]), words, f"{words} {{}}")
    return _Plain(
        (name,),
        lambda specification: _text(specification[name]),
        option.title or words,
        option.caption or f"{words} {{}}",
        option.always_shown,
        (option.owner,) if option.owner else (),
    )


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
    def context(self) -> tuple[str, ...]:
        return (self.owner,)

    def factor(self, rows: Sequence[Specification]) -> Factor:
        settings, owners = [row[self.name] for row in rows], [row[self.owner] for row in rows]
        usual = {owner: self._usual(owner) for owner in set(owners)}
        non_defaults = [
            [name for name, value in row.items() if value != usual[owner].get(name, value)]
            for owner, row in zip(owners, settings)
        ]
        texts = tuple(setting_texts(settings, owners, non_defaults))
        return Factor(self.title, texts, differ(settings, owners), texts[0] if len(usual) == 1 else "")

    def _usual(self, owner: str) -> Mapping[str, Any]:
        """Return the defaults; nothing for a plugin that is not installed here, whose records remain."""
        try:
            return self.defaults(owner)
        except BenchmarkerError:
            return {}


class _Optimizer:
    """The optimizer; inference has none."""

    names = ("optimizer",)
    context = ("problem", "mode")

    def factor(self, rows: Sequence[Specification]) -> Factor:
        chosen = [row["optimizer"] or {} for row in rows]
        kinds = [str(optimizer.get("kind", "")) for optimizer in chosen]
        values = [{n: v for n, v in optimizer.items() if n != "kind"} for optimizer in chosen]
        owners: list[Hashable] = [(row["problem"], row["mode"]) for row in rows]
        settings = setting_texts(values, list(zip(owners, kinds)), list(map(_shown_constants, kinds, values)))
        texts = tuple(f"{kind} {setting}".strip() for kind, setting in zip(kinds, settings))
        return Factor("optimizer", texts, differ(chosen, owners), texts[0] if len(set(texts)) == 1 else "")


def _shown_constants(kind: str, values: Mapping[str, Any]) -> Collection[str]:
    """Return the learning rate and what differs from the kind's usual constants."""
    if not kind:
        return ()
    if not constants(kind):
        return tuple(values)  # of a rule that is not installed here, whose records remain
    usual = Optimizer.default(kind).to_json()
    return ["learning_rate", *(n for n in settings_of(kind) if values.get(n) != usual.get(n))]


def _device(specification: Specification) -> str:
    gpus = specification["gpus"]
    return f"{specification['device']} {','.join(map(str, gpus))}" if gpus else str(specification["device"])


def _threads(specification: Specification) -> str:
    if specification["threads"] is None:
        return ""
    return plural(specification["threads"], "thread")


class _Amount:
    """How much is timed: a number of steps or a window."""

    names = ("steps", "window")
    context = ("mode", "target_seconds")

    def factor(self, rows: Sequence[Specification]) -> Factor:
        texts = tuple(map(_amount, rows))
        values = [[row[name] for name in self.names] for row in rows]
        kinds = {"steps" if row["window"] is None else "window" for row in rows}
        return Factor(
            kinds.pop() if len(kinds) == 1 else "length",
            texts,
            differ(values, [row["mode"] for row in rows]),
            ", ".join(dict.fromkeys(filter(None, map(_stated_amount, rows)))),
        )


def _stated_amount(specification: Specification) -> str:
    if specification["window"] is not None:
        return f"window {_amount(specification)}"
    return "" if specification["steps"] is None else f"steps {_amount(specification)}"


class _Sampling:
    """What samples are for; told where it is not what the mode does by itself."""

    names = ("sampling",)
    context = ("mode",)

    def factor(self, rows: Sequence[Specification]) -> Factor:
        texts = tuple(str(row["sampling"]) for row in rows)
        usual = all(
            row["mode"] in DEFAULT_SAMPLING and text == usual_sampling(row["mode"], row.get("scenario"))
            for text, row in zip(texts, rows)
        )
        varies = not usual and len(set(texts)) > 1
        return Factor("sampling", texts, varies, "" if usual else f"sampling for {texts[0]}")


def _amount(specification: Specification) -> str:
    if specification["window"] is not None:
        return f"{specification['window']:.12g} s"
    if specification["steps"] is None:
        return f"about {specification['target_seconds']:.12g} s"
    return f"{specification['steps']:,}"


def _content(specification: Specification) -> str:
    """Return the beginning of the digest of a problem that is a file."""
    return str(specification["problem_digest"] or "")[: len("sha256:") + 12]


_SHARED = "shared"
"""What ``--network`` takes that emulates nothing."""


def _network(specification: Specification) -> str:
    """Return the network of ranks; an emulated one is called so wherever it is told of."""
    network = specification["network"]
    return "" if network is None else str(network) if network == _SHARED else f"emulated {network}"


def _monitors(specification: Specification) -> str:
    return "all" if specification["monitors"] is None else _text(specification["monitors"])


_IN_ITS_OWN_WAY: Mapping[str, _Shown] = {
    "device": _Plain(("device", "gpus"), _device, "device", "{}", always=True),
    "threads": _Plain(("threads",), _threads, "threads", "{}", always=True),
    "data": _Plain(("data",), lambda specification: specification["data"] or "drawn", "data", "data {}"),
    "steps": _Amount(),
    "sampling": _Sampling(),
    "network": _Plain(("network",), _network, "network", "network {}"),
    "monitors": _Plain(("monitors",), _monitors, "monitors", "monitors {}"),
}
_BESIDE_ANOTHER = ("gpus", "window")
_BEFORE_THE_OPTIMIZER = ("mode", "batch_size", "precision")


def _option(name: str) -> _Shown:
    return _IN_ITS_OWN_WAY.get(name) or _one(name, RUN_OPTIONS[name])


_SHOWN: tuple[_Shown, ...] = (
    _Plain(("problem",), lambda specification: _text(specification["problem"]), "problem", "{}", always=True),
    _Plain(("problem_digest",), _content, "content", "content {}", within=("problem",)),
    _Settings(
        "problem_parameters", "parameters", "problem", lambda n: registry.installed_problem(n).configure({})
    ),
    _Settings("framework_options", "options", "framework", lambda n: asdict(registry.framework(n).options())),
    *map(_option, _BEFORE_THE_OPTIMIZER),
    _Optimizer(),
    *(
        _option(name)
        for name, option in RUN_OPTIONS.items()
        if option.specified and name not in (*_BESIDE_ANOTHER, *_BEFORE_THE_OPTIMIZER)
    ),
)
_APART = ("framework", "framework_version", "repetition")
"""Members that a table of runs has in columns of its own."""


def specification_factors(rows: Sequence[Specification]) -> list[Factor]:
    """Return the factors of what was asked: each member in which rows differ varies in one of them.

    A member that has no way of its own to be shown, because it is new, is shown by its name.
    """
    known = {*_APART, *(name for shown in _SHOWN for name in shown.names)}
    new = dict.fromkeys(name for row in rows for name in row if name not in known)
    every = (*_SHOWN, *map(_one, new))
    complete = [{**dict.fromkeys(new), **row} for row in rows] if new else rows
    names = {name for shown in every for name in (*shown.names, *shown.context)}
    columns = {name: [row[name] for row in complete] for name in names}
    varying = {name: values for name, values in columns.items() if values.count(values[0]) < len(values)}
    return [_aspect(shown, complete, varying) for shown in every]


def _aspect(shown: _Shown, rows: Sequence[Specification], varying: Mapping[str, Sequence[Any]]) -> Factor:
    """Return a factor of all rows, worked out once for those that are alike in what it looks at."""
    seen = [map(repr, varying[name]) for name in (*shown.names, *shown.context) if name in varying]
    if not seen:
        alike = shown.factor(rows[-1:])
        return alike if len(rows) == 1 else replace(alike, texts=alike.texts * len(rows))
    keys = list(zip(*seen))
    distinct = dict(zip(keys, rows))
    factor = shown.factor(list(distinct.values()))
    text_of = dict(zip(distinct, factor.texts))
    return replace(factor, texts=tuple([text_of[key] for key in keys]))
