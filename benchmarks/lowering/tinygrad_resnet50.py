"""Our ResNet-50 on tinygrad against one of ``tinygrad.nn``'s layers and optimizer, side by side in one process.

Both are recorded by ``TinyJit``. Prints one JSON line a mode; ``ratio`` is our time over that of the plain model. Run
it with an interpreter that has tinygrad, and with clang: ``python benchmarks/lowering/tinygrad_resnet50.py``.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

# As our plugin does; it reads them when it is imported.
os.environ.update({"DEV": "CPU", "NUM_CPU_THREADS": "1", "PARALLEL": "0", "CACHELEVEL": "0"})

import numpy as np  # noqa: E402
from paired import compare  # noqa: E402
from tinygrad import Context, Device, Tensor, TinyJit, nn  # noqa: E402

from benchmarker.api.framework import Device as Place  # noqa: E402
from benchmarker.api.framework import NoOptions  # noqa: E402
from benchmarker.api.optimizer import Optimizer  # noqa: E402
from benchmarker.data.values import draw_batch  # noqa: E402
from benchmarker.plugins.tinygrad.framework import Tinygrad  # noqa: E402
from benchmarker.problems.resnet import RESNET50  # noqa: E402

MOMENTUM = Optimizer("momentum", learning_rate=0.01, momentum=0.9)
STAGES = ((3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2))


class Bottleneck:
    """Three convolutions beside a shortcut."""

    def __init__(self, channels: int, width: int, stride: int) -> None:
        self.conv1, self.bn1 = nn.Conv2d(channels, width, 1, bias=False), nn.BatchNorm(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride=stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm(width)
        self.conv3, self.bn3 = nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm(4 * width)
        self.shortcut: list[Any] = []
        if stride != 1 or channels != 4 * width:
            convolution = nn.Conv2d(channels, 4 * width, 1, stride=stride, bias=False)
            self.shortcut = [convolution, nn.BatchNorm(4 * width)]

    def __call__(self, x: Tensor) -> Tensor:
        y = self.bn1(self.conv1(x)).relu()
        y = self.bn2(self.conv2(y)).relu()
        return (self.bn3(self.conv3(y)) + x.sequential(self.shortcut)).relu()


class ResNet50:
    """He et al. 2016, as tinygrad's own examples write it."""

    def __init__(self) -> None:
        self.conv1, self.bn1 = nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False), nn.BatchNorm(64)
        self.blocks: list[Any] = []
        channels = 64
        for blocks, width, stride in STAGES:
            for block in range(blocks):
                self.blocks.append(Bottleneck(channels, width, 1 if block else stride))
                channels = 4 * width
        self.fc = nn.Linear(channels, 1000)

    def __call__(self, x: Tensor) -> Tensor:
        y = self.bn1(self.conv1(x)).relu().max_pool2d((3, 3), 2, padding=1)
        return self.fc(y.sequential(self.blocks).mean((2, 3)))


def named_values(model: ResNet50, names: list[str]) -> dict[str, np.ndarray[Any, Any]]:
    """Return the model's parameters and running statistics under our names; the orders are the same."""
    state = nn.state.get_state_dict(model)
    arrays = [value.numpy() for name, value in state.items() if not name.endswith("num_batches_tracked")]
    return dict(zip(names, arrays, strict=True))


def plain_step(model: ResNet50, mode: str, x: Tensor, labels: Tensor) -> Callable[[], Any]:
    """Return a step as tinygrad's own examples have it; it is recorded in its second call."""
    if mode == "inference":
        infer = TinyJit(lambda image: model(image).realize())
        return lambda: infer(x)
    optimizer = nn.optim.SGD(nn.state.get_parameters(model), MOMENTUM.learning_rate, MOMENTUM.momentum)

    def train(image: Tensor, classes: Tensor) -> Tensor:
        optimizer.zero_grad()
        loss = model(image).sparse_categorical_crossentropy(classes).backward()
        return loss.realize(*optimizer.schedule_step())

    recorded = TinyJit(train)

    def step() -> Any:
        with Context(TRAINING=1):
            return recorded(x, labels)

    return step


def compare_mode(mode: str, arguments: argparse.Namespace) -> None:
    """Check that both models compute the same outputs or loss, then time them."""
    graph = RESNET50.graph(arguments.batch_size, image_size=arguments.image_size)
    batch = draw_batch(graph, 0)
    graph = graph if mode == "training" else graph.without_loss()
    plain = ResNet50()
    program = Tinygrad().build(
        graph,
        named_values(plain, [p.name for p in graph.parameters]),
        mode=mode,
        device=Place("cpu"),
        precision="fp32",
        optimizer=MOMENTUM,
        options=NoOptions(),
    )
    loaded = program.load(batch)
    native = program.train_step if mode == "training" else program.infer
    labels = batch["label"].astype(np.int32)
    theirs = plain_step(plain, mode, Tensor(batch["image"]).realize(), Tensor(labels).realize())
    device = Device[Device.DEFAULT]

    def finished(step: Callable[[], Any]) -> Callable[[], Any]:
        def run() -> Any:
            found = step()
            device.synchronize()
            return found

        return run

    found = program.fetch(native(loaded))[0]
    np.testing.assert_allclose(found, theirs().numpy(), rtol=1e-3, atol=1e-3)
    ours = finished(lambda: native(loaded))
    compare(f"tinygrad {mode}", ours, finished(theirs), pairs=arguments.pairs, steps=1, warmup=2).print()


def main() -> None:
    """Compare inference, then training."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--image-size", type=int, default=224)
    parser.add_argument("--batch-size", type=int, default=1)
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--mode", choices=("inference", "training"), action="append")
    arguments = parser.parse_args()
    Tinygrad().configure(Place("cpu"), threads=1, seed=0)
    for mode in arguments.mode or ("inference", "training"):
        compare_mode(mode, arguments)


if __name__ == "__main__":
    main()
