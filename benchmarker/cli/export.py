"""Write a problem as an ONNX model: checked by onnx.checker, run by ONNX Runtime, compared with the reference."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from benchmarker.cli.run_options import setting, unique_settings
from benchmarker.errors import UsageError

if TYPE_CHECKING:
    from benchmarker.exporting import ExportReport


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``export``."""
    parser.add_argument("problem", metavar="PROBLEM", help="as 'list problems' names them")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE.onnx")
    parser.add_argument(
        "--set",
        type=setting,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a parameter of the problem",
    )
    parser.add_argument("--batch-size", "--batch_size", type=int, metavar="N", help="default: the problem's")
    parser.add_argument(
        "--dynamic-batch",
        "--dynamic_batch",
        action="store_true",
        help="leave the size of the mini-batch open; it is called 'batch'",
    )
    parser.add_argument(
        "--mode",
        default="inference",
        choices=("inference", "training"),
        help="training: the loss is an output too; the model goes forward alone",
    )
    parser.add_argument("--seed", type=int, default=42, metavar="N", help="of the weights")
    parser.add_argument("--no-verify", "--no_verify", action="store_true", help="write and check it only")
    parser.add_argument("--force", action="store_true", help="replace a file of that name")
    parser.add_argument("--env", default="auto", metavar="auto|current|managed|PATH")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--quiet", action="store_true", help="no progress")


def main(arguments: argparse.Namespace) -> int:
    """Write the model and print what it is."""
    from benchmarker.exporting import ExportRequest, export

    def note(text: str) -> None:
        if not arguments.json and not arguments.quiet:
            print(text, file=sys.stderr, flush=True)

    report = export(
        ExportRequest(
            arguments.problem,
            arguments.output,
            settings=_single(unique_settings(arguments.set)),
            batch_size=arguments.batch_size,
            open_batch=arguments.dynamic_batch,
            mode=arguments.mode,
            seed=arguments.seed,
            verify=not arguments.no_verify,
            force=arguments.force,
            environment=arguments.env,
        ),
        note,
    )
    print(json.dumps(report.to_json(), indent=2) if arguments.json else "\n".join(_lines(report)))
    return 0


def _single(settings: dict[str, Any]) -> dict[str, Any]:
    for name, values in settings.items():
        if len(values) > 1:
            raise UsageError(f"export takes one value of a parameter, got {name}={','.join(values)}")
    return {name: value for name, (value,) in settings.items()}


def _lines(report: ExportReport) -> list[str]:
    return [
        *(f"wrote {path}" for path in report.files),
        f"  {report.bytes / 1e6:,.1f} MB, opset {report.opset}, {report.nodes} nodes, "
        f"{report.parameters:,} parameters",
        *(f"  input  {_shape(name, shape)}" for name, shape in report.inputs.items()),
        *(f"  output {_shape(name, shape)}" for name, shape in report.outputs.items()),
        "  checked by onnx.checker",
        *(f"  {line}" for line in _comparison(report)),
    ]


def _shape(name: str, shape: list[Any]) -> str:
    return f"{name} ({', '.join(map(str, shape))})"


def _comparison(report: ExportReport) -> list[str]:
    worst = report.worst
    if worst is None:
        return ["not run, and not compared with the reference"]
    if report.inconclusive is not None:
        return wrap(f"{report.framework} against NumPy in float64: inconclusive, {report.inconclusive}", 76)
    return [
        f"{report.framework} against NumPy in float64:",
        f"  largest error {worst['max_relative_error']:.1e} of the largest element, "
        f"allowed {worst['tolerance']:.1e}",
    ]
