"""Deep-learning benchmarks across frameworks, each run isolated, verified and recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmarker.store import load_results as load_results

__version__ = "0.4.0"


def __getattr__(name: str) -> Any:
    # Loaded on first use, so that the worker and the command line stay light.
    if name == "load_results":
        from benchmarker.store import load_results

        return load_results
    raise AttributeError(f"module 'benchmarker' has no attribute '{name}'")
