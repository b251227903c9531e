"""Colours that people who see colours differently can tell apart, always in the same order."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Sequence
from functools import cache

from benchmarker import registry
from benchmarker.errors import PluginError

LIGHT = (
    "#D55E00", "#0072B2", "#009E73", "#CC79A7", "#4D4D4D", "#E69F00", "#56B4E9", "#000000", "#961EF0", "#692D00"
)  # fmt: skip
"""On white: Okabe & Ito, Color Universal Design (2008), with a grey for its yellow, which white swallows, and the two
that are farthest from those, however colours are seen: one for each framework here."""
DARK = (
    "#E06A10", "#2A7FC9", "#00A87A", "#DB8DB9", "#F5F5F5", "#F4B61E", "#7CC8F5", "#6E6E6E", "#A51EFF", "#873C1E"
)  # fmt: skip
"""On black: the same hues, lighter."""
LESS, MIDDLE, MORE = "#0072B2", "#F7F7F7", "#D55E00"
"""Ends and middle of a scale around a centre."""
PALE, FULL = "#F2F6FA", "#0B4F7D"
"""Ends of a scale from little to much."""


VARIANTS = 3
"""Of each colour: itself, lighter, darker."""
_TINT, _SHADE = 0.5, 0.35
"""How far the second of a colour goes to white, and the third to black."""


def colour(index: int, *, dark: bool = False) -> str:
    """Return the colour at a place in the palette, e.g. ``"#D55E00"``.

    After its end come the same colours lighter, then darker, for variants of the same thing.
    """
    palette = DARK if dark else LIGHT
    variant, place = divmod(index, len(palette))
    towards, share = ((0, 0.0), (255, _TINT), (0, _SHADE))[variant % VARIANTS]
    channels = (int(palette[place][at : at + 2], 16) for at in (1, 3, 5))
    return "#" + "".join(f"{round(value + (towards - value) * share):02X}" for value in channels)


@cache
def _declared() -> dict[str, int]:
    """Return the places that frameworks ask for in their plugins, by name; ours have theirs before others ask."""
    found: dict[str, int] = {}
    for name in (*registry.names("frameworks", ours=True), *registry.names("frameworks")):
        try:
            place = registry.framework(name).colour
        except PluginError:
            continue  # what is wrong with it is no matter of pictures
        if place is not None and place in range(len(LIGHT)) and place not in found.values():
            found[name] = place
    return found


def _others() -> list[int]:
    """Return the places that no framework asks for; if there are none left, all."""
    taken = _declared().values()
    return [place for place in range(len(LIGHT)) if place not in taken] or list(range(len(LIGHT)))


def rank_of(framework: str) -> int:
    """Return the place of a framework among others: those that ask for a colour come first, in its order."""
    return _declared().get(framework, len(LIGHT))


def colour_of(framework: str) -> int:
    """Return the place of a framework's colour: the same in every picture."""
    others = _others()
    return _declared().get(framework, others[zlib.crc32(framework.encode()) % len(others)])


def colours(frameworks: Sequence[str]) -> tuple[int, ...]:
    """Return a place in the palette for each thing shown, all different.

    The first of each framework has the framework's colour, the next a variant of that. Where two unknown
    frameworks would have the same colour, the second has the next free one.
    """
    bases: dict[str, int] = {}
    for framework in dict.fromkeys(frameworks):
        wanted = colour_of(framework)
        others = (index for index in _others() if index not in bases.values())
        bases[framework] = wanted if wanted not in bases.values() else next(others, wanted)
    taken: dict[int, None] = {}
    for framework in frameworks:
        variants = itertools.count(bases[framework], len(LIGHT))
        taken[next(index for index in variants if index not in taken)] = None
    return tuple(taken)
