"""Our lowering to TensorFlow beside Keras' own ResNet-50: keras.applications.ResNet50 under tf.function."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from paired import compare  # noqa: E402

from benchmarker.api.framework import Device  # noqa: E402
from benchmarker.api.optimizer import Optimizer  # noqa: E402
from benchmarker.api.program import Program  # noqa: E402
from benchmarker.graph.graph import Graph  # noqa: E402
from benchmarker.graph.network import Network  # noqa: E402
from benchmarker.graph.recorder import Value  # noqa: E402
from benchmarker.plugins.tensorflow import Options  # noqa: E402
from benchmarker.plugins.tensorflow.framework import TensorFlow  # noqa: E402

CLASSES = 1000
PARAMETER_COUNT = 25_583_592
"""Trainable values of keras.applications.ResNet50."""
OPTIMIZER = Optimizer("momentum", learning_rate=0.001, momentum=0.9)
CPU = Device("cpu")
Arrays = Mapping[str, Any]

EXPANSION = 4
STAGES = ((3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2))
"""Blocks, width and stride of the first block of each stage (He et al. 2015, table 1)."""


def normalized(
    net: Network, name: str, x: Value, filters: int, kernel: int = 1, *, stride: int = 1, pad: int = 0
) -> Value:
    """Convolution with bias and batch normalization, named and set as in Keras."""
    y = net.convolution(f"{name}_conv", x, filters, kernel, stride=stride, pad=pad)
    return net.batch_norm(f"{name}_bn", y, epsilon=1.001e-5, momentum=0.99)


def bottleneck(net: Network, name: str, x: Value, width: int, stride: int, project: bool) -> Value:
    """Keras' residual_block_v1: the stride in the first 1x1, a bias on every convolution."""
    y = net.relu(normalized(net, f"{name}_1", x, width, stride=stride))
    y = net.relu(normalized(net, f"{name}_2", y, width, 3, pad=1))
    y = normalized(net, f"{name}_3", y, width * EXPANSION)
    if project:
        x = normalized(net, f"{name}_0", x, width * EXPANSION, stride=stride)
    result: Value = net.relu(net.add(x, y))
    return result


def keras_resnet50(batch_size: int, image_size: int) -> Graph:
    """Return the graph of keras.applications.ResNet50, its parameters named after Keras' layers."""
    net = Network("keras_resnet50", batch_size)
    x = net.input("image", (3, image_size, image_size))
    label = net.labels("label", CLASSES)
    x = net.relu(normalized(net, "conv1", x, 64, 7, stride=2, pad=3))
    x = net.pool(x, 3, stride=2, pad=1)
    for stage, (blocks, width, stride) in enumerate(STAGES, start=2):
        for block in range(1, blocks + 1):
            first = block == 1
            x = bottleneck(net, f"conv{stage}_block{block}", x, width, stride if first else 1, first)
    x = net.dense("predictions", net.flatten(net.global_average_pool(x)), CLASSES)
    net.output(x)
    net.loss(net.softmax_cross_entropy_loss(x, label))
    return net.graph()


def copied(graph: Graph, model: Any) -> dict[str, Any]:
    """Return the values of Keras' model under our names and in the graph's layout."""
    assert graph.parameter_count == PARAMETER_COUNT, graph.parameter_count
    assert sum(int(np.prod(w.shape)) for w in model.trainable_weights) == PARAMETER_COUNT
    values = {}
    for layer in model.layers:
        arrays = layer.get_weights()
        if len(arrays) == 2:
            axes = (3, 2, 0, 1) if arrays[0].ndim == 4 else (1, 0)
            arrays[0] = np.ascontiguousarray(arrays[0].transpose(axes))
        names = ("weight", "bias", "running_mean", "running_var")
        values.update({f"{layer.name}.{name}": array for name, array in zip(names, arrays)})
    return values


def theirs_inference(model: Any, image: Any, xla: bool) -> Callable[[], Any]:
    """Return Keras' inference step."""
    forward = tf.function(lambda x: model(x, training=False), jit_compile=xla or None)
    return lambda: forward(image)


