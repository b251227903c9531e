"""Generation: what a language model computes of a prompt, of one token after it, and of the whole sequence at once.

The graphs of prompt and step have the same outputs beside each other: scores, then what the next step takes. So the
cache of keys and values is state that goes from one to the next, in a form of static size.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarker.errors import UnsupportedError
from benchmarker.quick_dataclass import dataclass

WHOLE, PROMPT, STEP = "whole", "prompt", "step"
OWN_OUTPUTS = 2
"""Outputs of prompt and step that are what was asked for: scores and token; with the token the state begins."""


@dataclass(frozen=True)
class Stage:
    """One of the graphs of a generation.

    Parameters
    ----------
    kind : {"whole", "prompt", "step"}
        ``whole``: all tokens but the last in one forward pass, without a cache, and the scores of all that were
        generated; ``prompt``: the prompt's tokens, and the cache; ``step``: one token, and the cache.
    prompt, output : int
        Tokens of the prompt, and those that are generated.
    """

    kind: str
    prompt: int
    output: int

    @property
    def capacity(self) -> int:
        """Positions of the cache; the last token is taken by nothing."""
        return self.prompt + self.output - 1

    @property
    def length(self) -> int:
        """Tokens that the graph takes."""
        return {WHOLE: self.capacity, PROMPT: self.prompt, STEP: 1}[self.kind]

    @property
    def scored(self) -> int:
        """Last positions whose scores it returns."""
        return self.output if self.kind == WHOLE else 1


class CarriesState:
    """The part of a program by which outputs of a step become inputs of the next one, where they are."""

    def output_tensors(self, output: Any) -> Sequence[Any]:
        """Return the native outputs of a step of inference one by one.

        No further step changes the first :data:`OWN_OUTPUTS`, and ``fetch`` takes a beginning of them as a tuple.
        On the timed path of generation.

        Raises
        ------
        UnsupportedError
            If the framework does not give them out.
        """
        raise UnsupportedError("the framework does not pass outputs of a step on to the next one")

    def take(self, tensors: Sequence[Any]) -> Any:
        """Return what ``load`` would, of native outputs: of this program, or of another one beside it.

        They are in the order of the graph's inputs, of their shapes and types. Nothing goes through the host. On the
        timed path of generation.

        Raises
        ------
        UnsupportedError
            If the framework cannot.
        """
        raise UnsupportedError("the framework does not pass outputs of a step on to the next one")
