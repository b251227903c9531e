"""Answers in words: a row for each work, and below it everybody who did it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarker.analysis.charts.labels import short
from benchmarker.analysis.comparison.compare import UNPAIRED, Row
from benchmarker.analysis.comparison.pairs import UNSTEADY
from benchmarker.analysis.comparison.verdict import EQUIVALENT, INCONCLUSIVE, SLOWER
from benchmarker.analysis.page.answers import Answer, Contender, Work, ratio_to
from benchmarker.analysis.text.comparison_words import (
    distinguishing_keys,
    flat_keys,
    interval_text,
    ratio_text,
    title_of,
    value_text,
)
from benchmarker.analysis.text.layout import joined
from benchmarker.analysis.text.quality import groups
from benchmarker.analysis.text.tones import TONES
from benchmarker.analysis.text.units import duration
from benchmarker.errors import plural
from benchmarker.quick_dataclass import dataclass
from benchmarker.records.lookup import value_at, work_name
from benchmarker.records.precision import CONTAMINATED

_SAID = {"problem", "mode", "batch_size", "threads", "optimizer", "problem_semantics"}
"""Keys that have a place of their own, or follow from others."""
_OF_THE_MACHINE = ("platform.", "device", "distributed.")
_VERDICTS = {SLOWER: ("slower", "good"), EQUIVALENT: ("equal", "fair"), INCONCLUSIVE: ("not shown", "fair")}
"""What pairs show of one that is not the fastest, and the tone of how far the answer can be believed."""
_NO_VERDICT = "no verdict"
_SKIPPED = {CONTAMINATED: "disturbed", UNSTEADY: "without a steady state"}


@dataclass(frozen=True)
class Line:
    """One that did the work.

    Parameters
    ----------
    name : str
        The framework with its version and what else tells it from the others.
    framework : str
        Its name alone.
    key : str
        Of its newest run, for a link.
    step, ratio, interval : str
        The median step, and how many times the fastest one's it is, with the 95 % interval of that.
    verdict, tone : str
        What pairs show, and how it is coloured.
    why : str
        Why there is no verdict, or what it rests on.
    grade, grade_tone : str
        The worst grade of the processes that count.
    groups : str
        Into which groups these processes fall, and what tells them apart; empty where they are alike.
    """

    name: str
    framework: str
    key: str
    step: str = ""
    ratio: str = ""
    interval: str = ""
    verdict: str = ""
    tone: str = ""
    why: str = ""
    grade: str = ""
    grade_tone: str = ""
    groups: str = ""


@dataclass(frozen=True)
class AnswerRow:
    """A work and who is fastest at it.

    Parameters
    ----------
    title : str
        The problem.
    about : str
        Mode, mini-batch and what else tells the work from others.
    where : str
        Threads and machine.
    lines : tuple of Line
        The fastest first, at least two; those that are out of the ranking are not among them.
    left_out : str
        Who is, and why; empty for nobody.
    grade, grade_tone : str
        The worst of all that is compared.
    runs : tuple of int
        The places of its runs in the page.
    """

    title: str
    about: str
    where: str
    lines: tuple[Line, ...]
    left_out: str
    grade: str
    grade_tone: str
    runs: tuple[int, ...]

    @property
    def is_shown(self) -> bool:
        """Whether pairs show that the fastest is faster than the next."""
        return self.lines[1].verdict == SLOWER


@dataclass(frozen=True)
class AnswerGroup:
    """Answers of one kind, under a heading."""

    title: str
    rows: tuple[AnswerRow, ...]


@dataclass(frozen=True)
class Answers:
    """All answers of a page; ``alone`` has the works at which nobody can be compared with another."""

    groups: tuple[AnswerGroup, ...]
    alone: tuple[AnswerRow, ...]


def answer_table(found: Sequence[Answer], keys: Mapping[str, tuple[int, str]]) -> Answers:
    """Return answers as a page shows them.

    Parameters
    ----------
    found : sequence of Answer
        In their order.
    keys : mapping
        The place of each run in the page and its name in links, by the identifier of its record.
    """
    rows = list(zip(found, _abouts([answer.work for answer in found])))
    by_kind: dict[str, list[AnswerRow]] = {}
    alone: list[AnswerRow] = []
    for answer, about in rows:
        row = _row(answer, about, keys)
        (by_kind.setdefault(_group(answer.work), []) if len(row.lines) > 1 else alone).append(row)
    return Answers(tuple(AnswerGroup(title, tuple(of)) for title, of in by_kind.items()), tuple(alone))


def _group(work: Work) -> str:
    if not work.is_network:
        return "Operators"
    return "Networks, several ranks" if value_at(work.record, "distributed.ranks") else "Networks"


def _abouts(works: Sequence[Work]) -> list[str]:
    """Return mode and mini-batch of each work, with what else tells those of the same problem apart."""
    flat = [flat_keys(work.telling) for work in works]
    by_key: dict[tuple[Any, ...], list[int]] = {}
    for place, work in enumerate(works):
        by_key.setdefault(_plainly(work), []).append(place)
    found = [_plain_about(work) for work in works]
    for places in by_key.values():
        names = [name for name in distinguishing_keys([flat[place] for place in places]) if _is_shown(name)]
        for place in places:
            more = [_said(name, flat[place].get(name)) for name in names]
            found[place] = joined([found[place], *more])
    return found


def _plainly(work: Work) -> tuple[Any, ...]:
    record = work.record
    return (work_name(record), record["mode"], record["batch_size"], record["execution"]["threads"])


def _plain_about(work: Work) -> str:
    record = work.record
    ranks = value_at(record, "distributed.ranks")
    scheme = f"{ranks} ranks, {value_at(record, 'distributed.scheme')}" if ranks else ""
    texts = (str(record["mode"]), f"batch {record['batch_size']}", str(record["precision"]), scheme)
    return joined(texts)


def _is_shown(name: str) -> bool:
    shown_elsewhere = name in _SAID or name in ("precision", "ranks", "scheme")
    return not shown_elsewhere and not name.startswith(("optimizer.", *_OF_THE_MACHINE))


def _said(name: str, value: Any) -> str:
    if value is None:
        return ""
    if value is True:
        return title_of(name)
    return "" if value is False else short(f"{title_of(name)} {value_text(value)}")


def _row(answer: Answer, about: str, keys: Mapping[str, tuple[int, str]]) -> AnswerRow:
    record = answer.work.record
    threads = record["execution"]["threads"]
    on_cpu = record["device"]["type"] == "cpu" and threads
    where = [plural(threads, "thread") if on_cpu else "", answer.work.machine]
    return AnswerRow(
        title=work_name(record),
        about=about,
        where=joined(where),
        lines=_lines(answer, keys),
        left_out=_left_out(answer),
        grade=answer.grade,
        grade_tone=TONES.get(answer.grade, ""),
        runs=tuple(keys[one["id"]][0] for one in answer.records),
    )


def _left_out(answer: Answer) -> str:
    names = ", ".join(str(one.factors["framework.name"]) for one in answer.left_out)
    disturbed = f"Left out, as every process of theirs was disturbed: {names}." if names else ""
    why = f"Not compared: {answer.why_none}." if answer.why_none else ""
    return " ".join(filter(None, (disturbed, why)))


def _lines(answer: Answer, keys: Mapping[str, tuple[int, str]]) -> tuple[Line, ...]:
    return tuple(
        _line(one, answer.ranked[0], name, keys) for one, name in zip(answer.ranked, _names(answer.ranked))
    )


def _names(ranked: Sequence[Contender]) -> list[str]:
    """Return the name of each, with its version and options where the framework is there twice."""
    names = [str(one.factors["framework.name"]) for one in ranked]
    labels = []
    for one, name in zip(ranked, names):
        same = [other for other, of in zip(ranked, names) if of == name]
        differing = [
            f"{title_of(key)} {value_text(value)}" if key != "framework.version" else value_text(value)
            for key, value in one.factors.items()
            if key.startswith(("framework.", "environment."))
            and any(other.factors.get(key) != value for other in same)
        ]
        labels.append(short(", ".join([name, *differing])))
    return labels


def _line(one: Contender, first: Contender, name: str, keys: Mapping[str, tuple[int, str]]) -> Line:
    verdict, tone, why = _verdict(one)
    shown = one.row is not None and one.row.verdict is not None
    grade = one.grade
    return Line(
        name=name,
        framework=str(one.factors["framework.name"]),
        key=keys[one.counted[-1]["id"]][1],
        step=duration(one.seconds),
        ratio="" if one is first else f"{ratio_text(ratio_to(one, first))} ×",
        interval=interval_text(one.row) if one.row and shown else "",
        verdict="" if one is first else verdict,
        tone=tone,
        why=why if one is not first else plural(len(one.counted), "process"),
        grade=grade,
        grade_tone=TONES.get(grade, ""),
        groups=groups(one.counted) or "",
    )


def _verdict(one: Contender) -> tuple[str, str, str]:
    """Return what pairs show, its tone, and what that rests on."""
    if one.row is None:
        return _NO_VERDICT, "", ""
    if one.row.verdict is None:
        return _NO_VERDICT, "", _why(one.row)
    word, tone = _VERDICTS.get(one.row.verdict.verdict, (one.row.verdict.verdict, ""))
    pairs = one.row.paired.pairs if one.row.paired else 0
    return word, tone, plural(pairs, "pair")


def _why(row: Row) -> str:
    """Return in a few words why there is no verdict."""
    if row.why_none == UNPAIRED:
        return "not measured together"
    skipped = [f"{plural(count, 'pair')} {_SKIPPED.get(why, why)}" for why, count in row.skipped.items()]
    return ", ".join(skipped) or str(row.why_none)
