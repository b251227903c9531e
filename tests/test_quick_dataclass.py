"""Frozen dataclasses with shared functions are and do what the library's are and do."""

from __future__ import annotations

import ast
import copy
import dataclasses
import inspect
import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import pytest

from benchmarker import quick_dataclass
from tests.conftest import ROOT
from tests.support.package_sources import SOURCES, files, name_of, tree

Made = dict[str, type[Any]]
_T = TypeVar("_T")


def _make(dataclass: Callable[..., Callable[[type[Any]], type[Any]]]) -> Made:
    """Return classes of many kinds, all made by one decorator."""

    @dataclass(frozen=True)
    class Plain:
        """It has all kinds of fields."""

        first: int
        second: str = "x"
        third: list[int] = dataclasses.field(default_factory=list)
        fourth: float = dataclasses.field(default=1.0, compare=False)
        hidden: int = dataclasses.field(default=5, repr=False)
        kind: ClassVar[str] = "plain"

    @dataclass(frozen=True)
    class Derived(Plain):
        second: str = "y"
        fifth: tuple[int, ...] = ()

    @dataclass(frozen=True)
    class Empty:
        pass

    @dataclass(frozen=True)
    class One:
        only: int

    @dataclass(frozen=True)
    class Three:
        first: int
        second: int
        third: int

    @dataclass(frozen=True, eq=False)
    class ByItself:
        value: int

    @dataclass(frozen=True)
    class Own:
        value: int

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Own)

        def __hash__(self) -> int:
            return 7

        def __repr__(self) -> str:
            return "own"

    @dataclass(frozen=True)
    class OwnEquality:
        value: int

        def __eq__(self, other: object) -> bool:
            return isinstance(other, OwnEquality)

    @dataclass(frozen=True)
    class Completed:
        value: int
        doubled: int = 0

        def __post_init__(self) -> None:
            if self.value < 0:
                raise ValueError("negative")
            object.__setattr__(self, "doubled", 2 * self.value)

        @cached_property
        def tripled(self) -> int:
            return 3 * self.value

    @dataclass(frozen=True)
    class Abstract(ABC, Generic[_T]):
        value: int

        @abstractmethod
        def told(self) -> _T: ...

    @dataclass(frozen=True)
    class Concrete(Abstract[str]):
        def told(self) -> str:
            return str(self.value)

    @dataclass(frozen=True, kw_only=True)
    class ByName:
        named: int
        other: str = "o"

    @dataclass(frozen=True)
    class Mixed(ByName):
        placed: int
        last: int = 4

    class Undecorated(One):
        def __init__(self, twice: int) -> None:
            super().__init__(twice // 2)
            self.extra = twice

    found = {name: one for name, one in locals().items() if isinstance(one, type)}
    for one in found.values():
        one.__qualname__ = one.__name__
    return found


LIBRARY, QUICK = _make(dataclasses.dataclass), _make(quick_dataclass.dataclass)
CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("Plain", (1,), {}),
    ("Plain", (1, "z"), {"fourth": 2.0}),
    ("Plain", (), {"third": [1], "first": 3}),
    ("Plain", (1, "z", [2], 4.0), {}),
    ("Derived", (1,), {}),
    ("Derived", (1, "z", [], 1.0, 5, (2, 3)), {}),
    ("Empty", (), {}),
    ("One", (5,), {}),
    ("ByItself", (5,), {}),
    ("Own", (5,), {}),
    ("OwnEquality", (5,), {}),
    ("Completed", (5,), {}),
    ("Concrete", (), {"value": 6}),
    ("ByName", (), {"named": 6}),
    ("Mixed", (5,), {"named": 6}),
    ("Mixed", (5, 7), {"other": "p", "named": 6}),
    ("Undecorated", (6,), {}),
]


@pytest.fixture(params=CALLS, ids=[f"{name}-{index}" for index, (name, _, _) in enumerate(CALLS)])
def pair(request: pytest.FixtureRequest) -> tuple[Any, Any]:
    """Return the object that the library's class makes, and that of ours."""
    name, values, given = request.param
    return LIBRARY[name](*copy.deepcopy(values), **given), QUICK[name](*copy.deepcopy(values), **given)


