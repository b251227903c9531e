"""What must hold inside Keras over one backend: run by ``plugins/test_keras.py`` in the environment that has it.

``python -m tests.in_framework.keras_programs BACKEND [GROUP...]`` runs the checks of this file, some derivative
checks, and
those groups of the conformance suite, all of them if none is named, and prints, as JSON, why each failed, or an
empty text.
"""

from __future__ import annotations

import importlib
import json
import sys
import traceback
from collections.abc import Callable
from typing import Any

from benchmarker.api.framework import Device, Framework, FrameworkPlugin
from benchmarker.api.optimizer import Optimizer
from benchmarker.graph.graph import Graph
from benchmarker.graph.network import Network
from benchmarker.graph.types import Distribution
from benchmarker.plugins.keras import Options
from benchmarker.plugins.keras import framework as frameworks
from benchmarker.plugins.keras.framework import JIT
from benchmarker.plugins.keras.program import KerasProgram
from benchmarker.worker.conformance import Subject, conformance_checks, run_each
from benchmarker.worker.conformance.subject import draw_batch, draw_parameters, reference_program
from tests.in_framework.comparing import refusal
from tests.in_framework.derivative_subset import chosen
from tests.in_framework.rare_collections import collect_rarely

SGD = Optimizer("sgd", learning_rate=0.1)


def described(backend: str) -> tuple[Framework, FrameworkPlugin]:
    """Return the framework over ``backend`` and what it says of itself."""
    module = importlib.import_module(f"benchmarker.plugins.keras.backend_{backend}")
    plugin: FrameworkPlugin = module.benchmarker_framework()
    return getattr(frameworks, plugin.implementation.partition(":")[2])(), plugin


def pictures() -> Graph:
    """A convolution, a normalization, a pooling and a dense layer on what was flattened."""
    net = Network("pictures", 2)
    x, label = net.input("image", (3, 8, 8)), net.labels("label", 5)
    x = net.relu(net.batch_norm("bn", net.convolution("conv", x, 6, 3, pad=1, bias=False)))
    x = net.max_pool(x, kernel_shape=(2, 2), strides=(2, 2), pads=(0, 0, 0, 0))
    x = net.dense("fc", net.relu(net.flatten(x)), 5)
    net.output(x)
    net.loss(net.softmax_cross_entropy_loss(x, label))
    return net.graph()


def dense() -> Graph:
    """What ``torch.compile`` has soon made C++ of."""
    net = Network("dense", 2)
    x = net.dense("fc", net.input("x", (3,)), 2)
    net.output(x)
    net.loss(net.mean_squared_error_loss(x, net.input("target", (2,))))
    return net.graph()


def build(
    framework: Framework,
    graph: Graph,
    mode: str,
    optimizer: Optimizer = SGD,
    jit: str = "auto",
    precision: str = "fp32",
) -> Any:
    program = framework.build(
        graph.without_loss() if mode == "inference" else graph,
        draw_parameters(graph, 0),
        mode=mode,
        device=Device("cpu"),
        precision=precision,
        optimizer=optimizer,
        options=Options(jit),
    )
    assert isinstance(program, KerasProgram)
    return program


def check_images_stand_as_the_backend_has_them(framework: Framework, backend: str) -> None:
    program = build(framework, pictures(), "inference")
    (image,) = program.load(draw_batch(pictures(), 0))
    assert tuple(image.shape) == ((2, 3, 8, 8) if backend == "pytorch" else (2, 8, 8, 3))


def check_nothing_is_transposed_on_the_timed_path(framework: Framework, backend: str) -> None:
    program = build(framework, pictures(), "inference")
    orders, layouts = program._binding.orders, program._binding.layouts
    flat = next(name for name in layouts if layouts[name].name.startswith(("flattened", "permuted(1, 0)")))
    assert layouts[flat].name.startswith("flattened") == (backend != "pytorch")
    expected = (0, 1, 2, 3) if backend == "pytorch" else (0, 2, 3, 1)
    images = [node for node in pictures().nodes if len(pictures().types[node.outputs[0]].shape) == 4]
    assert len(images) == 4
    assert {orders[name] for node in images for name in node.outputs} == {expected}


def check_the_option_jit_is_what_compile_takes(framework: Framework, backend: str) -> None:
    chosen = {jit: build(framework, pictures(), "inference", jit=jit)._model.jit_compile for jit in JIT}
    assert chosen == {"auto": backend == "jax", "on": True, "off": False}


def check_another_value_of_jit_is_refused(framework: Framework, backend: str) -> None:
    said = refusal(lambda: build(framework, pictures(), "inference", jit="yes"))
    assert "auto, on, off" in said
    assert "'yes'" in said


