"""What a graph is made over: its inputs, parameters and results."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarker.errors import UsageError
from benchmarker.graph.graph import Graph
from benchmarker.graph.recorder import Recorder, Value
from benchmarker.graph.types import Distribution, Input, Parameter, TensorType


class Declarations(Recorder):
    """A graph under construction: the tensors that its operators begin with, and those that it is made for.

    Parameters
    ----------
    name : str
        The problem's name.
    batch_size : int
        Samples in a mini-batch, the first axis of every input.
    """

    def __init__(self, name: str, batch_size: int) -> None:
        super().__init__()
        if batch_size < 1:
            raise UsageError(f"the batch size must be at least 1, got {batch_size}")
        self.name = name
        self.batch_size = batch_size
        self._inputs: list[Input] = []
        self._parameters: list[Parameter] = []
        self._outputs: list[str] = []
        self._loss: str | None = None
        self._loss_over: str | None = None
        self._operands = False

    def input(
        self,
        name: str,
        sample_shape: Sequence[int],
        dtype: str = "float32",
        distribution: Distribution = Distribution("normal"),
        rows: int = 0,
    ) -> Value:
        """Declare a tensor of the mini-batch.

        Parameters
        ----------
        name : str
            Its name, which no other tensor has.
        sample_shape : sequence of int
            Without the batch axis, which comes first.
        dtype : str
            Of its elements, e.g. ``float32``, ``int64`` or ``bool``.
        distribution : Distribution
            How its values are drawn where there is no data set.
        rows : int
            Where its values number rows of another tensor through the whole mini-batch, as those of a graph's
            neighbours do: how many each sample has, so that a part of the mini-batch can count its own.

        Raises
        ------
        UsageError
            If a size is below 1.
        """
        type_ = TensorType((self.batch_size, *self._positive(name, sample_shape)), dtype)
        self._inputs.append(Input(name, type_, distribution, rows))
        return self._declare(name, type_)

    def operand(
        self,
        name: str,
        shape: Sequence[int],
        dtype: str = "float32",
        distribution: Distribution = Distribution("normal"),
    ) -> Value:
        """Declare an operand of an operator that is measured by itself; its first axis counts no samples.

        Parameters
        ----------
        name : str
            Its name, which no other tensor has.
        shape : sequence of int
            All of its axes.
        dtype : str
            As of :meth:`input`.
        distribution : Distribution
            How its values are drawn.

        Raises
        ------
        UsageError
            If the mini-batch is to have several samples: the sizes of such a problem are its parameters.
        """
        if self.batch_size != 1:
            raise UsageError(
                f"'{self.name}' takes all its sizes from its parameters; the batch size must be 1, got "
                f"{self.batch_size}"
            )
        self._operands = True
        type_ = TensorType(self._positive(name, shape), dtype)
        self._inputs.append(Input(name, type_, distribution))
        return self._declare(name, type_)

    def labels(self, name: str, classes: int) -> Value:
        """Declare one class index a sample, drawn evenly from ``classes``."""
        self._positive(name, (classes,))
        return self.input(name, (), "int64", Distribution("integers", classes))

    def parameter(
        self,
        name: str,
        shape: Sequence[int],
        initializer: Distribution,
        trainable: bool = True,
        dtype: str = "float32",
    ) -> Value:
        """Declare what belongs to the model and not to a mini-batch.

        Parameters
        ----------
        name : str
            Its name, which no other tensor has; names of a layer's parts begin as the layer's and go on with a dot.
        shape : sequence of int
            All of its axes.
        initializer : Distribution
            How its first values are drawn.
        trainable : bool
            Whether training moves it; else it is state, which alone may hold integers or truth values.
        dtype : str
            As of :meth:`input`.

        Raises
        ------
        UsageError
            If a size is below 1.
        """
        type_ = TensorType(self._positive(name, shape), dtype)
        self._parameters.append(Parameter(name, type_, initializer, trainable))
        return self._declare(name, type_)

    def constant(
        self, name: str, shape: Sequence[int], distribution: Distribution, dtype: str = "float32"
    ) -> Value:
        """Declare a table that belongs to the model and never changes.

        Parameters
        ----------
        name : str
            Its name, which no other tensor has.
        shape : sequence of int
            All of its axes.
        distribution : Distribution
            Its values, e.g. those of ``sinusoidal`` positions.
        dtype : str
            As of :meth:`input`.
        """
        return self.parameter(name, shape, distribution, False, dtype)

    def initializer(self, name: str) -> Distribution | None:
        """Return how a parameter is drawn, None where ``name`` is no parameter's."""
        return next((p.initializer for p in self._parameters if p.name == name), None)

    def output(self, value: Value) -> None:
        """Make ``value`` a result of inference."""
        self._outputs.append(value.name)

    def loss(self, value: Value, *, over: str | None = None) -> None:
        """Make the scalar ``value`` what training minimises.

        A loss is a mean over samples. Where it is one over something else, of which parts of a mini-batch have
        different numbers, ``over`` says of what, e.g. ``masked words``: ranks and micro-batches then minimise the mean
        of their own means, which the reference computes too, and records say so.
        """
        self._loss, self._loss_over = value.name, over

    def graph(self) -> Graph:
        """Return the finished graph."""
        return Graph(
            self.name,
            tuple(self._inputs),
            tuple(self._parameters),
            tuple(self.nodes),
            tuple(self._outputs),
            self._loss,
            dict(self.types),
            operands=self._operands,
            loss_over=self._loss_over,
        )

    def _declare(self, name: str, type_: TensorType) -> Value:
        return self._kept(self._unused(name), type_)

    def _positive(self, name: str, shape: Sequence[int]) -> tuple[int, ...]:
        if any(size < 1 for size in shape):
            raise UsageError(f"every size of '{name}' must be at least 1, got {tuple(shape)}")
        return tuple(shape)
