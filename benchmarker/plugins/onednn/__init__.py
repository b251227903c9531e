"""oneDNN by itself: its primitives through its own C functions, as the line that shows what a framework adds."""

from __future__ import annotations

from typing import Annotated

from benchmarker.api.framework import FrameworkPlugin
from benchmarker.api.rules import Choice
from benchmarker.plugins.common.recorded_variables import names
from benchmarker.quick_dataclass import dataclass

DISTRIBUTION = "onednn-cpu-gomp"


@dataclass(frozen=True)
class Options:
    """Options of oneDNN.

    Parameters
    ----------
    layout : {"best", "plain"}
        How images and sequences lie in memory: ``best`` is what the primitive asks for (``format_tag::any``), changed
        before a step is timed; ``plain`` is the graph's own, for mini-batch and outputs, so that the primitive has to
        change it in the step or do without. Weights lie as the primitive asks for either way.
    """

    layout: Annotated[str, Choice(("best", "plain"))] = "best"


def benchmarker_framework() -> FrameworkPlugin:
    """Return what is known of the library without loading it."""
    return FrameworkPlugin(
        name="onednn",
        distribution=DISTRIBUTION,
        requirements=(f"{DISTRIBUTION}==2023.2.0", "numpy"),
        implementation="benchmarker.plugins.onednn.framework:Onednn",
        options=Options,
        modes=("inference",),
        recorded_variables=names(
            """
            DNNL_CPU_ISA_HINTS DNNL_DEFAULT_FPMATH_MODE DNNL_MAX_CPU_ISA DNNL_PRIMITIVE_CACHE_CAPACITY
            ONEDNN_CPU_ISA_HINTS ONEDNN_DEFAULT_FPMATH_MODE ONEDNN_MAX_CPU_ISA ONEDNN_PRIMITIVE_CACHE_CAPACITY
            """
        ),
    )
