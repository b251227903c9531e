"""A data set as workers read it: two ``.npy`` files and a description, kept in the cache folder."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from benchmarker.api.dataset import Dataset
from benchmarker.cache import (
    discard,
    explain_unwritable,
    home,
    key,
    load_json,
    publish_folder,
    remove_leftovers,
    staged_folder,
    store_json,
)
from benchmarker.data.batch_inputs import takes_labels, takes_weights
from benchmarker.errors import UsageError
from benchmarker.graph.graph import Graph
from benchmarker.graph.types import Input
from benchmarker.quick_dataclass import dataclass

_MEMBERS = {
    "name", "source", "digest", "samples", "tested", "sample_shape", "classes", "range", "largest", "mean", "deviation",
    "files",
}  # fmt: skip
"""Of a description, those that no data set lacks."""


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
def prepare(
    name: str,
    read: Callable[[Path | None], Dataset],
    folder: Path | None,
    fingerprint: Callable[[Path | None], str] | None = None,
) -> PreparedData:
    """Read a data set, once per process, and keep it for workers, unless the same one is kept already.

    Parameters
    ----------
    name : str
        As ``--data`` has it.
    read : callable
        What reads it.
    folder : Path or None
        Of its files, as ``--data-dir`` has it.
    fingerprint : callable or None
        Tells whether the files are those that were read before, so that they need not be read again.

    Raises
    ------
    UsageError
        If it cannot be read, or the cache folder cannot be written.
    """
    try:
        note = None if fingerprint is None else _note(name, fingerprint(folder))
        known = None if note is None else _noted(note)
        dataset = read(folder) if known is None else None
    except OSError as error:
        raise UsageError(f"'{error.filename or folder}' cannot be read: {error.strerror or error}") from None
    target = known if dataset is None else _kept(name, dataset)
    assert target is not None
    if note is not None and dataset is not None:
        with explain_unwritable(note.parent, "data sets"):
            store_json(note, target.name)
    description = _description(target)
    if description is None:
        raise UsageError(
            f"the data set that is kept in '{target}' is damaged, and in use; remove that folder"
        )
    return PreparedData(target, description)


def _note(name: str, fingerprint: str) -> Path:
    """Return the file that says under which name the data set of a fingerprint is kept."""
    return home() / "data-fingerprints" / f"{name}-{key(fingerprint, 24)}.json"


def _noted(note: Path) -> Path | None:
    """Return where a data set is kept by a note; None without one, or if it is kept no more."""
    kept = load_json(note)
    target = home() / "data" / str(kept)
    return target if kept is not None and _description(target) is not None else None


def _description(target: Path) -> dict[str, Any] | None:
    """Return what is kept of a data set; None if that is not there, or damaged."""
    found = load_json(target / "description.json")
    if not isinstance(found, dict) or not found.keys() >= _MEMBERS:
        return None
    try:
        counts = {len(_mapped(target / f"{name}.npy")) for name in ("samples", "labels")}
    except (OSError, ValueError, EOFError, TypeError):
        return None
    return found if counts == {found["samples"] + found["tested"]} else None


def _mapped(path: Path) -> Any:
    import numpy as np  # of those that have a data set alone

    if not path.is_file():  # a pipe would be waited for
        raise FileNotFoundError(path)
    return np.load(path, mmap_mode="r", allow_pickle=False)


def _kept(name: str, dataset: Dataset) -> Path:
    digest = dataset.digest
    lengths = "" if dataset.lengths is None else "-lengths"
    tested = "" if dataset.test_digest is None else f"-{dataset.test_digest.partition(':')[2][:12]}"
    target = home() / "data" / f"{name}-{digest.partition(':')[2][:24]}{lengths}{tested}"
    if _description(target) is None:
        with explain_unwritable(target.parent, "data sets"):
            discard(target)
            _write(dataset, digest, target)
    return target


def _write(dataset: Dataset, digest: str, target: Path) -> None:
    import numpy as np  # of those that have a data set alone

    remove_leftovers(target.parent)
    with staged_folder(target) as folder:
        np.save(folder / "samples.npy", dataset.samples)
        np.save(folder / "labels.npy", dataset.labels)
        if dataset.lengths is not None:
            np.save(folder / "lengths.npy", dataset.lengths.astype(np.int64))
        trained = dataset.samples[: dataset.trained]
        description = {
            "name": dataset.name,
            "source": dataset.source,
            "digest": digest,
            "samples": dataset.trained,
            "tested": dataset.tested,
            "test_digest": dataset.test_digest,
            "sample_shape": list(dataset.sample_shape),
            "classes": dataset.classes,
            "range": [float(trained.min()), float(trained.max())],
            "largest": dataset.largest,
            "mean": dataset.mean,
            "deviation": dataset.deviation,
            "symbols": dataset.symbols,
            "sequential": dataset.sequential,
            "files": [asdict(file) for file in dataset.files],
        }
        (folder / "description.json").write_text(json.dumps(description), encoding="utf-8")
        publish_folder(folder, target)


def _check_range(description: dict[str, Any], sample: Input, problem: str) -> None:
    interval = sample.distribution.interval
    if interval is None or description["largest"] is not None or description.get("symbols") is not None:
        return  # any value will do, or pixels are scaled to the interval
    low, high = description["range"]
    if low < interval[0] or high > interval[1]:
        raise UsageError(
            f"data set '{description['name']}' has values from {low:g} to {high:g}, but problem '{problem}' takes "
            f"'{sample.name}' from {interval[0]:g} to {interval[1]:g}; scale them, or give pixels as uint8"
        )


def _shape_taken(description: dict[str, Any], sample: Input, problem: str) -> tuple[int, ...]:
    """Return the shape of a sample as the input has it: symbols come one-hot, or by number."""
    name, symbols = description["name"], description.get("symbols")
    shape = tuple(description["sample_shape"])
    if symbols is None:
        return shape
    if sample.type.dtype == "float32":
        if sample.distribution.kind != "one_hot":
            raise UsageError(
                f"data set '{name}' has symbols, but problem '{problem}' computes with '{sample.name}' as real "
                "numbers, and takes it neither one-hot nor by number"
            )
        return (*shape, symbols)
    if symbols > sample.distribution.scale:
        raise UsageError(
            f"data set '{name}' has {symbols} symbols, but problem '{problem}' has {sample.distribution.scale:.0f}; "
            "change the problem's parameters with --set"
        )
    return shape


def _check_classes(description: dict[str, Any], label: Input, problem: str) -> None:
    weights = takes_weights(label)
    classes = label.type.shape[1] if weights else label.distribution.scale
    fits = description["classes"] == classes if weights else description["classes"] <= classes
    if not fits or (label.type.shape[1:] and not weights):
        raise UsageError(
            f"data set '{description['name']}' has {description['classes']} classes, but problem '{problem}' has "
            f"{classes:.0f}; change the problem's parameters with --set"
        )


def check_fits(description: dict[str, Any], graph: Graph) -> None:
    """Refuse a data set that is not what the problem takes.

    Raises
    ------
    UsageError
        With both shapes, ranges of values or numbers of classes.
    """
    name, count = description["name"], description["samples"]
    sample, *labels = graph.inputs
    takes_samples = sample.type.dtype == "float32" or description.get("symbols") is not None
    if len(labels) > 1 or not takes_samples or not all(map(takes_labels, labels)):
        raise UsageError(
            f"data set '{name}' has samples and class labels, but problem '{graph.name}' takes "
            f"{', '.join(i.name for i in graph.inputs)}: run it on synthetic data, without --data"
        )
    shape, wanted = _shape_taken(description, sample, graph.name), sample.type.shape[1:]
    # In another order of axes the values would be scrambled, so only flattening and axes of 1 are no matter.
    squeezed = [tuple(size for size in sizes if size != 1) for sizes in (shape, wanted)]
    if squeezed[0] != squeezed[1] and wanted != (math.prod(shape),):
        raise UsageError(
            f"data set '{name}' has samples of shape {shape}, but problem '{graph.name}' takes '{sample.name}' of "
            f"{wanted}; change the problem's parameters with --set"
        )
    _check_range(description, sample, graph.name)
    for label in labels:
        _check_classes(description, label, graph.name)
    if graph.batch_size > count:
        raise UsageError(
            f"data set '{name}' has {count} samples, too few for a mini-batch of {graph.batch_size}"
        )
