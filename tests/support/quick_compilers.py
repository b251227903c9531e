"""Environment variables that have compilers of frameworks take less time over the small programs of tests."""

from __future__ import annotations

from pathlib import Path

QUICK_COMPILERS = {
    "XLA_FLAGS": " ".join(
        (
            "--xla_backend_optimization_level=0",
            "--xla_llvm_disable_expensive_passes=true",
            "--xla_cpu_use_fusion_emitters=false",
            "--xla_cpu_parallel_codegen_split_count=1",
        )
    ),
    "NOOPT": "1",
}
"""Has XLA compile in a third of the time and tinygrad in two thirds; programs compute the same, more slowly.

Half of XLA's time went into MLIR for each fused loop, which its older emitter of loops does without.
"""


def kept_compilations(home: Path) -> dict[str, str]:
    """Return the variables that have XLA and tinygrad keep what they compiled for the next time the tests run."""
    folder = home / "compile-caches" / "tests"
    return {
        "JAX_COMPILATION_CACHE_DIR": str(folder),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "0",
        "CACHEDB": str(folder / "tinygrad.db"),
        "CACHELEVEL": "1",
    }
