"""As ``cupy._core``, for the type that products are computed in."""

from types import SimpleNamespace

ASKED = []
"""What products were to be computed in, call by call."""

_routines_linalg = SimpleNamespace(
    COMPUTE_TYPE_DEFAULT="default",
    COMPUTE_TYPE_TF32="tf32",
    set_compute_type=lambda dtype, kind: ASKED.append((str(dtype), kind)),
)