def theirs_training(model: Any, image: Any, label: Any, xla: bool) -> Callable[[], Any]:
    """Return Keras' training step with one native update operator a parameter."""
    variables = [weight.value for weight in model.trainable_variables]
    velocities = [tf.Variable(tf.zeros_like(variable)) for variable in variables]
    rate, momentum = tf.constant(OPTIMIZER.learning_rate), tf.constant(OPTIMIZER.momentum)

    def step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            logits = model(x, training=True)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))
        for variable, velocity, gradient in zip(variables, velocities, tape.gradient(loss, variables)):
            tf.raw_ops.ResourceApplyMomentum(
                var=variable.handle, accum=velocity.handle, lr=rate, grad=gradient, momentum=momentum
            )
        return loss

    compiled = tf.function(step, jit_compile=xla or None)
    return lambda: compiled(image, label)


def ours(framework: TensorFlow, graph: Graph, values: Arrays, mode: str, options: Options) -> Program:
    """Return our program of ``graph``."""
    return framework.build(
        graph if mode == "training" else graph.without_loss(),
        values,
        mode=mode,
        device=CPU,
        precision="fp32",
        optimizer=OPTIMIZER,
        options=options,
    )


def parsed() -> argparse.Namespace:
    """Return the arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--image-size", type=int, default=224)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--mode", choices=("inference", "training", "both"), default="both")
    parser.add_argument("--xla", action="store_true", help="compile both sides with XLA")
    parser.add_argument("--freeze", action="store_true", help="our weights as constants in inference")
    return parser.parse_args()


def check(mine: Any, reference: Any) -> None:
    """Refuse to time two different functions."""
    assert np.abs(mine - reference).max() <= 1e-5 * np.abs(reference).max(), (mine, reference)


def compare_inference(
    arguments: argparse.Namespace, build: Callable[[str], Program], model: Any, batch: Arrays, native: Arrays
) -> None:
    """Compare the forward steps."""
    program = build("inference")
    loaded = program.load(batch)
    their_step = theirs_inference(model, native["image"], arguments.xla)
    check(program.fetch(program.infer(loaded))[0], their_step().numpy())
    compare(
        f"tensorflow inference{ending(arguments)}",
        lambda: program.synchronize(program.infer(loaded)),
        their_step,
        pairs=arguments.pairs,
    ).print()


def compare_training(
    arguments: argparse.Namespace, build: Callable[[str], Program], model: Any, batch: Arrays, native: Arrays
) -> None:
    """Compare the training steps."""
    trainer = build("training")
    examples = trainer.load(batch)
    their_step = theirs_training(model, native["image"], native["label"], arguments.xla)
    check(trainer.fetch(trainer.train_step(examples))[0], their_step().numpy())
    compare(
        f"tensorflow training{ending(arguments)}",
        lambda: trainer.synchronize(trainer.train_step(examples)),
        their_step,
        pairs=arguments.pairs,
    ).print()


def ending(arguments: argparse.Namespace) -> str:
    """Return what the names of the comparisons end with."""
    return (" xla" if arguments.xla else "") + (" frozen" if arguments.freeze else "")


def main() -> None:
    """Compare inference and training, one JSON line each."""
    arguments = parsed()
    framework = TensorFlow()
    framework.configure(CPU, threads=arguments.threads, seed=0)
    options = Options(xla=arguments.xla, freeze=arguments.freeze)
    graph = keras_resnet50(arguments.batch_size, arguments.image_size)
    random = np.random.default_rng(0)
    batch = {
        "image": random.standard_normal(graph.inputs[0].type.shape).astype(np.float32),
        "label": random.integers(0, CLASSES, arguments.batch_size),
    }
    native = {
        "image": tf.constant(batch["image"].transpose(0, 2, 3, 1)),
        "label": tf.constant(batch["label"]),
    }
    shape = (arguments.image_size, arguments.image_size, 3)
    model = tf.keras.applications.ResNet50(weights=None, classifier_activation=None, input_shape=shape)
    values = copied(graph, model)

    def build(mode: str) -> Program:
        return ours(framework, graph, values, mode, options)

    if arguments.mode != "training":
        compare_inference(arguments, build, model, batch, native)
    if arguments.mode != "inference":
        compare_training(arguments, build, model, batch, native)


if __name__ == "__main__":
    main()
