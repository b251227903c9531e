"""The deep Q-network of the Nature paper."""

from __future__ import annotations

from typing import Annotated

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem import Problem, Published
from benchmarker.api.rules import Real
from benchmarker.graph.initializers import he_normal, inverse_sqrt_uniform
from benchmarker.graph.network import Network
from benchmarker.graph.recorder import Value
from benchmarker.graph.types import Distribution
from benchmarker.problems.layers.sizes import scaled
from benchmarker.quick_dataclass import dataclass

CONVOLUTIONS = ((32, 8, 4), (64, 4, 2), (64, 3, 1))
"""Filters, kernel and stride (Mnih et al. 2015, Methods, Model architecture)."""
MAX_ERROR = 1.0
"""The error is clipped to this in its gradient (Methods, Training details)."""
ENDED = (0.0, 1.0, 0.0, 0.0)
"""Which transitions end an episode, over and over. In play far fewer do; drawn as rarely, most mini-batches would
have none, and what a transition without a next state adds to the loss would be neither computed nor verified."""


@dataclass(frozen=True)
class Parameters:
    """Sizes of the network; ``width`` multiplies the filters of every convolution."""

    actions: int = 6
    image_size: int = 84
    frames: int = 4
    width: float = 1.0
    hidden: int = 512
    discount: Annotated[float, Real(least=0.0, most=1.0)] = 0.99


def convolution(
    net: Network, name: str, x: Value, filters: int, kernel: int, stride: int, trainable: bool
) -> Value:
    """Convolution and rectifier."""
    channels = x.shape[1]
    fan_in = channels * kernel * kernel
    w = net.parameter(f"{name}.weight", (filters, channels, kernel, kernel), he_normal(fan_in), trainable)
    b = net.parameter(f"{name}.bias", (filters,), inverse_sqrt_uniform(fan_in), trainable)
    y = net.named(name).conv(x, w, b, strides=(stride,) * 2, pads=(0,) * 4, dilations=(1, 1))
    result: Value = net.relu(y)
    return result


def dense(net: Network, name: str, x: Value, units: int, trainable: bool) -> Value:
    """Fully connected layer."""
    start = inverse_sqrt_uniform(x.shape[1])
    w = net.parameter(f"{name}.weight", (units, x.shape[1]), start, trainable)
    b = net.parameter(f"{name}.bias", (units,), start, trainable)
    result: Value = net.named(name).gemm(x, w, b, trans_b=True)
    return result


def action_values(net: Network, name: str, state: Value, p: Parameters, trainable: bool) -> Value:
    """The value of each action in each state."""
    x = state
    for number, (filters, kernel, stride) in enumerate(CONVOLUTIONS, start=1):
        x = convolution(net, f"{name}.conv{number}", x, scaled(filters, p.width), kernel, stride, trainable)
    x = net.relu(dense(net, f"{name}.fc1", net.flatten(x), p.hidden, trainable))
    return dense(net, f"{name}.fc2", x, p.actions, trainable)


def build(net: Network, p: Parameters) -> None:
    """Add the network to ``net``; it returns the value of each action.

    The loss is that of one mini-batch of transitions (algorithm 1): the target network is a second one
    whose parameters stand still. Every fourth transition ends an episode, at every seed (:data:`ENDED`).
    """
    frames = (p.frames, p.image_size, p.image_size)
    pixels = Distribution("uniform", 1.0, low=0.0)
    state = net.input("state", frames, distribution=pixels)
    action = net.input("action", (1,), "int64", Distribution("integers", p.actions))
    reward = net.input("reward", (1,), distribution=Distribution("integers", 2, low=-1))
    next_state = net.input("next_state", frames, distribution=pixels)
    ended = net.input("ended", (1,), distribution=Distribution("values", values=ENDED))
    values = action_values(net, "online", state, p, trainable=True)
    net.output(values)
    chosen = net.gather_elements(values, action, axis=1)
    best = net.reduce_max(
        action_values(net, "target", next_state, p, trainable=False), axes=(1,), keepdims=True
    )
    goes_on = net.affine(ended, alpha=-p.discount, beta=p.discount)
    error = net.sub(chosen, net.add(reward, net.mul(goes_on, best)))
    net.loss(net.reduce_mean(net.huber(error, delta=MAX_ERROR)))


def benchmarker_problem() -> Problem:
    """Return the problem.

    RMSProp adds its epsilon outside of the root here, as in every framework; the paper's program adds it
    inside, ``g / sqrt(s - m^2 + 0.01)`` with the mean ``m`` of the gradients, so 0.01 damps more there.
    """
    return Problem(
        name="nature_dqn",
        task="reinforcement learning",
        source="Mnih et al. 2015, Nature 518, Methods and algorithm 1; RMSProp without its mean of gradients",
        parameters=Parameters,
        build=build,
        optimizer=Optimizer("rmsprop", learning_rate=2.5e-4, decay=0.95, epsilon=0.01),
        batch_size=32,
        published=(
            Published(1_687_206, 18_692_096),
            Published(1_686_180, 18_690_048, {"actions": 4}),
            Published(1_693_362, 18_704_384, {"actions": 18}),
        ),
        reduced={"image_size": 36, "width": 0.125, "hidden": 16},
        reduced_batch_size=4,
    )
