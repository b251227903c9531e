"""What a person would write to time a training step of ``mnist_mlp`` in NumPy: no harness at all.

With ``lean`` it takes our worker's short cut: the process ends without taking its modules down.
"""

from __future__ import annotations

import os
import statistics
import sys
import time

import numpy as np

SIZES = (784, 128, 64, 10)
BATCH = 128
RATE = np.float32(0.01)


def main() -> None:
    """Draw weights and a mini-batch, run warm-up steps and timed ones, print the median."""
    steps, warmup = int(sys.argv[1]), int(sys.argv[2])
    random = np.random.default_rng(42)
    pairs = list(zip(SIZES[1:], SIZES[:-1]))
    weights = [random.standard_normal(shape, dtype=np.float32) * np.float32(0.05) for shape in pairs]
    biases = [np.zeros(outputs, np.float32) for outputs in SIZES[1:]]
    image = random.standard_normal((BATCH, SIZES[0]), dtype=np.float32)
    label = random.integers(0, SIZES[-1], BATCH)
    rows = np.arange(BATCH)

    def step() -> float:
        values = [image]
        for i in range(3):
            x = values[-1] @ weights[i].T + biases[i]
            values.append(np.maximum(x, 0) if i < 2 else x)
        shifted = values[-1] - values[-1].max(axis=1, keepdims=True)
        log_sum = np.log(np.exp(shifted).sum(axis=1, keepdims=True))
        loss = float((log_sum[:, 0] - shifted[rows, label]).mean())
        gradient = np.exp(shifted - log_sum)
        gradient[rows, label] -= 1
        gradient /= BATCH
        for i in (2, 1, 0):
            weight_gradient, bias_gradient = gradient.T @ values[i], gradient.sum(axis=0)
            if i:
                gradient = (gradient @ weights[i]) * (values[i] > 0)
            weights[i] -= RATE * weight_gradient
            biases[i] -= RATE * bias_gradient
        return loss

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
