"""The process that makes mini-batches beside a training, run by path: as many ahead as it is given slots for."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import sys
import traceback
from pathlib import Path
from typing import Any


def _import_package(folder: Path) -> None:
    """Make the one package importable from where it lies, and nothing that lies beside it."""
    spec = importlib.util.spec_from_file_location(
        "benchmarker", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["benchmarker"] = module
    spec.loader.exec_module(module)


def _serve(message: dict[str, Any], descriptor: int) -> None:
    from benchmarker.data.feeding import made_batch
    from benchmarker.data.shared_slots import SharedSlots
    from benchmarker.data.training_batches import FeedSpec

    slots = SharedSlots(message["layout"], message["slots"])
    slots.map(descriptor)
    os.close(descriptor)
    batches = FeedSpec.from_json(message["spec"]).open()
    count, made = message["count"], 0
    # Whoever takes them tells of every slot that is free, or goes.
    while (count is None or made < count) and sys.stdin.buffer.read(1):
        rows = slots.write(made % message["slots"], made_batch(batches, message["start"] + made))
        _tell({"rows": rows})
        made += 1


def _tell(what: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Make the mini-batches that the first line on standard input asks for."""
    from benchmarker.errors import UsageError

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever takes the mini-batches ends this
    message = json.loads(sys.stdin.buffer.readline())
    try:
        _serve(message, int(sys.argv[1]))
    except BrokenPipeError:
        os._exit(0)
    except UsageError as error:
        _tell({"error": str(error), "usage": True})
    except Exception:
        _tell(
            {
                "error": f"the process that makes mini-batches failed:\n{traceback.format_exc()}",
                "usage": False,
            }
        )


if __name__ == "__main__":
    del sys.path[0]  # this folder: its modules must not shadow top-level ones
    _import_package(Path(sys.argv[2]))
    main()
