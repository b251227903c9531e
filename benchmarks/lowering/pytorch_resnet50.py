"""Our ResNet-50 on PyTorch against a plain ``torch.nn`` ResNet-50, side by side in one process.

Prints one JSON line for each comparison; ``ratio`` is our time over the plain model's. Run it with an
interpreter that has PyTorch: ``python benchmarks/lowering/pytorch_resnet50.py``.
"""

from __future__ import annotations

import argparse
import ctypes
import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np
import torch
from paired import compare
from torch import nn

from benchmarker.api.framework import Device
from benchmarker.api.optimizer import Optimizer
from benchmarker.data.values import draw_batch
from benchmarker.plugins.pytorch import Options
from benchmarker.plugins.pytorch.framework import PytorchFramework
from benchmarker.problems.resnet import RESNET50

MOMENTUM = Optimizer("momentum", learning_rate=0.01, momentum=0.9)


class Bottleneck(nn.Module):  # type: ignore[misc]
    """A block of ResNet-50 v1.5: 1x1, 3x3 (with the stride) and 1x1 convolutions around a shortcut."""

    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, 4 * width, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(4 * width)
        self.relu = nn.ReLU(inplace=True)
        self.shortcut = None
        if stride != 1 or channels != 4 * width:
            self.shortcut = nn.Sequential(
                nn.Conv2d(channels, 4 * width, 1, stride, bias=False), nn.BatchNorm2d(4 * width)
            )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        y += x if self.shortcut is None else self.shortcut(x)
        return self.relu(y)


class ResNet50(nn.Module):  # type: ignore[misc]
    """ResNet-50 v1.5."""

    def __init__(self, classes: int = 1000) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 64, 7, 2, 3, bias=False),
            nn.BatchNorm2d(64),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, 2, 1),
        )
        blocks = []
        channels = 64
        for count, width, stride in ((3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2)):
            for block in range(count):
                blocks.append(Bottleneck(channels, width, stride if block == 0 else 1))
                channels = 4 * width
        self.blocks = nn.Sequential(*blocks)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Linear(channels, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.classifier(torch.flatten(self.pool(self.blocks(self.stem(x))), 1))


def named_values(model: nn.Module, names: list[str]) -> dict[str, np.ndarray[Any, Any]]:
    """Return the model's parameters and running statistics under our names; the orders are the same."""
    state = [value for key, value in model.state_dict().items() if "num_batches" not in key]
    return {name: value.numpy().copy() for name, value in zip(names, state, strict=True)}


def plain_steps(
    model: nn.Module, x: torch.Tensor, labels: torch.Tensor, compiled: bool, graphs: bool = False
) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Return the plain model's inference and training step; ``graphs`` has compiled ones replay CUDA graphs."""
    mode = "reduce-overhead" if graphs else None
    callable_ = torch.compile(model, mode=mode) if compiled else model
    optimizer = torch.optim.SGD(model.parameters(), MOMENTUM.learning_rate, MOMENTUM.momentum)
    criterion = nn.CrossEntropyLoss()

    def infer() -> Any:
        with torch.inference_mode():
            return callable_(x)

    def train() -> Any:
        optimizer.zero_grad()
        loss = criterion(callable_(x), labels)
        loss.backward()
        optimizer.step()
        return loss

    return infer, train


def compare_mode(
    mode: str, settings: str, options: Options, arguments: argparse.Namespace, graphs: bool = False
) -> None:
    """Check that both models compute the same outputs or loss, then time them."""
    torch.manual_seed(0)
    graph = RESNET50.graph(arguments.batch_size, image_size=arguments.image_size)
    batch = draw_batch(graph, 0)
    graph = graph if mode == "training" else graph.without_loss()
    plain = ResNet50()
    program = PytorchFramework().build(
        graph,
        named_values(plain, [p.name for p in graph.parameters]),
        mode=mode,
        device=Device(arguments.device),
        precision="fp32",
        optimizer=MOMENTUM,
        options=options,
    )
    loaded = program.load(batch)
    x, labels = torch.from_numpy(batch["image"]), torch.from_numpy(batch["label"])
    plain, x, labels = (each.to(arguments.device) for each in (plain, x, labels))
    if options.channels_last:
        plain, x = plain.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
    plain.train(mode == "training")
    infer, train = plain_steps(plain, x, labels, options.compile, graphs)
    native = program.train_step if mode == "training" else program.infer
    ours = waited_for(functools.partial(native, loaded), arguments.device)
    theirs = waited_for(train if mode == "training" else infer, arguments.device)
    found, expected = ours().detach(), theirs().detach()
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3)
    compare(f"pytorch {mode} {settings}", ours, theirs, pairs=arguments.pairs).print()


def waited_for(step: Callable[[], Any], device: str) -> Callable[[], Any]:
    """Return a step that ends only when a GPU has ended it."""
    if device == "cpu":
        return step

    def waiting() -> Any:
        output = step()
        torch.cuda.synchronize()
        return output

    return waiting


def keep_freed_memory() -> None:
    """Tell glibc not to give freed memory back to the kernel.

    Else page faults take up to a tenth of a step, as chance has it more in the one model or the other.
    """
    trim_threshold, mmap_threshold = -1, -3
    libc = ctypes.CDLL(None)
    if not (libc.mallopt(trim_threshold, 2**31 - 1) and libc.mallopt(mmap_threshold, 32 * 2**20)):
        raise SystemExit("--keep-memory needs glibc's mallopt, which refused; leave the option out")


def main() -> None:
    """Run every comparison that was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--image-size", type=int, default=224)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--compile", action="store_true", help="also compare compiled programs (minutes)")
    parser.add_argument("--keep-memory", action="store_true", help="without the page faults of freed memory")
    arguments = parser.parse_args()
    if arguments.keep_memory:
        keep_freed_memory()
    PytorchFramework().configure(Device(arguments.device), threads=arguments.threads, seed=0)
    variants = [
        ("NCHW", Options(channels_last=False)),
        ("channels_last", Options(channels_last=True)),
    ]
    if arguments.compile:
        variants.append(("compiled channels_last", Options(channels_last=True, compile=True)))
    for settings, options in variants:
        for mode in ("inference", "training"):
            compare_mode(mode, settings, options, arguments)
            if options.compile and arguments.device == "cuda":
                compare_mode(mode, f"{settings}, plain with CUDA graphs", options, arguments, graphs=True)


if __name__ == "__main__":
    main()
