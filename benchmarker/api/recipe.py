"""The recipe contract: a training to a stated quality, as a blueprint file with a ``[training]`` table."""

from __future__ import annotations

from pathlib import Path

from benchmarker.quick_dataclass import dataclass


@dataclass(frozen=True)
class RecipeFile:
    """A recipe; itself the plugin of an entry point, or returned by ``benchmarker_recipe()``.

    Parameters
    ----------
    name : str
        The entry point's name, as ``benchmarker train`` takes it.
    description : str
        What is trained until when, in a line.
    file : Path
        The blueprint, a ``.toml`` file beside the plugin's module.
    reference_runs : Path or None
        A JSON file with what trainings of the recipe came to, seed by seed: what its target was chosen by.
    """

    name: str
    description: str
    file: Path
    reference_runs: Path | None = None

    def benchmarker_recipe(self) -> RecipeFile:
        """Return itself."""
        return self
