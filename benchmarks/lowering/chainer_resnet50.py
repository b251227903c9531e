"""Our lowering to Chainer against ``chainer.links.ResNet50Layers``: the same mathematics, the same weights.

That link places the stride in the first 1x1 convolution of a stage, has a bias in its first convolution
only, normalizes with epsilon 2e-5 and pools its stem without padding, so the graph here does the same.
Run it with a Python that has Chainer: ``python benchmarks/lowering/chainer_resnet50.py``. One JSON line a mode.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np
from paired import compare

from benchmarker.api.framework import Device  # noqa: E402
from benchmarker.api.optimizer import Optimizer  # noqa: E402
from benchmarker.api.program import Program  # noqa: E402
from benchmarker.graph.graph import Graph  # noqa: E402
from benchmarker.graph.network import Network  # noqa: E402
from benchmarker.graph.recorder import Value  # noqa: E402
from benchmarker.plugins.chainer import Options  # noqa: E402
from benchmarker.plugins.chainer.framework import ChainerFramework  # noqa: E402

STAGES = (("res2", 3, 64, 1), ("res3", 4, 128, 2), ("res4", 6, 256, 2), ("res5", 3, 512, 2))
TRAINABLE = 25_557_096
MOMENTUM = Optimizer("momentum", learning_rate=0.01, momentum=0.9)
Batch = Mapping[str, Any]


def _normalized(
    net: Network, path: str, index: str, x: Value, filters: int, kernel: int, stride: int
) -> Value:
    y = net.convolution(
        f"{path}conv{index}", x, filters, kernel, stride=stride, pad=kernel // 2, bias=path == ""
    )
    return net.batch_norm(f"{path}bn{index}", y, epsilon=2e-5)


def _bottleneck(net: Network, path: str, x: Value, width: int, stride: int, project: bool) -> Value:
    y = net.relu(_normalized(net, path, "1", x, width, 1, stride))
    y = net.relu(_normalized(net, path, "2", y, width, 3, 1))
    y = _normalized(net, path, "3", y, width * 4, 1, 1)
    if project:
        x = _normalized(net, path, "4", x, width * 4, 1, stride)
    result: Value = net.relu(net.add(y, x))
    return result


def resnet50(batch_size: int, image_size: int) -> Graph:
    """Return the graph of ``ResNet50Layers``; values are named by the paths of its links."""
    net = Network("resnet50layers", batch_size)
    x = net.input("image", (3, image_size, image_size))
    label = net.labels("label", 1000)
    x = net.relu(_normalized(net, "", "1", x, 64, 7, 2))
    x = net.max_pool(x, kernel_shape=(3, 3), strides=(2, 2), pads=(0, 0, 0, 0), ceil_mode=True)
    for name, blocks, width, stride in STAGES:
        for block in range(blocks):
            first = block == 0
            path = f"{name}.a." if first else f"{name}.b{block}."
            x = _bottleneck(net, path, x, width, stride if first else 1, first)
    x = net.dense("fc6", net.flatten(net.global_average_pool(x)), 1000)
    net.output(x)
    net.loss(net.softmax_cross_entropy_loss(x, label))
    return net.graph()


def weights_of(link: Any, graph: Graph) -> dict[str, Any]:
    """Return the link's weights under the graph's names."""
    convolution = {"weight": "W", "bias": "b"}
    norm = {"weight": "gamma", "bias": "beta", "running_mean": "avg_mean", "running_var": "avg_var"}
    weights = {}
    for parameter in graph.parameters:
        *path, field = parameter.name.split(".")
        owner = link
        for name in path:
            owner = getattr(owner, name)
        value = getattr(owner, (norm if path[-1].startswith("bn") else convolution)[field])
        weights[parameter.name] = np.array(getattr(value, "array", value))
    return weights


def _theirs_inference(link: Any, x: Any) -> Callable[[], Any]:
    import chainer

    def step() -> Any:
        with chainer.no_backprop_mode(), chainer.using_config("train", False):
            return link(x, layers=["fc6"])["fc6"].array

    return step


def _theirs_training(link: Any, x: Any, t: Any) -> Callable[[], Any]:
    from chainer import functions, optimizers

    optimizer = optimizers.MomentumSGD(lr=MOMENTUM.learning_rate, momentum=MOMENTUM.momentum)
    optimizer.setup(link)

    def step() -> Any:
        loss = functions.softmax_cross_entropy(link(x, layers=["fc6"])["fc6"], t)
        link.cleargrads()
        loss.backward()
        optimizer.update()
        return loss.array

    return step


def _check(name: str, ours: Any, theirs: Any) -> None:
    error = float(np.max(np.abs(ours - theirs)) / np.max(np.abs(theirs)))
    if not error < 1e-4:
        raise SystemExit(f"{name}: our result differs from the link's by {error:.2g} of its largest value")


def _run(framework: ChainerFramework, mode: str, arguments: argparse.Namespace) -> None:
    from chainer.links import ResNet50Layers

    graph = resnet50(arguments.batch_size, arguments.image_size)
    link = ResNet50Layers(pretrained_model=None)
    if not graph.parameter_count == link.count_params() == TRAINABLE:
        raise SystemExit(f"trainable values: ours {graph.parameter_count}, the link's {link.count_params()}")
    random = np.random.default_rng(0)
    batch: Batch = {
        "image": random.standard_normal(graph.inputs[0].type.shape, dtype=np.float32),
        "label": random.integers(0, 1000, arguments.batch_size),
    }
    program: Program = framework.build(
        graph,
        weights_of(link, graph),
        mode=mode,
        device=Device("cpu"),
        precision="fp32",
        optimizer=MOMENTUM,
        options=Options(),
    )
    loaded = program.load(batch)
    image, label = batch["image"].copy(), batch["label"].astype(np.int32)
    inference = mode == "inference"
    theirs = _theirs_inference(link, image) if inference else _theirs_training(link, image, label)
    step = program.infer if inference else program.train_step
    _check(mode, program.fetch(step(loaded))[0], theirs())
    compare(f"chainer {mode}", lambda: step(loaded), theirs, pairs=arguments.pairs, steps=1, warmup=1).print()


def main() -> None:
    """Compare inference, then training."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--image-size", type=int, default=224)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--mode", choices=("inference", "training"), action="append")
    arguments = parser.parse_args()
    framework = ChainerFramework()
    framework.configure(Device("cpu"), threads=len(os.sched_getaffinity(0)), seed=0)
    for mode in arguments.mode or ("inference", "training"):
        _run(framework, mode, arguments)


if __name__ == "__main__":
    main()
