"""A checkpoint: one file that any framework goes on from, whole or not at all.

It is a ``safetensors`` file, which other tools read: eight bytes with the length of a JSON header, the header, then the
arrays one after the other, little-endian. Parameters are ``parameter/NAME``, the optimizer's state
``optimizer/LETTER/NAME``, and what only the framework that wrote it understands ``native/NAME``. All else stands as
JSON in the header's ``__metadata__``, beside the SHA-256 of that text, the table of arrays and their bytes.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple

from benchmarker.api.training_state import TrainingState
from benchmarker.errors import UsageError
from benchmarker.files import read_regular, staged
from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.generic]
    Arrays = Dict[str, Array]

FORMAT = 1
"""The newest format that is written and read."""
SUFFIX = ".safetensors"
MAX_HEADER_BYTES = 64 << 20
_ABOUT, _DIGEST, _FORMAT = "benchmarker", "digest", "format"
_DTYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "I64": "<i8",
    "I32": "<i4",
    "U64": "<u8",
    "U32": "<u4",
    "U16": "<u2",
    "U8": "|u1",
}
_LENGTH = struct.Struct("<Q")


@dataclass(frozen=True)
class CheckpointSettings:
    """What a training does with checkpoints.

    Parameters
    ----------
    recipe, recipe_digest, data : str
        As of :class:`Subject`.
    folder : str or None
        Where they are written; None to write none.
    every : int
        Evaluations between two.
    keep : int
        How many stay.
    start : str or None
        The file to go on from.
    """

    recipe: str
    recipe_digest: str
    data: str
    folder: Optional[str] = None
    every: int = 1
    keep: int = 2
    start: Optional[str] = None


class CheckpointError(UsageError):
    """A file is no checkpoint that a training can go on from."""


@dataclass(frozen=True)
class Writer:
    """Who wrote a checkpoint: only the same understands its native state.

    Parameters
    ----------
    framework, version : str
        Of the plugin, and of the framework.
    options : mapping
        The plugin's.
    device, precision, variant : str
        Where and in which number format it computes, and by whose function it updates.
    """

    framework: str
    version: str
    options: Mapping[str, Any]
    device: str
    precision: str
    variant: str


@dataclass(frozen=True)
class Subject:
    """Which training a checkpoint is of.

    Parameters
    ----------
    recipe, recipe_digest : str
        Its name, and the SHA-256 of all that decides it but for seed and framework.
    seed : int
        Of weights and order.
    data, split, order : str
        SHA-256 of the data set, its parts, and the order of the first epoch.
    constants : mapping
        SHA-256 of the table of each constant that is scheduled.
    """

    recipe: str
    recipe_digest: str
    seed: int
    data: str
    split: str
    order: str
    constants: Mapping[str, str]


@dataclass(frozen=True)
class Place:
    """How far the training had come.

    Parameters
    ----------
    step, samples : int
        Updates, and the samples that they took.
    epoch, batch : int
        The next mini-batch: which of which epoch, both from 0.
    loss : float or None
        Of the last step.
    last_finite : int
        The last step whose loss was seen to be finite.
    clocks : mapping
        Nanoseconds by the name of the clock.
    curve : tuple of mapping
        A row per evaluation.
    resumed : tuple of mapping
        From which checkpoints it had gone on itself, as records tell it.
    """

    step: int
    samples: int
    epoch: int
    batch: int
    loss: Optional[float]
    last_finite: int
    clocks: Mapping[str, int]
    curve: Tuple[Mapping[str, Any], ...]
    resumed: Tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True)
class About:
    """What a checkpoint says beside its arrays.

    Parameters
    ----------
    benchmarker, written_at : str
        The version that wrote it, and when (UTC).
    writer, subject, place
        Who wrote it, of which training, and how far that was.
    numbers : mapping
        Of :class:`~benchmarker.api.training_state.TrainingState`.
    """

    benchmarker: str
    written_at: str
    writer: Writer
    subject: Subject
    place: Place
    numbers: Mapping[str, float]


@dataclass(frozen=True)
class Checkpoint:
    """A file that was read.

    Parameters
    ----------
    path : Path
        The file.
    about : About
        What it says.
    arrays : mapping
        By the names of the file.
    """

    path: Path
    about: About
    arrays: Mapping[str, Array]

    @property
    def state(self) -> TrainingState:
        """What a program goes on from, native state included."""
        optimizer: Dict[str, Arrays] = {}
        for name, array in self._of("optimizer").items():
            letter, _, parameter = name.partition("/")
            optimizer.setdefault(letter, {})[parameter] = array
        return TrainingState(
            self.about.place.step, self._of("parameter"), optimizer, self.about.numbers, self._of("native")
        )

    def _of(self, kind: str) -> Arrays:
        start = f"{kind}/"
        return {name[len(start) :]: array for name, array in self.arrays.items() if name.startswith(start)}


def arrays_of(state: TrainingState) -> Arrays:
    """Return the arrays of a state by the names that they have in a file."""
    optimizer = (
        (f"optimizer/{letter}/{name}", array)
        for letter, arrays in state.optimizer.items()
        for name, array in arrays.items()
    )
    parameters = ((f"parameter/{name}", array) for name, array in state.parameters.items())
    native = ((f"native/{name}", array) for name, array in state.native.items())
    return dict((*parameters, *optimizer, *native))


def write(path: Path, about: About, state: TrainingState) -> None:
    """Write a checkpoint, durable and whole, over one of that name if there is one.

    Raises
    ------
    OSError
        If it cannot be written; nothing is left of it, and what had the name is as it was.
    """
    text, table, blocks = json.dumps(asdict(about), sort_keys=True), {}, []
    place = 0
    for name, array in sorted(arrays_of(state).items()):
        kind, data = _block(array)
        table[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [place, place + len(data)]}
        place += len(data)
        blocks.append(data)
    metadata = {_FORMAT: str(FORMAT), _ABOUT: text, _DIGEST: _digest(text, table, blocks)}
    header = json.dumps({"__metadata__": metadata, **table}).encode()
    header += b" " * (-len(header) % 8)
    with staged(path, replace=True) as stream:
        stream.write(_LENGTH.pack(len(header)))
        stream.write(header)
        for data in blocks:
            stream.write(data)


def _block(array: Array) -> Tuple[str, bytes]:
    import numpy as np

    for kind, dtype in _DTYPES.items():
        if array.dtype == np.dtype(dtype):
            return kind, np.ascontiguousarray(array, dtype).tobytes()
    raise TypeError(f"a checkpoint holds {', '.join(_DTYPES)}, got an array of {array.dtype}")


def _digest(text: str, table: Mapping[str, Any], blocks: List[bytes]) -> str:
    digest = hashlib.sha256(text.encode())
    digest.update(json.dumps(table, sort_keys=True).encode())
    for data in blocks:
        digest.update(data)
    return f"sha256:{digest.hexdigest()}"


def read(path: Path) -> Checkpoint:
    """Read a checkpoint.

    Raises
    ------
    CheckpointError
        If it cannot be read, is cut short or damaged, of a newer format, or none at all.
    """
    try:
        content = read_regular(path)
    except OSError as error:
        raise CheckpointError(f"the checkpoint '{path}' cannot be read ({error.strerror})") from None
    header = _header(path, content)
    metadata = header.pop("__metadata__", None)
    if not isinstance(metadata, dict) or _ABOUT not in metadata:
        raise _none(path)
    _check_format(path, metadata.get(_FORMAT))
    start = _LENGTH.size + _LENGTH.unpack_from(content)[0]
    try:
        end = max((entry["data_offsets"][1] for entry in header.values()), default=0)
        if len(content) < start + end:
            raise _short(path)
        blocks = [content[start + a : start + b] for a, b in map(_offsets, header.values())]
        if metadata.get(_DIGEST) != _digest(metadata[_ABOUT], header, blocks):
            raise CheckpointError(f"the checkpoint '{path}' is damaged: its content is not what was written")
        arrays = {name: _array(entry, data) for (name, entry), data in zip(header.items(), blocks)}
        return Checkpoint(path, _about(json.loads(metadata[_ABOUT])), arrays)
    except (AttributeError, KeyError, TypeError, ValueError, IndexError, RecursionError):
        raise CheckpointError(f"the checkpoint '{path}' is damaged: its header cannot be read") from None


def _header(path: Path, content: bytes) -> Dict[str, Any]:
    if len(content) < _LENGTH.size:
        raise _short(path)
    (length,) = _LENGTH.unpack_from(content)
    if length > MAX_HEADER_BYTES:
        raise _none(path)
    if len(content) < _LENGTH.size + length:
        raise _short(path)
    try:
        header = json.loads(content[_LENGTH.size : _LENGTH.size + length])
    except (ValueError, RecursionError):
        raise _none(path) from None
    if not isinstance(header, dict):
        raise _none(path)
    return header


def _check_format(path: Path, file_format: Any) -> None:
    if isinstance(file_format, str) and file_format.isdigit() and int(file_format) > FORMAT:
        raise CheckpointError(
            f"the checkpoint '{path}' has format {file_format}, but this benchmarker reads formats up to {FORMAT}; "
            "continue with the newer benchmarker that wrote it"
        )


def _none(path: Path) -> CheckpointError:
    return CheckpointError(f"'{path}' is not a checkpoint of a training")


def _short(path: Path) -> CheckpointError:
    return CheckpointError(f"the checkpoint '{path}' is cut short; continue from an earlier one")


def _offsets(entry: Mapping[str, Any]) -> Tuple[int, int]:
    first, last = entry["data_offsets"]
    if not 0 <= first <= last:
        raise ValueError("offsets go backward")
    return first, last


def _array(entry: Mapping[str, Any], data: bytes) -> Array:
    import numpy as np

    dtype = np.dtype(_DTYPES[entry["dtype"]])
    if math.prod(entry["shape"]) * dtype.itemsize != len(data):
        raise ValueError("a shape is not that of its bytes")
    return np.frombuffer(data, dtype).reshape(entry["shape"]).copy()


def _about(values: Mapping[str, Any]) -> About:
    place = dict(values["place"])
    place.update({name: tuple(place[name]) for name in ("curve", "resumed")})
    made: Dict[str, Any] = {
        "writer": Writer(**values["writer"]),
        "subject": Subject(**values["subject"]),
        "place": Place(**place),
    }
    return About(**{f.name: made.get(f.name, values[f.name]) for f in fields(About)})


def checkpoint_path(folder: Path, step: int) -> Path:
    """Return the file of a checkpoint in the folder of its training."""
    return folder / f"step-{step:09d}{SUFFIX}"


def checkpoint_files(folder: Path) -> List[Path]:
    """Return the checkpoints of a training's folder, which need not exist, the furthest first."""
    return sorted(folder.glob(f"step-*{SUFFIX}"), reverse=True)


