"""A graph as one Python function: a straight line of calls, each value dropped after its last use.

For frameworks that run operator by operator. The function is built once as a syntax tree and compiled, so
that running it interprets nothing of the graph: one call per node, local variables between them.
"""

from __future__ import annotations

import ast
import builtins
import itertools
import linecache
import re
import types
import weakref
from collections.abc import Callable, Mapping, Sequence
from keyword import iskeyword
from typing import Any

from benchmarker.graph.graph import Graph
from benchmarker.graph.types import Node

Binding = Mapping[str, Callable[..., Any]]
"""Node name to a callable of the node's tensor inputs by position (``None`` for an absent one).

It returns the node's output, or a tuple of them if the node has several.
"""

_numbers = itertools.count(1)


def straight_line(
    graph: Graph,
    binding: Binding,
    *,
    outputs: Sequence[str] | None = None,
    constants: Mapping[str, Any] | None = None,
) -> Callable[..., tuple[Any, ...]]:
    """Compile ``graph`` into one function.

    Parameters
    ----------
    graph : Graph
        Its nodes are called in their order; those that ``outputs`` does not need are left out.
    binding : mapping
        What each node calls, see :data:`Binding`.
    outputs : sequence of str, optional
        Names of the values to return; the graph's outputs, and its loss if it has one, by default.
    constants : mapping, optional
        Values that are the same objects at each call, by name, normally the parameters. The function
        keeps them; they are no arguments.

    Returns
    -------
    callable
        Takes the graph's inputs, then its parameters, by position and in the graph's order, without those
        in ``constants``; returns the tuple of ``outputs``. A traceback through it shows the line of the
        node that failed, with the node's name and operator.

    Raises
    ------
    KeyError
        If ``binding`` lacks a node or ``outputs`` names no value of the graph.
    """
    wanted = _default_outputs(graph) if outputs is None else tuple(outputs)
    fixed = dict(constants or {})
    given = [i.name for i in graph.inputs] + [p.name for p in graph.parameters]
    body = _Body([name for name in given if name not in fixed], list(fixed))
    nodes = _needed_nodes(graph, wanted)
    missing = set(wanted) - set(given) - {name for node in nodes for name in node.outputs}
    if missing:
        raise KeyError(f"graph '{graph.name}' has no value {', '.join(sorted(missing))}")
    namespace: dict[str, Any] = {body.names[name]: value for name, value in fixed.items()}
    last_use = _last_uses(nodes)
    for index, node in enumerate(nodes):
        function = body.fresh(f"call_{node.operator}")
        namespace[function] = binding[node.name]
        body.call(node, function)
        body.drop(name for name in last_use[index] if name not in fixed and name not in wanted)
    body.give(wanted)
    return body.compile(f"run_{graph.name}", namespace)


def _default_outputs(graph: Graph) -> tuple[str, ...]:
    return graph.outputs if graph.loss is None else (*graph.outputs, graph.loss)


def _needed_nodes(graph: Graph, outputs: Sequence[str]) -> list[Node]:
    needed = set(outputs)
    nodes = []
    for node in reversed(graph.nodes):
        if needed.intersection(node.outputs):
            nodes.append(node)
            needed.update(node.inputs)
    return nodes[::-1]


def _last_uses(nodes: Sequence[Node]) -> list[list[str]]:
    """Return, for each node, the values that nothing after it uses, its own unused outputs included."""
    later: set[str] = set()
    dead: list[list[str]] = []
    for node in reversed(nodes):
        touched = dict.fromkeys(name for name in (*node.inputs, *node.outputs) if name)
        dead.append([name for name in touched if name not in later])
        later.update(touched)
    return dead[::-1]


class _Body:
    """The statements of the function, one to a line, and the identifiers of its values."""

    def __init__(self, arguments: Sequence[str], constants: Sequence[str]) -> None:
        self._taken: set[str] = set()
        self.names: dict[str, str] = {}
        for name in (*arguments, *constants):
            self.names[name] = self.fresh(name)
        self._arguments = [self.names[name] for name in arguments]
        self._statements: list[ast.stmt] = []
        self._comments: list[str] = []

    def fresh(self, name: str) -> str:
        """Return an identifier like ``name`` that is not taken yet."""
        stem = re.sub(r"\W", "_", name, flags=re.ASCII)
        if not stem.isidentifier() or iskeyword(stem):
            stem = f"_{stem}"
        identifier = stem
        for number in itertools.count(2):
            if identifier not in self._taken:
                break
            identifier = f"{stem}_{number}"
        self._taken.add(identifier)
        return identifier

    def call(self, node: Node, function: str) -> None:
        """Add the call of one node."""
        for output in node.outputs:
            self.names[output] = self.fresh(output)
        arguments: list[ast.expr] = [
            self._load(self.names[name]) if name else ast.Constant(value=None) for name in node.inputs
        ]
        targets: list[ast.expr] = [ast.Name(id=self.names[name], ctx=ast.Store()) for name in node.outputs]
        target = targets[0] if len(targets) == 1 else ast.Tuple(elts=targets, ctx=ast.Store())
        value = ast.Call(func=self._load(function), args=arguments, keywords=[])
        self._add(ast.Assign(targets=[target], value=value), f"node {node.name!r} ({node.operator})")

    def drop(self, names: Any) -> None:
        """Forget values."""
        targets: list[ast.expr] = [ast.Name(id=self.names[name], ctx=ast.Del()) for name in names]
        if targets:
            self._add(ast.Delete(targets=targets))

    def give(self, names: Sequence[str]) -> None:
        """Return values as a tuple."""
        values: list[ast.expr] = [self._load(self.names[name]) for name in names]
        self._add(ast.Return(value=ast.Tuple(elts=values, ctx=ast.Load())))

    def compile(self, name: str, namespace: dict[str, Any]) -> Callable[..., tuple[Any, ...]]:
        """Return the function; its source goes where tracebacks look for it, as long as it lives."""
        name = self.fresh(name)
        filename = f"<straight line {next(_numbers)}: {name}>"
        lines = [f"def {name}({', '.join(self._arguments)}):\n"]
        for statement, comment in zip(self._statements, self._comments):
            lines.append(f"    {ast.unparse(ast.fix_missing_locations(statement))}{comment}\n")
        module = compile("".join(lines), filename, "exec")
        code = next(c for c in module.co_consts if isinstance(c, types.CodeType))
        # torch.compile looks for the built-in names there, as in the globals of any module.
        function = types.FunctionType(code, {**namespace, "__builtins__": builtins}, name)
        linecache.cache[filename] = (sum(map(len, lines)), None, lines, filename)
        weakref.finalize(function, linecache.cache.pop, filename, None)
        return function

    def _add(self, statement: ast.stmt, comment: str = "") -> None:
        self._statements.append(statement)
        self._comments.append(f"  # {comment}" if comment else "")

    @staticmethod
    def _load(identifier: str) -> ast.Name:
        return ast.Name(id=identifier, ctx=ast.Load())
