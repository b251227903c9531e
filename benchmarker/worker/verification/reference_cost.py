"""How long the float64 reference will take, from the graph alone: it must be known before it is begun."""

from __future__ import annotations

from pathlib import Path

from benchmarker.graph.cost import graph_cost
from benchmarker.graph.graph import Graph

FLOPS_PER_SECOND = 4e9
"""Of convolutions and matrix products in float64 on two cores; a third of what was measured, to be on the safe side."""
ELEMENTWISE_PER_SECOND = 1e8
NODE_SECONDS = 2e-4
BACKWARD = 3.0
"""Forward and backward together, over forward alone."""
MAX_MEMORY_SHARE = 0.5
"""Of what is available."""


def forward_seconds(graph: Graph) -> float:
    """Return about how long one evaluation of a graph takes in float64."""
    cost = graph_cost(graph)
    products = cost.forward_flops / FLOPS_PER_SECOND
    return products + cost.elementwise_flops / ELEMENTWISE_PER_SECOND + NODE_SECONDS * len(graph.nodes)


def fits_memory(graph: Graph, *, backward: bool, meminfo: Path = Path("/proc/meminfo")) -> bool:
    """Tell whether weights and activations in float64 fit what memory is available; yes where that is not told."""
    available = _available_bytes(meminfo)
    if available is None:
        return True
    cost = graph_cost(graph, training=backward)
    copies = 3 if backward else 1
    needed = 2 * (copies * cost.parameter_bytes + cost.activation_bytes + cost.input_bytes)
    return needed <= MAX_MEMORY_SHARE * available


def _available_bytes(meminfo: Path) -> int | None:
    try:
        lines = meminfo.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)
