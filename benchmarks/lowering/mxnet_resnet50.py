"""Our lowering to MXNet beside MXNet's own ResNet-50: gluon's model_zoo resnet50_v1 by symbol.bind."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
os.environ.setdefault("OMP_NUM_THREADS", str(os.cpu_count()))

import mxnet as mx  # noqa: E402
import numpy as np  # noqa: E402
from paired import compare  # noqa: E402

from benchmarker.api.framework import Device  # noqa: E402
from benchmarker.api.optimizer import Optimizer  # noqa: E402
from benchmarker.api.program import Program  # noqa: E402
from benchmarker.graph.graph import Graph  # noqa: E402
from benchmarker.graph.network import Network  # noqa: E402
from benchmarker.graph.recorder import Value  # noqa: E402
from benchmarker.plugins.mxnet import Options  # noqa: E402
from benchmarker.plugins.mxnet.framework import MxnetFramework  # noqa: E402

CLASSES = 1000
PARAMETER_COUNT = 25_575_912
"""Trainable values of resnet50_v1."""
OPTIMIZER = Optimizer("momentum", learning_rate=0.001, momentum=0.9)
Arrays = Mapping[str, Any]

EXPANSION = 4
STAGES = ((3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2))
"""Blocks, width and stride of the first block of each stage (He et al. 2015, table 1)."""


def bottleneck(net: Network, name: str, x: Value, width: int, stride: int, project: bool) -> Value:
    """Gluon's BottleneckV1: the stride in the first 1x1, a bias on both 1x1 of the main path."""
    y = net.convolution(f"{name}.conv1", x, width, 1, stride=stride)
    y = net.relu(net.batch_norm(f"{name}.bn1", y))
    y = net.convolution(f"{name}.conv2", y, width, 3, pad=1, bias=False)
    y = net.relu(net.batch_norm(f"{name}.bn2", y))
    y = net.convolution(f"{name}.conv3", y, width * EXPANSION, 1)
    y = net.batch_norm(f"{name}.bn3", y)
    if project:
        x = net.convolution(f"{name}.shortcut.conv", x, width * EXPANSION, 1, stride=stride, bias=False)
        x = net.batch_norm(f"{name}.shortcut.bn", x)
    result: Value = net.relu(net.add(y, x))
    return result


def resnet50_v1(batch_size: int, image_size: int) -> Graph:
    """Return the graph of gluon's resnet50_v1, parameters in gluon's order."""
    net = Network("resnet50_v1", batch_size)
    x = net.input("image", (3, image_size, image_size))
    label = net.labels("label", CLASSES)
    x = net.convolution("stem.conv", x, 64, 7, stride=2, pad=3, bias=False)
    x = net.pool(net.relu(net.batch_norm("stem.bn", x)), 3, stride=2, pad=1)
    for stage, (blocks, width, stride) in enumerate(STAGES, start=1):
        for block in range(blocks):
            first = block == 0
            x = bottleneck(net, f"stage{stage}.block{block + 1}", x, width, stride if first else 1, first)
    x = net.dense("classifier", net.flatten(net.global_average_pool(x)), CLASSES)
    net.output(x)
    net.loss(net.softmax_cross_entropy_loss(x, label))
    return net.graph()


def gluon_model(batch: Arrays) -> tuple[Any, list[Any]]:
    """Return gluon's model as a symbol, and its parameters, initialised, in order."""
    mx.random.seed(0)
    net = mx.gluon.model_zoo.vision.resnet50_v1()
    net.initialize(mx.init.Xavier())
    net(mx.nd.array(batch["image"])).wait_to_read()
    return net(mx.sym.var("data")), list(net.collect_params().values())


