"""A user's own operator: its shape, what it computes, and what runs it in each framework.

    def _forward(x): return x * np.clip(x / 6 + 0.5, 0, 1)

    hard_swish = CustomOperator(
        "hard_swish",
        reference=Body(lambda o, x: o.mul(x, o.clip(o.affine(x, alpha=1 / 6, beta=0.5), min=0.0, max=1.0))),
        implementations={"pytorch": NativeFunction(torch_function), ANY: NumpyFunction(_forward, _backward)},
    )

    def build(net, parameters):
        net.output(hard_swish(net, net.input("x", (64,))))

The operator is known by its name in the process that builds such a graph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, Callable, Union

from benchmarker.errors import UsageError
from benchmarker.graph.types import Node, TensorType
from benchmarker.quick_dataclass import dataclass

ANY = "any"
"""Key of an implementation for each framework that has none of its own and can be bridged to."""
REFERENCE = "reference"
"""The framework that computes what all others are compared with."""


@dataclass(frozen=True)
class Body:
    """The operator in terms of others: ``function(operators, *tensors)``; it runs in every framework."""

    function: Callable[..., Any]

    kind = "composed"


@dataclass(frozen=True)
class NumpyFunction:
    """The operator as Python functions of NumPy arrays.

    Parameters
    ----------
    forward : callable
        ``forward(*inputs)`` returns the output, or a tuple of them.
    backward : callable, optional
        ``backward(inputs, outputs, gradients)`` takes tuples, the last one of the gradients of the outputs, and
        returns the gradient of each input, None for one that has none.
    """

    forward: Callable[..., Any]
    backward: Callable[..., Any] | None = None

    kind = "python"


@dataclass(frozen=True)
class NativeFunction:
    """A function of a framework's own tensors, which stand as in the graph; the framework differentiates it.

    Parameters
    ----------
    make : callable
        ``make()`` returns the function. It is called when a program is built, and so is the place to import the
        framework or to compile something.
    """

    make: Callable[[], Callable[..., Any]]

    kind = "native"


@dataclass(frozen=True)
class CppSource:
    """C++ or CUDA source, compiled at first use; ``benchmarker_operator.h`` says what its functions take.

    Parameters
    ----------
    files : tuple of path
        Sources, and the headers that they include (which are not compiled, but compile anew if changed).
    forward : str
        Name of the function that computes the outputs.
    backward : str or None
        Name of the one that computes the gradients of the inputs; None if it is for inference alone.
    flags : tuple of str
        Further arguments of the compiler.
    """

    files: tuple[Path | str, ...]
    forward: str
    backward: str | None = None
    flags: tuple[str, ...] = ("-O3",)

    @property
    def is_cuda(self) -> bool:
        """Whether its functions take memory of a GPU."""
        return any(Path(file).suffix == ".cu" for file in self.files)

    @property
    def kind(self) -> str:
        """``c++`` or ``cuda``."""
        return "cuda" if self.is_cuda else "c++"


Implementation = Union[NumpyFunction, NativeFunction, CppSource]


@dataclass(frozen=True, eq=False)
class CustomOperator:
    """A user's own operator.

    Parameters
    ----------
    name : str
        Unique in a process.
    reference : Body or NumpyFunction
        What it computes: every framework is compared with it.
    shape : callable, optional
        ``shape(*types)`` returns the type of the output, or a tuple of them; needed unless there is a body.
    implementations : mapping
        Framework to what runs there, :data:`ANY` for all others; where there is neither, a body runs.
    outputs : int
        Number of outputs.
    flops : callable, optional
        ``flops(*types)`` returns the operations of the forward pass; by default those of the body, or 0.
    """

    name: str
    reference: Body | NumpyFunction
    shape: Callable[..., Any] | None = None
    implementations: Mapping[str, Implementation] = field(default_factory=dict)
    outputs: int = 1
    flops: Callable[..., int] | None = None

    def __post_init__(self) -> None:
        if self.shape is None and not isinstance(self.reference, Body):
            raise UsageError(
                f"custom operator '{self.name}' needs a shape function, because its reference is not a body"
            )

    def __call__(self, net: Any, *tensors: Any) -> Any:
        """Add the operator to a network and return its output, or a tuple of them."""
        register(self)
        return net.custom(*tensors, name=self.name)

    def types(self, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
        """Return the declared types of the outputs; none without a shape function.

        Raises
        ------
        UsageError
            If the shape function returns something else than that many types.
        """
        if self.shape is None:
            return ()
        found = self.shape(*inputs)
        each = found if isinstance(found, tuple) else (found,)
        if len(each) != self.outputs or not all(isinstance(type_, TensorType) for type_ in each):
            raise UsageError(
                f"the shape function of custom operator '{self.name}' must return {self.outputs} TensorType, "
                f"got {found!r}"
            )
        return each

    def implementation(self, framework: str) -> Implementation | None:
        """Return what runs in a framework; None where its body does, or nothing.

        The reference goes by the name :data:`REFERENCE`; a framework that can be bridged to nothing has none.
        """
        by_reference = self.reference if isinstance(self.reference, NumpyFunction) else None
        if framework in ("", REFERENCE):
            return by_reference if framework else None
        own = self.implementations.get(framework) or self.implementations.get(ANY)
        return own or (by_reference if framework == "numpy" else None)

    @property
    def _origin(self) -> str:
        function = getattr(self.reference, "function", None) or getattr(self.reference, "forward", None)
        code = getattr(function, "__code__", None)
        return str(code.co_filename) if code else ""


_REGISTERED: dict[str, CustomOperator] = {}


def register(operator: CustomOperator) -> None:
    """Make an operator known by its name, in place of an earlier one from the same file.

    Raises
    ------
    UsageError
        If another file's operator has that name.
    """
    known = _REGISTERED.setdefault(operator.name, operator)
    if known._origin != operator._origin:
        raise UsageError(
            f"two custom operators are named '{operator.name}', of '{known._origin}' and '{operator._origin}'; "
            "rename one of them"
        )
    _REGISTERED[operator.name] = operator


def registered(name: str) -> CustomOperator:
    """Return the operator of that name.

    Raises
    ------
    UsageError
        If there is none.
    """
    if name not in _REGISTERED:
        raise UsageError(f"there is no custom operator '{name}'; add it to a network by calling it")
    return _REGISTERED[name]


def is_composed(node: Node, framework: str) -> bool:
    """Tell whether a node is a custom operator that its body has to run in ``framework``."""
    return node.operator == "custom" and registered(node.attributes["name"]).implementation(framework) is None


def custom_kinds(nodes: Sequence[Node], framework: str) -> dict[str, str]:
    """Return what runs each custom operator among ``nodes``: python, native, c++, cuda or composed."""
    kinds = {}
    for node in nodes:
        if node.operator == "custom":
            operator = registered(node.attributes["name"])
            kinds[operator.name] = (operator.implementation(framework) or operator.reference).kind
    return kinds
