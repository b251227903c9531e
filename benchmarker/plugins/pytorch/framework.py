"""The PyTorch framework, and how its programs are put together."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from benchmarker.api.framework import Device, Framework
from benchmarker.api.optimizer import Optimizer
from benchmarker.api.program import Program
from benchmarker.api.update_rule import ParameterPlace
from benchmarker.errors import UnsupportedError
from benchmarker.graph.graph import Graph
from benchmarker.plugins.common.composed import sees_native_tensors
from benchmarker.plugins.common.hyperparameters import Hyperparameters
from benchmarker.plugins.pytorch import devices, distributed
from benchmarker.plugins.pytorch.composed import ComposedOptimizer
from benchmarker.plugins.pytorch.functions import Functions
from benchmarker.plugins.pytorch.integers import require_integers
from benchmarker.plugins.pytorch.modifiers import add_modifiers
from benchmarker.plugins.pytorch.operators import PytorchOperators
from benchmarker.plugins.pytorch.program import GradientProgram, InferenceProgram, TrainingProgram
from benchmarker.plugins.pytorch.restoring import COUNTING, Restoring
from benchmarker.plugins.pytorch.sharded import ShardedLoss, ShardedProgram, sharded_optimizer, whole_state
from benchmarker.plugins.pytorch.skipping import SkippedUpdates
from benchmarker.plugins.pytorch.tensors import Tensors
from benchmarker.plugins.pytorch.training import (
    Constants,
    TrainingSteps,
    contracted,
    gradient_step,
    is_native,
    loss_and_gradients,
    loss_scaler,
    make_optimizer,
    micro_training_step,
    scaled_training_step,
    state_of,
    training_parts,
    training_step,
)
from benchmarker.training.optimizers.advance import places

if TYPE_CHECKING:
    import numpy.typing as npt

    from benchmarker.api.world import World
    from benchmarker.plugins.pytorch import Options

    Array = npt.NDArray[Any]


class PytorchFramework(Framework):
    """PyTorch."""

    operators = PytorchOperators
    later_imports = ("torch._dynamo", "torch.fx", "torch.optim")

    def __init__(self) -> None:
        import torch

        self._torch: Any = torch
        self._scheme: str | None = None

    def version(self) -> str:
        return str(self._torch.__version__)

    def configure(self, device: Device, *, threads: int, seed: int) -> str:
        torch = self._torch
        torch.set_num_threads(threads)
        # These would run whole operators side by side; PyTorch takes their number only once per process.
        with contextlib.suppress(RuntimeError):
            torch.set_num_interop_threads(1)
        torch.manual_seed(seed)
        return devices.start(device)

    def join(self, world: World, scheme: str) -> None:
        distributed.join(world)
        self._scheme = scheme

    def leave(self) -> None:
        distributed.leave()

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
        devices.allow_tf32(precision == "tf32")
        torch.backends.cudnn.benchmark = options.cudnn_benchmark
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
        integers = precision == "int8"
        if integers:
            require_integers(options)
        functions = Functions(graph, tensors, device, autocast, options, integers)
        if not backward:
            return InferenceProgram(graph, tensors, device, options.compile, functions)
        given = (graph, tensors, device, precision, optimizer, functions, options)
        if mode == "training":
            return (
                _sharded_program(*given)
                if self._scheme == "sharded"
                else _training_program(*given, self._scheme)
            )
        return _gradient_program(*given)

    def libraries(self) -> dict[str, str]:
        torch = self._torch
        found = _versions(torch.__config__.show() + torch.__config__.parallel_info())
        found["cpu_capability"] = torch.backends.cpu.get_cpu_capability()
        return {**found, **devices.libraries()}

    def out_of_memory_signs(self) -> Sequence[str]:
        return devices.OUT_OF_MEMORY_SIGNS


def _training_program(
    graph: Graph,
    tensors: Tensors,
    device: Device,
    precision: str,
    optimizer: Optimizer,
    functions: Functions,
    options: Options,
    scheme: str | None = None,
) -> TrainingProgram:
    if graph.loss is None:
        raise UnsupportedError(f"problem '{graph.name}' has no loss, so it cannot be trained; use inference")
    if "lstm" in graph.operators and precision == "fp16" and device.type == "cpu":
        _require_fp16_lstm()
    results = (graph.loss,)
    loss_of = functions.make(results, training=True)
    known = Hyperparameters(optimizer)
    update = _optimizer(known, graph, tensors, precision)
    scaler = loss_scaler(device.type) if precision == "fp16" else None
    exchanged = distributed.ExchangedLoss(loss_of, tensors) if scheme else None

    def whole(loss_of: Callable[..., Any]) -> Callable[..., Any]:
        return scaled_training_step(loss_of, update, scaler) if scaler else training_step(loss_of, update)

    def with_ranges() -> Callable[..., Any]:
        return whole(functions.make(results, training=True, ranges=True))

    skips = SkippedUpdates(scaler) if scaler and optimizer.kind not in COUNTING else None
    restoring = Restoring(graph, tensors, device, optimizer, update, scaler, skips)
    steps = TrainingSteps(
        whole(exchanged or loss_of),
        training_parts(exchanged or loss_of, update, scaler),
        micro_training_step(
            exchanged or loss_of, update, scaler, exchanged.quiet if exchanged else contextlib.nullcontext
        ),
        functools.partial(state_of, optimizer, update, tensors.trainable),
        Constants(known, update),
        restoring.native_state,
        restoring.put,
        restoring.skipped,
        restoring.note,
        known.built_rule if isinstance(update, ComposedOptimizer) else None,
        known.built_rule if optimizer.modifiers.ema and not isinstance(update, ComposedOptimizer) else None,
        exchanged.exchanged if exchanged else None,
    )
    everywhere = (distributed.everywhere,) if scheme else ()
    gradients = _verified_gradients(graph, tensors, functions, loss_of, scaler, *everywhere)
    gradients = skips.may_lower(gradients) if skips else gradients
    further = (options.compile, with_ranges, gradients, _evaluated(graph, functions))
    return TrainingProgram(steps, graph, tensors, device, *further)


def _sharded_program(
    graph: Graph,
    tensors: Tensors,
    device: Device,
    precision: str,
    optimizer: Optimizer,
    functions: Functions,
    options: Options,
) -> TrainingProgram:
    """Return a program of ranks that each hold a part of the parameters."""
    if graph.loss is None:
        raise UnsupportedError(f"problem '{graph.name}' has no loss, so it cannot be trained; use inference")
    if options.compile:
        raise UnsupportedError("a step of sharded parameters is not compiled; use compile=false")
    loss_of = functions.make((graph.loss,), training=True)
    where, known = places(graph, optimizer.modifiers.decay_of), Hyperparameters(optimizer)
    undecayed = [tensor for name, p in where.items() if not p.decays for tensor in tensors.native[name]]
    # A function of all tensors that was given the whole ones.
    loss = ShardedLoss(loss_of.func, tensors)  # type: ignore[attr-defined]
    update = sharded_optimizer(optimizer, loss, tensors, undecayed)
    restoring = Restoring(graph, tensors, device, optimizer, update, None)
    steps = TrainingSteps(
        training_step(loss, update),
        training_parts(loss, update),
        micro_training_step(loss, update, None, loss.quiet),
        functools.partial(whole_state, optimizer, update, loss),
        Constants(known, update),
        restoring.native_state,
        restoring.put,
        restoring.skipped,
        restoring.note,
        exchanged=loss.exchanged,
    )
    gradients = _verified_gradients(graph, tensors, functions, loss_of, None)

    def with_ranges() -> Callable[..., Any]:
        raise UnsupportedError("a step of sharded parameters is not profiled")

    further = (options.compile, with_ranges, gradients, _evaluated(graph, functions))
    return ShardedProgram(loss, steps, graph, tensors, device, *further)


def _optimizer(known: Hyperparameters, graph: Graph, tensors: Tensors, precision: str) -> Any:
    """Return what updates the parameters: PyTorch's own where it is the same function."""
    chosen = known.optimizer
    where = places(graph, chosen.modifiers.decay_of)
    if is_native(chosen, where.values()) and _takes_tensors(known, where, tensors):
        return _native_optimizer(chosen, graph, tensors, precision)
    if precision == "fp16":
        raise UnsupportedError(
            f"PyTorch has no optimizer '{chosen.kind}' for these parameters, and what scales a loss in precision "
            "'fp16' takes none but its own; use fp32 or bf16"
        )
    return ComposedOptimizer(known, where, tensors.native, tensors.layouts)


