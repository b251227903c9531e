"""ResNet-50 as ``benchmarker export`` writes it, for engines that take ONNX models, beside our program of it."""

from __future__ import annotations

import argparse
import functools
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from paired import compare

from benchmarker.api.framework import Device, Framework
from benchmarker.api.optimizer import Optimizer
from benchmarker.data.values import draw_batch, draw_parameters
from benchmarker.graph.onnx.writer.lowering import lower
from benchmarker.graph.onnx.writer.model import make_model, write_model
from benchmarker.problems.resnet import RESNET50

Plain = Callable[[Path, Mapping[str, Any], int], tuple[Callable[[], Any], Callable[[Any], Any]]]
"""Takes a model, a mini-batch and the number of threads; returns a step and what makes an array of its output."""


def compare_engine(name: str, framework: Framework, options: Any, plain: Plain) -> None:
    """Check that both compute the same outputs, time them and print one JSON line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--image-size", type=int, default=224)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    framework.configure(Device("cpu"), threads=arguments.threads, seed=0)
    graph = RESNET50.graph(arguments.batch_size, image_size=arguments.image_size).without_loss()
    parameters, batch = draw_parameters(graph, 0), draw_batch(graph, 0)
    program = framework.build(
        graph,
        parameters,
        mode="inference",
        device=Device("cpu"),
        precision="fp32",
        optimizer=Optimizer(),
        options=options,
    )
    infer = functools.partial(program.infer, program.load(batch))

    def ours() -> Any:
        output = infer()
        program.synchronize(output)
        return output

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "resnet50.onnx"
        write_model(make_model(graph, lower(graph)), parameters, path)
        theirs, array = plain(path, batch, arguments.threads)
    np.testing.assert_allclose(program.fetch(ours())[0], array(theirs()), rtol=1e-3, atol=1e-3)
    compare(f"{name} inference", ours, theirs, pairs=arguments.pairs).print()