def parameters(cls: type[Any]) -> list[tuple[Any, ...]]:
    """Return what a class is called with; a default that is made is shown in the library's own way."""
    made = [field.name for field in dataclasses.fields(cls) if callable(field.default_factory)]
    return [
        (one.name, one.kind, one.annotation, one.name in made or one.default)
        for one in inspect.signature(cls).parameters.values()
    ]


def test_fields_values_and_text_are_the_same(pair: tuple[Any, Any]) -> None:
    library, quick = pair
    assert repr(quick) == repr(library)
    assert list(vars(quick).items()) == list(vars(library).items())
    assert dataclasses.asdict(quick) == dataclasses.asdict(library)
    told = [[(f.name, f.type, f.compare, f.default) for f in dataclasses.fields(one)] for one in pair]
    assert told[0] == told[1]
    assert quick.__match_args__ == library.__match_args__
    assert parameters(type(quick)) == parameters(type(library))
    assert type(quick).__dataclass_params__.frozen


def test_equality_and_hashes_are_the_same(pair: tuple[Any, Any]) -> None:
    def told(one: Any) -> list[Any]:
        other = copy.copy(one)
        found: list[Any] = [one == other, one == one, one != other, one == 5]
        try:
            return [*found, hash(one) == hash(other), hash(one) == object.__hash__(one)]
        except TypeError as error:
            return [*found, str(error)]

    library, quick = pair
    assert told(quick) == told(library)
    assert quick != library or isinstance(quick, (QUICK["Own"], QUICK["OwnEquality"])) is False


@pytest.mark.parametrize(
    ("changed", "is_equal"), [({"first": 2}, False), ({"fourth": 9.0}, True), ({"third": [1]}, False)]
)
def test_an_object_with_another_value_is_another(changed: dict[str, Any], is_equal: bool) -> None:
    for classes in (LIBRARY, QUICK):
        one = classes["Plain"](1)
        assert (one == dataclasses.replace(one, **changed)) is is_equal


def test_an_object_of_a_derived_class_is_another() -> None:
    for classes in (LIBRARY, QUICK):
        assert classes["Plain"](1, "y") != classes["Derived"](1)


def test_hashes_are_those_of_what_is_compared() -> None:
    for classes in (LIBRARY, QUICK):
        assert hash(classes["One"](5)) == hash((5,))
        assert hash(classes["Empty"]()) == hash(())
        assert hash(classes["Completed"](5)) == hash((5, 10))
        assert hash(classes["Own"](5)) == 7


def test_nothing_can_be_set_or_deleted(pair: tuple[Any, Any]) -> None:
    for name in (*(field.name for field in dataclasses.fields(pair[0])), "further"):
        messages = []
        for one in pair:
            for change in (partial(setattr, one, name, 1), partial(delattr, one, name)):
                try:
                    change()
                    messages.append("changed")
                except AttributeError as error:
                    messages.append(f"{type(error).__name__}: {error}")
        assert messages[:2] == messages[2:]
        assert ("changed" in messages) is (name == "further" and isinstance(pair[1], QUICK["Undecorated"]))


WRONG_ARGUMENTS: list[tuple[str, tuple[Any, ...], dict[str, Any], str]] = [
    ("Plain", (), {}, "missing 1 required positional argument: 'first'"),
    ("Plain", (1, "x", [], 1.0, 5, 6), {}, "takes from 2 to 6 positional arguments but 7 were given"),
    ("Plain", (1,), {"first": 1}, "got multiple values for argument 'first'"),
    ("Plain", (1,), {"sixth": 1}, "got an unexpected keyword argument 'sixth'"),
    ("Empty", (1,), {}, "takes 1 positional argument but 2 were given"),
    ("One", (1, 2), {}, "takes 2 positional arguments but 3 were given"),
    ("Three", (), {"second": 1}, "missing 2 required positional arguments: 'first' and 'third'"),
    ("Three", (), {}, "missing 3 required positional arguments: 'first', 'second', and 'third'"),
    ("ByName", (), {}, "missing 1 required keyword-only argument: 'named'"),
    ("Mixed", (), {}, "missing 1 required positional argument: 'placed'"),
    ("Mixed", (5,), {}, "missing 1 required keyword-only argument: 'named'"),
]


@pytest.mark.parametrize(("name", "values", "given", "words"), WRONG_ARGUMENTS)
def test_wrong_arguments_are_refused_as_python_does(
    name: str, values: tuple[Any, ...], given: dict[str, Any], words: str
) -> None:
    for classes in (LIBRARY, QUICK):
        with pytest.raises(TypeError) as raised:
            classes[name](*values, **given)
        assert str(raised.value).rpartition(f"{name}.__init__() ")[2] == words


