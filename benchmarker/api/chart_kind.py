"""The chart contract: a kind of picture, and the function that says what one shows."""

from __future__ import annotations

from benchmarker.quick_dataclass import dataclass


@dataclass(frozen=True)
class ChartKind:
    """A kind of picture; itself the plugin of an entry point, or returned by ``benchmarker_chart()``.

    Parameters
    ----------
    name : str
        The entry point's name, as ``plot`` takes it.
    description : str
        What it shows, in a line.
    implementation : str
        ``"module:function"``, imported only for such a picture. ``function(records, **options)`` is pure: it
        takes valid records and returns a :class:`~benchmarker.api.chart.Chart`, or raises
        :class:`~benchmarker.errors.UsageError` where the records show nothing of the kind. Its keyword-only
        arguments are the kind's options: of type bool, int, float, str, Literal, or such or None.
    each : tuple of str
        Members of records, by dotted name, for whose values pages have a picture each, of the records that have them
        all; empty for one picture of all records.
    """

    name: str
    description: str
    implementation: str
    each: tuple[str, ...] = ()

    def benchmarker_chart(self) -> ChartKind:
        """Return itself."""
        return self
