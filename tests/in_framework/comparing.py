"""How far a framework's arrays are from those expected, and with which words it refuses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from benchmarker.errors import BenchmarkerError


def far(found: Any, expected: Any) -> float:
    """Return the norm of the difference over that of what was expected."""
    norm = float(np.linalg.norm(expected)) or 1.0
    return float(np.linalg.norm(np.asarray(found, np.float64) - expected)) / norm


def near(found: Mapping[str, Any], expected: Mapping[str, Any], tolerance: float) -> None:
    """Require arrays of the same names, each as far as ``tolerance`` from the expected one at most."""
    assert set(found) == set(expected), f"found {sorted(found)}, expected {sorted(expected)}"
    for name, array in expected.items():
        off = far(found[name], array)
        assert off <= tolerance, f"'{name}' is {off:.2g} off, allowed are {tolerance:.2g}"


def refusal(action: Callable[[], Any]) -> str:
    """Return with which words an action is refused, empty if it is not."""
    try:
        action()
    except BenchmarkerError as error:
        return str(error)
    return ""