def theirs_inference(symbol: Any, parameters: list[Any], batch: Arrays) -> tuple[Callable[[], Any], Any]:
    """Return gluon's inference step and its executor."""
    arrays = {p.name: p.data().copy() for p in parameters}
    data = {"data": mx.nd.array(batch["image"])}
    executor = symbol.bind(
        mx.cpu(),
        {n: (arrays | data)[n] for n in symbol.list_arguments()},
        grad_req="null",
        aux_states={n: arrays[n] for n in symbol.list_auxiliary_states()},
    )

    def step() -> None:
        executor.forward(is_train=False)[0].wait_to_read()

    return step, executor


def theirs_training(symbol: Any, parameters: list[Any], batch: Arrays) -> Callable[[], Any]:
    """Return gluon's training step: a SoftmaxOutput head and one update operator a parameter."""
    head = mx.sym.SoftmaxOutput(symbol, mx.sym.var("label"), normalization="batch")
    arrays = {p.name: p.data().copy() for p in parameters}
    trained = [p.name for p in parameters if p.grad_req != "null"]
    gradients = {name: mx.nd.zeros_like(arrays[name]) for name in trained}
    state = [(arrays[n], gradients[n], mx.nd.zeros_like(arrays[n])) for n in trained]
    data = {"data": mx.nd.array(batch["image"]), "label": mx.nd.array(batch["label"])}
    executor = head.bind(
        mx.cpu(),
        {n: (arrays | data)[n] for n in head.list_arguments()},
        args_grad=gradients,
        grad_req={n: "write" if n in gradients else "null" for n in head.list_arguments()},
        aux_states={n: arrays[n] for n in head.list_auxiliary_states()},
    )
    rate, mu = OPTIMIZER.learning_rate, OPTIMIZER.momentum

    def step() -> None:
        executor.forward(is_train=True)
        executor.backward()
        for weight, gradient, buffer in state:
            mx.nd.sgd_mom_update(weight, gradient, buffer, out=weight, lr=rate, momentum=mu)
        mx.nd.waitall()

    return step


def ours(graph: Graph, values: Arrays, mode: str) -> Program:
    """Return our program of ``graph``."""
    return MxnetFramework().build(
        graph if mode == "training" else graph.without_loss(),
        values,
        mode=mode,
        device=Device("cpu"),
        precision="fp32",
        optimizer=OPTIMIZER,
        options=Options(),
    )


def copied(graph: Graph, parameters: list[Any]) -> dict[str, Any]:
    """Return gluon's values under our names; both lists have the same order."""
    assert graph.parameter_count == PARAMETER_COUNT, graph.parameter_count
    assert [p.type.shape for p in graph.parameters] == [p.shape for p in parameters]
    return {ours.name: p.data().asnumpy() for ours, p in zip(graph.parameters, parameters)}


def main() -> None:
    """Compare inference and training, one JSON line each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--image-size", type=int, default=224)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--pairs", type=int, default=12)
    arguments = parser.parse_args()
    graph = resnet50_v1(arguments.batch_size, arguments.image_size)
    random = np.random.default_rng(0)
    batch = {
        "image": random.standard_normal(graph.inputs[0].type.shape).astype(np.float32),
        "label": random.integers(0, CLASSES, arguments.batch_size),
    }
    symbol, parameters = gluon_model(batch)
    values = copied(graph, parameters)

    program = ours(graph, values, "inference")
    loaded = program.load(batch)
    their_step, executor = theirs_inference(symbol, parameters, batch)
    their_step()
    mine = program.fetch(program.infer(loaded))[0]
    reference = executor.outputs[0].asnumpy()
    assert np.abs(mine - reference).max() <= 1e-5 * np.abs(reference).max()
    compare(
        "mxnet inference",
        lambda: program.synchronize(program.infer(loaded)),
        their_step,
        pairs=arguments.pairs,
    ).print()

    trainer = ours(graph, values, "training")
    examples = trainer.load(batch)
    compare(
        "mxnet training",
        lambda: trainer.synchronize(trainer.train_step(examples)),
        theirs_training(symbol, parameters, batch),
        pairs=arguments.pairs,
    ).print()


if __name__ == "__main__":
    main()
