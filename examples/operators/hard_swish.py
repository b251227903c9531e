r"""A user's own operator as a problem: hard swish, ``x clip(x / 6 + 1 / 2, 0, 1)``, implemented in several ways.

    python -m benchmarker run --problem=examples/operators/hard_swish.py --framework=pytorch \
        --mode=inference,gradient --set implementation=composed,python,native,c++
    python -m benchmarker check pytorch --gradients --problem=examples/operators/hard_swish.py

Howard et al. 2019, Searching for MobileNetV3, arXiv 1905.02244, section 5.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from benchmarker.api import (
    ANY,
    Body,
    Choice,
    CppSource,
    CustomOperator,
    NativeFunction,
    Network,
    NumpyFunction,
    Problem,
    TensorType,
)

HERE = Path(__file__).resolve().parent


# --- the reference, which every implementation is compared with: the operator in terms of others -------------


def body(operators: Any, x: Any) -> Any:
    gate = operators.clip(operators.affine(x, alpha=1.0 / 6.0, beta=0.5), min=0.0, max=1.0)
    return operators.mul(x, gate)


# --- a Python function, which any framework is bridged to ----------------------------------------------------


def forward(x: Any) -> Any:
    return x * np.clip(x / 6.0 + 0.5, 0.0, 1.0)


def backward(inputs: Any, outputs: Any, gradients: Any) -> Any:
    (x,), (dy,) = inputs, gradients
    inside = np.abs(x) < 3.0
    return (dy * np.where(inside, x / 3.0 + 0.5, x >= 3.0),)


# --- functions of the frameworks' own tensors; what is imported or compiled here is not timed -----------------


def pytorch_function() -> Any:
    import torch

    return torch.nn.functional.hardswish


def tensorflow_function() -> Any:
    import tensorflow as tf

    return lambda x: x * tf.nn.relu6(x + 3.0) / 6.0


def jax_function() -> Any:
    import jax

    return jax.nn.hard_swish


EXTENSION = """
#include <torch/extension.h>
torch::Tensor hard_swish(torch::Tensor x) { return at::hardswish(x); }
"""


def pytorch_extension() -> Any:
    """Compile with PyTorch's own tool, which needs ``ninja``; ATen differentiates what it calls."""
    from torch.utils.cpp_extension import load_inline

    return load_inline("hard_swish_extension", EXTENSION, functions="hard_swish").hard_swish


# --- the ways to run it --------------------------------------------------------------------------------------

SOURCE = CppSource((HERE / "hard_swish.cpp",), "hard_swish_forward", "hard_swish_backward")
CUDA = CppSource((HERE / "hard_swish.cu",), "hard_swish_forward", "hard_swish_backward")
NATIVE = {
    "pytorch": NativeFunction(pytorch_function),
    "tensorflow": NativeFunction(tensorflow_function),
    "jax": NativeFunction(jax_function),
}
IMPLEMENTATIONS: dict[str, dict[str, Any]] = {
    "composed": {},
    "python": {ANY: NumpyFunction(forward, backward)},
    "native": NATIVE,
    "extension": {"pytorch": NativeFunction(pytorch_extension)},
    "c++": {ANY: SOURCE},
    "cuda": {"pytorch": CUDA},
}


def shape(x: TensorType) -> TensorType:
    return x


@dataclass(frozen=True)
class Parameters:
    features: int = 1024
    implementation: Annotated[str, Choice(tuple(IMPLEMENTATIONS))] = "c++"


def build(net: Network, parameters: Parameters) -> None:
    chosen = parameters.implementation
    hard_swish = CustomOperator(
        f"hard_swish.{chosen}",
        reference=Body(body),
        shape=shape,
        implementations=IMPLEMENTATIONS[chosen],
        flops=lambda x: 5 * x.elements,
    )
    net.output(hard_swish(net, net.input("x", (parameters.features,))))


def benchmarker_problem() -> Problem:
    return Problem(
        name="hard_swish",
        task="operator",
        source="Howard et al. 2019, arXiv 1905.02244, section 5.2",
        parameters=Parameters,
        build=build,
        batch_size=256,
        reduced={"features": 8},
        reduced_batch_size=3,
    )
