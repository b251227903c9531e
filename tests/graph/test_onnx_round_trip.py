"""A problem that is exported and imported again computes the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarker import registry
from benchmarker.data.values import draw_batch
from tests.conftest import Command
from tests.support.onnx_models import numpy_program


@pytest.mark.framework
@pytest.mark.parametrize("name", ["resnet18", "lstm", "llama", "ssd300"])
def test_export_then_import_is_the_same_function(
    name: str, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem, file = registry.problem(name), tmp_path / "model.onnx"
    size = problem.reduced_batch_size
    settings = [f"--set={key}={value}" for key, value in problem.reduced.items()]
    written = command(
        "export", name, f"-o={file}", "--seed=0", f"--batch-size={size}", "--no-verify", *settings
    )
    assert written.status == 0, written.stderr
    monkeypatch.setenv("BENCHMARKER_HOME", command.environment["BENCHMARKER_HOME"])
    graph = problem.graph(size, **problem.reduced).without_loss()
    imported = registry.problem(f"onnx:{file}").graph(size)
    batch = draw_batch(graph, 0)
    renamed = {new.name: batch[old.name] for new, old in zip(imported.inputs, graph.inputs)}
    first, second = numpy_program(graph, "inference"), numpy_program(imported, "inference")
    expected = first.fetch(first.infer(first.load(batch)))
    found = second.fetch(second.infer(second.load(renamed)))
    assert len(found) == len(expected)
    for one, other in zip(found, expected):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)
    parameters = [sum(p.type.elements for p in g.parameters) for g in (graph, imported)]
    assert parameters[0] == parameters[1]
