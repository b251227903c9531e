"""Our problems against the field's own models: the same weights must give the same scores."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import pytest

from benchmarker import registry
from benchmarker.api.framework import Device, NoOptions
from benchmarker.api.optimizer import Optimizer
from benchmarker.cache import key, publish_folder, staged_folder
from benchmarker.data import values as drawing
from benchmarker.graph.graph import Graph
from benchmarker.plugins.numpy.framework import NumpyFramework
from benchmarker.worker.verification.samples import errors, tensor_sample
from tests.conftest import CACHE_HOME, ROOT
from tests.support.framework_process import interpreter
from tests.support.installing import install

PROGRAMS = Path(__file__).resolve().parents[1] / "in_framework" / "field_libraries"
TOLERANCE = 2e-4
"""Of the norm: theirs computes in float32, through up to a hundred layers."""
LIBRARIES = {"transformers": "pytorch", "keras": "tensorflow", "mxnet": "mxnet", "chainer": "chainer"}
"""The framework in whose environment a library's program runs."""
ADDED = {"transformers": ("transformers==5.23.0",)}
"""What that environment lacks; installed beside it, so that it stays as it is."""


@dataclass(frozen=True)
class Case:
    """One of our problems and one of theirs.

    Parameters
    ----------
    library, model : str
        Theirs.
    problem : str
        Ours.
    values : mapping
        Our parameters, which theirs gets too.
    besides : mapping
        What else theirs must know.
    """

    library: str
    model: str
    problem: str
    values: Mapping[str, Any]
    besides: Mapping[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return f"{self.problem}-{self.library}"


def reduced(name: str, **changes: Any) -> dict[str, Any]:
    return {**registry.problem(name).reduced, **changes}


def middle(separable: dict[str, str], blocks: int) -> dict[str, str]:
    for block in range(blocks):
        for i in (1, 2, 3):
            separable[f"block{block + 5}_sepconv{i}"] = f"middle{block + 1}.sep{i}"
    return separable


SEPARABLE = {f"block{b + 1}_sepconv{i}": f"entry{b}.sep{i}" for b in (1, 2, 3) for i in (1, 2)}
XCEPTION = {
    **middle(SEPARABLE, 8),
    **{f"block13_sepconv{i}": f"exit.sep{i}" for i in (1, 2)},
    **{f"block14_sepconv{i}": f"last{i}" for i in (1, 2)},
}


def block_names(depths: list[int]) -> list[str]:
    """Return our names of a residual network's parameters in Gluon's order."""
    statistics = ("weight", "bias", "running_mean", "running_var")

    def normalised(convolution: str, norm: str) -> list[str]:
        return [f"{convolution}.weight", *(f"{norm}.{part}" for part in statistics)]

    names = normalised("stem.conv", "stem.bn")
    for stage, blocks in enumerate(depths, start=1):
        for block in range(1, blocks + 1):
            ours = f"stage{stage}.block{block}"
            for i in (1, 2):
                names += normalised(f"{ours}.conv{i}", f"{ours}.bn{i}")
            if stage > 1 and block == 1:
                names += normalised(f"{ours}.shortcut.conv", f"{ours}.shortcut.bn")
    return [*names, "classifier.weight", "classifier.bias"]


SMALL_RESNET = {"classes": 10, "image_size": 64, "width": 0.125}
ALEXNET_NAMES = [
    f"{layer}.{part}"
    for layer in ("conv1", "conv2", "conv3", "conv4", "conv5", "fc6", "fc7", "fc8")
    for part in ("weight", "bias")
]
VGG16_NAMES = [
    f"{layer}.{part}"
    for layer in (
        *(
            f"conv{group}_{i}"
            for group, count in enumerate((2, 2, 3, 3, 3), start=1)
            for i in range(1, count + 1)
        ),
        "fc6",
        "fc7",
        "fc8",
    )
    for part in ("weight", "bias")
]

CASES = (
    Case("transformers", "bert", "bert_base", reduced("bert_base")),
    Case("transformers", "roberta", "roberta_base", reduced("roberta_base")),
    Case("transformers", "gpt2", "gpt2", reduced("gpt2")),
    Case("transformers", "llama", "llama", reduced("llama")),
    Case("transformers", "vit", "vit_base_16", reduced("vit_base_16"), {"epsilon": 1e-6}),
    Case("transformers", "vit", "deit_base_16", reduced("deit_base_16"), {"epsilon": 1e-6}),
    Case(
        "transformers",
        "resnet",
        "resnet18",
        {**SMALL_RESNET, "blocks": "2-2-2-2"},
        {"block": "basic", "stem": 8, "filters": [8, 16, 32, 64], "depths": [2, 2, 2, 2]},
    ),
    Case(
        "transformers",
        "resnet",
        "resnet50",
        {**SMALL_RESNET, "blocks": "3-4-6-3"},
        {"block": "bottleneck", "stem": 8, "filters": [32, 64, 128, 256], "depths": [3, 4, 6, 3]},
    ),
    Case("keras", "vgg16", "vgg16", {"image_size": 32, "classes": 10}),
    Case("keras", "vgg19", "vgg19", {"image_size": 32, "classes": 10}),
    Case(
        "keras",
        "xception",
        "xception",
        {"image_size": 71, "classes": 10},
        {"separable": XCEPTION, "shortcuts": ["entry1", "entry2", "entry3", "exit"]},
    ),
    Case("mxnet", "alexnet", "alexnet", {"classes": 10}, {"names": ALEXNET_NAMES}),
    Case("mxnet", "vgg16", "vgg16", {"image_size": 32, "classes": 10}, {"names": VGG16_NAMES}),
    Case(
        "mxnet",
        "resnet",
        "resnet18",
        {**SMALL_RESNET, "blocks": "2-2-2-2"},
        {"names": block_names([2, 2, 2, 2]), "depths": [2, 2, 2, 2], "channels": [8, 8, 16, 32, 64]},
    ),
    Case(
        "mxnet",
        "resnet",
        "resnet34",
        {**SMALL_RESNET, "blocks": "3-4-6-3"},
        {"names": block_names([3, 4, 6, 3]), "depths": [3, 4, 6, 3], "channels": [8, 8, 16, 32, 64]},
    ),
    Case("chainer", "vgg16", "vgg16", {}),
    Case("chainer", "vgg19", "vgg19", {}),
)


def spread(graph: Graph, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the weights with nothing constant among those that training moves, so that a mix-up shows."""
    statistics = {name for node in graph.nodes for name in node.statistics}
    moved = dict(parameters)
    for p in graph.parameters:
        if p.initializer.kind == "constant" and (p.trainable or p.name in statistics):
            steps = np.arange(p.type.elements, dtype=np.float32).reshape(p.type.shape)
            moved[p.name] = parameters[p.name] + np.float32(0.2) * np.cos(steps).astype(np.float32)
    return moved


def our_scores(graph: Graph, parameters: dict[str, Any], batch: dict[str, Any]) -> Any:
    program = NumpyFramework().build(
        graph,
        parameters,
        mode="inference",
        device=Device("cpu"),
        precision="fp32",
        optimizer=Optimizer(),
        options=NoOptions(),
    )
    (scores,) = program.fetch(program.infer(program.load(batch)))
    return scores


def added(library: str) -> Iterator[str]:
    """Yield the folder with what the environment of a library lacks, installed when it first is asked for."""
    if library not in ADDED:
        return
    python, requirements = interpreter(LIBRARIES[library]), ADDED[library]
    target = CACHE_HOME / "field_libraries" / f"{library}-{key([python, *requirements])}"
    if not target.is_dir():
        with staged_folder(target) as folder:
            install(python, "--target", str(folder), *requirements)
            publish_folder(folder, target)
    yield str(target)


Run = Callable[[str, str, Mapping[str, Any], Path, Path], str]
"""Runs a library's model on a file of arrays and writes another one; returns why not, or an empty text."""


@pytest.fixture(scope="module")
def run(cache_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Start a library's program when it first is asked for: to import one takes longer than most models."""
    programs: dict[str, subprocess.Popen[str]] = {}
    logs = tmp_path_factory.mktemp("logs")
    with contextlib.ExitStack() as opened:

        def ask(library: str, model: str, values: Mapping[str, Any], source: Path, target: Path) -> str:
            log = logs / library
            if library not in programs:
                programs[library] = opened.enter_context(
                    started(library, opened.enter_context(log.open("w")))
                )
            program = programs[library]
            assert program.stdin
            assert program.stdout
            print(json.dumps([model, values, str(source), str(target)]), file=program.stdin, flush=True)
            answer = program.stdout.readline()
            if answer:
                return str(json.loads(answer))
            return f"the program ended with {program.wait()}: {log.read_text()[-3000:]}"

        yield ask
        for program in programs.values():
            program.communicate()


def started(library: str, log: TextIO) -> subprocess.Popen[str]:
    """Start a library's program in the environment of its framework."""
    folders = [str(ROOT), *added(library)]
    return subprocess.Popen(
        [interpreter(LIBRARIES[library]), str(PROGRAMS / f"{library}_models.py")],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(folders), "CUDA_VISIBLE_DEVICES": ""},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_fields_own_model_gives_our_scores(case: Case, tmp_path: Path, run: Run) -> None:
    problem = registry.problem(case.problem)
    graph = problem.graph(2, **case.values).without_loss()
    parameters = spread(graph, drawing.draw_parameters(graph, 11))
    batch = drawing.draw_batch(graph, 11)
    arrays = {f"parameter/{name}": value for name, value in parameters.items()}
    arrays.update({f"batch/{name}": value for name, value in batch.items()})
    np.savez(tmp_path / "in.npz", **arrays)
    known = {**problem.configure(case.values), **case.besides}
    assert run(case.library, case.model, known, tmp_path / "in.npz", tmp_path / "out.npy") == ""
    theirs = np.load(tmp_path / "out.npy")
    ours = our_scores(graph, parameters, batch)
    assert ours.shape == theirs.shape
    assert float(np.std(theirs)) > 1e-6
    error = errors(tensor_sample("scores", ours), tensor_sample("scores", theirs))
    assert error.norm < TOLERANCE
