"""The ONNX project's node tests: taken out of the package ``onnx``, and each as a graph of ours."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.graph.graph import Graph
from benchmarker.graph.network import Network
from benchmarker.graph.onnx.plain import FLOATS, INTEGERS, PlainModel, model_from_json
from benchmarker.graph.onnx.reader.folding import FOLDS
from benchmarker.graph.onnx.reader.importer import HANDLERS, Importer, UnsupportedModelError
from benchmarker.graph.onnx.reader.outputs import output_value
from benchmarker.graph.onnx.reader.values import Known
from benchmarker.graph.onnx.unpacking import describe
from benchmarker.graph.types import Distribution
from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

INDEX = "cases.json"


@dataclass(frozen=True)
class NodeCase:
    """One of the project's tests: a model of one operator, inputs, and what it must return.

    Parameters
    ----------
    name : str
        As the project names it.
    operator : str
        What it is a test of.
    model : PlainModel
        The operator, or what it is by definition in terms of others.
    inputs, outputs : dict of ndarray
        By name.
    relative, absolute : float
        How far an output may be off.
    """

    name: str
    operator: str
    model: PlainModel
    inputs: dict[str, Array]
    outputs: dict[str, Array]
    relative: float
    absolute: float


def unpack_cases(folder: Path) -> None:
    """Write every test whose inputs and outputs are arrays of numbers into ``folder``, one file each."""
    import warnings

    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = load_model_tests(kind="node")
    index = []
    for case in cases:
        row = _unpacked(case, folder)
        index.append({"name": case.name, **(row or {"left_out": "operands that are no arrays of numbers"})})
    (folder / INDEX).write_text(json.dumps(index), encoding="utf-8")


def _unpacked(case: Any, folder: Path) -> dict[str, Any] | None:
    graph = case.model.graph
    (inputs, outputs), *_ = case.data_sets
    arrays = [np.asarray(value) for value in (*inputs, *outputs) if not isinstance(value, (list, dict))]
    if len(arrays) < len(inputs) + len(outputs) or any(a.dtype.kind not in "biufV" for a in arrays):
        return None
    place = folder / case.name
    place.mkdir()
    np.savez(place / "data.npz", *map(_plain, arrays))
    return {
        "model": describe(case.model, place),
        "inputs": [value.name for value in graph.input],
        "outputs": [value.name for value in graph.output],
        "relative": case.rtol,
        "absolute": case.atol,
    }


def _plain(array: Array) -> Array:
    """Return an array of a type that NumPy has by itself: bfloat16 and the like as float32."""
    return array.astype(np.float32) if array.dtype.kind == "V" else array


def read_cases(folder: Path) -> Iterator[NodeCase]:
    """Yield the tests of every operator that the importer claims."""
    rows = json.loads((folder / INDEX).read_text(encoding="utf-8"))
    models = {r["name"]: model_from_json(r["model"], folder / r["name"]) for r in rows if "model" in r}
    for row in rows:
        operator = _subject(row["name"], models)
        if operator is not None:
            yield _read(row, operator, models[row["name"]])


def _read(row: dict[str, Any], operator: str, model: PlainModel) -> NodeCase:
    with np.load(model.folder / "data.npz", allow_pickle=False) as data:
        arrays = [data[f"arr_{i}"] for i in range(len(data.files))]
    count = len(row["inputs"])
    inputs, outputs = dict(zip(row["inputs"], arrays[:count])), dict(zip(row["outputs"], arrays[count:]))
    return NodeCase(row["name"], operator, model, inputs, outputs, row["relative"], row["absolute"])


def _subject(name: str, models: dict[str, PlainModel]) -> str | None:
    """Return the operator that a test is of, None if not all of its nodes are claimed.

    ``..._expanded`` tests an operator by the function of others that ONNX defines it as.
    """
    model, whole = models.get(name), models.get(re.sub(r"_expanded.*$", "", name))
    if model is None or whole is None or len(whole.nodes) != 1:
        return None
    operators = {node.operator for node in model.nodes}
    claimed = operators <= {*HANDLERS, *FOLDS} and operators & {*HANDLERS}
    return whole.nodes[0].operator if claimed and whole.nodes[0].operator in HANDLERS else None


@dataclass(frozen=True)
class CaseGraph:
    """A test as a graph.

    Parameters
    ----------
    graph : Graph or None
        None where all outputs are known without running anything.
    batch : dict of ndarray
        The graph's inputs.
    names : tuple of str
        The test's outputs that the graph's outputs are.
    folded : dict of ndarray
        The test's outputs that were known while importing.
    """

    graph: Graph | None
    batch: dict[str, Array]
    names: tuple[str, ...]
    folded: dict[str, Array]


def case_graph(case: NodeCase) -> CaseGraph:
    """Import a test: its first array of real numbers is the input, others are parameters.

    What decides shapes (axes, sizes, bounds) is taken as known, as in a model it would be.

    Raises
    ------
    UnsupportedModelError
        If the operator is used in a way that has no meaning here.
    """
    taken = {
        name
        for node in case.model.nodes
        if node.operator.startswith(("Gather", "Scatter"))
        for name in node.inputs
    }
    known = {name for name, array in case.inputs.items() if _must_be_known(array, name in taken)}
    while True:
        try:
            return _imported(case, known)
        except UnsupportedModelError as error:
            unknown = {fault.unknown for fault in error.faults}
            if None in unknown or not unknown <= set(case.inputs) - known:
                raise
            known |= {name for name in unknown if name}


def _must_be_known(array: Array, indices: bool) -> bool:
    # Indices from the back are beyond the vocabulary's gather.
    backwards = indices and array.dtype.name in INTEGERS and bool((array < 0).any())
    return not array.size or backwards


def _imported(case: NodeCase, known: set[str]) -> CaseGraph:
    network = Network(case.name, 1)
    inputs: dict[str, Any] = {}
    batch: dict[str, Array] = {}
    for name, array in case.inputs.items():
        real = array.dtype.name in FLOATS
        first = not any(value.dtype.kind == "f" for value in batch.values())
        if name in known:
            inputs[name] = array
        elif real and not first:
            inputs[name] = Known(name, array, trained=True)
        else:
            kind = "float32" if real else "bool" if array.dtype == np.bool_ else "int64"
            inputs[name] = network.operand(name, array.shape, kind, Distribution("constant"))
            batch[name] = array.astype(kind)
    values = Importer(case.model, network, inputs).run()
    outputs = {name: values[name] for name in case.outputs}
    folded = {name: value.array for name, value in outputs.items() if isinstance(value, Known)}
    names = tuple(name for name in outputs if name not in folded)
    for name in names:
        network.output(output_value(network, outputs[name]))
    return CaseGraph(network.graph() if names else None, batch, names, folded)