def prune(folder: Path, step: int, keep: int) -> None:
    """Remove checkpoints up to a step but for the last ones; those beyond it are another process', and stay."""
    target = checkpoint_path(folder, step)
    for path in [path for path in checkpoint_files(folder) if path <= target][keep:]:
        path.unlink(missing_ok=True)


def sweep(folder: Path) -> None:
    """Remove what processes have left that were killed while they wrote a checkpoint."""
    for path in folder.glob(f".step-*{SUFFIX}.*"):
        path.unlink(missing_ok=True)


def mismatches(
    checkpoint: Checkpoint, subject: Subject, shapes: Mapping[str, Tuple[int, ...]]
) -> Iterator[str]:
    """Yield why a checkpoint is not of a training: a sentence each, the most telling first.

    Parameters
    ----------
    checkpoint : Checkpoint
        That was read.
    subject : Subject
        The training.
    shapes : mapping
        Of its parameters.
    """
    saved, path = checkpoint.about.subject, checkpoint.path
    found = {name: array.shape for name, array in checkpoint.state.parameters.items()}
    if found != dict(shapes):
        yield f"the checkpoint '{path}' is of a different model: {_other_shape(found, shapes)}"
    if saved.data != subject.data:
        yield (
            f"the data set has changed since the checkpoint '{path}' was written: its digest was {saved.data} and is "
            f"now {subject.data}; train from the beginning"
        )
    if saved.recipe_digest != subject.recipe_digest:
        which = (
            f"as it was before it was changed ({saved.recipe_digest})"
            if saved.recipe == subject.recipe
            else f"but this training is by '{subject.recipe}'"
        )
        yield f"the checkpoint '{path}' is of recipe '{saved.recipe}' {which}"
    if saved.seed != subject.seed:
        yield f"the checkpoint '{path}' has seed {saved.seed}, but this training has seed {subject.seed}"
    for name, words in _ALSO.items():
        if getattr(saved, name) != getattr(subject, name):
            yield f"the checkpoint '{path}' has a different {words} from this training, because another version made it"


_ALSO = {"split": "split of the data", "order": "order of samples", "constants": "schedule"}


def _other_shape(found: Mapping[str, Tuple[int, ...]], shapes: Mapping[str, Tuple[int, ...]]) -> str:
    for name in sorted({*found, *shapes}):
        theirs, ours = found.get(name), shapes.get(name)
        if theirs != ours:
            there = "has no" if theirs is None else f"has {theirs} as"
            here = "has none" if ours is None else f"has {ours}"
            return f"it {there} '{name}', but this training {here}"
    return "its parameters are different"
