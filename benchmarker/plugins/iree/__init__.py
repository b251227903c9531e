"""IREE: what is known of it without importing it."""

from __future__ import annotations

from typing import Annotated

from benchmarker.api.framework import FrameworkPlugin
from benchmarker.api.rules import Choice
from benchmarker.plugins.common.recorded_variables import names
from benchmarker.quick_dataclass import dataclass

COMPILER = "iree-base-compiler"
RUNTIME = "iree-base-runtime"


@dataclass(frozen=True)
class Options:
    """Options of IREE.

    Parameters
    ----------
    optimization : {"O0", "O1", "O2", "O3"}
        The compiler's ``--iree-opt-level``; ``O0`` is IREE's own default.
    data_tiling : bool
        The compiler's ``--iree-opt-data-tiling``, which stores matrices in tiles; off by default in IREE too.
    """

    optimization: Annotated[str, Choice(("O0", "O1", "O2", "O3"))] = "O0"
    data_tiling: bool = False


def benchmarker_framework() -> FrameworkPlugin:
    return FrameworkPlugin(
        name="iree",
        distribution=COMPILER,
        requirements=(f"{COMPILER}==3.13.0", f"{RUNTIME}==3.13.0", "onnx==1.23.2", "numpy"),
        implementation="benchmarker.plugins.iree.framework:Iree",
        python=">=3.11",
        options=Options,
        recorded_variables=names("IREE_PY_RUNTIME IREE_PY_RUNTIME_FLAGS IREE_SAVE_TEMPS IREE_TOOL_PATH"),
        modes=("inference", "generation"),
    )