def check_keras_own_optimizer_is_used_where_it_is_the_same(framework: Framework, backend: str) -> None:
    import keras

    own = [Optimizer("sgd")]
    others = [
        # Keras' own keeps -lr * v, another function where the rate changes.
        Optimizer("momentum"),
        Optimizer("nesterov"),
        Optimizer("adam"),
        Optimizer("rmsprop"),
        Optimizer("adagrad"),
        Optimizer("sgd", weight_decay=0.1),
    ]
    made = [build(framework, pictures(), "training", chosen)._model.optimizer for chosen in (*own, *others)]
    assert [isinstance(found, keras.optimizers.SGD) for found in made] == [True] + [False] * 6


def check_lion_and_adafactor_are_keras_own_where_they_compute_the_same(
    framework: Framework, backend: str
) -> None:
    import keras

    lion, adafactor = Optimizer.default("lion"), Optimizer.default("adafactor")
    cases = {
        "lion": (pictures(), lion),
        "lion with decay": (pictures(), lion.with_constants({"weight_decay": 0.1})),
        "lion that forgets": (pictures(), lion.with_constants({"beta1": 0.0})),
        "matrices": (dense(), adafactor),
        "kernels": (pictures(), adafactor),
        "decay": (dense(), adafactor.with_constants({"weight_decay": 0.1})),
    }
    own = (keras.optimizers.Lion, keras.optimizers.Adafactor)
    found = {name: build(framework, graph, "training", chosen) for name, (graph, chosen) in cases.items()}
    native = {name for name, program in found.items() if program.optimizer_variant() == "native"}
    assert native == {"lion", "lion with decay", "matrices"}
    assert native == {name for name, program in found.items() if isinstance(program._model.optimizer, own)}


def check_training_and_asking_in_between_is_training(framework: Framework, backend: str) -> None:
    """Over JAX the state leaves the variables while steps run, and must find back and forth."""
    graph, batch = pictures(), draw_batch(pictures(), 0)
    asked, plain = (build(framework, graph, "training", Optimizer("momentum")) for _ in range(2))
    loaded = asked.load(batch)
    for _ in range(4):
        asked.train_step(loaded)
        asked.parameters()
        asked.gradients(loaded)
        asked.infer(loaded)
        plain.train_step(loaded)
    found, expected = asked.parameters(), plain.parameters()
    assert all(abs(found[name] - expected[name]).max() <= 1e-6 for name in expected)
    assert any(abs(expected[name] - array).max() > 1e-3 for name, array in draw_parameters(graph, 0).items())


def check_a_step_of_equal_micro_batches_is_the_step_of_one_of_them(
    framework: Framework, backend: str
) -> None:
    """The optimizer's state is one, whichever of them moves it."""
    graph, batch = pictures(), draw_batch(pictures(), 0)
    for kind in ("momentum", "adam"):
        chosen = Optimizer(kind, learning_rate=0.01, epsilon=1e-3)
        mixed, plain = (build(framework, graph, "training", chosen) for _ in range(2))
        loaded = mixed.load(batch)
        for step in range(4):
            expected = plain.train_step(loaded)
            loss = mixed.train_micro([loaded] * 3) if step in (1, 2) else mixed.train_step(loaded)
            (found,), (wanted,) = mixed.fetch(loss), plain.fetch(expected)
            assert abs(found - wanted) <= 1e-4 * abs(wanted)
        found, expected = mixed.parameters(), plain.parameters()
        trained = [p.name for p in graph.trainable]
        assert all(abs(found[name] - expected[name]).max() <= 1e-4 for name in trained)


def check_a_row_that_is_used_twice_follows_the_sum_of_its_gradients(
    framework: Framework, backend: str
) -> None:
    net = Network("segments", 4)
    words = net.input("words", (6,), "int64", Distribution("integers", 2))
    x = net.dense("fc", net.flatten(net.embedding("table", words, 3, 2)), 3)
    net.output(x)
    net.loss(net.softmax_cross_entropy_loss(x, net.labels("label", 3)))
    graph, start = net.graph(), draw_parameters(net.graph(), 0)
    for kind in ("momentum", "adam", "adamw", "rmsprop", "adagrad", "lion", "adafactor"):
        decay = 0.0 if kind == "adafactor" else 0.01
        chosen = Optimizer(kind, learning_rate=0.01, epsilon=1e-2, weight_decay=decay)
        program = build(framework, graph, "training", chosen)
        reference = reference_program(graph, start, "training", chosen)
        for step in range(3):
            batch = draw_batch(graph, step)
            program.train_step(program.load(batch))
            reference.train_step(reference.load(batch))
        table = next(name for name in start if name.startswith("table"))
        ways: list[Any] = [p.parameters()[table] for p in (program, reference)]
        assert abs(ways[0] - ways[1]).max() <= 1e-3 * abs(ways[1] - start[table]).max(), kind


