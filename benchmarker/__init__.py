"""Deep-learning benchmarks across frameworks, each run isolated, verified and recorded.

``run`` and ``compare`` do what the commands of these names do, ``compare_with_itself`` is ``compare --aa``,
``load_results`` reads records, ``blueprint`` has the layers of blueprints in Python. :mod:`benchmarker.api` is what a
plug-in imports, :mod:`benchmarker.testing` what its author tests it with.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from benchmarker.version import __version__ as __version__
from benchmarker.version import warn_of_namesake

if TYPE_CHECKING:
    from benchmarker.analysis.calls.compare import compare as compare
    from benchmarker.analysis.calls.compare import compare_with_itself as compare_with_itself
    from benchmarker.analysis.calls.run import run as run
    from benchmarker.analysis.results.collection import load_results as load_results
    from benchmarker.experiment import blueprint as blueprint

__all__ = ["__version__", "blueprint", "compare", "compare_with_itself", "load_results", "run"]

_PLACES = {
    "blueprint": "benchmarker.experiment.blueprint",
    "compare": "benchmarker.analysis.calls.compare:compare",
    "compare_with_itself": "benchmarker.analysis.calls.compare:compare_with_itself",
    "load_results": "benchmarker.analysis.results.collection:load_results",
    "run": "benchmarker.analysis.calls.run:run",
}
warn_of_namesake()


def __getattr__(name: str) -> Any:
    # Loaded on first use, so that the worker and the command line stay light.
    if name not in _PLACES:
        raise AttributeError(f"module 'benchmarker' has no attribute '{name}'")
    module, _, attribute = _PLACES[name].partition(":")
    found: Any = import_module(module)
    if attribute:
        found = getattr(found, attribute)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_PLACES})
