"""The PyTorch framework and its programs."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from benchmarker.errors import UnsupportedError
from benchmarker.framework import Device, Framework, Optimizer, Program
from benchmarker.graph.graph import Graph
from benchmarker.plugins.pytorch.functions import Functions
from benchmarker.plugins.pytorch.operators import PytorchOperators
from benchmarker.plugins.pytorch.profiler import profiled
from benchmarker.plugins.pytorch.tensors import Tensors, to_numpy
from benchmarker.plugins.pytorch.training import (
    TrainingSteps,
    contracted,
    gradient_step,
    loss_and_gradients,
    loss_scaler,
    make_optimizer,
    micro_training_step,
    scaled_training_step,
    training_parts,
    training_step,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from benchmarker.plugins.pytorch import Options
    from benchmarker.profiling import Profile

    Array = npt.NDArray[Any]


class _PytorchProgram(Program):
    """A graph as one generated function over native tensors; its other methods are shared by all modes.

    Parameters
    ----------
    graph, tensors, device, compiled
        As given to :meth:`Framework.build`, and the parameters made native.
    with_ranges : callable
        Makes the step over functions that tell a profiler of the nodes.
    """

    def __init__(
        self,
        graph: Graph,
        tensors: Tensors,
        device: Device,
        compiled: bool,
        with_ranges: Callable[[], Callable[..., Any]],
    ) -> None:
        import torch

        self._compiled = compiled
        self._with_ranges = with_ranges
        self._graph = graph
        self._tensors = tensors
        self._device = device
        self._wait: Callable[[], None] | None = None
        if device.type == "cuda":
            self._wait = functools.partial(torch.cuda.synchronize, device.index)

    def load(self, batch: Mapping[str, Array]) -> tuple[Any, ...]:
        return tuple(self._tensors.put(i.name, batch[i.name]) for i in self._graph.inputs)

    def parameters(self) -> dict[str, Array]:
        native = self._tensors.native
        return {name: self._tensors.decode(name, native[name]) for name in native}

    def assign(self, values: Mapping[str, Array]) -> None:
        for name, value in values.items():
            self._tensors.assign(name, value)

    def fetch(self, output: Any) -> tuple[Array, ...]:
        outputs = output if isinstance(output, tuple) else (output,)
        return tuple(to_numpy(tensor) for tensor in outputs)

    def synchronize(self, output: Any) -> None:
        if self._wait is not None:
            self._wait()

    def profile(self, batch: tuple[Any, ...], steps: int) -> Profile:
        step = self._with_ranges()
        return profiled(lambda: self.synchronize(step(*batch)), steps, self._device.type)

    def memory(self) -> dict[str, int]:
        if self._device.type != "cuda":
            return {}
        import torch

        index = self._device.index
        return {
            "allocated_bytes": torch.cuda.memory_allocated(index),
            "peak_allocated_bytes": torch.cuda.max_memory_allocated(index),
            "peak_reserved_bytes": torch.cuda.max_memory_reserved(index),
        }

    def reset_memory(self) -> None:
        if self._device.type == "cuda":
            import torch

            torch.cuda.reset_peak_memory_stats(self._device.index)

    def compilations(self) -> int:
        """Return how many graphs ``torch.compile`` has made in this process; none where it is not used."""
        import torch

        return int(torch._dynamo.utils.counters["stats"]["unique_graphs"]) if self._compiled else 0

    def device_event(self) -> Any:
        if self._device.type != "cuda":
            return None
        import torch

        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def device_seconds(self, first: Any, last: Any) -> float:
        return float(first.elapsed_time(last)) / 1e3


class InferenceProgram(_PytorchProgram):
    """The graph forward, without what autograd would keep."""

    def __init__(
        self, graph: Graph, tensors: Tensors, device: Device, compiled: bool, functions: Functions
    ) -> None:
        import torch

        self._inference_mode = torch.inference_mode()  # made once: that takes as long as entering it
        self._forward = functions.make(graph.outputs, training=False)

        def with_ranges() -> Callable[..., Any]:
            forward = functions.make(graph.outputs, training=False, ranges=True)
            wrapped: Callable[..., Any] = torch.inference_mode()(forward)
            return wrapped

        super().__init__(graph, tensors, device, compiled, with_ranges)

    def infer(self, batch: tuple[Any, ...]) -> Any:
        with self._inference_mode:
            return self._forward(*batch)


class _DifferentiatedProgram(_PytorchProgram):
    """Goes backward too.

    Parameters
    ----------
    graph, tensors, device, compiled, with_ranges
        As of :class:`_PytorchProgram`.
    gradients : callable
        Value and gradients of a mini-batch, in the order of ``tensors.trainable``.
    make_forward : callable
        Makes the function for :meth:`infer`, which only evaluation between steps needs.
    """

    def __init__(
        self,
        graph: Graph,
        tensors: Tensors,
        device: Device,
        compiled: bool,
        with_ranges: Callable[[], Callable[..., Any]],
        gradients: Callable[..., tuple[Any, list[Any]]],
        make_forward: Callable[[], Callable[..., Any]],
    ) -> None:
        super().__init__(graph, tensors, device, compiled, with_ranges)
        self._gradients = gradients
        self._make_forward = make_forward

    @functools.cached_property
    def _forward(self) -> Callable[..., Any]:
        return self._make_forward()

    def infer(self, batch: tuple[Any, ...]) -> Any:
        import torch

        with torch.no_grad():
            return self._forward(*batch)

    def gradients(self, batch: tuple[Any, ...]) -> tuple[float, dict[str, Array]]:
        value, flat = self._gradients(*batch)
        found = dict(zip(map(id, self._tensors.trainable), flat))
        decode, native = self._tensors.decode, self._tensors.native
        return float(value.detach()), {
            p.name: decode(p.name, [found[id(tensor)] for tensor in native[p.name]])
            for p in self._graph.trainable
        }


class TrainingProgram(_DifferentiatedProgram):
    """Forward, loss, backward and update.

    Parameters
    ----------
    steps : TrainingSteps
        Of a mini-batch, in one and in parts, and of micro-batches.
    further
        As of :class:`_DifferentiatedProgram`.
    """

    def __init__(self, steps: TrainingSteps, *further: Any) -> None:
        super().__init__(*further)
        self._step, self._parts, self._micro = steps.whole, steps.parts, steps.micro

    def train_step(self, batch: tuple[Any, ...]) -> Any:
        return self._step(*batch)

    def train_parts(self, batch: tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
        return self._parts(*batch)

    def train_micro(self, batches: Sequence[tuple[Any, ...]]) -> Any:
        return self._micro(batches)


class GradientProgram(_DifferentiatedProgram):
    """Forward and backward."""

    def __init__(self, step: Callable[..., tuple[Any, Any]], *further: Any) -> None:
        super().__init__(*further)
        self._step = step

    def gradient_step(self, batch: tuple[Any, ...]) -> tuple[Any, Any]:
        return self._step(*batch)


class PytorchFramework(Framework):
    """PyTorch."""

    operators = PytorchOperators
    later_imports = ("torch._dynamo", "torch.fx", "torch.optim")

    def __init__(self) -> None:
        import torch

        self._torch: Any = torch

    def version(self) -> str:
        return str(self._torch.__version__)

    def configure(self, device: Device, *, threads: int, seed: int) -> str:
        torch = self._torch
        torch.set_num_threads(threads)
        # These would run whole operators side by side; PyTorch takes their number only once a process.
        with contextlib.suppress(RuntimeError):
            torch.set_num_interop_threads(1)
        torch.manual_seed(seed)
        if device.type == "cpu":
            return "cpu"
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if device.index >= count:
            raise UnsupportedError(
                f"PyTorch {self.version()} sees {count} CUDA devices, so there is no 'cuda:{device.index}'; "
                "use the device 'cpu', or a PyTorch built for the CUDA of this machine"
            )
        torch.cuda.set_device(device.index)
        torch.zeros(1, device="cuda")
        torch.cuda.synchronize()
        return str(torch.cuda.get_device_name(device.index))

    def build(
        self,
        graph: Graph,
        parameters: Mapping[str, Array],
        *,
        mode: str,
        device: Device,
        precision: str,
        optimizer: Optimizer,
        options: Options,
    ) -> Program:
        torch = self._torch
        backward = mode != "inference"
        _set_backends(torch, precision, options)
        types = {"fp64": torch.float64, "bf16": torch.bfloat16, "fp16": torch.float16}
        wanted = types.get(precision, torch.float32)
        # A network that goes backward in half precision keeps float32 parameters and casts operator by operator.
        mixed = backward and graph.loss is not None and precision in ("bf16", "fp16")
        autocast = wanted if mixed else None
        tensors = Tensors(
            graph,
            parameters,
            device=torch.device("cpu") if device.type == "cpu" else torch.device("cuda", device.index),
            dtype=torch.float32 if mixed else wanted,
            channels_last=options.channels_last,
            sparse=not options.compile,  # torch.compile takes no sparse tensors
            training=backward,
        )
        functions = Functions(graph, tensors, device, autocast, options)
        if not backward:
            return InferenceProgram(graph, tensors, device, options.compile, functions)
        build = _training_program if mode == "training" else _gradient_program
        return build(graph, tensors, device, precision, optimizer, functions, options)

    def libraries(self) -> dict[str, str]:
        torch = self._torch
        found = _versions(torch.__config__.show() + torch.__config__.parallel_info())
        found["cpu_capability"] = torch.backends.cpu.get_cpu_capability()
        if torch.version.cuda:
            found["cuda"] = torch.version.cuda
        if torch.cuda.is_available():
            found["cudnn"] = str(torch.backends.cudnn.version())
            found["nccl"] = ".".join(str(part) for part in torch.cuda.nccl.version())
        return found

    def out_of_memory_signs(self) -> Sequence[str]:
        return ("DefaultCPUAllocator: can't allocate memory", "CUDA out of memory", "OutOfMemoryError")


def _training_program(
    graph: Graph,
    tensors: Tensors,
    device: Device,
    precision: str,
    optimizer: Optimizer,
    functions: Functions,
    options: Options,
) -> TrainingProgram:
    if graph.loss is None:
        raise UnsupportedError(f"problem '{graph.name}' has no loss, so it cannot be trained; use inference")
    if "lstm" in graph.operators and precision == "fp16" and device.type == "cpu":
        _require_fp16_lstm()
    results = (graph.loss,)
    loss_of = functions.make(results, training=True)
    update = make_optimizer(optimizer, tensors.trainable)
    scaler = loss_scaler(device.type) if precision == "fp16" else None

    def whole(loss_of: Callable[..., Any]) -> Callable[..., Any]:
        return scaled_training_step(loss_of, update, scaler) if scaler else training_step(loss_of, update)

    def with_ranges() -> Callable[..., Any]:
        return whole(functions.make(results, training=True, ranges=True))

    steps = TrainingSteps(
        whole(loss_of),
        training_parts(loss_of, update, scaler),
        micro_training_step(loss_of, update, scaler),
    )
    gradients = _verified_gradients(graph, tensors, functions, loss_of, scaler)
    further = (options.compile, with_ranges, gradients, _evaluated(graph, functions))
    return TrainingProgram(steps, graph, tensors, device, *further)


def _gradient_program(
    graph: Graph,
    tensors: Tensors,
    device: Device,
    precision: str,
    optimizer: Optimizer,
    functions: Functions,
    options: Options,
) -> GradientProgram:
    results = graph.outputs if graph.loss is None else (graph.loss,)

    def step(value_of: Callable[..., Any]) -> Callable[..., Any]:
        return gradient_step(value_of, tensors.trainable, len(graph.upstream))

    def with_ranges() -> Callable[..., Any]:
        return step(functions.make(results, training=True, ranges=True))

    value_of = functions.make(results, training=True)
    gradients = _verified_gradients(graph, tensors, functions, value_of, None)
    further = (options.compile, with_ranges, gradients, _evaluated(graph, functions))
    return GradientProgram(step(value_of), graph, tensors, device, *further)


def _verified_gradients(
    graph: Graph, tensors: Tensors, functions: Functions, value_of: Callable[..., Any], scaler: Any
) -> Callable[..., tuple[Any, list[Any]]]:
    """Return what verification calls: the timed function itself, but for its dropout."""
    if "dropout" in graph.operators:
        results = graph.outputs if graph.loss is None else (graph.loss,)
        value_of = functions.make(results, training=True, dropout=False)
    loss_of = contracted(value_of, len(graph.upstream)) if graph.upstream else value_of
    return loss_and_gradients(loss_of, tensors.trainable, tensors.state, scaler)


def _evaluated(graph: Graph, functions: Functions) -> Callable[[], Callable[..., Any]]:
    return functools.partial(functions.make, graph.outputs, training=False)


def _require_fp16_lstm() -> None:
    """Refuse to train an LSTM in fp16 on a processor for which PyTorch has no kernel."""
    import torch

    try:
        with torch.autocast("cpu", torch.float16):
            torch.nn.LSTM(1, 1)(torch.zeros(1, 1, 1))
    except RuntimeError as error:
        raise UnsupportedError(
            "PyTorch cannot train an LSTM in precision 'fp16' on this processor; use fp32 or bf16"
        ) from error


def _set_backends(torch: Any, precision: str, options: Options) -> None:
    """Allow TF32 in precision ``tf32`` alone, in matrix products and in convolutions."""
    tf32 = precision == "tf32"
    torch.set_float32_matmul_precision("high" if tf32 else "highest")
    torch.backends.cudnn.allow_tf32 = tf32
    torch.backends.cudnn.benchmark = options.cudnn_benchmark


_VERSIONS = {
    "mkl": r"Math Kernel Library Version ([\d.]+)",
    "onednn": r"MKL-DNN v([\d.]+)",
    "openmp": r"a\.k\.a\. OpenMP ([\d.]+)",
    "blas": r"BLAS_INFO=(\w+)",
}


def _versions(text: str) -> dict[str, str]:
    """Read versions out of PyTorch's description of its build."""
    matches = {name: re.search(pattern, text) for name, pattern in _VERSIONS.items()}
    return {name: match.group(1) for name, match in matches.items() if match}
