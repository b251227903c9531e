"""As ``cupyx``."""

from __future__ import annotations

from typing import Any

import numpy as np


def scatter_add(array: Any, places: Any, values: Any) -> Any:
    """Add values where the places say, also where a place is named again."""
    places = places if isinstance(places, tuple) else (places,)
    hosts = tuple(getattr(place, "_host", place) for place in places)
    np.add.at(array._host, hosts, values._host)
