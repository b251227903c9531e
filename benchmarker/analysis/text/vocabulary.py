"""The operators of the vocabulary, as their own signatures and docstrings have them."""

from __future__ import annotations

import dataclasses
import inspect
import re
import textwrap
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from benchmarker.graph.attributes import RECORDS
from benchmarker.graph.operators import OPERATORS, REQUIRED, Operators
from benchmarker.quick_dataclass import dataclass


@dataclass(frozen=True)
class Argument:
    """A tensor or an attribute of an operator.

    Parameters
    ----------
    name : str
        Of the argument.
    type : str
        As it is annotated.
    required : bool
        Whether it must be given.
    default : object
        What it is otherwise.
    """

    name: str
    type: str
    required: bool
    default: Any = None

    def __str__(self) -> str:
        return self.name if self.required else f"{self.name}={self.default!r}"


@dataclass(frozen=True)
class OperatorRow:
    """An operator as a network has it.

    Parameters
    ----------
    name : str
        In the vocabulary.
    group : str
        What it and its neighbours are, e.g. ``"Reductions, and the choice of elements"``.
    kind : {"primitive", "composite"}
        Whether each framework must write it.
    tensors, attributes : tuple of Argument
        What it takes: tensors by position, attributes by name.
    variadic : bool
        Whether it takes any number of tensors.
    record : str
        How a framework's method takes the attributes where that is as one record, e.g. ``"window: Window"``.
    returns : str
        As it is annotated.
    description : str
        What it computes, with shapes.
    """

    name: str
    group: str
    kind: str
    tensors: tuple[Argument, ...]
    attributes: tuple[Argument, ...]
    variadic: bool
    record: str
    returns: str
    description: str

    @property
    def signature(self) -> str:
        """``conv(x, w, b=None, *, strides, pads, dilations, group=1)``."""
        tensors = [f"*{self.tensors[0]}"] if self.variadic else [str(tensor) for tensor in self.tensors]
        attributes = [str(attribute) for attribute in self.attributes]
        star = ["*"] if attributes and not self.variadic else []
        return f"{self.name}({', '.join([*tensors, *star, *attributes])})"


def operator_rows() -> tuple[OperatorRow, ...]:
    """Return every operator, those of a group together, in the order of their definitions; composites last."""
    _, composites, *groups, _ = Operators.__mro__
    owners = (*groups, composites)
    return tuple(_row(name, owner) for owner in owners for name in vars(owner) if name in OPERATORS)


def _row(name: str, owner: type[Any]) -> OperatorRow:
    method = getattr(Operators, name)
    parameters = list(inspect.signature(method).parameters.values())[1:]
    tensors = [p for p in parameters if p.kind is not p.KEYWORD_ONLY]
    attributes = [p for p in parameters if p.kind is p.KEYWORD_ONLY]
    record = ""
    given = tuple(map(_argument, attributes))
    if name in RECORDS:
        record = f"{attributes[0].name}: {attributes[0].annotation}"
        given = tuple(map(_field, dataclasses.fields(RECORDS[name][1])))
    info = OPERATORS[name]
    returns = inspect.signature(method).return_annotation
    return OperatorRow(
        name,
        (owner.__doc__ or "").partition("\n")[0].rstrip("."),
        info.kind,
        tuple(map(_argument, tensors)),
        given,
        info.variadic,
        record,
        returns,
        _plain(method.__doc__ or ""),
    )


def _plain(docstring: str) -> str:
    """Return a docstring as one paragraph, without the marks of reStructuredText."""
    text = re.sub(r":\w+:`~?(?:\w+\.)*(\w+)`", r"`\1`", docstring.replace("``", "`"))
    return " ".join(text.split())


def _argument(parameter: inspect.Parameter) -> Argument:
    required = parameter.default is REQUIRED
    return Argument(
        parameter.name, str(parameter.annotation), required, None if required else parameter.default
    )


def _field(field: dataclasses.Field[Any]) -> Argument:
    required = field.default is dataclasses.MISSING
    return Argument(field.name, str(field.type), required, None if required else field.default)


def operator_lines(width: int) -> Iterator[str]:
    """Yield the operators for people: signatures, and below each what it computes."""
    for group, rows in groupby(operator_rows(), key=lambda row: row.group):
        yield from (group, "")
        for row in rows:
            yield from textwrap.wrap(row.signature, width, subsequent_indent=" " * (len(row.name) + 1))
            yield from _indented(row.description, width)
            if row.record:
                yield from _indented(f"A framework's method takes `{row.record}`.", width)
            if row.kind == "composite":
                yield from _indented(
                    "Composite: it runs as other operators where a framework has none of its own.", width
                )
            yield ""


def _indented(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, initial_indent="    ", subsequent_indent="    ")
