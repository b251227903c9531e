"""The objects below an address, by fsspec: listed, read, and made where there are none; what fails is tried again."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any, TypeVar

from benchmarker.errors import (
    StoreError,
    UsageError,
    did_you_mean,
    first_line,
    install_extra,
    missing_package,
)
from benchmarker.machine.secrets import without_secrets

_Value = TypeVar("_Value")
State = tuple[int, str]
"""Size in bytes, and what changes with the content where the store tells such a thing."""

ATTEMPTS = 4
FIRST_DELAY_SECONDS = 0.5
"""Before the second attempt; twice as long before each that follows, times a random factor of 0.5 to 1.5."""
TIMEOUT_SECONDS = 60.0
"""For one attempt, where the file system can be told."""
PATIENCE_SECONDS = 15.0
"""After which no further attempt begins: libraries make attempts of their own within each."""
REST_SECONDS = 60.0
"""For which a place that did not answer is not asked again: measuring goes on meanwhile."""
_TOKENS = (
    *("ETag", "etag", "generation", "md5Hash", "content_md5"),
    *("LastModified", "last_modified", "mtime", "created"),
)
_FINAL = (
    PermissionError,
    FileNotFoundError,
    NotADirectoryError,
    IsADirectoryError,
    NotImplementedError,
    TypeError,
    ValueError,
)
"""What another attempt would not change."""
_FINAL_NAMES = frozenset(
    {
        "ConfigParseError", "CredentialRetrievalError", "InvalidConfigError", "InvalidRegionError",
        "NoCredentialsError", "NoRegionError", "ParamValidationError", "PartialCredentialsError",
        "ProfileNotFound", "SSOTokenLoadError", "TokenRetrievalError", "UnauthorizedSSOTokenError",
    }
)  # fmt: skip
"""Of botocore's exceptions, which have no common base for this."""


class UnreachableError(StoreError):
    """A place elsewhere did not answer, in any of the attempts: later it may."""


class Objects:
    """The objects below an address.

    Parameters
    ----------
    address : str
        As :func:`~benchmarker.records.remote.addresses.checked_address` returns it.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self._connected: tuple[Any, str] | None = None
        self._gone: tuple[float, str] | None = None

    def listing(self) -> dict[str, State]:
        """Return all objects, by their names below the address."""
        fs, root = self._connection()
        found = self._tried("listed", lambda: fs.find(root, detail=True, **self._limit()))
        skipped = len(root) + 1
        return {str(path)[skipped:]: _state(info) for path, info in found.items()}

    def read(self, name: str) -> bytes:
        """Return what is in an object."""
        fs, root = self._connection()
        data: bytes = self._tried("read", lambda: fs.cat_file(f"{root}/{name}", **self._limit()))
        return data

    def create(self, name: str, data: bytes) -> bool:
        """Make a new object, whole or not at all; return whether it is there, or was there and is the same."""
        if self._is_new(name, data):
            return True
        # Perhaps it is an earlier attempt of our own, whose answer was lost.
        return self.read(name) == data

    def remove(self, name: str) -> None:
        """Remove an object."""
        fs, root = self._connection()
        self._tried("written", lambda: fs.rm_file(f"{root}/{name}"))

    def check_exclusive(self, name: str) -> None:
        """Make an object twice, which must be refused the second time, and remove it.

        Raises
        ------
        UsageError
            If the store lets one object take the place of another.
        """
        if not self._is_new(name, b"1"):
            return
        refused = not self._is_new(name, b"2")
        self.remove(name)
        if not refused:
            raise UsageError(
                f"results need a store that refuses to put an object in the place of another, '{self.address}' does not"
            )

    def _is_new(self, name: str, data: bytes) -> bool:
        fs, root = self._connection()

        def put() -> bool:
            try:
                fs.pipe_file(f"{root}/{name}", data, mode="create", **self._limit())
            except FileExistsError:
                return False
            return True

        return self._tried("written", put)

    def _limit(self) -> dict[str, float]:
        fs, _ = self._connection()
        return {"timeout": TIMEOUT_SECONDS} if getattr(fs, "async_impl", False) else {}

    def _connection(self) -> tuple[Any, str]:
        if self._connected is None:
            self._connected = _connect(self.address)
        return self._connected

    def _tried(self, what: str, call: Callable[[], _Value]) -> _Value:
        """Return what a call does, which is made again where that may help."""
        began = time.monotonic()
        if self._gone is not None and began - self._gone[0] < REST_SECONDS:
            raise UnreachableError(f"'{self.address}' could not be reached: {self._gone[1]}")
        for attempt in range(ATTEMPTS):
            try:
                value = call()
            except Exception as error:  # of whichever library is behind the address
                reason = without_secrets(first_line(error))
                if isinstance(error, _FINAL) or type(error).__name__ in _FINAL_NAMES:
                    raise StoreError(f"'{self.address}' could not be {what}: {reason}") from error
                if attempt + 1 == ATTEMPTS or time.monotonic() - began > PATIENCE_SECONDS:
                    self._gone = time.monotonic(), reason
                    raise UnreachableError(f"'{self.address}' could not be reached: {reason}") from error
                time.sleep(FIRST_DELAY_SECONDS * 2**attempt * random.uniform(0.5, 1.5))
            else:
                self._gone = None
                return value
        raise AssertionError("there is at least one attempt")


def _connect(address: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs
        from fsspec.registry import known_implementations, registry
    except ImportError:
        raise UsageError(missing_package(f"'{address}'", "fsspec", "remote")) from None
    scheme = address.partition("://")[0]
    if scheme not in known_implementations and scheme not in registry:
        raise UsageError(
            f"an address of results must begin with what fsspec knows, got '{scheme}://'"
            f"{did_you_mean(scheme, ('s3', 'gs', 'abfs', 'sftp', 'hdfs'))}"
        )
    try:
        # Listings that are remembered would hide what others have added.
        fs, root = url_to_fs(address, use_listings_cache=False)
    except ImportError as error:
        hint = f"; {install_extra('remote')} brings s3fs" if scheme in ("s3", "s3a") else ""
        raise UsageError(
            f"'{address}' needs a package that is not installed: {first_line(error)}{hint}"
        ) from None
    except Exception as error:  # of whichever library is behind the address
        raise UsageError(f"'{address}' cannot be used: {without_secrets(first_line(error))}") from error
    return fs, str(root).rstrip("/")


def _state(info: dict[str, Any]) -> State:
    token = next((str(info[name]) for name in _TOKENS if info.get(name) is not None), "")
    return int(info.get("size") or 0), token.strip('"')
