"""The conformance suite over CuPy's plug-in, as JSON; with a stand-in for CuPy on the path it needs no GPU.

``python -m tests.in_framework.cupy_checks PATTERN...`` runs the checks whose names fit.
"""

from __future__ import annotations

import json
import sys

from benchmarker.api.framework import Device
from benchmarker.plugins.cupy import benchmarker_framework
from benchmarker.plugins.cupy.framework import Cupy
from benchmarker.testing import run_checks


def main() -> None:
    """Run and print."""
    results = run_checks(
        Cupy(), benchmarker_framework(), device=Device("cuda"), threads=1, seed=0, only=sys.argv[1:]
    )
    print(
        json.dumps(
            [{"name": r.name, "status": r.status, "detail": r.detail} for r in results if r is not None]
        )
    )


if __name__ == "__main__":
    main()
