"""``dataclass(frozen=True)`` as the library's, with functions that all classes share instead of six compiled for each.

Compiling them is a third of the processor time in which a command starts, which has a hundred such classes. What fields
a class has is found by the library, and ``fields``, ``replace`` and ``asdict`` work as ever.
"""

from __future__ import annotations

import dataclasses
from dataclasses import MISSING, FrozenInstanceError
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from dataclasses import dataclass as dataclass
    from inspect import Signature

_FIELDS, _PARAMETERS = "__dataclass_fields__", "__dataclass_params__"
"""Where the library keeps what it has found of a class, and what it was asked to make."""


def _frozen_dataclass(
    *, frozen: bool, eq: bool = True, kw_only: bool = False
) -> Callable[[type[Any]], type[Any]]:
    """Return what makes a class a frozen dataclass.

    Parameters
    ----------
    frozen : bool
        True, so that it reads as the library's.
    eq : bool
        Whether objects with equal fields are equal; else each is equal to itself alone.
    kw_only : bool
        Whether its own fields are given by name alone; from Python 3.10 on.
    """
    if not frozen:
        raise TypeError("a dataclass that is not frozen is the library's")

    def make(cls: type[Any]) -> type[Any]:
        _find_fields(cls, {"kw_only": True} if kw_only else {})
        own = vars(cls)
        if "__init__" not in own:
            cls.__init__ = _initializer(cls)
            cls.__signature__ = _SignatureOf(cls.__init__)
        if "__repr__" not in own:
            cls.__repr__ = _repr  # type: ignore[assignment]
        if eq:
            _compare_by_fields(cls)
        cls.__setattr__, cls.__delattr__ = _refusals(cls)
        return cls

    return make


def _find_fields(cls: type[Any], options: dict[str, bool]) -> None:
    """Let the library find the fields of a class, but compile nothing."""
    if cls.__doc__ is None:
        cls.__doc__ = cls.__name__  # for which the library would take the signature, that there is not yet
    bases = [vars(base)[_PARAMETERS] for base in cls.__mro__[1:] if _PARAMETERS in vars(base)]
    # The library would compile what refuses changes, and lets no class that is not frozen inherit from one that is.
    for parameters in bases:
        parameters.frozen = False
    try:
        dataclasses.dataclass(init=False, repr=False, eq=False, **options)(cls)
        vars(cls)[_PARAMETERS].frozen = True
    finally:
        for parameters in bases:
            parameters.frozen = True


# --- making objects -------------------------------------------------------------------------------


class _Layout:
    """What the initializer of a class knows of its fields."""

    def __init__(self, cls: type[Any]) -> None:
        fields = dataclasses.fields(cls)
        if not all(f.init and f.hash is None for f in fields):
            raise TypeError(
                f"{cls.__qualname__} has a field with init or hash, which is for the library's dataclass"
            )
        self.by_place = [f.name for f in fields if not getattr(f, "kw_only", False)]
        self.defaults = {f.name: f.default for f in fields}
        self.factories = [(f.name, f.default_factory) for f in fields if f.default_factory is not MISSING]
        made = dict(self.factories)
        self.required = [f.name for f in fields if f.default is MISSING and f.name not in made]
        self.is_completed = hasattr(cls, "__post_init__")


def _initializer(cls: type[Any]) -> Callable[..., None]:
    layout: _Layout | None = None

    def initialize(self: Any, *values: Any, **given: Any) -> None:
        nonlocal layout
        if layout is None:
            layout = _Layout(cls)  # only now, as most classes of a command never make an object
        if len(values) == len(layout.by_place) == len(layout.defaults) and not given:
            self.__dict__.update(zip(layout.by_place, values))
        else:
            self.__dict__.update(_values(cls, layout, values, given))
        if layout.is_completed:
            self.__post_init__()

    return initialize


def _values(
    cls: type[Any], layout: _Layout, values: tuple[Any, ...], given: dict[str, Any]
) -> dict[str, Any]:
    """Return the value of each field: by its place, by its name, its default, or made."""
    found = layout.defaults.copy()
    found.update(zip(layout.by_place, values))
    found.update(given)
    is_doubtful = len(found) > len(layout.defaults) or len(values) > len(layout.by_place)
    if is_doubtful or (values and not given.keys().isdisjoint(layout.by_place[: len(values)])):
        _check(cls, layout, len(values), given)
    for name in layout.required:
        if found[name] is MISSING:
            _refuse_missing(cls, layout, [name for name in layout.required if found[name] is MISSING])
    for name, factory in layout.factories:
        if found[name] is MISSING:
            found[name] = factory()
    return found


