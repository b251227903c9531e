"""What must hold inside Keras over one backend: run by ``test_keras.py`` in the environment that has it.

``python -m tests.keras_programs BACKEND [GROUP...]`` runs the checks of this file and those groups of the
conformance suite, all of them if none is named, and prints, as JSON, why each failed, or an empty text.
"""

from __future__ import annotations

import importlib
import json
import sys
import traceback
from collections.abc import Callable
from typing import Any

from benchmarker.errors import BenchmarkerError
from benchmarker.framework import Device, Framework, FrameworkPlugin, Optimizer
from benchmarker.graph.graph import Graph
from benchmarker.graph.network import Network
from benchmarker.plugins.keras import Options
from benchmarker.plugins.keras import program as programs
from benchmarker.plugins.keras.program import KerasProgram
from benchmarker.testing import Subject, conformance_checks
from benchmarker.testing.subject import draw_batch, draw_parameters

SGD = Optimizer("sgd", learning_rate=0.1)


def described(backend: str) -> tuple[Framework, FrameworkPlugin]:
    """Return the framework over ``backend`` and what it says of itself."""
    module = importlib.import_module(f"benchmarker.plugins.keras.over_{backend}")
    plugin: FrameworkPlugin = module.benchmarker_framework()
    return getattr(programs, plugin.implementation.partition(":")[2])(), plugin


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


def build(
    framework: Framework, graph: Graph, mode: str, optimizer: Optimizer = SGD, jit: str = "auto"
) -> Any:
    program = framework.build(
        graph if mode == "training" else graph.without_loss(),
        draw_parameters(graph, 0),
        mode=mode,
        device=Device("cpu"),
        precision="fp32",
        optimizer=optimizer,
        options=Options(jit),
    )
    assert isinstance(program, KerasProgram)
    return program


def refusal(call: Callable[[], Any]) -> str:
    """Return with which words ``call`` refuses, empty if it does not."""
    try:
        call()
    except BenchmarkerError as error:
        return str(error)
    return ""


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
    chosen = {
        jit: build(framework, pictures(), "inference", jit=jit)._model.jit_compile for jit in programs.JIT
    }
    assert chosen == {"auto": backend == "jax", "on": True, "off": False}


def check_another_value_of_jit_is_refused(framework: Framework, backend: str) -> None:
    said = refusal(lambda: build(framework, pictures(), "inference", jit="yes"))
    assert "auto, on, off" in said
    assert "'yes'" in said


def check_keras_own_optimizer_is_used_where_it_is_the_same(framework: Framework, backend: str) -> None:
    import keras

    own = [Optimizer("sgd"), Optimizer("momentum"), Optimizer("nesterov")]
    others = [
        Optimizer("adam"),
        Optimizer("rmsprop"),
        Optimizer("adagrad"),
        Optimizer("sgd", weight_decay=0.1),
    ]
    made = [build(framework, pictures(), "training", chosen)._model.optimizer for chosen in (*own, *others)]
    assert [isinstance(found, keras.optimizers.SGD) for found in made] == [True] * 3 + [False] * 4


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


def check_another_backend_is_refused(framework: Framework, backend: str) -> None:
    other = programs.OverJax if backend != "jax" else programs.OverPytorch
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
    framework.configure(Device("cpu"), threads=2, seed=0)
    for name, check in CHECKS.items():
        print(json.dumps([name, _why_it_failed(check, framework, backend)]))
    subject = Subject(framework, plugin, Device("cpu"), 0)
    for conformance in conformance_checks():
        if groups and conformance.name.split("/")[0] not in groups:
            continue
        result = conformance.run(subject)
        failed = result.status == "failed"
        print(json.dumps([conformance.name, f"{result.detail} {result.error}" if failed else ""]), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
