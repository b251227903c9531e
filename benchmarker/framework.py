"""The framework contract: what a plugin says of itself, and what it does inside the worker."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from benchmarker.errors import UnsupportedError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from benchmarker.graph.graph import Graph
    from benchmarker.graph.operators import Operators
    from benchmarker.profiling import Profile

    Array = npt.NDArray[np.generic]

MODES = ("inference", "training", "gradient")
"""``gradient`` goes forward and backward and updates nothing."""
PRECISIONS = ("fp32", "fp64", "tf32", "bf16", "fp16")


@dataclass(frozen=True)
class NoOptions:
    """Options of a framework that has none."""


@dataclass(frozen=True)
class FrameworkPlugin:
    """What is known of a framework without importing it; returned by ``benchmarker_framework()``.

    Parameters
    ----------
    name : str
        The entry point's name.
    distribution : str
        The distribution whose version is the framework's version.
    requirements : tuple of str
        PEP 508 requirements of an environment that can run it.
    implementation : str
        ``"module:Class"`` of the :class:`Framework` subclass, imported in the worker only.
    python : str
        PEP 440 specifier of the Python versions it runs on.
    cuda_requirements : tuple of str
        Requirements instead of ``requirements`` when the run asks for a CUDA device; empty if they
        are the same.
    build_constraints : tuple of str
        Constraints on what builds source distributions.
    options : type
        Frozen dataclass of the plugin's own options, each with a type and a default.
    environment : mapping
        Environment variables that the worker starts with.
    compile_caches : tuple of str
        Environment variables that each name a folder where it keeps what it compiled for the next process.
    devices : tuple of str
        Device types it can use at all.
    modes : tuple of str
        Modes it can run.
    precisions : mapping
        Device type to the precisions it can run there.
    """

    name: str
    distribution: str
    requirements: tuple[str, ...]
    implementation: str
    python: str = ">=3.9"
    cuda_requirements: tuple[str, ...] = ()
    build_constraints: tuple[str, ...] = ()
    options: type[Any] = NoOptions
    environment: Mapping[str, str] = field(default_factory=dict)
    compile_caches: tuple[str, ...] = ()
    devices: tuple[str, ...] = ("cpu",)
    modes: tuple[str, ...] = MODES
    precisions: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: {"cpu": ("fp32",)})


@dataclass(frozen=True)
class Optimizer:
    """How parameters follow their gradients; every framework computes exactly these equations.

    ``g`` is the gradient plus ``weight_decay * p`` (but for ``adamw``), all state starts at 0 and ``t``
    counts steps from 1.

    ``sgd``: ``p -= lr * g``. ``momentum``: ``v = mu * v + g; p -= lr * v`` (Polyak; PyTorch's form with
    dampening 0). ``nesterov``: ``v = mu * v + g; p -= lr * (g + mu * v)`` (Sutskever et al. 2013).
    ``adam``: Kingma & Ba 2014, arXiv 1412.6980, algorithm 1, with ``epsilon`` added to the bias-corrected
    root. ``adamw``: ``p -= lr * weight_decay * p``, then ``adam`` (Loshchilov & Hutter 2017, arXiv
    1711.05101, algorithm 2, the decay scaled by the learning rate). ``rmsprop``:
    ``s = decay * s + (1 - decay) * g^2; p -= lr * g / (sqrt(s) + epsilon)`` (Hinton 2012, lecture 6e).
    ``adagrad``: ``s += g^2; p -= lr * g / (sqrt(s) + epsilon)`` (Duchi et al. 2011).
    """

    kind: str = "sgd"
    learning_rate: float = 0.01
    momentum: float = 0.9
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    weight_decay: float = 0.0
    decay: float = 0.99

    @staticmethod
    def default(kind: str) -> Optimizer:
        """Return the optimizer of that kind with the field's usual constants."""
        if kind == "adagrad":
            return Optimizer(kind, epsilon=1e-10)
        if kind in ("adam", "adamw"):
            return Optimizer(kind, learning_rate=1e-3, weight_decay=0.01 if kind == "adamw" else 0.0)
        return Optimizer(kind)