def _check(cls: type[Any], layout: _Layout, count: int, given: dict[str, Any]) -> None:
    """Refuse arguments that are too many, in Python's own words."""
    what = f"{cls.__qualname__}.__init__()"
    for name in given:
        if name not in layout.defaults:
            raise TypeError(f"{what} got an unexpected keyword argument '{name}'")
        if name in layout.by_place[:count]:
            raise TypeError(f"{what} got multiple values for argument '{name}'")
    if count > len(layout.by_place):
        most = len(layout.by_place) + 1
        least = sum(name in layout.required for name in layout.by_place) + 1
        takes = f"{most} positional argument{'s' * (most > 1)}"
        if least < most:
            takes = f"from {least} to {takes}"
        raise TypeError(f"{what} takes {takes} but {count + 1} were given")


def _refuse_missing(cls: type[Any], layout: _Layout, missing: Sequence[str]) -> NoReturn:
    """Refuse to go without arguments, in Python's own words."""
    by_place = [name for name in missing if name in layout.by_place]
    kind = "positional" if by_place else "keyword-only"
    *others, last = (f"'{name}'" for name in by_place or missing)
    listed = f"{', '.join(others)}{',' * (len(others) > 1)} and {last}" if others else last
    what = f"{len(others) + 1} required {kind} argument{'s' * bool(others)}: {listed}"
    raise TypeError(f"{cls.__qualname__}.__init__() missing {what}")


class _SignatureOf:
    """The signature of a class, made when it is asked for; none of a subclass that has an initializer of its own."""

    def __init__(self, initializer: Any) -> None:
        self.initializer = initializer

    def __get__(self, instance: object | None, owner: type[Any]) -> Signature:
        if instance is not None or owner.__init__ is not self.initializer:
            raise AttributeError("__signature__")
        from inspect import Parameter, Signature

        def default(field: dataclasses.Field[Any]) -> Any:
            value = field.default if field.default_factory is MISSING else field.default_factory
            return Parameter.empty if value is MISSING else value

        def parameter(field: dataclasses.Field[Any]) -> Parameter:
            by_name = getattr(field, "kw_only", False)
            kind = Parameter.KEYWORD_ONLY if by_name else Parameter.POSITIONAL_OR_KEYWORD
            return Parameter(field.name, kind, default=default(field), annotation=field.type)

        parameters = sorted(map(parameter, dataclasses.fields(owner)), key=lambda one: one.kind)
        return Signature(parameters, return_annotation=None)


# --- what objects do ------------------------------------------------------------------------------


def _compare_by_fields(cls: type[Any]) -> None:
    """Give a class what compares two of its objects and hashes one, unless it has its own."""
    compared: Callable[[Any], Any] | None = None

    def values(one: object) -> Any:
        nonlocal compared
        if compared is None:
            names = [field.name for field in dataclasses.fields(cls) if field.compare]
            compared = attrgetter(*names) if len(names) > 1 else lambda o: tuple(getattr(o, n) for n in names)
        return compared(one)

    def equal(self: object, other: object) -> Any:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    def hashed(self: object) -> int:
        return hash(values(self))

    own = vars(cls)
    is_hashed = own.get("__hash__") is not None  # Python sets None beside an __eq__
    if "__eq__" not in own:
        cls.__eq__ = equal  # type: ignore[assignment]
    if not is_hashed:
        cls.__hash__ = hashed  # type: ignore[assignment]


@recursive_repr()
def _repr(self: Any) -> str:
    shown = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self) if f.repr)
    return f"{self.__class__.__qualname__}({shown})"


def _refusals(cls: type[Any]) -> tuple[Callable[..., None], Callable[..., None]]:
    """Return what refuses to set and to delete fields; a subclass that is none may have attributes of its own."""
    fields = vars(cls)[_FIELDS]

    def refuse_to_set(self: object, name: str, value: object) -> None:
        if type(self) is cls or name in fields:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def refuse_to_delete(self: object, name: str) -> None:
        if type(self) is cls or name in fields:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return refuse_to_set, refuse_to_delete


if not TYPE_CHECKING:
    dataclass = _frozen_dataclass