def check_nothing_is_compiled_twice_for_micro_batches(framework: Framework, backend: str) -> None:
    program = build(framework, pictures(), "training")
    loaded = program.load(draw_batch(pictures(), 0))
    program.train_micro([loaded] * 2)
    before = program.compilations()
    program.train_micro([loaded] * 5)
    assert program.compilations() == before


def check_a_profile_tells_of_nodes_and_update_and_leaves_the_program(
    framework: Framework, backend: str
) -> None:
    graph, batch = pictures(), draw_batch(pictures(), 0)
    for mode in ("inference", "gradient", "training"):
        program = build(framework, graph, mode)
        loaded = program.load(batch)
        step = {"inference": program.infer, "gradient": program.gradient_step, "training": program.train_step}
        step[mode](loaded)
        functions = program._model.predict_function, program._model.train_function
        compiled, before = program.compilations(), program.parameters()
        found = program.profile(loaded, 2)
        named = {call.node for call in found.calls if call.phase == "forward"}
        # XLA fuses the normalization into what follows it.
        assert {"conv", "fc"} | (set() if backend == "jax" else {"bn"}) <= named
        assert ("update" in {call.phase for call in found.calls}) == (mode == "training")
        assert (program._model.predict_function, program._model.train_function) == functions
        assert program.compilations() == compiled
        step[mode](loaded)
        assert program.compilations() == compiled
        after = program.parameters()
        moved = [p.name for p in graph.trainable if abs(after[p.name] - before[p.name]).max() > 0]
        assert bool(moved) == (mode == "training")


def check_a_profile_where_there_are_no_single_operators_is_refused(
    framework: Framework, backend: str
) -> None:
    joined, apart = ("off", "on") if backend == "jax" else ("on", "off")
    program = build(framework, pictures(), "inference", jit=joined)
    said = refusal(lambda: program.profile(program.load(draw_batch(pictures(), 0)), 1))
    assert said.endswith(f"profile with jit={apart}")


def check_every_value_of_jit_computes_the_same(framework: Framework, backend: str) -> None:
    graph, batch = dense(), draw_batch(dense(), 0)
    values = []
    for jit in JIT:
        program = build(framework, graph, "gradient", jit=jit)
        (loss,) = program.fetch(program.gradient_step(program.load(batch))[0])
        values.append(float(loss))
    assert max(values) - min(values) <= 1e-5 * abs(values[0])


def check_all_is_float64_in_fp64(framework: Framework, backend: str) -> None:
    graph = pictures()
    program = build(framework, graph, "training", Optimizer("adam"), precision="fp64")
    model = program._model
    program.train_step(program.load(draw_batch(graph, 0)))
    program.parameters()
    floating = [v for v in (*model.variables, *model.optimizer.variables) if "float" in v.dtype]
    assert len(floating) > 2 * len(graph.trainable)
    assert {v.dtype for v in floating} == {"float64"}
    again = build(framework, graph, "training", Optimizer("adam"))
    assert {v.dtype for v in again._model.variables if "float" in v.dtype} == {"float32"}
    assert again.fetch(again.train_step(again.load(draw_batch(graph, 0))))[0].dtype == "float32"


def check_other_values_are_taken(framework: Framework, backend: str) -> None:
    graph, batch = pictures(), draw_batch(pictures(), 0)
    program = build(framework, graph, "training", Optimizer("momentum"))
    start, loaded = program.parameters(), program.load(batch)
    (first,) = program.fetch(program.train_step(loaded))
    program.assign({name: start[name] for name in start})
    (second,) = program.fetch(program.train_step(loaded))
    assert abs(first - second) <= 1e-5 * abs(first)


def check_another_backend_is_refused(framework: Framework, backend: str) -> None:
    other = frameworks.OverJax if backend != "jax" else frameworks.OverPytorch
    assert f"KERAS_BACKEND={other.backend}" in refusal(other)


CHECKS: dict[str, Callable[[Framework, str], None]] = {
    name.removeprefix("check_"): check for name, check in list(globals().items()) if name.startswith("check_")
}


def _why_it_failed(check: Callable[[Framework, str], None], framework: Framework, backend: str) -> str:
    try:
        check(framework, backend)
    except Exception:
        return traceback.format_exc()
    return ""


def main(backend: str, *groups: str) -> None:
    framework, plugin = described(backend)
    framework.configure(Device("cpu"), threads=1, seed=0)
    collect_rarely()
    for name, check in CHECKS.items():
        print(json.dumps([name, _why_it_failed(check, framework, backend)]))
    subject = Subject(framework, plugin, Device("cpu"), 0)
    conformance_of = [c for c in conformance_checks() if not groups or c.name.split("/")[0] in groups]
    for result in run_each((*conformance_of, *chosen()), subject):
        failed = result.status == "failed"
        print(json.dumps([result.name, f"{result.detail} {result.error}" if failed else ""]), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