def test_an_abstract_class_makes_no_objects_and_a_check_may_refuse() -> None:
    for classes in (LIBRARY, QUICK):
        with pytest.raises(TypeError, match="abstract"):
            classes["Abstract"](1)
        with pytest.raises(ValueError, match="negative"):
            classes["Completed"](-1)
        one = classes["Completed"](2)
        assert (one.doubled, one.tripled, dataclasses.replace(one, value=3).doubled) == (4, 6, 6)


def test_defaults_that_are_made_are_made_anew() -> None:
    one, other = QUICK["Plain"](1), QUICK["Plain"](1)
    one.third.append(5)
    assert other.third == []


def test_a_class_of_the_library_may_derive_from_one_of_ours() -> None:
    plain = QUICK["Plain"]

    @dataclasses.dataclass(frozen=True)
    class Derived(plain):  # type: ignore[misc, valid-type]
        fifth: int = 5

    one = Derived(1, fifth=6)
    assert (one.first, one.second, one.fifth) == (1, "x", 6)
    assert repr(one).endswith("Derived(first=1, second='x', third=[], fourth=1.0, fifth=6)")
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.first = 2
    with pytest.raises(TypeError, match="non-frozen"):
        dataclasses.dataclass(type("Thawed", (QUICK["Plain"],), {}))


def test_a_class_of_ours_may_derive_from_one_of_the_library() -> None:
    plain = LIBRARY["Plain"]

    @quick_dataclass.dataclass(frozen=True)
    class Derived(plain):  # type: ignore[misc, valid-type]
        fifth: int = 5

    one = Derived(1, fifth=6)
    assert (one.first, one.second, one.fifth) == (1, "x", 6)
    assert one == Derived(1, fifth=6) != Derived(1)
    assert LIBRARY["Plain"].__dataclass_params__.frozen
    with pytest.raises(TypeError, match="non-frozen"):
        dataclasses.dataclass(type("Thawed", (LIBRARY["Plain"],), {}))


def test_one_that_is_not_frozen_is_refused() -> None:
    with pytest.raises(TypeError, match="the library's"):
        quick_dataclass.dataclass(frozen=False)


@pytest.mark.parametrize("options", [{"init": False, "default": 1}, {"hash": False}])
def test_fields_that_are_made_otherwise_are_refused(options: dict[str, Any]) -> None:
    named = {"__annotations__": {"value": int}, "value": dataclasses.field(**options)}
    cls: Any = quick_dataclass.dataclass(frozen=True)(type("Other", (), named))
    with pytest.raises(TypeError, match="Other has a field with init or hash"):
        cls(1)


@quick_dataclass.dataclass(frozen=True)
class Kept:
    value: int
    inner: Kept | None = None


def test_objects_go_through_pickles_and_copies_and_show_themselves_within_themselves() -> None:
    one = Kept(1, Kept(2))
    for other in (pickle.loads(pickle.dumps(one)), copy.deepcopy(one)):
        assert other == one
        assert other is not one
    object.__setattr__(one, "inner", one)
    assert repr(one) == "Kept(value=1, inner=...)"


def _by_the_library(path: Path) -> Iterator[str]:
    """Yield the classes of a file that the library makes, and compiles the functions of, though ours would do."""
    nodes = list(ast.walk(tree(path)))
    ours = any(isinstance(n, ast.ImportFrom) and n.module == "benchmarker.quick_dataclass" for n in nodes)
    for node in (node for node in nodes if isinstance(node, ast.ClassDef)):
        for made in (made for made in node.decorator_list if isinstance(made, ast.Call)):
            asked = {keyword.arg for keyword in made.keywords}
            can_be_ours = {"frozen"} <= asked <= {"frozen", "eq", "kw_only"}
            is_ours = ours and isinstance(made.func, ast.Name)
            if "dataclass" in ast.unparse(made.func) and can_be_ours and not is_ours:
                yield f"{name_of(path)}: {node.name}"


@pytest.mark.xdist_group(SOURCES)
def test_frozen_dataclasses_of_the_package_are_made_quickly() -> None:
    assert [fault for path in files() for fault in _by_the_library(path)] == []
    assert list(_by_the_library(ROOT / "tests" / "support" / "package_sources.py"))