OPTIMIZERS = ("sgd", "momentum", "nesterov", "adam", "adamw", "rmsprop", "adagrad")


@dataclass(frozen=True)
class Device:
    """Where a program runs.

    Parameters
    ----------
    type : {"cpu", "cuda"}
        Kind of device.
    index : int
        Position among the visible devices of that kind.
    """

    type: str
    index: int = 0


class Program(ABC):
    """A graph made native: NumPy at its edges, native tensors on the timed path.

    The timed path is :meth:`infer`, :meth:`gradient_step` or :meth:`train_step`, by mode, followed by
    :meth:`synchronize`, on what :meth:`load` returned; it must be straight-line native code.
    """

    @abstractmethod
    def load(self, batch: Mapping[str, Array]) -> Any:
        """Put a mini-batch on the device in the native layout and return it. Not timed."""

    @abstractmethod
    def infer(self, batch: Any) -> Any:
        """Run the graph forward and return its outputs as native tensors, possibly before they are ready."""

    def train_step(self, batch: Any) -> Any:
        """Run forward, loss, backward and update; return the loss before the update, natively."""
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
        """Run ``steps`` steps of the program's mode under the framework's own profiler.

        Raises
        ------
        UnsupportedError
            If there is none.
        """
        raise UnsupportedError("the framework has no profiler that tells of single operators")

    def gradients(self, batch: Any) -> tuple[float, dict[str, Array]]:
        """Return the loss and its gradient for each trainable parameter, in the graph's layout.

        Dropout is off, nothing is updated (neither parameters nor running statistics). Not timed. Without a
        loss it is the sum of the products of outputs and upstream gradients.
        """
        raise NotImplementedError

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
            If the framework has made them part of the program; it can be built anew.
        """
        raise UnsupportedError("the framework takes the values of parameters only when a program is built")

    @abstractmethod
    def fetch(self, output: Any) -> tuple[Array, ...]:
        """Return what a step returned as NumPy arrays in the graph's layout, float64 in precision ``fp64``."""

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
        """Return the device's own time between two events that it has come to, in seconds."""
        raise NotImplementedError

    def compilations(self) -> int | None:
        """Return how often the framework has compiled the program so far; None if it does not say."""
        return None


class Framework(ABC):
    """A framework inside the worker. The constructor imports it; nothing before that does."""

    operators: ClassVar[type[Operators]]
    """The native meaning of each operator; known without importing the framework."""
    later_imports: ClassVar[Sequence[str]] = ()
    """Modules that only building or the first step imports; a warm server imports them beforehand too."""

    @abstractmethod
    def version(self) -> str:
        """Return the framework's version."""

    @abstractmethod
    def configure(self, device: Device, *, threads: int, seed: int) -> str:
        """Set the number of threads and the seed by the framework's own calls, and initialise the device.

        Returns
        -------
        str
            Name of the device.

        Raises
        ------
        UnsupportedError
            If there is no such device here.
        """

    @abstractmethod
    def build(
        self,
        graph: Graph,
        parameters: Mapping[str, Array],
        *,
        mode: str,
        device: Device,
        precision: str,
        optimizer: Optimizer,
        options: Any,
    ) -> Program:
        """Make ``graph`` native.

        Parameters
        ----------
        graph : Graph
            With its loss in training, without in inference; made by
            :meth:`~benchmarker.graph.graph.Graph.for_gradient` in mode ``gradient``.
        parameters : mapping
            float32 values by name, in the graph's layout; float64 ones stay so in precision ``fp64``.
        mode : {"inference", "training", "gradient"}
            Which of the program's methods will be called.
        device : Device
            As given to :meth:`configure`.
        precision : str
            One of :data:`PRECISIONS` that the plugin declares for the device.
        optimizer : Optimizer
            For training.
        options : object
            An instance of the plugin's options dataclass.
        """

    def libraries(self) -> dict[str, str]:
        """Return the numeric libraries underneath and their versions, as the framework reports them."""
        return {}

    def out_of_memory_signs(self) -> Sequence[str]:
        """Return texts that mark one of the framework's errors as out of memory."""
        return ()
