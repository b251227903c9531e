"""Parameters put together from native tensors and taken apart again, and rules that need it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pytest

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.update_rule import ParameterPlace
from benchmarker.errors import UnsupportedError
from benchmarker.graph.graph import walk
from benchmarker.plugins.chainer.layouts import LAYOUTS as CHAINER
from benchmarker.plugins.common.composed import View, state_arrays, views
from benchmarker.plugins.common.layouts import (
    Layout,
    directions,
    flattened,
    gates,
    permuted,
    plain,
    two_biases,
)
from benchmarker.plugins.common.restoring import restored_arrays
from benchmarker.plugins.numpy.operators import NumpyOperators
from benchmarker.plugins.tensorflow.layouts import directions as transposed
from benchmarker.training.optimizers.native_layout import MAX_PIECES, Arrangement, NativeLayout, native_layout
from benchmarker.training.optimizers.update_graph import update_graph

Array = npt.NDArray[np.float64]
OPERATORS = NumpyOperators(dtype=np.float64)
ORDERS = {"rnn": (0,), "lstm": (0, 2, 3, 1), "gru": (1, 0, 2)}
HIDDEN, FEATURES = 40, 6


def recurrent(count: int) -> Iterator[tuple[str, Layout, tuple[int, ...]]]:
    """Yield the layouts that frameworks have for weights and biases of recurrent layers."""
    for operator, order in ORDERS.items():
        rows = len(order) * HIDDEN
        weight, bias = (count, rows, FEATURES), (count, 2 * rows)
        yield f"{operator} weight", directions(gates(order, 0), count), weight
        yield f"{operator} bias", directions(two_biases(order), count), bias
        yield f"{operator} transposed weight", transposed(), weight
        yield f"chainer {operator} weight", CHAINER[operator, 1](None), weight  # type: ignore[arg-type]
        yield f"chainer {operator} bias", CHAINER[operator, 3](None), bias  # type: ignore[arg-type]


CASES = [
    *((f"{name} {count}", layout, shape) for count in (1, 2) for name, layout, shape in recurrent(count)),
    ("dense behind an image", flattened((3, 4, 5), (1, 2, 0)), (7, 60)),
    ("kernel", permuted((2, 3, 1, 0)), (7, 3, 5, 5)),
    ("single unit", directions(gates((0, 2, 3, 1), 0), 2), (2, 4, 1)),
    ("plain", plain(), (3, 2)),
]


def drawn(shape: tuple[int, ...], seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=shape)


def found(layout: Layout, shape: tuple[int, ...]) -> NativeLayout:
    made = native_layout(shape, layout.encode(np.arange(np.prod(shape)).reshape(shape)))
    assert made is not None
    return made


@pytest.mark.parametrize(("name", "layout", "shape"), CASES, ids=[name for name, _, _ in CASES])
def test_a_parameter_is_made_of_its_native_tensors_and_they_of_it(
    name: str, layout: Layout, shape: tuple[int, ...]
) -> None:
    made, parameter = found(layout, shape), drawn(shape)
    natives = layout.encode(parameter)
    assert np.array_equal(made.joined(OPERATORS, natives), parameter)
    parted = made.parted(OPERATORS, parameter)
    assert len(parted) == len(natives)
    assert all(np.array_equal(one, other) for one, other in zip(parted, natives))


@pytest.mark.parametrize(("name", "layout", "shape"), CASES, ids=[name for name, _, _ in CASES])
def test_it_takes_no_more_slices_than_gates_and_directions(
    name: str, layout: Layout, shape: tuple[int, ...]
) -> None:
    made = found(layout, shape)
    assert max(map(pieces, (made.joining, *made.parting))) <= 16


def pieces(arrangement: Arrangement) -> int:
    return len(arrangement.pieces)


def test_what_is_one_run_is_only_reshaped() -> None:
    (piece,) = found(plain(), (3, 2)).joining.pieces
    assert (piece.cut, piece.order) == (None, None)
    (piece,) = found(permuted((1, 0)), (3, 2)).joining.pieces
    assert (piece.axes, piece.cut, piece.order) == (None, None, (1, 0))


def shuffled(size: int) -> Layout:
    order = np.random.default_rng(1).permutation(size)
    return Layout(
        "shuffled",
        lambda array: (array.reshape(-1)[order],),
        lambda arrays: arrays[0][np.argsort(order)].reshape(-1, 2),
    )


def test_no_order_is_found_where_there_is_none() -> None:
    size = 4 * MAX_PIECES
    assert native_layout((size,), shuffled(size).encode(np.arange(size))) is None
    twice = np.zeros(6, np.int64)
    assert native_layout((6,), [twice]) is None
    assert native_layout((6,), [np.arange(5)]) is None
    assert native_layout((6,), [np.arange(6) * 0.5]) is None


# --- what rules see ------------------------------------------------------------------------------

BIAS = directions(two_biases(ORDERS["lstm"]), 1)
WEIGHT = directions(gates(ORDERS["lstm"], 0), 1)


def seen(kind: str, layout: Layout, shape: tuple[int, ...]) -> tuple[View, ...]:
    shapes = [native.shape for native in layout.encode(np.zeros(shape))]
    return views(Optimizer.default(kind).rule, ParameterPlace("p", shape), shapes, layout)


@pytest.mark.parametrize(
    ("kind", "layout", "shape", "whole"),
    [
        ("lion", BIAS, (1, 320), False),
        ("muon", BIAS, (1, 320), False),
        ("lamb", BIAS, (1, 320), True),
        ("lars", BIAS, (1, 320), True),
        ("adafactor", BIAS, (1, 320), True),
        ("lamb", WEIGHT, (1, 160, 6), False),  # one tensor, whose norm no order of its rows changes
        ("adafactor", WEIGHT, (1, 160, 6), True),
        ("lion", WEIGHT, (1, 160, 6), False),
        ("adafactor", plain(), (8, 6), False),
        ("adafactor", permuted((1, 0)), (8, 6), True),
    ],
)
def test_a_rule_sees_the_parameter_where_its_tensors_are_not_all_the_same_to_it(
    kind: str, layout: Layout, shape: tuple[int, ...], whole: bool
) -> None:
    views_of_it = seen(kind, layout, shape)
    assert [view.native_layout is not None for view in views_of_it] == (
        [True] if whole else [False] * len(layout.encode(np.zeros(shape)))
    )


def test_a_parameter_in_no_order_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedError, match=r"'adafactor' sees each parameter as a whole, .* of 'p'"):
        seen("adafactor", shuffled(4 * MAX_PIECES), (2 * MAX_PIECES, 2))


@pytest.mark.parametrize("kind", ["lamb", "lars", "adafactor"])
@pytest.mark.parametrize(("name", "layout", "shape"), CASES, ids=[name for name, _, _ in CASES])
def test_the_graph_of_an_update_in_native_tensors_is_the_update(
    kind: str, name: str, layout: Layout, shape: tuple[int, ...]
) -> None:
    rule, place = Optimizer.default(kind).rule, ParameterPlace("p", shape)
    gradient, parameter = drawn(shape, 1), drawn(shape, 2)
    state = {letter: np.abs(drawn(s, 3)) for letter, s in rule.state_shapes(place).items()}
    given = {f"state.{letter}": array for letter, array in state.items()}
    given.update({f"number.{n}": np.asarray(value) for n, value in rule.numbers(3, {}).items()})
    plainly = update_graph(rule, place)
    values = walk(plainly.graph, OPERATORS, {**given, "gradient": gradient, "parameter": parameter})
    expected = {n: values[output] for n, output in zip(plainly.results, plainly.graph.outputs)}
    made = update_graph(rule, place, found(layout, shape))
    natives = dict(zip(made.gradients + made.parameters, layout.encode(gradient) + layout.encode(parameter)))
    values = walk(made.graph, OPERATORS, {**given, **natives})
    results = {n: values[output] for n, output in zip(made.results, made.graph.outputs)}
    after = layout.decode([results.pop(n) for n in made.parameters])
    # NumPy adds up in the order of memory.
    assert np.allclose(after, expected.pop("parameter"), rtol=1e-13, atol=0.0)
    assert results.keys() == expected.keys()
    for letter, array in expected.items():
        assert np.allclose(results[letter], array, rtol=1e-13, atol=0.0)


def test_state_of_a_whole_parameter_is_told_and_taken_in_the_graphs_layout() -> None:
    rule = Optimizer.default("lamb").rule
    (view,) = seen("lamb", BIAS, (1, 320))
    start = view.start(rule, BIAS.encode(drawn((1, 320))))
    slots = view.slots(start["m"])
    natives = {"p": BIAS.encode(np.zeros((1, 320)))}
    told = state_arrays(natives, slots, lambda *_: pytest.fail("it is not in parts"), np.copy)
    assert told["p"].shape == (1, 320)
    given = drawn((1, 320), 5)
    for kept, array in restored_arrays(
        natives, slots, {"p": given}, lambda *_: pytest.fail("nor goes into any")
    ):
        kept[...] = array
    assert np.array_equal(start["m"], given)
