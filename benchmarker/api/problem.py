"""The problem contract: a function that builds a graph from typed parameters, and what surrounds it."""

from __future__ import annotations

import dataclasses
import operator
import typing
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import field
from typing import Any, TypeVar

from benchmarker.api.containment import BUILD_SECONDS, contained
from benchmarker.api.framework import STEP_MODES
from benchmarker.api.generation import Stage
from benchmarker.api.optimizer import Optimizer
from benchmarker.api.options import parse_options
from benchmarker.errors import BenchmarkerError, PluginError, UsageError, first_line
from benchmarker.graph.graph import Graph
from benchmarker.graph.network import Network
from benchmarker.quick_dataclass import dataclass

OPERATOR = "operator"
"""The task of a problem that is one operator."""
_Parameters = TypeVar("_Parameters")


def with_defaults(parameters: type[_Parameters], **defaults: Any) -> type[_Parameters]:
    """Return a dataclass of parameters with other defaults, for a member of a family of problems."""
    hints = typing.get_type_hints(parameters, include_extras=True)
    fields = [(name, hints[name], value) for name, value in defaults.items()]
    description = {"__doc__": parameters.__doc__, "__module__": parameters.__module__}
    made = dataclasses.make_dataclass(
        parameters.__name__, fields, bases=(parameters,), namespace=description, frozen=True
    )
    return typing.cast("type[_Parameters]", made)


