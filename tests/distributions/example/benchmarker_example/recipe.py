"""A recipe of the distribution's own problem and data set."""

from __future__ import annotations

from pathlib import Path

from benchmarker.api import RecipeFile

TO_THE_CORNERS = RecipeFile(
    "to_the_corners", "two layers that tell the corners apart", Path(__file__).with_name("corners.toml")
)
