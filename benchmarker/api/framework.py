"""The framework contract: what a plugin says of itself, and what it does inside the worker."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar

from benchmarker.api.native_scheme import NativeScheme as NativeScheme
from benchmarker.api.options import NoOptions as NoOptions
from benchmarker.errors import UnsupportedError
from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from benchmarker.api.collective import NativeCollectives
    from benchmarker.api.optimizer import Optimizer
    from benchmarker.api.program import Program
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
    distribution : str
        The distribution whose version is the framework's version.
    other_distributions : tuple of str
        Distributions that an interpreter may hold instead of it.
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
        libraries; records have these and no others, and none that is named like a key, token, secret, password or
        credential.
    programs : tuple of str
        Programs that it starts itself, which must be found by ``PATH``.
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
        need, made as ``Class(world, scheme, role)`` in a process of its own, in the network of the ranks, which ends
        with them; empty for none.
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
    programs: tuple[str, ...] = ()
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

    def device_fault(self, device: str) -> str | None:
        """Return a sentence if the framework does not run on a type of device, None if it does."""
        if device in self.devices:
            return None
        return f"framework '{self.name}' does not run on {device}, only on {', '.join(self.devices)}"

    def missing_program(self) -> str | None:
        """Return a sentence on the first of the programs that cannot be found here, None if all can."""
        import shutil  # here, so that commands that run nothing need not wait for it

        for name in self.programs:
            if shutil.which(name) is None:
                return f"framework '{self.name}' needs the program '{name}', which is missing; install it or set PATH"
        return None


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

        Parameters
        ----------
        device : Device
            The one that all programs of the process will run on.
        threads : int
            How many threads an operator may use on the host; at least 1.
        seed : int
            From which the framework draws what is random in its own way: masks of dropout.

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

        Parameters
        ----------
        world : World
            Which rank this is of how many, and where they meet.
        scheme : str
            Name of the native scheme, one of the plug-in's ``schemes``.

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