@dataclass(frozen=True)
class Published:
    """Counts that others have published or counted, asserted by the tests.

    Parameters
    ----------
    parameters : int
        Trainable values.
    flops : int or None
        Of the forward pass of one sample: convolutions, matrix and recurrent products, with multiply
        and add as two.
    values : mapping
        The problem's parameters that they belong to, where they differ from the defaults.
    """

    parameters: int
    flops: int | None = None
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Problem:
    """A problem, returned by ``benchmarker_problem()``.

    Parameters
    ----------
    name : str
        The entry point's name.
    task : str
        What it is for, e.g. ``"image classification"``.
    source : str
        The paper (table, equation) or program it comes from.
    parameters : type
        Frozen dataclass; every field has a type and a default, and the bounds that
        :func:`~benchmarker.api.options.option_rules` tells.
    build : callable
        ``build(net, parameters)`` adds inputs, layers, outputs and the loss to a network.
    optimizer : Optimizer
        Default for training.
    batch_size : int
        Default mini-batch size.
    published : tuple of Published
        What is known of its size.
    reduced : mapping
        Parameters of a version small enough to be verified in a second or two, with every operator of
        the full one.
    reduced_batch_size : int
        Mini-batch size of that version.
    semantics : int
        Raised with every change of what the problem computes: records of different ones are not compared.
    modes : tuple of str
        What a step of it may do; training needs a loss besides, generation ``decode``.
    decode : callable or None
        ``decode(net, parameters, stage)`` builds a graph of a generation: of a prompt, of one token with what is kept
        of those before it, or of all at once. Their inputs and outputs are told by
        :class:`~benchmarker.api.generation.Stage`; parameters of one name are the same in all and in ``build``.
    collective : str or None
        Of :data:`~benchmarker.api.collective.COLLECTIVES`: what several ranks exchange in a step, instead of computing
        the graph, whose input is then a vector for each of them; its parameters are those of
        :func:`~benchmarker.api.collective.of_problem`.
    whole_only : callable or None
        ``whole_only(parameters)`` returns why neither several ranks nor micro-batches can train it, or None if they
        can: its samples are compared with each other, say. A loss that is a mean over something other than samples, and
        inputs that number rows of the mini-batch, say so themselves (``net.loss(..., over=...)``,
        ``net.input(..., rows=...)``).
    """

    name: str
    task: str
    source: str
    parameters: type[Any]
    build: Callable[[Network, Any], None]
    optimizer: Optimizer = Optimizer()
    batch_size: int = 4
    published: tuple[Published, ...] = ()
    reduced: Mapping[str, Any] = field(default_factory=dict)
    reduced_batch_size: int = 2
    semantics: int = 1
    modes: tuple[str, ...] = STEP_MODES
    decode: Callable[[Network, Any, Stage], None] | None = None
    collective: str | None = None
    whole_only: Callable[[Any], str | None] | None = None

    def benchmarker_problem(self) -> Problem:
        """The hook: a problem is a plug-in by itself, so that an entry point may name a member of a family."""
        return self

    def configure(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return all parameters: the defaults, overridden by ``values`` (text or typed).

        Raises
        ------
        UsageError
            On an unknown name or a value of the wrong type.
        """
        return dataclasses.asdict(parse_options(self.parameters, values, f"problem '{self.name}'"))

    def fault_of_parts(self, values: Mapping[str, Any]) -> str | None:
        """Return why a mini-batch cannot be trained in parts, or None.

        Raises
        ------
        UsageError
            On an unknown parameter or a value of the wrong type.
        PluginError
            If the problem is broken.
        """
        if self.whole_only is None:
            return None
        parameters = parse_options(self.parameters, values, f"problem '{self.name}'")
        try:
            with self._building():
                return self.whole_only(parameters)
        except (Exception, SystemExit) as error:
            raise PluginError(f"problem '{self.name}' failed in whole_only(): {first_line(error)}") from error

    def graph(self, batch_size: int | None = None, **values: Any) -> Graph:
        """Build the graph, with its loss if the problem has one.

        Parameters
        ----------
        batch_size : int, optional
            Samples of a mini-batch, the first axis of every input; the problem's usual one by default.
        values
            Parameters by name, text or typed; those that are missing have their defaults.

        Raises
        ------
        UsageError
            On a parameter of the wrong type or an impossible size.
        PluginError
            If the problem is broken: its ``build`` raises, which is the cause of this error, or adds no
            input or no output.
        """
        return self._built(self.build, batch_size, values)

    def stage(self, stage: Stage, batch_size: int | None = None, **values: Any) -> Graph:
        """Build a graph of a generation.

        Parameters
        ----------
        stage : Stage
            The prompt, one further token, or the whole sequence, and how long each is.
        batch_size, values
            As in :meth:`graph`.

        Raises
        ------
        UsageError
            If the problem generates nothing, on a parameter of the wrong type or an impossible size.
        PluginError
            If the problem is broken.
        """
        decode = self.decode
        if decode is None:
            raise UsageError(f"problem '{self.name}' generates nothing; it is no causal language model")
        return self._built(lambda net, parameters: decode(net, parameters, stage), batch_size, values)

    def _built(
        self, build: Callable[[Network, Any], None], batch_size: int | None, values: Mapping[str, Any]
    ) -> Graph:
        parameters = parse_options(self.parameters, values, f"problem '{self.name}'")
        network = Network(self.name, _whole(self.batch_size if batch_size is None else batch_size))
        try:
            with self._building():
                build(network, parameters)
        except BenchmarkerError:
            raise
        except (Exception, SystemExit) as error:
            raise PluginError(f"problem '{self.name}' failed in build(): {first_line(error)}") from error
        graph = network.graph()
        for what, found in (("input", graph.inputs), ("output", graph.outputs)):
            if not found:
                raise PluginError(f"problem '{self.name}' is built without an {what}")
        return graph

    def _building(self) -> AbstractContextManager[None]:
        module = getattr(self.build, "__module__", None) or ""
        if module.partition(".")[0] == "benchmarker":
            return nullcontext()
        return contained(f"problem '{self.name}'", BUILD_SECONDS)


def _whole(batch_size: Any) -> int:
    """Return a batch size, which may be an integer of NumPy."""
    try:
        return operator.index(batch_size)
    except TypeError:
        raise UsageError(f"the batch size must be a whole number of at least 1, got {batch_size!r}") from None
