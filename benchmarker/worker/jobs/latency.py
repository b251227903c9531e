"""The job that measures how long mini-batches take from storage to a framework's tensors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarker.graph.graph import Graph
from benchmarker.graph.network import Network
from benchmarker.problems.files import load_object
from benchmarker.worker import facts
from benchmarker.worker.channel import Channel
from benchmarker.worker.other_jobs import LatencyJob
from benchmarker.worker.program import ProgramBuilder, configure, import_framework
from benchmarker.worker.stages import Stages


def measure_latency(job: LatencyJob, channel: Channel, stages: Stages) -> None:
    """Measure every format that the framework can read, and send the times."""
    plugin, framework = import_framework(job, stages)
    configure(framework, job, stages)
    import numpy as np

    from benchmarker.data.latency.timing import ARRAYS, read_images, stored_files, time_batches

    builder = ProgramBuilder.of(job, plugin, framework, "fp32")
    with stages.stage("build"):
        program = builder.build(image_graph(len(job.batches[0]), job.size), {}, "inference")
    decode = load_object(plugin.image_decoder)() if plugin.image_decoder else None
    rows: list[dict[str, Any]] = []
    for name, path in job.folders.items():
        if name not in ARRAYS and decode is None:
            continue
        folder = Path(path)

        def load(numbers: Sequence[int], name: str = name, folder: Path = folder) -> Any:
            pixels = read_images(folder, name, numbers, job.size, decode)
            return program.load({"image": pixels.astype(np.float32) / np.float32(255)})

        def files(numbers: Sequence[int], name: str = name, folder: Path = folder) -> list[Path]:
            return stored_files(folder, name, numbers)

        with stages.stage(name):
            for timed in time_batches(load, files, job.batches, job.repeats):
                rows.append(
                    {"format": name, "cache": timed.cache, "seconds": list(timed.seconds), "kept": timed.kept}
                )
    channel.send(
        "result",
        version=framework.version(),
        rows=rows,
        seconds=stages.seconds,
        packages=facts.packages(),
    )


def image_graph(batch_size: int, size: int) -> Graph:
    """Return what takes a mini-batch of images and does next to nothing with it."""
    net = Network("images", batch_size)
    net.output(net.reduce_mean(net.input("image", (3, size, size)), axes=(1, 2, 3)))
    return net.graph()
