"""The table of ``verify``, for the terminal: the largest error of each framework in each quantity."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarker import registry
from benchmarker.analysis.text.layout import Column, table
from benchmarker.api.options import as_text
from benchmarker.experiment.settings import changed_options
from benchmarker.orchestration.jobs.equivalence_report import EquivalenceReport, FrameworkVerdict
from benchmarker.worker.verification.equivalence import Quantity
from benchmarker.worker.verification.findings import FAILED, LEFT_OUT, PASSED
from benchmarker.worker.verification.probes import LATER

WIDTH = 80
_TITLES = {"output": "outputs", "loss": "loss", "gradient": "gradients", LATER: "later steps"}
_STATUSES = {PASSED: "agrees", FAILED: "DIFFERS", LEFT_OUT: "left out"}
_HEADINGS = {"passed": "passed", "failed": "FAILED", "inconclusive": "INCONCLUSIVE"}


def equivalence_table(report: EquivalenceReport) -> str:
    """Return a table for each size: a row per quantity, a column per framework, then the worst tensors."""
    parts = [f"{report.problem}: {_HEADINGS[report.status]}"]
    for size in report.batch_sizes:
        verdicts = [verdict for verdict in report.verdicts if verdict.size == size]
        if verdicts:
            parts.append(_of_size(report, size, verdicts))
    reason = f"Tolerance: {report.tolerance_reason}."
    if "full" in report.batch_sizes:
        reason += " At full size: as far, but times what moving the weights by a few roundings does there."
    parts.append(textwrap.fill(reason, WIDTH, subsequent_indent="  "))
    return "\n\n".join(parts)


def _of_size(report: EquivalenceReport, size: str, verdicts: Sequence[FrameworkVerdict]) -> str:
    kinds = list(dict.fromkeys(q.kind for verdict in verdicts for q in verdict.quantities))
    against = next((verdict.against for verdict in verdicts if verdict.against), "")
    changed = ", ".join(f"{name}={value}" for name, value in report.parameters[size].items())
    caption = f"{size} size, batch {report.batch_sizes[size]}"
    caption += "" if report.device == "cpu" else f", on {report.device}"
    caption += f", against {against}" if against else ""
    if any(kind not in _TITLES for kind in kinds):
        caption += f"; {report.steps} steps of each optimizer"
    lines = [*textwrap.wrap(caption, WIDTH), *textwrap.wrap(f"({changed})", WIDTH, subsequent_indent=" ")]
    columns = [Column("largest error", (*(_TITLES.get(kind, kind) for kind in kinds), "status"))]
    columns += [
        Column(_label(verdict), (*(_cell(verdict, kind) for kind in kinds), verdict.status), numeric=True)
        for verdict in verdicts
    ]
    lines += ["", table(columns, WIDTH), ""]
    for verdict in verdicts:
        name = with_changed_options(verdict.framework, verdict.options)
        for text in (_worst(verdict), *_ties(verdict), *_checks(verdict)):
            lines += textwrap.wrap(f"{name}: {text}", WIDTH, subsequent_indent="  ")
    return "\n".join(lines)


def _label(verdict: FrameworkVerdict) -> str:
    return f"{verdict.framework} {verdict.version or ''}".strip()


def with_changed_options(framework: str, options: Mapping[str, Any], version: str | None = None) -> str:
    """Return a framework's name, its version and, in brackets, the options that are not as by default."""
    changed = changed_options(registry.framework(framework), options)
    options_text = ", ".join(f"{name}={as_text(value)}" for name, value in changed.items())
    name = f"{framework} {version}" if version else framework
    return f"{name} ({options_text})" if options_text else name


def _quantity(verdict: FrameworkVerdict, kind: str) -> Quantity | None:
    return next((quantity for quantity in verdict.quantities if quantity.kind == kind), None)


def _cell(verdict: FrameworkVerdict, kind: str) -> str:
    quantity = _quantity(verdict, kind)
    if quantity is None:
        return "-"
    mark = {"passed": "", "failed": "!", "inconclusive": "?"}[quantity.status]
    return f"{mark}{quantity.error:.1e}"


def _ties(verdict: FrameworkVerdict) -> Iterator[str]:
    """Yield what is wrong with gradients that are not unique, or other than in the reference."""
    for tie in verdict.ties:
        if tie.fault is not None:
            yield tie.fault
        elif tie.convention != tie.reference:
            yield f"in {tie.name} {tie.convention}; in the reference {tie.reference}"


def _checks(verdict: FrameworkVerdict) -> Iterator[str]:
    """Yield what was looked at besides tensors, and what was left out."""
    for check in verdict.checks:
        yield f"{check.name} {_STATUSES[check.status]}: {check.detail}"


def _worst(verdict: FrameworkVerdict) -> str:
    if verdict.unable is not None:
        return verdict.unable
    if verdict.failure is not None:
        return verdict.failure
    failed = [v for quantity in verdict.quantities for v in quantity.failed]
    if failed:
        worst = max(failed, key=lambda v: v.used)
        return (
            f"{len(failed)} tensors differ, most of all {worst.kind} '{worst.name}': {worst.norm_error:.2g} of "
            f"its norm (allowed {worst.norm_tolerance:.2g}), {worst.max_relative_error:.2g} of its largest "
            f"element (allowed {worst.tolerance:.2g})"
        )
    worst = max((quantity.worst for quantity in verdict.quantities), key=lambda v: v.used)
    skipped = sum(len(quantity.skipped) for quantity in verdict.quantities)
    text = (
        f"nearest to its tolerance is {worst.kind} '{worst.name}': {worst.norm_error:.2g} of its norm, "
        f"allowed {worst.norm_tolerance:.2g}"
    )
    if not skipped:
        return text
    tensors = sum(quantity.tensors for quantity in verdict.quantities)
    return f"{text}; {skipped} of {tensors} tensors not judged, for rounding may move them too far"
