"""Network namespaces without names, each held by a sleeping process that ends with us, however that comes about."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache

from benchmarker.errors import UnsupportedError, printable, shortened
from benchmarker.execution.descriptors import can_be_read

_FOLDERS = ("/usr/sbin", "/sbin", "/usr/bin", "/bin")
_PACKAGES = {"ip": "iproute2", "tc": "iproute2", "nsenter": "util-linux", "unshare": "util-linux"}
_SECONDS = 20.0
# Without IPv6 the kernel sends nothing of its own accord; the pipe that is read ends when we do.
_HOLD = """
echo 1 2>/dev/null >/proc/sys/net/ipv6/conf/all/disable_ipv6
echo 1 2>/dev/null >/proc/sys/net/ipv6/conf/default/disable_ipv6
"$1" link set lo up && echo up && read -r nothing
"""


@cache
def tool(name: str) -> str:
    """Return the path of a system's tool.

    Raises
    ------
    UnsupportedError
        If it is not there.
    """
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), *_FOLDERS])
    found = shutil.which(name, path=path)
    if found is None:
        raise UnsupportedError(f"'{name}' is not installed; it comes with '{_PACKAGES[name]}'")
    return found


class Namespace:
    """A network of its own, with a loopback interface; its processes come and go by :attr:`prefix`.

    Parameters
    ----------
    within : Namespace, optional
        One whose rights it has; without one they are those of this process, or of a user namespace.

    Raises
    ------
    UnsupportedError
        If none can be made, or none be entered.
    """

    def __init__(self, within: Namespace | None = None) -> None:
        if within is not None:
            self._hold([*within.user_prefix, tool("unshare"), "-n"], own_user=within.own_user)
            return
        try:
            self._hold([tool("unshare"), "-n"], own_user=False)
        except UnsupportedError:
            self._hold([tool("unshare"), "-Urn"], own_user=True)

    def _hold(self, command: Sequence[str], own_user: bool) -> None:
        self.own_user = own_user
        self._process = subprocess.Popen(
            [*command, "/bin/sh", "-c", _HOLD, "namespace", tool("ip")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
            cwd="/",
        )
        try:
            self._wait_until_up()
            self.run("true", doing="entered")
        except BaseException:
            self.close()
            raise

    def _wait_until_up(self) -> None:
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        if not can_be_read(self._process.stdout, _SECONDS) or self._process.stdout.readline() != b"up\n":
            self._process.kill()
            said = _last_line(self._process.stderr.read())
            raise UnsupportedError(f"no network namespace can be made here: {said or 'no answer'}")

    @property
    def process(self) -> int:
        """Who holds it."""
        return self._process.pid

    @property
    def user_prefix(self) -> list[str]:
        """A command that becomes the one named after it, with the rights over the namespace."""
        if not self.own_user:
            return []
        return [
            tool("nsenter"),
            "--preserve-credentials",
            f"--user=/proc/{self.process}/ns/user",
            "--",
        ]

    @property
    def prefix(self) -> tuple[str, ...]:
        """A command that becomes the one named after it, inside; process, parent and session stay what they are."""
        user = self.user_prefix[1:-1] if self.own_user else []
        return (tool("nsenter"), *user, f"--net=/proc/{self.process}/ns/net", "--")

    def run(self, *command: str, doing: str = "set up") -> None:
        """Run a command inside.

        Raises
        ------
        UnsupportedError
            If it fails, with its last words.
        """
        try:
            done = subprocess.run(
                [*self.prefix, *command],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as late:
            raise UnsupportedError(
                f"a network namespace cannot be {doing} here: no answer within {_SECONDS:g} s"
            ) from late
        if done.returncode != 0:
            said = _last_line(done.stderr) or f"status {done.returncode}"
            raise UnsupportedError(f"a network namespace cannot be {doing} here: {said}")

    def sent_bytes(self, interface: str) -> int:
        """Return how many bytes have been sent over an interface, headers included."""
        with open(f"/proc/{self.process}/net/dev", encoding="ascii") as table:
            rows = (line.partition(":") for line in table)
            return next(int(row.split()[8]) for name, _, row in rows if name.strip() == interface)

    def close(self) -> None:
        """Let go of it; the kernel removes it, with all its interfaces, once nobody is inside."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()


def _last_line(said: bytes) -> str:
    lines = said.decode("utf-8", "replace").strip().splitlines()
    return printable(shortened(lines[-1], 200)) if lines else ""
