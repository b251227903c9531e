"""Whether a run of several ranks can be what it asks for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from benchmarker import registry
from benchmarker.api.framework import FrameworkPlugin
from benchmarker.api.launcher import Launcher
from benchmarker.api.native_scheme import NativeScheme
from benchmarker.api.scheme import Scheme
from benchmarker.experiment.spec import RunSpec
from benchmarker.graph.graph import Graph


def unsuited_ranks(run: RunSpec, plugin: FrameworkPlugin) -> str | None:
    """Return why ranks cannot train or exchange as a run asks, or None."""
    if run.scheme is None:
        return next(_of_processes(run), None)
    scheme = registry.scheme(str(run.scheme))
    return next(_reasons(run, plugin, scheme), None)


def _reasons(run: RunSpec, plugin: FrameworkPlugin, scheme: Scheme) -> Iterator[str]:
    if run.batch_size % run.ranks:
        yield (
            f"--ranks must divide the batch size, so that all of them weigh the same, got {run.ranks} for a batch size "
            f"of {run.batch_size}"
        )
    elif run.micro_batch is not None and run.batch_size // run.ranks % run.micro_batch:
        yield (
            f"--micro-batch must divide the {run.batch_size // run.ranks} rows of a rank, got {run.micro_batch}"
        )
    if run.exchange == "native" and run.scheme in plugin.unfit_schemes:
        why = plugin.unfit_schemes[str(run.scheme)]
        yield f"framework '{plugin.name}' has no scheme '{run.scheme}' for ranks: {why}; use --exchange=mpi"
    if run.exchange == "native" and run.scheme not in plugin.schemes:
        has = f"it has {', '.join(plugin.schemes)}" if plugin.schemes else "it has none"
        yield f"framework '{plugin.name}' has no scheme '{run.scheme}' of its own, {has}; use --exchange=mpi"
    elif run.exchange == "native":
        fault = plugin.schemes[str(run.scheme)].fault(run.optimizer, run.precision, run.framework_options)
        if fault is not None:
            yield f"{fault}; use --exchange=mpi"
    fault = scheme.fault(run.ranks)
    if fault is not None:
        yield fault
    if scheme.needs_elementwise and run.exchange == "mpi" and not _by_element(run):
        yield (
            f"scheme '{run.scheme}' updates parts of the weights on each rank, which optimizer '{run.optimizer.kind}' "
            "and what is done around it do not allow: they look at more than one element at a time"
        )
    yield from _of_parts(run)
    yield from _of_processes(run)
    if run.training is not None:
        yield from _of_recipe(run, plugin, scheme)


def _of_processes(run: RunSpec) -> Iterator[str]:
    """Yield why there cannot be such ranks, whatever they do."""
    if run.device != "cpu":
        yield f"--ranks is for the cpu, got --device={run.device}"
    if run.start == "fork":
        yield "--start=fork is for a run of one rank; use --start=spawn"
    if run.breakdown:
        yield "--breakdown is for a run of one rank; the parts of a rank's step are always in its record"
    launcher = type(registry.launcher(run.launcher))
    if launcher.launch_group is Launcher.launch_group:
        yield f"launcher '{run.launcher}' cannot start a group of ranks"


def _of_recipe(run: RunSpec, plugin: FrameworkPlugin, scheme: Scheme) -> Iterator[str]:
    """Yield why ranks cannot train by a recipe as a run asks."""
    if run.divergence is not None:
        yield "--divergence is for a training of one rank"
    own = plugin.schemes.get(str(run.scheme)) if run.exchange == "native" else None
    is_served = scheme.has_server if own is None else own.updates_on_server
    table = run.training or {}
    if is_served and table.get("schedules"):
        yield (
            f"scheme '{run.scheme}' has its optimizer on a server, which keeps its constants, and the recipe schedules "
            f"{', '.join(table['schedules'])}; use a recipe without schedules or another scheme"
        )
    in_parts = scheme.needs_elementwise and own is None
    if (is_served or in_parts) and not run.optimizer.rule.evaluates_weights:
        yield (
            f"optimizer '{run.optimizer.kind}' evaluates weights other than those it trains, and with "
            f"scheme '{run.scheme}' no rank has all of those"
        )


def _by_element(run: RunSpec) -> bool:
    return run.optimizer.rule.is_elementwise and not run.optimizer.modifiers


def statistics_of(run: RunSpec) -> Literal["local", "global"]:
    """Return whether batch normalization takes the statistics of a rank's own rows, or of those of all ranks."""
    native = _native(run)
    return "global" if native is not None and native.batch_normalization == "global" else "local"


def loss_of(run: RunSpec) -> Literal["local", "global"]:
    """Return whether a loss looks at a rank's own rows, or at those of all ranks at once."""
    native = _native(run)
    return "global" if native is not None and native.rows == "all" else "local"


def looks_at_all_rows(run: RunSpec) -> bool:
    """Whether what looks at several samples looks at those of all ranks, so that the ranks train what one would."""
    graph = graph_of_rank(run)
    if graph.loss_over is not None and not graph.takes_statistics:
        return loss_of(run) == "global"
    return statistics_of(run) == "global"


def graph_of_rank(run: RunSpec) -> Graph:
    """Return the graph of a rank's own rows."""
    rows = max(1, run.batch_size // run.ranks)
    return registry.problem(run.problem).graph(rows, **run.problem_parameters)


def _native(run: RunSpec) -> NativeScheme | None:
    if run.exchange != "native":
        return None
    return registry.framework(run.framework).schemes.get(str(run.scheme))


def _of_parts(run: RunSpec) -> Iterator[str]:
    """Yield why no reference knows the function that ranks would train."""
    if statistics_of(run) == "local" and loss_of(run) == "local":
        return
    graph = graph_of_rank(run)
    means = f"'{run.problem.name}' by {run.framework}'s own '{run.scheme}'"
    if graph.is_another_in_parts and run.micro_batch is not None:
        yield (
            f"--micro-batch is not for {means}, which looks at the samples of all ranks at once; leave it out or use "
            "--exchange=mpi"
        )
    if graph.takes_statistics and graph.loss_over is not None and statistics_of(run) != loss_of(run):
        yield (
            f"{means} would take the statistics of all ranks' rows, but the mean over {graph.loss_over} of each "
            "rank's; use --exchange=mpi"
        )
