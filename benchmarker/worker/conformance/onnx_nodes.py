"""The ONNX project's node tests under a framework: does it return what ONNX says?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.framework import Device, Framework, FrameworkPlugin
from benchmarker.data import values
from benchmarker.errors import BenchmarkerError, UnsupportedError
from benchmarker.graph.onnx.reader.importer import UnsupportedModelError
from benchmarker.graph.support import check_operators
from benchmarker.quick_dataclass import dataclass
from benchmarker.worker.conformance.onnx_cases import CaseGraph, NodeCase, case_graph, read_cases
from benchmarker.worker.program import ProgramBuilder

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


@dataclass(frozen=True)
class CaseResult:
    """The verdict on one test.

    Parameters
    ----------
    name : str
        As the ONNX project names it.
    operator : str
        The ONNX operator that it is a test of.
    status : {"passed", "failed", "unsupported", "folded"}
        ``folded``: right, but computed while importing, so that no framework took part.
    detail : str
        Why it failed or is not supported.
    """

    name: str
    operator: str
    status: str
    detail: str = ""


def run_cases(
    framework: Framework,
    plugin: FrameworkPlugin,
    folder: Path,
    *,
    device: Device,
    threads: int,
    seed: int,
    progress: Callable[[CaseResult], None],
    options: Any = None,
    skip: int = 0,
    crash: str = "",
) -> None:
    """Run every test of the operators that are claimed.

    Parameters
    ----------
    framework : Framework
        Made, but not yet configured.
    plugin : FrameworkPlugin
        What it says of itself.
    folder : Path
        Where the tests were unpacked.
    device : Device
        Where to run.
    threads, seed : int
        As given to :meth:`Framework.configure`.
    progress : callable
        Called with each result as it comes.
    options : object, optional
        An instance of the plugin's options dataclass; its defaults if it is left out.
    skip, crash : int, str
        How many tests are left out at the beginning, and what is told of the last of them.
    """
    framework.configure(device, threads=threads, seed=seed)
    options = plugin.options() if options is None else options
    for number, case in enumerate(read_cases(folder), start=1):
        if number < skip:
            continue
        status, detail = (
            ("failed", crash) if number == skip else _verdict(framework, plugin, case, device, options)
        )
        progress(CaseResult(case.name, case.operator, status, detail))


def _verdict(
    framework: Framework, plugin: FrameworkPlugin, case: NodeCase, device: Device, options: Any
) -> tuple[str, str]:
    reduced = [tensor.dtype for tensor in case.model.inputs if tensor.dtype in ("float16", "bfloat16")]
    if reduced:
        return "unsupported", f"operands in {reduced[0]}: the tests run in float32"
    try:
        imported = case_graph(case)
        if imported.graph is None:
            wrong = _differences(case, imported.folded)
            return ("failed", wrong) if wrong else ("folded", "")
        check_operators(imported.graph, framework.operators, plugin.name)
        with np.errstate(all="ignore"):  # some tests are of what is no number
            found = _run(framework, imported, device, options)
    except UnsupportedModelError as reason:
        return "unsupported", "; ".join(sorted({fault.what for fault in reason.faults}))
    except BenchmarkerError as reason:
        return "unsupported", str(reason)
    except Exception as error:
        return "failed", f"{type(error).__name__}: {error}"
    wrong = _differences(case, found)
    return ("failed", wrong) if wrong else ("passed", "")


def _run(framework: Framework, imported: CaseGraph, device: Device, options: Any) -> dict[str, Array]:
    """Return the outputs by the names that the test gives them."""
    graph = imported.graph
    if graph is None or not graph.inputs:
        raise UnsupportedError("nothing is left to run")
    builder = ProgramBuilder(framework, device, "fp32", options)
    program = builder.build(graph, values.draw_parameters(graph, 0), "inference")
    output = program.infer(program.load(imported.batch))
    program.synchronize(output)
    return {**imported.folded, **dict(zip(imported.names, program.fetch(output)))}


def _rounding(wanted: Array) -> float:
    """Return how far float32, in which the tests were made, is off where its largest numbers cancel."""
    finite = np.abs(wanted[np.isfinite(wanted)])
    return float(np.finfo(np.float32).eps * finite.max(initial=0.0))


def _differences(case: NodeCase, found: dict[str, Array]) -> str:
    """Return the first output that is not what the test wants, empty if there is none."""
    for name, expected in case.outputs.items():
        value = np.asarray(found[name])
        if value.shape != expected.shape:
            return f"'{name}' has the shape {value.shape}, not {expected.shape}"
        wanted = expected.astype(np.float64)
        absolute = max(case.absolute, _rounding(wanted))
        near = np.isclose(value, wanted, rtol=case.relative, atol=absolute, equal_nan=True)
        if not near.all():
            place = tuple(int(i) for i in np.argwhere(~near)[0])
            return (
                f"'{name}' differs in {int((~near).sum())} of {near.size} elements, first at {place}: "
                f"{float(value[place]):.7g}, not {float(wanted[place]):.7g}"
            )
    return ""
