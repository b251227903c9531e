"""The job that measures how fast this machine multiplies matrices and copies memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarker.api.program import Program
from benchmarker.graph.graph import Graph
from benchmarker.graph.initializers import inverse_sqrt_uniform
from benchmarker.graph.network import Network
from benchmarker.worker import facts
from benchmarker.worker.channel import Channel
from benchmarker.worker.other_jobs import CalibrateJob
from benchmarker.worker.program import ProgramBuilder, configure, import_framework
from benchmarker.worker.stages import Stages

WARM_UP_STEPS = 2
MAX_STEP_SHARE = 1.0
"""A product that is expected to take more than this share of a size's time is left out."""

Build = Callable[[Graph], Program]


def calibrate(job: CalibrateJob, channel: Channel, stages: Stages) -> None:
    """Measure both peaks and send them."""
    plugin, framework = import_framework(job, stages)
    from benchmarker.data import values
    from benchmarker.worker.measurement import evidence

    device_name = configure(framework, job, stages)
    builder = ProgramBuilder.of(job, plugin, framework, job.precision)

    def build(graph: Graph) -> Program:
        return builder.build(graph, values.draw_parameters(graph, job.seed), "inference")

    before = evidence.read(job.orchestrator)
    with stages.stage("products"):
        products = _products(job, build)
    with stages.stage("copies"):
        copy = _copy(job, build)
    channel.send(
        "result",
        device_name=device_name,
        version=framework.version(),
        libraries=framework.libraries(),
        products=products,
        bytes_per_second=copy,
        copy_bytes=job.copy_bytes,
        evidence=evidence.between(before, evidence.read(job.orchestrator)),
        seconds=stages.seconds,
        packages=facts.packages(),
    )


def product_graph(size: int) -> Graph:
    """Return the product of two square matrices."""
    net = Network("product", size)
    right = net.parameter("right", (size, size), inverse_sqrt_uniform(size))
    net.output(net.gemm(net.input("left", (size,)), right))
    return net.graph()


def copy_graph(elements: int) -> Graph:
    """Return what reads each element of an array once and writes it once."""
    net = Network("copy", 1)
    net.output(net.affine(net.input("array", (elements,)), alpha=1.0, beta=1.0))
    return net.graph()


def _median_seconds(job: CalibrateJob, program: Program, graph: Graph) -> float:
    from benchmarker.data import values
    from benchmarker.worker.measurement import sampling

    batch = program.load(values.draw_batch(graph, job.seed))

    def feed() -> Any:
        return batch

    sampling.sample(program.infer, program.synchronize, feed, WARM_UP_STEPS)
    return sampling.sample(program.infer, program.synchronize, feed, seconds=job.seconds).median_seconds


def _products(job: CalibrateJob, build: Build) -> list[dict[str, float]]:
    """Return FLOP/s by size, from the smallest up to the one that would take too long."""
    measured: list[dict[str, float]] = []
    for size in job.sizes:
        flops = 2 * size**3
        fastest = max((row["flops_per_second"] for row in measured), default=float("inf"))
        if flops / fastest > MAX_STEP_SHARE * job.seconds:
            break
        graph = product_graph(size)
        median = _median_seconds(job, build(graph), graph)
        measured.append({"size": size, "flops_per_second": flops / median})
    return measured


def _copy(job: CalibrateJob, build: Build) -> float:
    """Return bytes per second, read and written ones together."""
    size = job.copy_bytes
    if job.device.type == "cpu":
        return 2 * size / _host_copy_seconds(size, job.threads, job.seconds)
    itemsize = 2 if job.precision in ("fp16", "bf16") else 8 if job.precision == "fp64" else 4
    graph = copy_graph(size // itemsize)
    return 2 * (size // itemsize) * itemsize / _median_seconds(job, build(graph), graph)


def _host_copy_seconds(size: int, threads: int, seconds: float) -> float:
    """Return the median time of copying an array to another that is there already.

    NumPy copies in every framework's worker: a framework's own copy would also pay for new memory.
    """
    from concurrent.futures import ThreadPoolExecutor

    import numpy as np

    from benchmarker.worker.measurement import sampling

    source = np.full(size // 8, 1.5)
    target = np.zeros_like(source)
    edges = [len(source) * part // threads for part in range(threads + 1)]
    parts = [slice(low, high) for low, high in zip(edges, edges[1:])]

    def copy(part: slice) -> None:
        np.copyto(target[part], source[part])

    with ThreadPoolExecutor(threads) as pool:

        def step(_: Any) -> None:
            if threads == 1:
                copy(parts[0])
            else:
                list(pool.map(copy, parts))

        def nothing(_: Any = None) -> None:
            return None

        sampling.sample(step, nothing, nothing, WARM_UP_STEPS)
        return sampling.sample(step, nothing, nothing, seconds=seconds).median_seconds
