"""Write a problem as an ONNX model, check it (onnx.checker), run it (ONNX Runtime), compare it with the reference."""

from __future__ import annotations

import argparse
import json
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from benchmarker.cli.run_options import add_one, add_settings, single_settings
from benchmarker.cli.terminal import notes
from benchmarker.cli.values import file_path

if TYPE_CHECKING:
    from benchmarker.orchestration.jobs.export_onnx import ExportReport


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``export``."""
    parser.add_argument("problem", metavar="PROBLEM", help="a name from 'list problems'")
    parser.add_argument("-o", "--output", type=file_path, required=True, metavar="FILE.onnx")
    add_settings(parser)
    add_one(parser, "batch_size")
    parser.add_argument(
        "--dynamic-batch",
        "--dynamic_batch",
        action="store_true",
        help="leave the size of the mini-batch open, as the dimension 'batch'",
    )
    parser.add_argument(
        "--mode",
        default="inference",
        choices=("inference", "training"),
        help="training: the loss is an output too; the model is the forward pass in either mode",
    )
    add_one(parser, "seed", default=42, help="seed for the weights; default: 42")
    parser.add_argument(
        "--no-verify", "--no_verify", action="store_true", help="only write and check the model"
    )
    parser.add_argument("--force", action="store_true", help="replace the file if it exists")
    add_one(parser, "environment", default="auto")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--quiet", action="store_true", help="show no progress")


def main(arguments: argparse.Namespace) -> int:
    from benchmarker.orchestration.jobs.export_onnx import ExportRequest, export

    report = export(
        ExportRequest(
            arguments.problem,
            arguments.output,
            settings=single_settings(arguments.set, "export"),
            batch_size=arguments.batch_size,
            open_batch=arguments.dynamic_batch,
            mode=arguments.mode,
            seed=arguments.seed,
            verify=not arguments.no_verify,
            force=arguments.force,
            environment=arguments.env,
        ),
        notes(quiet=arguments.json or arguments.quiet),
    )
    print(json.dumps(report.to_json(), indent=2) if arguments.json else "\n".join(_lines(report)))
    return 0


def _lines(report: ExportReport) -> list[str]:
    return [
        *(f"wrote {path}" for path in report.files),
        (
            f"  {report.bytes / 1e6:,.1f} MB, opset {report.opset}, {report.nodes} nodes, "
            f"{report.parameters:,} parameters"
        ),
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
        (
            f"  largest error {worst['max_relative_error']:.1e} of the largest element, "
            f"allowed {worst['tolerance']:.1e}"
        ),
    ]
