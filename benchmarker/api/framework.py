"""The framework contract: what a plugin says of itself, and what it does inside the worker."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from benchmarker.api.generation import CarriesState
from benchmarker.api.native_scheme import NativeScheme as NativeScheme
from benchmarker.api.options import NoOptions as NoOptions
from benchmarker.errors import UnsupportedError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from benchmarker.api.collective import NativeCollectives
    from benchmarker.api.native_scheme import ServerAgain
    from benchmarker.api.optimizer import Optimizer
    from benchmarker.api.profile import Profile
    from benchmarker.api.training_state import TrainingState
    from benchmarker.api.world import World
    from benchmarker.graph.graph import Graph
    from benchmarker.graph.operators import Operators

    Array = npt.NDArray[np.generic]

STEP_MODES = ("inference", "training", "gradient")
"""``gradient`` goes forward and backward and updates nothing."""
MODES = (*STEP_MODES, "generation")
PRECISIONS = ("fp32", "fp64", "tf32", "bf16", "fp16", "int8")


@dataclass(frozen=True)
class FrameworkPlugin:
    """What is known of a framework without importing it; returned by ``benchmarker_framework()``.

    Parameters
    ----------
    name : str
        The entry point's name.
    distribution, other_distributions : str, tuple of str
        The distribution whose version is the framework's version, and others that an interpreter may hold instead.
    requirements : tuple of str
        PEP 508 requirements of an environment that can run it.
    implementation : str
        ``"module:Class"`` of the :class:`Framework` subclass, imported in the worker only.
    python : str
        PEP 440 specifier of the Python versions it runs on.
    cuda_requirements : tuple of str
        Requirements instead of ``requirements`` for runs on a CUDA device; empty if they are the same.
    cuda_alternatives : tuple of tuple of str
        Other requirements that do as well where an interpreter holds them already, as of a build for another CUDA.
    build_constraints : tuple of str
        Constraints on what builds source distributions.
    options : type
        Frozen dataclass of the plugin's own options, each with a type and a default.
    environment : mapping
        Environment variables that the worker starts with.
    environment_defaults : mapping
        Those that it starts with unless the user has set them.
    thread_variables : tuple of str
        Environment variables that are set to the number of threads, beside those of numeric libraries.
    recorded_variables : tuple of str
        Whole names of environment variables that change what it does or how quickly, beside those of numeric and GPU
        libraries; records have these and no others, and none that is named like a key, token, secret or credential.
    compile_caches : tuple of str
        Environment variables that each name a folder where it keeps what it compiled for the next process.
    devices : tuple of str
        Device types it can use at all.
    modes : tuple of str
        Modes it can run.
    precisions : mapping
        Device type to the precisions it can run there.
    colour : int or None
        Its place in the palette of pictures, 0 to 9; None leaves it to its name.
    image_decoder : str
        ``"module:function"`` of its own way from an encoded image to pixels, imported in the worker only; empty where
        it has none. ``function()`` returns ``decode(content, size)``, which takes a JPEG or PNG, scales its shorter
        side to ``size``, cuts out the middle and returns uint8 ``(3, size, size)``.
    schemes : mapping
        The schemes of distributed training that it has itself, by their names; the others run over MPI.
    unfit_schemes : mapping
        Those that it has in a form in which no rank makes steps of its own, each with a clause that says why.
    collectives : NativeCollectives or None
        The collectives that it has itself, as benchmarks of their own; None for none.
    rank_requirements : tuple of str
        Requirements of an environment for several ranks, beside ``requirements`` and those of MPI.
    rank_variables : str
        ``"module:function"``, called in the worker before the framework is imported; empty for none.
        ``function(world, scheme)`` returns the environment variables that a rank needs for a native scheme.
    helper : str
        ``"module:Class"`` of the :class:`~benchmarker.api.native_scheme.Helper` that native schemes with ``helpers``
        need: ``Class(world, scheme, role)``, in a process in the network of the ranks that ends with them; or empty.
    """

    name: str
    distribution: str
    requirements: tuple[str, ...]
    implementation: str
    python: str = ">=3.9"
    other_distributions: tuple[str, ...] = ()
    cuda_requirements: tuple[str, ...] = ()
    cuda_alternatives: tuple[tuple[str, ...], ...] = ()
    build_constraints: tuple[str, ...] = ()
    options: type[Any] = NoOptions
    environment: Mapping[str, str] = field(default_factory=dict)
    environment_defaults: Mapping[str, str] = field(default_factory=dict)
    thread_variables: tuple[str, ...] = ()
    recorded_variables: tuple[str, ...] = ()
    compile_caches: tuple[str, ...] = ()
    devices: tuple[str, ...] = ("cpu",)
    modes: tuple[str, ...] = MODES
    precisions: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: {"cpu": ("fp32",)})
    colour: int | None = None
    image_decoder: str = ""
    schemes: Mapping[str, NativeScheme] = field(default_factory=dict)
    unfit_schemes: Mapping[str, str] = field(default_factory=dict)
    collectives: NativeCollectives | None = None
    rank_requirements: tuple[str, ...] = ()
    rank_variables: str = ""
    helper: str = ""


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


class Program(CarriesState, ABC):
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

    def fetch_gradients(self, gradients: Any) -> dict[str, Array]:
        """Return what :meth:`gradient_step` returned as gradients, as NumPy arrays in the graph's layout.

        They may be views of native memory that the next step changes. On the timed path of schemes that run over MPI.
        """
        raise UnsupportedError("the framework does not tell the gradients of a timed step")

    def exchanged(self) -> dict[str, int] | None:
        """Return the bytes that a training step of a native scheme gives to each kind of collective; None if untold."""
        return None

    def server_again(self) -> ServerAgain:
        """Return what makes the updates of a native scheme's server again, from the first on, in this process."""
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
            If the framework has made them part of the program; it can be built anew.
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
        raise UnsupportedError("the framework does not tell the state of its optimizer")

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

    def integer_products(self) -> int | None:
        """Return how many products of an ``int8`` graph its steps compute in integers; None if it does not say."""
        return None

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

    def join(self, world: World, scheme: str) -> None:
        """Meet the other ranks; called before :meth:`configure`, on all ranks, for a native scheme alone.

        From then on :meth:`Program.train_step` and :meth:`Program.train_micro` of programs that are built for training
        are collective: they exchange what the scheme exchanges, with mini-batches of this rank's own rows, all ranks'
        equally many. :meth:`Program.gradients` is this rank's own; nothing else needs another rank unless the scheme's
        documentation says so. Processes that a scheme needs beside the ranks are its ``helpers``, started with these.

        Raises
        ------
        UnsupportedError
            If the ranks cannot meet.
        """
        raise UnsupportedError("the framework has no scheme of distributed training of its own")

    def leave(self) -> None:  # noqa: B027 - most frameworks leave by ending
        """Leave the other ranks: called on all of them after the last collective step."""

    def libraries(self) -> dict[str, str]:
        """Return the numeric libraries underneath and their versions, as the framework reports them."""
        return {}

    def out_of_memory_signs(self) -> Sequence[str]:
        """Return texts that mark one of the framework's errors as out of memory."""
        return ()
