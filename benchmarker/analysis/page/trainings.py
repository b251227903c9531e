"""Who is at the target of each recipe first: the table of a page's trainings."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarker.analysis.comparison.recipe_rankings import recipe_rankings
from benchmarker.analysis.text.factors import trainer_label
from benchmarker.analysis.text.trainings import RANKING_HEADINGS, ranking_notes, ranking_rows
from benchmarker.quick_dataclass import dataclass
from benchmarker.records.lookup import Record


@dataclass(frozen=True)
class Trainings:
    """The table of trainings.

    Parameters
    ----------
    head : tuple of str
        The headings.
    numeric : tuple of bool
        Which of them are of numbers.
    recipes : tuple of tuple of tuple of str
        For each recipe the rows of its frameworks, the first at the target first; none if nothing was trained.
    notes : tuple of str
        What is to be known of it.
    """

    head: tuple[str, ...]
    numeric: tuple[bool, ...]
    recipes: tuple[tuple[tuple[str, ...], ...], ...]
    notes: tuple[str, ...]


def trainings(records: Sequence[Record]) -> Trainings:
    """Return the table of those records that are trainings by recipes."""
    found = recipe_rankings(records, trainer_label)
    return Trainings(
        head=RANKING_HEADINGS,
        numeric=tuple("median" in title for title in RANKING_HEADINGS),
        recipes=tuple(tuple(ranking_rows(ranking)) for ranking in found),
        notes=tuple(ranking_notes(found)),
    )
