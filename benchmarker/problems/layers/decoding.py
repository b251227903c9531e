"""What the graphs of a generation have in common: tokens, positions, attention with a cache, the next token."""

from __future__ import annotations

from collections.abc import Callable

from benchmarker.api.generation import PROMPT, STEP, WHOLE, Stage
from benchmarker.graph.initializers import ONES
from benchmarker.graph.network import Network
from benchmarker.graph.recorder import Value
from benchmarker.graph.types import Distribution
from benchmarker.problems.layers.attention import first_rows, to_rows, to_samples

MASKED = -30000.0
"""Added to scores of positions without a key; the exponential of it is 0, and float16 holds it."""


class Decoding:
    """One graph of a generation, being built.

    Parameters
    ----------
    net : Network
        Its network.
    stage : Stage
        Which graph.
    vocabulary : int
        Number of tokens.

    Attributes
    ----------
    token : Value
        ``(N, length)``.
    """

    def __init__(self, net: Network, stage: Stage, vocabulary: int) -> None:
        self._net, self._stage = net, stage
        self.token = net.input("token", (stage.length,), "int64", Distribution("integers", vocabulary))
        self._cache: list[Value] = []
        if stage.kind == STEP:
            here = Distribution("constant", stage.prompt)
            self._position = net.input("position", (1,), "int64", here)
            self._written, self._mask = self._places()

    def _places(self) -> tuple[Value, Value]:
        """Return which row of a cache is the token's own, and what hides those after it."""
        net, count = self._net, self._stage.capacity
        each = Distribution("values", values=tuple(range(count)))
        rows = net.constant("decoding.rows", (1, 1, count, 1), each, "int64")
        columns = net.constant("decoding.columns", (1, 1, 1, count), each, "int64")
        seen = net.constant("decoding.seen", (1, 1, 1, 1), Distribution("constant", 0.0))
        hidden = net.constant("decoding.hidden", (1, 1, 1, 1), Distribution("constant", MASKED))
        position = net.reshape(self._position, shape=(net.batch_size, 1, 1, 1))
        return net.equal(rows, position), net.where(net.less_or_equal(columns, position), seen, hidden)

    def rows(self, table: Value) -> Value:
        """Return the rows of a table at the tokens' positions: ``(length, width)``, of a step ``(N, 1, width)``."""
        if self._stage.kind == STEP:
            result: Value = self._net.gather(table, self._position)
            return result
        return first_rows(self._net, table, self._stage.length)

    def attention(
        self,
        name: str,
        q: Value,
        k: Value,
        v: Value,
        scale: float,
        shared: Callable[[Value], Value] = lambda x: x,
    ) -> Value:
        """Causal attention of ``(N, heads, length, features)`` to all positions up to each.

        Parameters
        ----------
        name : str
            Of the layer; the caches are ``name.key_cache`` and ``name.value_cache``.
        q, k, v : Value
            Of the tokens that are taken.
        scale : float
            Of the scores.
        shared : callable
            Repeats keys and values for the heads that share them; the cache has each once.
        """
        net = self._net
        if self._stage.kind == STEP:
            keys, values = self._with_own(f"{name}.key_cache", k), self._with_own(f"{name}.value_cache", v)
            y: Value = net.attention(q, shared(keys), shared(values), self._mask, scale=scale)
            return y
        if self._stage.kind == PROMPT:
            self._cache += [self._padded(k), self._padded(v)]
        whole: Value = net.attention(q, shared(k), shared(v), scale=scale, is_causal=True)
        return whole

    def _with_own(self, name: str, own: Value) -> Value:
        """Return a cache with the token's own row ``(N, heads, 1, features)`` in its place."""
        _, heads, _, features = own.shape
        cached = self._net.input(name, (heads, self._stage.capacity, features))
        self._cache.append(self._net.where(self._written, own, cached))
        return self._cache[-1]

    def _padded(self, x: Value) -> Value:
        free = self._stage.capacity - self._stage.prompt
        result: Value = self._net.pad(x, pads=(0, 0, 0, 0, 0, 0, free, 0)) if free else x
        return result

    def close(self, x: Value, head: Value) -> None:
        """Score rows ``(N * length, width)`` by the table ``head``, and declare the outputs."""
        net, stage = self._net, self._stage
        if stage.length != stage.scored:
            first = stage.length - stage.scored
            x = net.slice(to_samples(net, x), axes=(1,), starts=(first,), ends=(stage.length,))
            x = to_rows(net, x)
        scores = to_samples(net, net.named("head").gemm(x, head, trans_b=True))
        net.output(scores)
        if stage.kind == WHOLE:
            return
        net.output(net.arg_max(scores, axis=-1))
        net.output(self._next_position())
        for cache in self._cache:
            net.output(cache)

    def _next_position(self) -> Value:
        net = self._net
        one = net.constant("decoding.one", (1, 1), ONES, "int64")
        if self._stage.kind == PROMPT:
            last = Distribution("constant", self._stage.prompt - 1)
            before = net.constant("decoding.last", (net.batch_size, 1), last, "int64")
        else:
            before = self._position
        result: Value = net.add(before, one)
        return result
