"""The sizes of a model's inputs: which are the mini-batch, which must be chosen, which are fixed."""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping

from benchmarker.errors import UsageError
from benchmarker.graph.names import free_name
from benchmarker.graph.onnx.plain import PlainModel, Tensor
from benchmarker.quick_dataclass import dataclass

RESERVED = ("loss",)
"""Names of the problem's other parameters."""


@dataclass(frozen=True)
class Dimensions:
    """What decides the shapes of a model's inputs.

    Parameters
    ----------
    owner : str
        The problem's name, for messages.
    inputs : tuple of Tensor
        The model's inputs.
    batch : frozenset of str
        Symbols that stand for the batch size: those of the first axes.
    fixed_batch : int or None
        The batch size where the first axes are fixed.
    operands : bool
        Whether first axes are fixed and differ, so that there is no mini-batch.
    fields : mapping
        The problem's parameter for each other symbol; an axis without one has the symbol ``INPUT.AXIS``.
    """

    owner: str
    inputs: tuple[Tensor, ...]
    batch: frozenset[str]
    fixed_batch: int | None
    operands: bool
    fields: Mapping[str, str]

    def shapes(self, batch_size: int, sizes: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
        """Return the shape of each input.

        Parameters
        ----------
        batch_size : int
            Samples in a mini-batch.
        sizes : mapping
            Size of each of ``fields``; 0 where none was given.

        Raises
        ------
        UsageError
            If the batch size is another than the model's, or sizes are missing.
        """
        if self.fixed_batch is not None and batch_size != self.fixed_batch:
            raise UsageError(
                f"the first axis of the inputs of '{self.owner}' is {self.fixed_batch}: the batch size must be "
                f"{self.fixed_batch}, got {batch_size}"
            )
        missing = [field for field in self.fields.values() if not sizes[field]]
        if missing:
            options = " ".join(f"--set {field}=N" for field in missing)
            raise UsageError(
                f"'{self.owner}' has symbolic dimensions, which need sizes of at least 1: {options}"
            )
        known = {symbol: sizes[field] for symbol, field in self.fields.items()}
        known.update(dict.fromkeys(self.batch, batch_size))
        return {
            tensor.name: tuple(
                size if isinstance(size, int) else known[symbol(tensor, axis)]
                for axis, size in enumerate(tensor.dimensions or ())
            )
            for tensor in self.inputs
        }


def symbol(tensor: Tensor, axis: int) -> str:
    """Return the symbol of an axis that is not fixed."""
    size = (tensor.dimensions or ())[axis]
    return size if isinstance(size, str) else f"{tensor.name}.{axis}"


def read_dimensions(model: PlainModel, owner: str) -> Dimensions:
    """Return what decides the shapes of the inputs of ``model``.

    Raises
    ------
    UsageError
        If the number of axes is unknown, or only some first axes are the mini-batch.
    """
    for tensor in model.inputs:
        if tensor.dimensions is None:
            raise UsageError(
                f"'{owner}': the number of axes of its input '{tensor.name}' is unknown; export it with shapes"
            )
    firsts = [t.dimensions[0] if t.dimensions else 1 for t in model.inputs]
    batch = frozenset(
        symbol(tensor, 0) for tensor, first in zip(model.inputs, firsts) if not isinstance(first, int)
    )
    whole = {first for first in firsts if isinstance(first, int)}
    scalars = any(not t.dimensions for t in model.inputs)
    if batch and (whole or scalars):
        raise UsageError(
            f"the first axis of every input of '{owner}' must be the mini-batch, got "
            f"{', '.join(f'{t.name} {list(t.dimensions or ())}' for t in model.inputs)}"
        )
    operands = len(whole) > 1 or scalars
    fixed = 1 if operands else next(iter(whole), None)
    return Dimensions(owner, model.inputs, batch, fixed, operands, _fields(model, batch))


def _fields(model: PlainModel, batch: frozenset[str]) -> dict[str, str]:
    """Return a name that Python and ``--set`` can take for each symbol but the batch size."""
    found: dict[str, str] = {}
    for tensor in model.inputs:
        for axis, size in enumerate(tensor.dimensions or ()):
            name = "" if isinstance(size, int) else symbol(tensor, axis)
            if not name or name in batch or name in found:
                continue
            field = re.sub(r"\W+", "_", name).strip("_") or "size"
            if not field.isidentifier() or keyword.iskeyword(field) or field in RESERVED:
                field = f"size_{field}"
            found[name] = free_name(field, found.values())
    return found
