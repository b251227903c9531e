"""The program contract: what a framework's native form of a graph does inside the worker."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from benchmarker.api.generation import CarriesState
from benchmarker.errors import UnsupportedError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from benchmarker.api.native_scheme import ServerAgain
    from benchmarker.api.profile import Profile
    from benchmarker.api.training_state import TrainingState

    Array = npt.NDArray[np.generic]


class Program(CarriesState, ABC):
    """A graph made native: NumPy at its edges, native tensors on the timed path.

    The timed path is :meth:`infer`, :meth:`gradient_step` or :meth:`train_step`, by mode, followed by
    :meth:`synchronize`, on what :meth:`load` returned; it must be straight-line native code.
    """

    @abstractmethod
    def load(self, batch: Mapping[str, Array]) -> Any:
        """Put a mini-batch on the device in the native layout and return it. Not timed.

        Parameters
        ----------
        batch : mapping
            An array for each of the graph's inputs by its name, of the shape that the graph declares; the program must
            not keep or change it.
        """

    @abstractmethod
    def infer(self, batch: Any) -> Any:
        """Run the graph forward and return its outputs as native tensors, possibly before they are ready."""

    def train_step(self, batch: Any) -> Any:
        """Run forward, loss, backward and update, possibly to an end that only :meth:`synchronize` waits for.

        Parameters
        ----------
        batch : object
            What :meth:`load` returned.

        Returns
        -------
        object
            The loss before the update, a native scalar that :meth:`fetch` takes.
        """
        raise NotImplementedError

    def train_parts(self, batch: Any) -> Iterator[tuple[str, Any]]:
        """Run a training step in its parts; yield each one's name and output once its calls were made.

        The parts are ``forward``, ``backward`` and ``update``, together exactly :meth:`train_step`.

        Raises
        ------
        UnsupportedError
            If the framework runs a step in one piece, so that parts would be another program.
        """
        raise UnsupportedError("the framework runs a training step in one piece")

    def gradient_step(self, batch: Any) -> tuple[Any, Any]:
        """Run forward as in training, and backward; update no parameter.

        Parameters
        ----------
        batch : object
            What :meth:`load` returned.

        Returns
        -------
        value : object
            The loss; of a graph without one the tuple of its outputs, whose gradients are in the mini-batch
            (:attr:`Graph.upstream <benchmarker.graph.graph.Graph.upstream>`). :meth:`fetch` takes it.
        gradients : object
            Native gradients of all trainable parameters.
        """
        raise NotImplementedError

    def train_micro(self, batches: Sequence[Any]) -> Any:
        """Train with one update from several micro-batches, each forward and backward before the next.

        The update follows the mean of their gradients, and their mean loss is returned, natively. The
        activations of one micro-batch are in memory at a time.

        Raises
        ------
        UnsupportedError
            If the framework cannot.
        """
        raise UnsupportedError("the framework has no training in micro-batches")

    def profile(self, batch: Any, steps: int) -> Profile:
        """Run steps of the program's mode under the framework's own profiler.

        Parameters
        ----------
        batch : object
            What :meth:`load` returned; every step takes it.
        steps : int
            How many, at least one.

        Raises
        ------
        UnsupportedError
            If there is none.
        """
        raise UnsupportedError("the framework has no profiler that tells of single operators")

    def gradients(self, batch: Any) -> tuple[float, dict[str, Array]]:
        """Return the loss and its gradient for each trainable parameter, in the graph's layout.

        Dropout is off, nothing is updated (neither parameters nor running statistics). Not timed.

        Parameters
        ----------
        batch : object
            What :meth:`load` returned.

        Returns
        -------
        loss : float
            Without a loss in the graph the sum of the products of outputs and upstream gradients.
        gradients : dict
            By name of the parameter, of its shape; zeros where nothing flows back to it.
        """
        raise NotImplementedError

    def fetch_gradients(self, gradients: Any) -> dict[str, Array]:
        """Return what :meth:`gradient_step` returned as gradients, as NumPy arrays in the graph's layout.

        They may be views of native memory that the next step changes. On the timed path of schemes that run over MPI.

        Raises
        ------
        UnsupportedError
            If the framework does not expose them.
        """
        raise UnsupportedError("the framework does not expose the gradients of a timed step")

    def exchanged(self) -> dict[str, int] | None:
        """Return the bytes that a training step of a native scheme gives to each kind of collective; None if untold."""
        return None

    def server_again(self) -> ServerAgain:
        """Return what makes the updates of a native scheme's server again, from the first on, in this process.

        Raises
        ------
        UnsupportedError
            If the scheme has no server, or its updates cannot be repeated.
        """
        raise UnsupportedError("the framework's scheme has no server")

    @abstractmethod
    def parameters(self) -> dict[str, Array]:
        """Return copies of all parameters, state included, in the graph's layout. Not timed.

        They are float32, in precision ``fp64`` float64.
        """

    def assign(self, values: Mapping[str, Array]) -> None:
        """Take other values of some parameters, in the graph's layout. Not timed.

        Raises
        ------
        UnsupportedError
            If the framework has made them part of the program; it can be rebuilt.
        """
        raise UnsupportedError("the framework takes the values of parameters only when a program is built")

    def set_hyperparameters(self, values: Mapping[str, float]) -> None:
        """Take other constants of the optimizer from the next update on. Not timed, and compiles nothing.

        Parameters
        ----------
        values : mapping
            By the names of :data:`~benchmarker.api.optimizer.RUN_TIME`: ``learning_rate``, and ``momentum`` and
            ``weight_decay`` where the optimizer has them. What is not named stays as it is. The equations of
            :class:`~benchmarker.api.optimizer.Optimizer` hold with the constants of each update.

        Raises
        ------
        UsageError
            On a constant that the optimizer does not have or take while it runs, or a value that it may not have.
        UnsupportedError
            If the framework takes the constant only when a program is built, as all do with a momentum or a
            weight decay that was 0 then: what it multiplies is left out of the program.
        """
        raise UnsupportedError(
            "the framework takes the constants of an optimizer only when a program is built"
        )

    def prepare_hyperparameters(self, values: Mapping[str, float]) -> Any:
        """Return constants as :meth:`use_hyperparameters` takes them, and change nothing. Not timed.

        A training prepares those of the coming steps while it loads their mini-batches: tensors are made and values
        are checked here.

        Parameters
        ----------
        values : mapping
            As :meth:`set_hyperparameters` takes them. What is not named stays as it is now.

        Raises
        ------
        UsageError, UnsupportedError
            As :meth:`set_hyperparameters` says.
        """
        return values

    def use_hyperparameters(self, prepared: Any) -> None:
        """Take prepared constants from the next update on, as :meth:`set_hyperparameters` does. Timed in a training."""
        self.set_hyperparameters(prepared)

    def optimizer_variant(self) -> str:
        """Return ``native`` if the framework's own function updates parameters, ``composed`` if a rule's text does."""
        return "native"

    def evaluation_parameters(self) -> dict[str, Array]:
        """Return the parameters that are evaluated, like :meth:`parameters`; some optimizers have others. Not timed."""
        return self.parameters()

    def optimizer_state(self) -> dict[str, dict[str, Array]]:
        """Return copies of what the optimizer remembers, in the graph's layout. Not timed.

        Returns
        -------
        dict
            By the names of :func:`~benchmarker.api.optimizer.state_names` (``v`` of momentum; ``m`` and ``v``
            of Adam; none of plain gradient descent) the array of each trainable parameter by its name, of the
            parameter's shape: float32, in precision ``fp64`` float64. The values are those of the equations of
            :class:`~benchmarker.api.optimizer.Optimizer`, whatever the framework keeps instead of them, and
            zeros before the first update.

        Raises
        ------
        UnsupportedError
            If the framework does not tell, or keeps nothing that they could be computed from.
        """
        raise UnsupportedError("the framework does not expose the state of its optimizer")

    def native_state(self) -> dict[str, Array]:
        """Return what only this framework understands and needs to make the very steps that would follow. Not timed.

        It is beside what :meth:`parameters` and :meth:`optimizer_state` tell: the state of generators that masks of
        dropout are drawn from, and what is kept otherwise than it is told, so that telling rounds it.

        Returns
        -------
        dict
            Copies, by names of the framework's own.
        """
        return {}

    def restore(self, state: TrainingState) -> None:
        """Go on from a state: the next step is its ``steps + 1``. Not timed, and compiles nothing.

        After its own ``native`` state the steps are those that would have followed, bit for bit where the framework
        repeats bit for bit; without one they are those of a program with these weights and this optimizer's state,
        give or take rounding, and other masks of dropout. Constants of the optimizer stay as they are.

        Raises
        ------
        UnsupportedError
            If the framework takes the state of an optimizer only from its own steps.
        """
        raise UnsupportedError("the framework takes the state of its optimizer only from its own steps")

    def lost_on_restore(self) -> str | None:
        """Return what :meth:`restore` cannot put back of the framework's own, in a few words; None for nothing."""
        return None

    def skipped_updates(self, steps: int) -> int | None:
        """Return how many of the training's ``steps`` made no update, for a scaled loss; None if that is not told."""
        return None

    def note_updates(self, steps: int) -> None:
        """Take down what :meth:`skipped_updates` needs after so many steps; called outside of what is timed.

        For frameworks that do not count: a training calls it after each row of steps, and what a loss scale has become
        within so few tells how many of them it left out.
        """

    @abstractmethod
    def fetch(self, output: Any) -> tuple[Array, ...]:
        """Return what a step returned as NumPy arrays in the graph's layout.

        Parameters
        ----------
        output : object
            What :meth:`infer` or :meth:`train_step` returned, or the value of :meth:`gradient_step`.

        Returns
        -------
        tuple of array
            The graph's outputs in their order, of their shapes; of a loss one array of shape ``()``. float32, in
            precision ``fp64`` float64.
        """

    @abstractmethod
    def synchronize(self, output: Any) -> None:
        """Return only when the device has finished ``output`` and all that was queued before it, updates too."""

    def memory(self) -> dict[str, int]:
        """Return what the framework knows of its device memory, in bytes, by name."""
        return {}

    def reset_memory(self) -> None:  # noqa: B027 - most frameworks have no peaks to forget
        """Forget the peaks that :meth:`memory` tells. Not timed."""

    def device_event(self) -> Any:
        """Note on the device that it has come here, without waiting; None if it has no clock of its own."""
        return None

    def device_seconds(self, first: Any, last: Any) -> float:
        """Return the device's own time between two events that it has come to.

        Parameters
        ----------
        first, last : object
            What :meth:`device_event` returned, in the order of time.

        Returns
        -------
        float
            Seconds.
        """
        raise NotImplementedError

    def integer_products(self) -> int | None:
        """Return how many products of an ``int8`` graph its steps compute in integers; None if it does not say."""
        return None

    def compilations(self) -> int | None:
        """Return how often the framework has compiled the program so far; None if it does not say."""
        return None
