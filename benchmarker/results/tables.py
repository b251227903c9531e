"""What a flat table of records can do, whatever it is made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


class Table(Protocol):
    """A row for each record, and a column for each plain value, by its dotted name."""

    @property
    def names(self) -> Sequence[str]:
        """Names of the columns."""

    def __len__(self) -> int: ...

    def values(self, name: str) -> list[Any]:
        """Return a column's values as the records have them; None where one has not."""

    def take(self, rows: Sequence[int]) -> Table:
        """Return the table of these rows."""

    def to_arrow(self, paths: Sequence[str]) -> pa.Table:
        """Return the columns that a user sees, after a first column ``path``, with units and descriptions."""

    def to_frame(self, paths: Sequence[str]) -> pd.DataFrame:
        """Return the same for pandas."""
