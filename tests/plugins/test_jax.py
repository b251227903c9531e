"""JAX's programs, seen from inside, and what of the plugin needs no JAX: forms, attribution and profiles."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarker.graph.network import Network
from benchmarker.plugins.jax.attribution import UNKNOWN, Origin, origins
from benchmarker.plugins.jax.layouts import chosen_forms
from benchmarker.plugins.jax.profiler import Event, make_profile
from benchmarker.plugins.jax.tensors import KERNEL, LAST, PLAIN, Form, transposed_filter_layout
from tests.in_framework.jax_programs import CHECKS, images
from tests.support.framework_process import verdicts

# --- in JAX's environment ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def failures(cache_home: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Run every check in JAX's environment; return why each failed, or an empty text."""
    return verdicts("jax", "jax_programs", folder=tmp_path_factory.mktemp("jax"))


@pytest.mark.parametrize("name", CHECKS)
def test_program(failures: dict[str, str], name: str) -> None:
    assert failures[name] == ""


# --- forms ---------------------------------------------------------------------------------------


FORMS = (PLAIN, LAST, KERNEL, transposed_filter_layout(1, PLAIN), transposed_filter_layout(2, KERNEL))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape", [(4, 6, 3), (4, 6, 3, 5), (4, 6, 3, 5, 2)])
def test_decode_is_the_inverse_of_encode(form: Form, shape: tuple[int, ...]) -> None:
    array = np.arange(np.prod(shape)).reshape(shape)
    assert np.array_equal(form.decode(form.encode(array)), array)


def test_filters_and_images_are_kept_as_they_are_used() -> None:
    forms = chosen_forms(images(), channels_last=True)
    assert forms["image"] == LAST
    assert forms["conv1.weight"] == KERNEL
    assert forms["up.weight"] == transposed_filter_layout(1, KERNEL)
    assert forms["fc.weight"] == PLAIN
    assert set(chosen_forms(images(), channels_last=False).values()) == {
        PLAIN,
        transposed_filter_layout(1, PLAIN),
    }


def test_an_image_that_an_operator_differentiates_stands_as_one() -> None:
    net = Network("pooled", 2)
    net.output(net.pool(net.input("image", (3, 8, 8)), 2))
    assert chosen_forms(net.graph().for_gradient(), channels_last=True)["image"] == LAST


# --- attribution ---------------------------------------------------------------------------------

PROGRAM = """HloModule jit_train

%fused.1 (p: f32[4]) -> f32[4] {
  %p = f32[4]{0} parameter(0)
  %a = f32[4]{0} add(%p, %p), metadata={op_name="jit(train)/jvp(graph_node_1)/add"}
  ROOT %m = f32[4]{0} maximum(%a, %p), metadata={op_name="jit(train)/jvp(graph_node_2)/max"}
}

ENTRY %main.1 (w: f32[4]) -> f32[4] {
  %w = f32[4]{0} parameter(0), metadata={op_name="state.trained['w']"}
  %dot.1 = f32[4]{0} multiply(%w, %w), metadata={op_name="jit(train)/jvp(graph_node_0)/mul"}
  %copy.1 = f32[4]{0} copy(%dot.1)
  %copy.2 = f32[4]{0} copy(%w)
  %fusion.1 = f32[4]{0} fusion(%copy.1), kind=kLoop, calls=%fused.1
  %back.1 = f32[4]{0} add(%fusion.1, %w), metadata={op_name="jit(train)/transpose(jvp(graph_node_1))/add"}
  ROOT %sub.1 = f32[4]{0} subtract(%w, %back.1), metadata={op_name="jit(train)/optimizer_update/sub"}
}
"""


def test_an_instruction_is_of_the_node_it_came_from() -> None:
    found = origins(PROGRAM)
    assert found["dot.1"] == Origin(0, "forward")
    assert found["back.1"] == Origin(1, "backward")
    assert found["sub.1"] == Origin(None, "update")


def test_a_fusion_is_of_its_root_and_names_the_others() -> None:
    assert origins(PROGRAM)["fusion.1"] == Origin(2, "forward", (1,))


def test_a_copy_is_of_what_it_moves() -> None:
    found = origins(PROGRAM)
    assert found["copy.1"] == Origin(0, "forward")
    assert found["copy.2"] == UNKNOWN


# --- profiles ------------------------------------------------------------------------------------


def test_a_loop_does_not_count_what_ran_inside_it() -> None:
    loop = [Event("while.1", 1.0, 2.0), Event("dot.1", 1.1, 1.4), Event("fusion.1", 1.5, 1.6)]
    found = make_profile([loop], [(1.0, 2.5)], origins(PROGRAM), ("a", "b", "c"))
    assert [(call.node, call.native) for call in found.calls] == [
        (None, "while.1"),
        ("a", "dot.1"),
        ("c", "fusion.1 (with b)"),
    ]
    assert [call.seconds for call in found.calls] == pytest.approx([0.6, 0.3, 0.1])
    assert found.steps == ((0.0, 1.5),)


def test_what_ran_between_steps_is_left_out_and_the_busiest_thread_is_the_first() -> None:
    threads = [[Event("dot.1", 1.0, 1.1)], [Event("dot.1", 1.0, 1.8), Event("dot.1", 2.2, 2.3)]]
    found = make_profile(threads, [(1.0, 2.0), (3.0, 4.0)], origins(PROGRAM), ("a", "b", "c"))
    assert [(call.thread, call.step) for call in found.calls] == [(0, 0), (1, 0)]
    assert found.calls[0].seconds == pytest.approx(0.8)
