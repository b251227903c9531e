"""A perceptron on the digits, trained by a few lines of NumPy in float64 that share nothing with the worker's loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarker.data import values
from benchmarker.data.readers.digits import read
from benchmarker.data.splits import split

Array = np.ndarray
PROBLEM = "tests.worker.test_verified_start:Dense"
SIZES = {"features": 64, "classes": 10}


@dataclass
class ByHand:
    """What the training came to.

    Parameters
    ----------
    correct : list of int
        Test samples that are classified rightly, before the training and after each row of ``every`` steps.
    losses : list of float
        Their mean cross-entropies.
    weights : dict
        At the end.
    """

    correct: list[int] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    weights: dict[str, Array] = field(default_factory=dict)


def train_by_hand(
    weights: Mapping[str, Array],
    rates: Sequence[float],
    *,
    seed: int,
    every: int,
    batch_size: int = 32,
    momentum: float = 0.9,
    clip_norm: float = np.inf,
    ema: float = 0.0,
    decay: float = 0.0,
) -> ByHand:
    """Train with heavy-ball momentum, one rate a step, on four fifths of the digits.

    Parameters
    ----------
    weights : mapping
        ``fc1.weight`` and so on, as the graph has them.
    rates : sequence of float
        The learning rate of each step.
    seed : int
        Of the orders.
    every : int
        Steps between two evaluations.
    clip_norm : float
        Norm of all gradients together that is not exceeded.
    ema : float
        Share of the average of weights that is kept; it is evaluated.
    decay : float
        Weight decay of the two matrices, part of their gradients.
    """
    images, labels = _digits()
    parts = split(labels, {"train": 0.8, "test": 0.2})
    steps_per_epoch = len(parts.train) // batch_size
    p = {name: value.astype(np.float64) for name, value in weights.items()}
    velocity = {name: np.zeros_like(value) for name, value in p.items()}
    average, found = dict(p), ByHand()
    _judge(found, p, images[parts.test], labels[parts.test])
    for step, rate in enumerate(rates):
        epoch, position = divmod(step, steps_per_epoch)
        order = parts.train[values.draw_order(seed, f"epoch/{epoch}", len(parts.train))]
        rows = order[position * batch_size : (position + 1) * batch_size]
        gradients = _gradients(p, images[rows], labels[rows])
        scale = min(1.0, clip_norm / np.sqrt(sum(np.sum(g * g) for g in gradients.values())))
        for name, gradient in gradients.items():
            decayed = scale * gradient + (decay * p[name] if name.endswith("weight") else 0.0)
            velocity[name] = momentum * velocity[name] + decayed
            p[name] = p[name] - rate * velocity[name]
            average[name] = ema * average[name] + (1.0 - ema) * p[name]
        if (step + 1) % every == 0 or step + 1 == len(rates):
            _judge(found, average, images[parts.test], labels[parts.test])
    found.weights = average
    return found


def _digits() -> tuple[Array, Array]:
    data = read(None)
    scaled = data.samples.reshape(len(data.samples), -1).astype(np.float32) / np.float32(data.largest)
    standard = (scaled - np.float32(data.mean)) / np.float32(data.deviation)
    return standard.astype(np.float64), data.labels


def _forward(p: Mapping[str, Array], x: Array) -> tuple[Array, Array]:
    hidden = np.maximum(x @ p["fc1.weight"].T + p["fc1.bias"], 0.0)
    return hidden, hidden @ p["fc2.weight"].T + p["fc2.bias"]


def _softmax(scores: Array) -> Array:
    raised = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: Array = raised / raised.sum(axis=1, keepdims=True)
    return shares


def _gradients(p: Mapping[str, Array], x: Array, labels: Array) -> dict[str, Array]:
    hidden, scores = _forward(p, x)
    back = _softmax(scores)
    back[np.arange(len(labels)), labels] -= 1.0
    back /= len(labels)
    inner = (back @ p["fc2.weight"]) * (hidden > 0.0)
    return {
        "fc1.weight": inner.T @ x,
        "fc1.bias": inner.sum(axis=0),
        "fc2.weight": back.T @ hidden,
        "fc2.bias": back.sum(axis=0),
    }


def _judge(found: ByHand, p: Mapping[str, Array], x: Array, labels: Array) -> None:
    _, scores = _forward(p, x)
    found.correct.append(int(np.count_nonzero(scores.argmax(axis=1) == labels)))
    chosen = _softmax(scores)[np.arange(len(labels)), labels]
    found.losses.append(float(-np.log(chosen).mean()))


def prepared_digits() -> Path:
    """Return the folder of the digits as a worker reads them."""
    from benchmarker import registry
    from benchmarker.data.prepared import prepare

    return prepare("digits", registry.dataset_reader("digits"), None).folder


def travelled(found: Mapping[str, Array], exact: Mapping[str, Array], first: Mapping[str, Array]) -> float:
    """Return how far weights are from the exact ones, as a share of how far these have come."""

    def distance(a: Mapping[str, Any], b: Mapping[str, Any]) -> float:
        return float(np.sqrt(sum(np.sum(np.square(a[name] - b[name])) for name in exact)))

    return distance(found, exact) / distance(exact, first)
