"""``python -m tests.support.warm_command`` is ``benchmarker``, its workers forks of the session's warm interpreters."""

from __future__ import annotations

import os
import runpy
from pathlib import Path

from tests.support.command_server import WARM
from tests.support.warm_interpreters import use_warm_interpreters

if __name__ == "__main__":
    use_warm_interpreters(Path(os.environ[WARM]))
    runpy.run_module("benchmarker", run_name="__main__", alter_sys=True)
