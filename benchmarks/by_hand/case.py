"""What is called by hand: a problem of DeepBench with its sizes and values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

Step = Callable[[], Any]
"""Returns the native output when it is there and, going backward, a pair of it and the gradients."""


@dataclass(frozen=True)
class Case:
    """An operator to call.

    Parameters
    ----------
    problem : str
        One of the problems ``deepbench_*``.
    sizes : mapping
        Its parameters.
    values : mapping
        All operands and weights by name as the graph has them and, to go backward, the gradient of the output.
    mode : {"inference", "gradient"}
        Forward, or forward and all gradients of operands and weights.
    threads : int
        For the frameworks that take their number with each operator; the process has it already.
    """

    problem: str
    sizes: Mapping[str, Any]
    values: Mapping[str, Array]
    mode: str
    threads: int

    @property
    def kind(self) -> str:
        """``gemm``, ``conv`` or ``rnn``."""
        return self.problem.removeprefix("deepbench_")

    @property
    def backward(self) -> bool:
        """Whether gradients are wanted."""
        return self.mode == "gradient"

    @property
    def upstream(self) -> Array:
        """The gradient of the output."""
        return next(value for name, value in self.values.items() if name.startswith("upstream."))

    @property
    def transposed(self) -> tuple[bool, bool]:
        """Which operands of a product are stored transposed."""
        return self.sizes["a_transposed"], self.sizes["b_transposed"]

    @property
    def strides(self) -> tuple[int, int]:
        """Of a convolution: down, right."""
        return self.sizes["stride_h"], self.sizes["stride_w"]

    @property
    def pads(self) -> tuple[int, int]:
        """Of a convolution: above and below, left and right."""
        return self.sizes["pad_h"], self.sizes["pad_w"]

    @property
    def weights(self) -> tuple[Array, Array, Array]:
        """Of a recurrent layer as ONNX has them: input and recurrent weights, both biases in one."""
        prefix = {"vanilla": "rnn"}.get(self.sizes["type"], self.sizes["type"])
        w, r, b = (self.values[f"{prefix}.{name}"] for name in ("w", "r", "b"))
        return w, r, b


GATES = {"vanilla": (0,), "lstm": (0, 2, 3, 1), "gru": (1, 0, 2)}
"""Where the gates i, f, c, o and r, z, h that most have stand in ONNX's order i, o, f, c and z, r, h."""
