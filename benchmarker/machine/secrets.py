"""What must be in no record and no log: values of variables named like secrets, and passwords in addresses."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

SECRET = "<secret>"
"""Stands where a secret was."""
MIN_SECRET_LENGTH = 6
"""Shorter values are not looked for in texts, of which they would be parts by chance."""

_PARTS = re.compile(
    "SECRET|TOKEN(?!IZER)|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|COOKIE|SIGNATURE|(?<!THREAD)PRIVATE|BEARER|APIKEY"
    "|(?:ACCESS|ACCOUNT|MASTER|SIGNING|ENCRYPTION)_?KEY"
)
"""Parts of names that mean nothing else."""
_WORDS = frozenset(
    {
        "KEY",
        "KEYS",
        "AUTH",
        "AUTHORIZATION",
        "PASS",
        "PWD",
        "CRED",
        "CREDS",
        "DSN",
        "JWT",
        "PAT",
        "PIN",
        "SAS",
        "SIG",
        "OTP",
        "LICENSE",
    }
)
"""Whole words of names, which are also parts of others, such as MONKEY and AUTHOR."""
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
VOCABULARY = frozenset(
    {
        "absent",
        "all_gather",
        "all_reduce",
        "all_to_all",
        "broadcast",
        "confirmation",
        "container",
        "missed",
        "offline",
        "search",
        "server",
        "sustained",
        "unconfirmed",
        "undecided",
        "unreachable",
        "point_to_point",
        "reduce_scatter",
        "accuracy",
        "benchmarker",
        "closed",
        "composed",
        "counted",
        "emulated",
        "global",
        "shared",
        "strong",
        "contaminated",
        "coupled",
        "crashed",
        "current",
        "decoupled",
        "disturbed",
        "diverged",
        "epochs",
        "failed",
        "flat",
        "framework",
        "generation",
        "gradient",
        "imported",
        "inconclusive",
        "inference",
        "interrupted",
        "latency",
        "left_out",
        "managed",
        "max_processes",
        "medium",
        "native",
        "network",
        "no_improvement",
        "no_steady_state",
        "operator",
        "out_of_memory",
        "output",
        "passed",
        "precision",
        "process",
        "python",
        "recorded",
        "reference",
        "resident",
        "seconds",
        "skipped",
        "slowdown",
        "statistic",
        "target",
        "thread",
        "throughput",
        "time_budget",
        "timeout",
        "training",
        "unknown",
        "update",
        "validation",
        "warmup",
    }
)
"""Words that every record is made of, which are no secret whatever a variable holds."""
_NO_SECRETS = frozenset(
    {
        "PWD",
        "OLDPWD",
        "JAX_COMPILATION_CACHE_INCLUDE_METADATA_IN_KEY",
        "JAX_COMPILER_ENABLE_REMAT_PASS",
        "ONEDNN_EXPERIMENTAL_BNORM_STATS_ONE_PASS",
    }
)
_ADDRESS = re.compile(r"(?<=://)[^\s/?#@'\"<>]*(?::[^\s@'\"<>]*)?@")
"""User, password or token of an address. A password may hold any character but the @ that ends it."""
_PORT = re.compile(r"[^:@]*:\d+/[^@]*@")
"""What looks like one and is a port: ``https://host:443/path@version``."""
_SCHEME = re.compile(
    r"(?i)(\bauthorization['\"]?\s*[:=]\s*['\"]?(?:[a-z]+\s+)?|\bbearer\s+(?=\S*\d))[^\s'\"]{8,}"
)
_BLOCK = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL
)
_ASSIGNED = re.compile(
    r"(?i)(?<![a-z])((?:[a-z]+[_-]?)?(?:password|passwd|pwd|secret|token|api_?key|access_?key|account_?key"
    r"|shared_?access_?key|signature|sig|credentials?))(\s*=\s*)(\"[^\"]*\"|'[^']*'|[^\s&;,'\"]+)"
)
"""``password=...`` of connection strings and queries."""


def is_secret_name(name: str) -> bool:
    """Tell whether a variable is named like a key, token, secret, password, credential or the like."""
    if name.upper() in _NO_SECRETS:
        return False
    words = {word.upper() for part in name.split("_") for word in _WORD.findall(part)}
    return bool(_PARTS.search(name.upper())) or not _WORDS.isdisjoint(words)


def without_assignments(text: str) -> str:
    """Return a connection string or query without the values of its ``password=`` and the like."""
    return _ASSIGNED.sub(rf"\1\2{SECRET}", text)


def without_secrets(value: Any, environment: Mapping[str, str] = os.environ) -> Any:
    """Return a JSON value whose texts hold no secret that can be told.

    These are the values of variables named like secrets, the passwords in the addresses that variables hold, users
    and passwords in any address, tokens after ``Bearer`` and private keys.

    Parameters
    ----------
    value : object
        Text, or mappings and lists of it; anything else stays as it is.
    environment : mapping
        The variables whose values are looked for.
    """
    return _cleaned(value, _known(environment))


def _known(environment: Mapping[str, str]) -> re.Pattern[str] | None:
    """Return what finds the values of the secret variables; the longest first, as one may begin with another."""
    values = sorted({value for value in _secrets(environment) if _is_telling(value)}, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, values))) if values else None


def _secrets(environment: Mapping[str, str]) -> Iterator[str]:
    for name, value in environment.items():
        if is_secret_name(name):
            yield value.strip()
            # As a traceback, a repr or JSON would write it.
            yield repr(value)[1:-1]
        if "://" in value and "@" in value:
            login = value.partition("://")[2].rpartition("@")[0]
            yield from (login, login.partition(":")[2])


def _is_telling(value: str) -> bool:
    """Tell whether a value can be looked for: it is neither short nor a word that every record has."""
    if len(value) < MIN_SECRET_LENGTH or os.path.exists(value):  # noqa: PTH110 - a path names the file of a secret
        return False
    return value not in VOCABULARY


def _cleaned(value: Any, known: re.Pattern[str] | None) -> Any:
    if isinstance(value, str):
        return _text(value, known)
    if value is None or isinstance(value, (int, float)):
        return value
    if isinstance(value, (list, tuple)):
        # Lists of samples are long, and numbers alone.
        return value if value and isinstance(value[0], float) else [_cleaned(item, known) for item in value]
    if isinstance(value, Mapping):
        return {_text(str(name), known): _cleaned(member, known) for name, member in value.items()}
    return value


def _text(text: str, known: re.Pattern[str] | None) -> str:
    if known is not None:
        text = known.sub(SECRET, text)
    if "://" in text:
        text = _ADDRESS.sub(lambda found: found[0] if _PORT.fullmatch(found[0]) else f"{SECRET}@", text)
    if "-----BEGIN" in text:
        text = _BLOCK.sub(SECRET, text)
    return _SCHEME.sub(rf"\1{SECRET}", text)
