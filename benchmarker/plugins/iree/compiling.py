"""A model compiled by IREE for the processor it runs on, through IREE's importer of ONNX."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Any

from benchmarker.errors import UnsupportedError, printable
from benchmarker.graph.onnx.writer.model import fill
from benchmarker.plugins.common.onnx.model import OnnxModel

if TYPE_CHECKING:
    from benchmarker.plugins.iree import Options

ENTRY = "main"
"""Name of the compiled function."""
_BACKEND = "llvm-cpu"
_FOR_THIS_PROCESSOR = "--iree-llvmcpu-target-cpu=host"
"""Without it, IREE compiles for a generic processor, and the code is 10 times slower."""


def compiled(model: OnnxModel, options: Options) -> bytes:
    """Return the module that IREE's compiler makes of a model, with the values of its parameters inside.

    The compiler runs in a process of its own.

    Raises
    ------
    UnsupportedError
        If it does not compile the model.
    """
    from iree.compiler import tools

    tiling = str(options.data_tiling).lower()
    wanted = [f"--iree-opt-level={options.optimization}", f"--iree-opt-data-tiling={tiling}"]
    try:
        made = tools.compile_str(
            _imported(model),
            input_type="onnx",
            target_backends=[_BACKEND],
            extra_args=[_FOR_THIS_PROCESSOR, *wanted],
        )
    except tools.CompilerToolError as error:
        raise UnsupportedError(f"IREE does not compile '{model.graph.name}': {_reason(error)}") from error
    return bytes(made)


def target_cpu() -> str:
    """Return LLVM's name for the processor that code is compiled for.

    Raises
    ------
    UnsupportedError
        If the compiler does not say.
    """
    from iree.compiler import tools

    arguments = [_FOR_THIS_PROCESSOR, "--compile-to=flow"]
    text = tools.compile_str("module {}", target_backends=[_BACKEND], extra_args=arguments).decode()
    found = re.search(r'\bcpu = "([^"]+)"', text)
    if found is None:
        raise UnsupportedError("IREE's compiler does not say which processor it compiles for")
    return found.group(1)


def _imported(model: OnnxModel) -> bytes:
    """Return the MLIR bytecode that IREE's importer makes of a model."""
    import onnx
    from iree.compiler import ir
    from iree.compiler.extras import onnx_importer

    # The importer needs the types of all values; inferring them does not need the parameters.
    inferred = onnx.shape_inference.infer_shapes(model.message(), data_prop=True)
    inferred.graph.name = ENTRY
    fill([tensor for tensor in inferred.graph.initializer if tensor.name in model.values], model.values)
    info = onnx_importer.ModelInfo(inferred)
    module: Any = info.create_module(ir.Context()).operation
    onnx_importer.NodeImporter.define_function(info.main_graph, module).import_all()
    written = io.BytesIO()
    module.write_bytecode(written)
    return written.getvalue()


def _reason(error: Exception) -> str:
    """Return the compiler's first error, with its location."""
    lines = str(error).splitlines()
    return printable(next((line for line in lines if "error: " in line), lines[0]).strip())