def _takes_tensors(known: Hyperparameters, where: Mapping[str, ParameterPlace], tensors: Tensors) -> bool:
    """Tell whether the rule may be given each tensor alone, as PyTorch's optimizers are."""
    if known.built_rule.is_separable:
        return True
    shapes = {name: [tuple(tensor.shape) for tensor in tensors.native[name]] for name in where}
    return sees_native_tensors(known.built_rule, where, shapes, tensors.layouts)


def _native_optimizer(chosen: Optimizer, graph: Graph, tensors: Tensors, precision: str) -> Any:
    where = places(graph, chosen.modifiers.decay_of)
    undecayed = [tensor for name, p in where.items() if not p.decays for tensor in tensors.native[name]]
    native = make_optimizer(chosen, tensors.trainable, undecayed, scaled=precision == "fp16")
    if chosen.modifiers:
        add_modifiers(native, chosen.modifiers, tensors.trainable)
    return native


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
    graph: Graph,
    tensors: Tensors,
    functions: Functions,
    value_of: Callable[..., Any],
    scaler: Any,
    *everywhere: Callable[[bool], bool],
) -> Callable[..., tuple[Any, list[Any]]]:
    """Return what verification calls: the timed function itself, but for its dropout."""
    if "dropout" in graph.operators:
        results = graph.outputs if graph.loss is None else (graph.loss,)
        value_of = functions.make(results, training=True, dropout=False)
    loss_of = contracted(value_of, len(graph.upstream)) if graph.upstream else value_of
    return loss_and_gradients(loss_of, tensors.trainable, tensors.state, scaler, *everywhere)


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
