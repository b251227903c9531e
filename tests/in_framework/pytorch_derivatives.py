"""Faults planted into PyTorch's operators, for the gradient check to catch; run in its environment.

Prints, as JSON, the verdict on the case that each fault concerns.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import torch

from benchmarker.api.framework import Device
from benchmarker.plugins.pytorch import benchmarker_framework
from benchmarker.plugins.pytorch.framework import PytorchFramework
from benchmarker.plugins.pytorch.operators import PytorchOperators
from benchmarker.worker.conformance import Subject
from benchmarker.worker.conformance.derivatives import derivative_checks

functional = torch.nn.functional


def wrong(forward: Callable[..., Any], differentiated: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that computes ``forward`` and goes back through ``differentiated``."""

    class Wrong(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(context: Any, *inputs: Any) -> Any:
            context.save_for_backward(*inputs)
            return forward(*inputs)

        @staticmethod
        def backward(context: Any, *upstream: Any) -> Any:
            with torch.enable_grad():
                inputs = [x.detach().requires_grad_() for x in context.saved_tensors]
                return torch.autograd.grad(differentiated(*inputs), inputs, upstream)

    def call(*inputs: Any) -> Any:
        return Wrong.apply(*inputs)

    return call


def planted(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return an operator that traces a call of ``function`` on its tensors."""

    def operator(self: Any, x: Any, *others: Any, **attributes: Any) -> Any:
        return self._call(function, x, *others)

    return operator


def padded(x: Any, pads: tuple[int, int, int, int]) -> Any:
    return functional.pad(x, (pads[1], pads[3], pads[0], pads[2]))


# The case 2d-asymmetric-pads has pads (0, 2, 1, 0), the begins of both axes, then the ends.
CONV = wrong(
    lambda x, w, b: functional.conv2d(padded(x, (0, 2, 1, 0)), w, b),
    lambda x, w, b: functional.conv2d(padded(x, (1, 0, 0, 2)), w, b),
)
LAYER_NORM = wrong(
    lambda x, scale, b: functional.layer_norm(x, x.shape[-1:], scale, b, 1e-5),
    lambda x, scale, b: (
        (x - x.mean(-1, keepdim=True).detach())
        / torch.sqrt(x.var(-1, unbiased=False, keepdim=True) + 1e-5)
        * scale
        + b
    ),
)
SOFTMAX = wrong(lambda x: 1.01 * torch.softmax(x, -1), lambda x: torch.softmax(x, -1))

FAULTS = {
    "backward of conv": ("conv", CONV, "conv/2d-asymmetric-pads"),
    "backward of layer_norm": ("layer_normalization", LAYER_NORM, "layer_normalization/3d"),
    "forward of softmax": ("softmax", SOFTMAX, "softmax/matrix"),
}


def main() -> None:
    """Plant each fault and take it out again."""
    framework, device = PytorchFramework(), Device("cpu")
    framework.configure(device, threads=1, seed=0)
    subject = Subject(framework, benchmarker_framework(), device, seed=0)
    checks = {check.name: check for check in derivative_checks()}
    for name, (operator, function, case) in FAULTS.items():
        check = checks[f"derivative/{case}"]
        assert check.run(subject).status == "passed"
        right = getattr(PytorchOperators, operator)
        setattr(PytorchOperators, operator, planted(function))
        result = check.run(subject)
        setattr(PytorchOperators, operator, right)
        verdict = "failed" if result.error is not None else f"{result.status} {result.detail}"
        print(json.dumps([name, verdict if result.status == "failed" else result.status]))


if __name__ == "__main__":
    main()
