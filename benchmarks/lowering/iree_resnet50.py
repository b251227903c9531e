"""Our ResNet-50 on IREE against its own calls on the exported model, side by side in one process.

Prints one JSON line; ``ratio`` is our time over theirs. Run it with an interpreter that has IREE:
``python benchmarks/lowering/iree_resnet50.py``.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import iree.runtime
from exported import compare_engine
from iree.compiler.tools import compile_file

from benchmarker.plugins.iree import Options
from benchmarker.plugins.iree.framework import Iree


def plain(
    path: Path, batch: Mapping[str, Any], threads: int
) -> tuple[Callable[[], Any], Callable[[Any], Any]]:
    """Return a step as in IREE's guides for ONNX and CPUs; the device has the threads that ours has."""
    imported = path.with_suffix(".mlir")
    importer = ("-m", "iree.compiler.tools.import_onnx", str(path), "-o", str(imported))
    subprocess.run([sys.executable, *importer], check=True)
    compiled = compile_file(
        str(imported),
        input_type="onnx",
        target_backends=["llvm-cpu"],
        extra_args=["--iree-llvmcpu-target-cpu=host"],
    )
    config = iree.runtime.Config("local-sync" if threads == 1 else "local-task")
    module = iree.runtime.VmModule.copy_buffer(config.vm_instance, compiled)
    call = iree.runtime.load_vm_module(module, config)["resnet50"]
    images = iree.runtime.asdevicearray(config.device, batch["image"])
    return lambda: call(images), lambda output: output.to_host()


if __name__ == "__main__":
    compare_engine("iree", Iree(), Options(), plain)
