"""tinygrad: what is known of it without importing it."""

from __future__ import annotations

from benchmarker.api.framework import FrameworkPlugin
from benchmarker.plugins.common.recorded_variables import names

COMPILER = "clang"
"""What tinygrad compiles its kernels with, each by a process of its own."""

_RECORDED = names(
    """
    BEAM CCACHE DEFAULT_FLOAT DEFAULT_INT DISABLE_FAST_IDIV EMULATED_DTYPES FLOAT16 FUSE_OPTIM IMAGE JIT JITBEAM
    JIT_BATCH_SIZE LRU MAX_KERNEL_BUFFERS NOLOCALS NOOPT NO_MEMORY_PLANNER PCONTIG PROFILE SCACHE SPEC SPLIT_REDUCEOP TC
    TC_OPT TC_SELECT TRANSCENDENTAL USE_ATOMICS VIZ WINO
    """
)


def benchmarker_framework() -> FrameworkPlugin:
    """Return what is known of tinygrad without importing it.

    Notes
    -----
    On a processor its kernels run one after the other in a single thread, whatever the number of threads is: told of
    more it cuts its loops into as many pieces, and runs these one after the other too. What it has compiled it would
    keep in a data base that all its processes share, so it keeps nothing.
    """
    return FrameworkPlugin(
        name="tinygrad",
        distribution="tinygrad",
        requirements=("tinygrad==0.14.0", "numpy"),
        implementation="benchmarker.plugins.tinygrad.framework:Tinygrad",
        python=">=3.11",
        programs=(COMPILER,),
        environment={
            "CACHELEVEL": "0",
            "CC": COMPILER,
            "DEV": "CPU",
            "NUM_CPU_THREADS": "1",
            "PARALLEL": "0",  # else it compiles in processes that outlive their work
        },
        recorded_variables=_RECORDED,
    )
