"""Integers that frameworks keep in 32 bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarker.errors import UnsupportedError
from benchmarker.plugins.common.integers import require_32_bits


@pytest.mark.parametrize("value", [2**31, -(2**31) - 1, 2**62])
def test_one_that_needs_more_is_refused_by_name(value: int) -> None:
    with pytest.raises(UnsupportedError, match=f"'powers' holds {value}"):
        require_32_bits({"powers": np.array([1, value])})


def is_refused(**parameters: Any) -> bool:
    try:
        require_32_bits(parameters)
    except UnsupportedError:
        return True
    return False


def test_what_fits_is_taken() -> None:
    edges = np.array([-(2**31), 2**31 - 1])
    assert not is_refused(edges=edges, none=edges[:0], real=np.array([1e30]), short=np.array([7], "u4"))
    assert is_refused(edges=edges, beyond=edges + 1)
