"""Keras over each backend, in an environment of its own, and what of the plugins needs no Keras."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest

from benchmarker.api.framework import FrameworkPlugin
from benchmarker.graph.support import missing_operators
from benchmarker.plugins.common.axis_orders import filter_order, image_order
from benchmarker.plugins.common.layouts import flattened, permuted
from benchmarker.plugins.keras.elementwise import taken_for_another_bias
from benchmarker.plugins.keras.operators import KerasOperators
from tests.in_framework.keras_programs import CHECKS, pictures
from tests.support.framework_process import verdicts

GROUPS = {
    "pytorch": (),
    "tensorflow": ("backward", "dropout", "forward", "network", "optimizer", "program", "running_statistics"),
    "jax": ("backward", "network", "optimizer", "program", "running_statistics"),
}
"""Groups of the conformance suite by backend; none named is all of them.

One implementation serves all backends, so PyTorch, which compiles nothing, takes the whole suite. Over
TensorFlow and JAX each case is compiled, about 0.2 s, which makes several minutes of all; ``check`` runs them.
"""


def plugin_of(backend: str) -> FrameworkPlugin:
    module = importlib.import_module(f"benchmarker.plugins.keras.backend_{backend}")
    found: FrameworkPlugin = module.benchmarker_framework()
    return found


# --- in the environments -------------------------------------------------------------------------


@pytest.mark.timeout(900)
@pytest.mark.parametrize("backend", GROUPS)
def test_programs_conform(backend: str, cache_home: Path, tmp_path: Path) -> None:
    found = verdicts(f"keras_{backend}", "keras_programs", backend, *GROUPS[backend], folder=tmp_path)
    assert {name: why for name, why in found.items() if why} == {}
    assert set(CHECKS) < set(found)
    assert len(found) > len(CHECKS) + (40 if backend == "jax" else 300)


# --- without Keras -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("backend", "distribution"), [("tensorflow", "tensorflow-cpu"), ("pytorch", "torch"), ("jax", "jax")]
)
def test_the_backend_is_the_one_of_the_bare_plugin(backend: str, distribution: str) -> None:
    bare: FrameworkPlugin = importlib.import_module(f"benchmarker.plugins.{backend}").benchmarker_framework()
    plugin = plugin_of(backend)
    pin = next(r for r in bare.requirements if r.startswith(distribution))
    assert pin in plugin.requirements
    assert plugin.requirements[0].startswith("keras==3.")
    assert plugin.name == f"keras_{backend}"


def test_what_it_lacks_is_known_without_keras() -> None:
    assert missing_operators(pictures(), KerasOperators) == {}


def test_a_flattened_image_reads_the_same_weight_in_another_order() -> None:
    """The product with the channels-last image is that with the graph's, and the way back is exact."""
    image = np.arange(2 * 3 * 4 * 5, dtype=np.float64).reshape(2, 3, 4, 5)
    weight = np.random.default_rng(0).normal(size=(7, 60))
    (native,) = flattened((3, 4, 5), (1, 2, 0)).encode(weight)
    last = image.transpose(image_order(4, channels_last=True)).reshape(2, -1)
    np.testing.assert_allclose(last @ native, image.reshape(2, -1) @ weight.T, rtol=1e-12)
    np.testing.assert_array_equal(flattened((3, 4, 5), (1, 2, 0)).decode([native]), weight)


def test_a_kernel_stands_spatial_in_out() -> None:
    weight = np.zeros((8, 3, 5, 7))
    (native,) = permuted(filter_order(4)).encode(weight)
    assert native.shape == (5, 7, 3, 8)


@pytest.mark.parametrize(
    ("x", "y"),
    [((4, 4), (4, 1)), ((3, 4, 4), (1, 4, 1)), ((3, 4), (4, 1, 1)), ((3, 4), (1, 1, 4)), ((2, 4, 1), (4,))],
)
def test_a_vector_along_an_axis_of_its_own_is_no_bias(x: tuple[int, ...], y: tuple[int, ...]) -> None:
    assert taken_for_another_bias(x, y)


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ((4, 4), (4,)),
        ((4, 4), (1, 4)),
        ((2, 3, 5), (1, 3, 1)),
        ((2, 3, 5), (3, 1)),
        ((4, 5), (4, 1)),
        ((4, 4), (4, 4)),
    ],
)
def test_a_bias_and_what_is_summed_plainly_stay_with_keras(x: tuple[int, ...], y: tuple[int, ...]) -> None:
    assert not taken_for_another_bias(x, y)
