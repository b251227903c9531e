"""A table as Markdown, CSV or LaTeX, for documents and other programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence

from benchmarker.analysis.results.export import defused
from benchmarker.analysis.text.layout import Column, table
from benchmarker.analysis.text.markdown import markdown_table

_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "µ": r"\textmu{}", "<": r"$<$", ">": r"$>$",
}  # fmt: skip


def formatted(columns: Sequence[Column], form: str, width: int) -> str:
    """Return a table in one of :data:`FORMATS`, without a line end.

    Parameters
    ----------
    columns : sequence of Column
        With as many cells each.
    form : str
        Which one.
    width : int
        Characters a line of text should have at most; the others have a line for each row.
    """
    return table(columns, width) if form == "text" else _FORMS[form](columns)


def _rows(columns: Sequence[Column]) -> list[tuple[str, ...]]:
    return [tuple(cell.strip() for cell in row) for row in zip(*(column.cells for column in columns))]


def _csv(columns: Sequence[Column]) -> str:
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow([defused(column.title) for column in columns])
    writer.writerows([defused(cell) for cell in row] for row in _rows(columns))
    return lines.getvalue().rstrip("\n")


def _latex(columns: Sequence[Column]) -> str:
    def line(cells: Sequence[str]) -> str:
        return " & ".join("".join(_LATEX.get(c, c) for c in cell) for cell in cells) + r" \\"

    places = "".join("r" if column.numeric else "l" for column in columns)
    body = map(line, _rows(columns))
    heading = line([column.title for column in columns])
    return "\n".join(
        [
            f"\\begin{{tabular}}{{{places}}}",
            r"\toprule",
            heading,
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )


_FORMS: Mapping[str, Callable[[Sequence[Column]], str]] = {
    "markdown": markdown_table,
    "csv": _csv,
    "latex": _latex,
}
FORMATS = ("text", *_FORMS)
"""What a table may be printed as; LaTeX's needs the package ``booktabs``."""
