"""A data set as workers read it: two ``.npy`` files and a description, kept in the cache folder."""

from __future__ import annotations

import json
import shutil
import uuid
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarker.data import read_dataset
from benchmarker.data.dataset import Dataset
from benchmarker.environments import home
from benchmarker.errors import UsageError
from benchmarker.graph.graph import Graph
from benchmarker.graph.types import Input


@dataclass(frozen=True)
class PreparedData:
    """A data set on the disk.

    Parameters
    ----------
    folder : Path
        Holds ``samples.npy``, ``labels.npy`` and ``description.json``.
    description : dict
        Name, source, files, digest, sizes.
    """

    folder: Path
    description: dict[str, Any]


@cache
def prepare(name: str, folder: Path | None) -> PreparedData:
    """Read a data set, once a process, and keep it for workers, unless the same one is kept already.

    Raises
    ------
    UsageError
        If it cannot be read, or the cache folder cannot be written.
    """
    dataset = read_dataset(name, folder)
    digest = dataset.digest
    target = home() / "data" / f"{name}-{digest.partition(':')[2][:24]}"
    if not (target / "description.json").is_file():
        try:
            _write(dataset, digest, target)
        except OSError as error:
            raise UsageError(
                f"data sets are kept in a folder that can be written, got '{target.parent}' ({error.strerror}); "
                "choose another with BENCHMARKER_HOME"
            ) from None
    return PreparedData(target, json.loads((target / "description.json").read_text(encoding="utf-8")))


def _write(dataset: Dataset, digest: str, target: Path) -> None:
    temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
    temporary.mkdir(parents=True)
    try:
        np.save(temporary / "samples.npy", dataset.samples)
        np.save(temporary / "labels.npy", dataset.labels)
        description = {
            "name": dataset.name,
            "source": dataset.source,
            "digest": digest,
            "samples": len(dataset.labels),
            "sample_shape": list(dataset.sample_shape),
            "classes": dataset.classes,
            "range": [float(dataset.samples.min()), float(dataset.samples.max())],
            "largest": dataset.largest,
            "mean": dataset.mean,
            "deviation": dataset.deviation,
            "files": [asdict(file) for file in dataset.files],
        }
        (temporary / "description.json").write_text(json.dumps(description), encoding="utf-8")
        try:
            temporary.replace(target)
        except OSError:
            if not (target / "description.json").is_file():
                raise  # not another process that was quicker
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _check_range(description: dict[str, Any], sample: Input, problem: str) -> None:
    interval = sample.distribution.interval
    if interval is None or description["largest"] is not None:
        return  # any value will do, or pixels are scaled to the interval
    low, high = description["range"]
    if low < interval[0] or high > interval[1]:
        raise UsageError(
            f"data set '{description['name']}' has values from {low:g} to {high:g}, problem '{problem}' takes "
            f"'{sample.name}' from {interval[0]:g} to {interval[1]:g}; scale them, or give pixels as uint8"
        )


def check_fits(description: dict[str, Any], graph: Graph) -> None:
    """Refuse a data set that is not what the problem takes.

    Raises
    ------
    UsageError
        With both shapes, ranges of values or numbers of classes.
    """
    name, count = description["name"], description["samples"]
    kinds = [i.type.dtype for i in graph.inputs]
    if kinds not in (["float32", "int64"], ["float32"]):
        raise UsageError(
            f"data set '{name}' has samples and class labels; problem '{graph.name}' takes "
            f"{', '.join(i.name for i in graph.inputs)}: run it on synthetic data, without --data"
        )
    sample, *labels = graph.inputs
    shape, wanted = tuple(description["sample_shape"]), sample.type.shape[1:]
    # In another order of axes the values would be scrambled, so only flattening and axes of 1 are no matter.
    squeezed = [tuple(size for size in sizes if size != 1) for sizes in (shape, wanted)]
    if squeezed[0] != squeezed[1] and wanted != (int(np.prod(shape)),):
        raise UsageError(
            f"data set '{name}' has samples of shape {shape}, problem '{graph.name}' takes '{sample.name}' of "
            f"{wanted}; change the problem's parameters with --set"
        )
    _check_range(description, sample, graph.name)
    for label in labels:
        if label.type.shape[1:] or description["classes"] > label.distribution.scale:
            raise UsageError(
                f"data set '{name}' has {description['classes']} classes, problem '{graph.name}' has "
                f"{label.distribution.scale:.0f}; change the problem's parameters with --set"
            )
    if graph.batch_size > count:
        raise UsageError(
            f"data set '{name}' has {count} samples, too few for a mini-batch of {graph.batch_size}"
        )
