"""The built-in kinds of pictures; each is an entry point of the group ``benchmarker.charts``."""

from __future__ import annotations

from benchmarker.api.chart_kind import ChartKind

_RECIPE = ("training.recipe.name", "comparable.hash")


def _kind(name: str, description: str, module: str = "", each: tuple[str, ...] = ()) -> ChartKind:
    return ChartKind(name, description, f"benchmarker.analysis.charts.{module or name}:chart", each)


FRAMEWORKS = _kind("frameworks", "step time or throughput of frameworks side by side, by problem")
DEVICES = _kind("devices", "step time or throughput on devices side by side, by problem")
BATCH_SIZE = _kind("batch_size", "throughput and latency against the mini-batch's size")
THREADS = _kind("threads", "speed-up against CPU threads, with the ideal line")
RANKS = _kind("ranks", "speed-up and efficiency against ranks, with the ideal line", each=("problem.name",))
RANK_PARTS = _kind(
    "rank_parts",
    "a step of several ranks in its parts: computing, exchange, waiting for the slowest",
    each=("problem.name", "framework.name"),
)
COMMUNICATION = _kind(
    "communication", "bytes per step by scheme and ranks: formula and count", each=("problem.name",)
)
LATENCY = _kind("latency", "distribution of step times: violins, and the share of steps within a time")
SAMPLES = _kind("samples", "every sample over time: warm-up, steady state, change points")
ROOFLINE = _kind("roofline", "achieved FLOP/s against arithmetic intensity, under the machine's roofs")
BREAKDOWN = _kind("breakdown", "measured parts of a step, and predicted cost by operator")
LEARNING = _kind("learning", "loss and accuracy against steps and against time")
TRAINING_CURVES = _kind("training_curves", "quality of trainings by a recipe, over their seeds", each=_RECIPE)
TIME_TO_TARGET = _kind("time_to_target", "share of trainings that have reached their target", each=_RECIPE)
RANKS_TO_TARGET = _kind(
    "ranks_to_target", "steps and seconds to the target against ranks", each=("training.recipe.name",)
)
PERFORMANCE_PROFILE = _kind(
    "performance_profile", "share of recipes trained within a multiple of the best time, with its score"
)
DIVERGENCE = _kind("divergence", "how far trainings are from the float64 reference, over steps", each=_RECIPE)
DIVERGENCE_MAP = _kind("divergence_map", "the same as a heat map of parameters by steps", each=_RECIPE)
MEMORY = _kind("memory", "peak memory and what the graph predicts, and energy per sample")
SPEEDUP = _kind("speedup", "heat map of problems by frameworks: step time over a baseline's")
DIFFERENCES = _kind(
    "differences", "heat map of where an operator differs from float64, by framework", "error_map"
)
HISTORY = _kind("history", "step time over weeks, with change points")

IN_ORDER = (
    FRAMEWORKS,
    DEVICES,
    BATCH_SIZE,
    THREADS,
    RANKS,
    RANK_PARTS,
    COMMUNICATION,
    LATENCY,
    SAMPLES,
    ROOFLINE,
    BREAKDOWN,
    LEARNING,
    TRAINING_CURVES,
    TIME_TO_TARGET,
    RANKS_TO_TARGET,
    PERFORMANCE_PROFILE,
    DIVERGENCE,
    DIVERGENCE_MAP,
    MEMORY,
    SPEEDUP,
    DIFFERENCES,
    HISTORY,
)
"""As ``plot --list`` and pages show them, before those of other distributions."""
