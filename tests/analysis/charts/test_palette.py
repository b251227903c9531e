"""The colours of pictures: told apart with any kind of colour vision, the same thing always in the same."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt
import pytest

from benchmarker import registry
from benchmarker.analysis.charts.palette import DARK, LIGHT, colour, colour_of, colours

FRAMEWORKS: tuple[str, ...] = ("pytorch", "tensorflow", "mxnet", "chainer", "numpy", "keras_pytorch")
FRAMEWORKS += ("keras_tensorflow", "keras_jax", "jax", "onnxruntime")
"""Each asks for its place in this order."""
LATER = {"cudnn", "cupy", "iree", "onednn", "openblas", "opencv", "openvino", "paddle", "tinygrad"}
"""For these there is no place left; they have one by their names."""

# G. M. Machado, M. M. Oliveira, L. A. F. Fernandes: A Physiologically-based Model for Simulation of Color Vision
# Deficiency, IEEE TVCG 15(6), 2009, severity 1.0; on linear RGB.
VISION = {
    "normal": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = np.array([0.9505, 1.0, 1.089])
BACKGROUND = {"light": "#FFFFFF", "dark": "#15181C"}
PALETTES = {"light": LIGHT, "dark": DARK}

Vector = npt.NDArray[np.float64]


def linear(code: str) -> Vector:
    """Linear RGB of a colour."""
    channels = np.array([int(code[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def lab(rgb: Vector) -> Vector:
    """CIE L*a*b* of linear RGB."""
    ratio = XYZ @ np.clip(rgb, 0, 1) / WHITE
    x, y, z = np.where(ratio > 0.008856, np.cbrt(ratio), 7.787 * ratio + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def contrast(one: str, other: str) -> float:
    """Contrast as WCAG defines it."""
    low, high = sorted(float(XYZ[1] @ linear(code)) for code in (one, other))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("theme", PALETTES)
def test_any_two_colours_can_be_told_apart(theme: str, vision: str) -> None:
    seen = [lab(np.array(VISION[vision]) @ linear(code)) for code in PALETTES[theme]]
    # About 2.3 is just noticeable; areas that do not touch need more.
    assert min(float(np.linalg.norm(a - b)) for a, b in itertools.combinations(seen, 2)) > 14


@pytest.mark.parametrize("theme", PALETTES)
def test_frameworks_stand_out_from_the_background(theme: str) -> None:
    seen = [contrast(code, BACKGROUND[theme]) for code in PALETTES[theme]]
    assert min(seen[:5]) >= 3
    # A yellow or a light blue that stood out more would be another one's brown or blue; hatches and signs help.
    assert min(seen) >= 2.2


def test_a_framework_has_the_same_colour_in_any_company() -> None:
    assert colours(["mxnet"]) == (colour_of("mxnet"),)
    assert colours(["private", "mxnet", "pytorch"])[1:] == (colour_of("mxnet"), colour_of("pytorch"))
    assert [colour_of(name) for name in FRAMEWORKS] == list(range(len(FRAMEWORKS)))
    assert {*FRAMEWORKS, *LATER} == set(registry.names("frameworks", ours=True))
    shown = [*FRAMEWORKS[:5], *sorted(LATER)]
    assert len(set(colours(shown))) == len(shown)


def test_variants_of_a_framework_have_tones_of_its_colour() -> None:
    first, second, third = colours(["mxnet"] * 3)
    assert (first % 10, second % 10, third % 10) == (2, 2, 2)
    assert colour(first) == "#009E73"
    assert colour(second) == "#80CEB9"  # half way to white
    assert colour(third) == "#00674B"  # a third of the way to black


def test_all_that_is_shown_has_colours_of_its_own() -> None:
    names = [f"framework{n}" for n in range(12)] + ["pytorch", "pytorch", "numpy"]
    assert len(set(colours(names))) == len(names)
