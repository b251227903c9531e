"""An S3 on this machine: moto as a process of its own, on a free port, which a test kills for real."""

from __future__ import annotations

import contextlib
import functools
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SECRET = "wJalrXUtnFEMI-a-secret-of-this-test"
KEY = "AKIAOFTHISTESTALONE0"
BUCKET = "measured"
TIMEOUT = 60.0
_UNPROXIED = urllib.request.build_opener(urllib.request.ProxyHandler({}))

FORWARD = """
import asyncio, sys

async def copy(reader, writer):
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.close()

async def forward(reader, writer):
    reading, writing = await asyncio.open_connection("127.0.0.1", int(sys.argv[2]))
    await asyncio.gather(copy(reader, writing), copy(reading, writer), return_exceptions=True)

async def main():
    server = await asyncio.start_server(forward, "127.0.0.1", int(sys.argv[1]))
    print("ready", flush=True)
    await server.serve_forever()

asyncio.run(main())
"""


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


@dataclass
class ObjectServer:
    """A server that has a bucket.

    Parameters
    ----------
    folder : Path
        For its log.
    """

    folder: Path
    port: int = field(default_factory=_free_port)
    _process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self) -> Mapping[str, str]:
        """Variables by which every client of S3 finds it, and no settings of the user's."""
        return {
            "AWS_ENDPOINT_URL": self.address,
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_CONFIG_FILE": "/dev/null",
            "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
            "AWS_EC2_METADATA_DISABLED": "true",
            # Attempts within each of ours, which would take most of a test's time.
            "AWS_MAX_ATTEMPTS": "1",
            "NO_PROXY": "127.0.0.1",
        }

    def start(self) -> None:
        """Start it with an empty bucket."""
        with (self.folder / "moto.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.port)],
                stdout=log,
                stderr=log,
                env={**os.environ, **self.environment},
            )
        limit = time.monotonic() + TIMEOUT
        while not self._makes_bucket():
            assert self._process.poll() is None, (self.folder / "moto.log").read_text()
            assert time.monotonic() < limit
            time.sleep(0.05)

    def kill(self) -> None:
        """End it as a lost network would: at once, and with nothing that answers any more."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        if "_client" in self.__dict__:
            self._client.close()
            del self._client

    def names(self, prefix: str = "") -> list[str]:
        """Return the names of the objects in the bucket that begin so, of which there are at most 1,000."""
        listed = self._client.list_objects_v2(Bucket=BUCKET, Prefix=prefix).get("Contents", [])
        return [item["Key"] for item in listed]

    def objects(self, prefix: str = "") -> dict[str, bytes]:
        """Return what is in the bucket under such names while nobody changes it."""
        get = self._client.get_object
        return {name: get(Bucket=BUCKET, Key=name)["Body"].read() for name in self.names(prefix)}

    @functools.cached_property
    def _client(self) -> Any:
        import boto3
        from botocore.config import Config

        return boto3.client(
            "s3",
            endpoint_url=self.address,
            aws_access_key_id=KEY,
            aws_secret_access_key=SECRET,
            region_name="us-east-1",
            config=Config(proxies={}),
        )

    def _makes_bucket(self) -> bool:
        request = urllib.request.Request(f"{self.address}/{BUCKET}", method="PUT")
        with contextlib.suppress(OSError), _UNPROXIED.open(request, timeout=10) as answer:
            return bool(answer.status == 200)
        return False


@dataclass
class Link:
    """The network between a command and the server, which outlives it: a process that hands on what it gets."""

    server: ObjectServer
    port: int = field(default_factory=_free_port)
    _process: subprocess.Popen[bytes] | None = None

    @property
    def environment(self) -> Mapping[str, str]:
        """As the server's, by way of the link."""
        return {**self.server.environment, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}"}

    def connect(self) -> None:
        """Have it hand on."""
        command = [sys.executable, "-c", FORWARD, str(self.port), str(self.server.port)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n"
        self._process.stdout.close()

    def cut(self) -> None:
        """End it, and all connections with it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
