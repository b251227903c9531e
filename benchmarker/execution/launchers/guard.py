"""What ends a worker's whole group when the command itself is killed.

The kernel's own kill at a parent's death takes the worker alone, not what the worker has started. So a shell
sleeps beside it, in a session of its own, and reads from a pipe of ours: the pipe ends when we do, however
that comes about. The worker is untouched: its parent, its children and its exit status are what they were.
Then it also ends what has left the group, as :func:`~benchmarker.execution.launchers.leftovers.end_marked` does.
"""

from __future__ import annotations

import subprocess

from benchmarker.errors import EnvironmentCreationError

SHELL = "/bin/sh"  # of 0.3 MiB; an interpreter takes ten times as much
# All in the form that every shell takes.
_END_MARKED = """
for round in 1 2 3 4 5; do
    found=$(grep -lsF "$2" /proc/[0-9]*/environ)
    [ -n "$found" ] || break
    for file in $found; do file=${file%/environ}; kill -9 "${file#/proc/}"; done
done
"""
END_AFTER_US = f'read -r nothing; kill -9 "-$1"; {_END_MARKED}'
ASK_BEFORE = f'read -r nothing; kill -TERM "-$1"; sleep 2; kill -9 "-$1"; {_END_MARKED}'


class Guard:
    """Ends a process group, and what has left it, if this process dies before the guard is dismissed.

    Parameters
    ----------
    group : int
        The process group.
    mark : str
        In the environment of what has left it.
    graceful : bool
        Whether it asks the group to end first, so that a client of an engine ends what that has started.

    Raises
    ------
    EnvironmentCreationError
        If no process can be started.
    """

    def __init__(self, group: int, mark: str, *, graceful: bool = False) -> None:
        try:
            self._process = subprocess.Popen(
                [SHELL, "-c", ASK_BEFORE if graceful else END_AFTER_US, "guard", str(group), mark],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                cwd="/",
                env={},
                bufsize=0,
            )
        except OSError as error:
            raise EnvironmentCreationError(f"'{SHELL}' could not be started: {error.strerror}") from error

    def dismiss(self) -> None:
        """End the guard and leave the group alone; harmless if it is gone."""
        self._process.kill()
        self._process.wait()
        # Not sooner: to a guard that lives this is our death.
        if self._process.stdin is not None:
            self._process.stdin.close()
