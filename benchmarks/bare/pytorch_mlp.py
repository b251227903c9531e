"""What a person would write to time a training step of ``mnist_mlp`` in PyTorch: no harness at all.

With ``lean`` it takes our worker's short cut: the process ends without taking its modules down.
"""

from __future__ import annotations

import os
import statistics
import sys
import time

import numpy as np
import torch

BATCH = 128


def main() -> None:
    """Make the network and a mini-batch, run warm-up steps and timed ones, print the median."""
    steps, warmup, threads = (int(text) for text in sys.argv[1:4])
    torch.set_num_threads(threads)
    random = np.random.default_rng(42)
    model = torch.nn.Sequential(
        torch.nn.Linear(784, 128),
        torch.nn.ReLU(),
        torch.nn.Linear(128, 64),
        torch.nn.ReLU(),
        torch.nn.Linear(64, 10),
    )
    image = torch.from_numpy(random.standard_normal((BATCH, 784), dtype=np.float32))
    label = torch.from_numpy(random.integers(0, 10, BATCH))
    criterion = torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step() -> None:
        optimizer.zero_grad()
        loss = criterion(model(image), label)
        loss.backward()
        optimizer.step()

    for _ in range(warmup):
        step()
    times = []
    for _ in range(steps):
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    print(statistics.median(times))


main()
if "lean" in sys.argv:
    sys.stdout.flush()
    os._exit(0)
