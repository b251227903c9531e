"""Running uv: one readable line of its errors, no silence, no orphans."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import psutil

from benchmarker.execution.environments import uv
from benchmarker.execution.environments.uv import one_line, run
from tests.support.waiting import is_alive, wait_until

PATIENCE_SECONDS = 60


def test_uvs_message_in_one_line() -> None:
    wrapped = """
      × No solution found when resolving dependencies:
      ╰─▶ Because there is no version of six==99 and you
          require six==99, your requirements are unsatisfiable.

          hint: look elsewhere
    """
    expected = (
        "No solution found when resolving dependencies; Because there is no version of six==99 and you "
        "require six==99, your requirements are unsatisfiable"
    )
    assert one_line(textwrap.dedent(wrapped).splitlines()) == expected
    chain = ["Using Python", "error: Request failed", "  cause: one", "  cause: two", "  cause: three."]
    assert one_line(chain) == "Request failed; one; three"


def test_a_command_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    running = tmp_path / "running"
    forever = f"import pathlib, time; pathlib.Path({str(running)!r}).touch(); time.sleep(120)"
    script = f"from benchmarker.execution.environments.uv import run; run([{sys.executable!r}, '-c', {forever!r}], "
    package = Path(uv.__file__).parents[3]
    parent = subprocess.Popen(
        [sys.executable, "-c", f"{script}doing='beating', progress=print)"],
        env={**os.environ, "PYTHONPATH": str(package)},
    )
    assert wait_until(running.exists)
    started = psutil.Process(parent.pid).children(recursive=True)
    assert started
    parent.kill()
    parent.wait(PATIENCE_SECONDS)
    assert wait_until(lambda: not any(is_alive(one.pid) for one in started))


def test_silence_is_filled(tmp_path: Path) -> None:
    lines: list[str] = []
    gate = tmp_path / "gate"
    script = (
        "import pathlib, time\n"
        "print('Resolved now', flush=True)\n"
        f"while not pathlib.Path({str(gate)!r}).exists(): time.sleep(0.01)\n"
    )

    def progress(line: str) -> None:
        lines.append(line)
        if "Resolved now" in lines and "so far" in line:
            gate.touch()

    run([sys.executable, "-c", script], doing="sleeping", progress=progress)
    assert lines.count("Resolved now") == 1
    assert re.fullmatch(r"sleeping \(\d+ s so far\)", lines[-1])
    assert int(re.findall(r"\d+", lines[-1])[0]) >= 2
