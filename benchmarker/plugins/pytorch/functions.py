"""The functions of a program: lowered, then compiled and run under autocast where asked for."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from benchmarker.api.framework import Device
from benchmarker.errors import UnsupportedError
from benchmarker.graph.graph import Graph
from benchmarker.plugins.pytorch.lowering import lower, lower_integers
from benchmarker.plugins.pytorch.tensors import Tensors

if TYPE_CHECKING:
    from benchmarker.plugins.pytorch import Options

_UNCOMPILED = {
    "rnn": ("rnn_tanh", "rnn_relu"),
    "lstm": ("lstm",),
    "gru": ("gru",),
    "ctc_loss": ("ctc_loss",),
}
"""Operators that run as they are also in a compiled program, and PyTorch's names of them."""


class Functions:
    """Makes the functions of one program; each takes the native mini-batch alone."""

    def __init__(
        self,
        graph: Graph,
        tensors: Tensors,
        device: Device,
        autocast: Any,
        options: Options,
        integers: bool = False,
    ) -> None:
        self._graph = graph
        self._tensors = tensors
        self._device = device
        self._autocast = autocast
        self._options = options
        self._integers = integers
        self.integer_products: int | None = None

    def make(
        self, results: Sequence[str], *, training: bool, dropout: bool = True, ranges: bool = False
    ) -> Callable[..., Any]:
        """Return the function that computes ``results``, compiled and under autocast where asked for.

        Raises
        ------
        UnsupportedError
            If a profiler is to see the ranges of nodes in a function that is compiled.
        """
        import torch

        if self._integers:
            return self._of_integers(results, ranges)
        pieces = {name: len(natives) for name, natives in self._tensors.native.items()}
        function = lower(
            self._graph,
            results,
            pieces,
            training=training,
            dropout=dropout,
            dtype=self._tensors.dtype,
            mixed=self._autocast is not None,
            ranges=ranges,
        )
        if self._options.compile and ranges:
            raise UnsupportedError(
                "torch.compile fuses the operators of nodes, so they cannot be distinguished; use compile=false"
            )
        if self._options.compile:
            function = self._compiled(function)
        function = functools.partial(function, *self._tensors.all)
        if self._autocast is None:
            return function
        wrapped: Callable[..., Any] = torch.autocast(self._device.type, self._autocast)(function)
        return wrapped

    def _of_integers(self, results: Sequence[str], ranges: bool) -> Callable[..., Any]:
        found = lower_integers(self._graph, results, self._tensors, ranges=ranges)
        function, known, self.integer_products = found
        return functools.partial(function, *known)

    def _compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Compile all but a few operators in one piece.

        As in modules of PyTorch's own, recurrent layers run as they are: its compiler cannot train its
        LSTM and writes a GRU out step by step, which takes minutes to compile. The loss of
        connectionist temporal classification it does not take at all.
        """
        import torch

        apart = [
            getattr(torch, name)
            for operator, names in _UNCOMPILED.items()
            if operator in self._graph.operators
            for name in names
        ]
        for operator in apart:
            torch._dynamo.disallow_in_graph(operator)
        whole = not apart and "custom" not in self._graph.operators
        compiled: Callable[..., Any] = torch.compile(function, dynamic=False, fullgraph=whole)
        return compiled
