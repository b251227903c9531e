"""Every twelfth derivative check and those of CTC, in the environment of the framework that the command line names.

Tracing and compiling each case takes TensorFlow and JAX about a second, so that all of them are for
``python -m benchmarker check FRAMEWORK --gradients``. Prints, as JSON, why each failed, or an empty text.
"""

from __future__ import annotations

import importlib
import json
import sys

from benchmarker.api.framework import Device
from benchmarker.worker.conformance import Subject
from benchmarker.worker.conformance.derivatives import derivative_checks
from benchmarker.worker.conformance.subject import Check
from benchmarker.worker.loading import load_framework


def chosen() -> list[Check]:
    """Return the checks; CTC's are among them wherever the twelfths fall, as TensorFlow has it in float32 only."""
    return [
        check
        for index, check in enumerate(derivative_checks())
        if index % 12 == 0 or check.name.startswith("derivative/ctc_loss/")
    ]


def main() -> None:
    """Run them."""
    plugin = importlib.import_module(f"benchmarker.plugins.{sys.argv[1]}").benchmarker_framework()
    framework = load_framework(plugin)
    device = Device("cpu")
    framework.configure(device, threads=1, seed=0)
    subject = Subject(framework, plugin, device, seed=0)
    for check in chosen():
        result = check.run(subject)
        print(
            json.dumps([check.name, "" if result.status == "passed" else f"{result.status} {result.detail}"])
        )


if __name__ == "__main__":
    main()
