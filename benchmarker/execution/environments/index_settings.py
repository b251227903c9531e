"""What the user told pip about indexes, said again in uv's words.

pip reads its configuration files and ``PIP_*`` variables (https://pip.pypa.io/en/stable/topics/configuration/);
uv does not. Whatever the user set for uv itself stays as it is.
"""

from __future__ import annotations

import configparser
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from benchmarker.api.given_values import expanded
from benchmarker.quick_dataclass import dataclass

_UV_INDEXES = ("UV_DEFAULT_INDEX", "UV_INDEX_URL")
_UV_MORE_INDEXES = ("UV_INDEX", "UV_EXTRA_INDEX_URL")
_TRUE = {"1", "true", "yes", "on", "y", "t"}


@dataclass(frozen=True)
class IndexSettings:
    """Additions to uv's environment and to the arguments of ``uv pip install``."""

    environment: Mapping[str, str] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()

    @property
    def offline(self) -> bool:
        """Whether no index may be asked, only link folders."""
        return "--no-index" in self.arguments


def _user_files() -> list[Path]:
    folder = expanded("~")
    if sys.platform == "win32":
        return [folder / "pip" / "pip.ini", Path(os.environ.get("APPDATA", folder)) / "pip" / "pip.ini"]
    legacy = folder / ".pip" / "pip.conf"
    mac = folder / "Library" / "Application Support" / "pip"
    if sys.platform == "darwin" and mac.is_dir():
        return [legacy, mac / "pip.conf"]
    config = Path(os.environ.get("XDG_CONFIG_HOME", "").strip() or folder / ".config")
    return [legacy, config / "pip" / "pip.conf"]


def _global_files() -> list[Path]:
    if sys.platform == "win32":
        return [Path(os.environ.get("PROGRAMDATA", "C:\\ProgramData")) / "pip" / "pip.ini"]
    if sys.platform == "darwin":
        return [Path("/Library/Application Support/pip/pip.conf")]
    folders = os.environ.get("XDG_CONFIG_DIRS", "").strip() or "/etc/xdg"
    return [Path(folder) / "pip" / "pip.conf" for folder in folders.split(os.pathsep)] + [
        Path("/etc/pip.conf")
    ]


def pip_files(environ: Mapping[str, str]) -> list[Path]:
    """Return pip's configuration files, the weakest first: global, user, site, ``PIP_CONFIG_FILE``.

    A ``PIP_CONFIG_FILE`` that exists takes the user's file out; the null device takes all out.
    """
    chosen = environ.get("PIP_CONFIG_FILE")
    if chosen == os.devnull:
        return []
    own = [Path(chosen)] if chosen else []
    user = [] if own and own[0].exists() else _user_files()
    site = Path(sys.prefix) / ("pip.ini" if sys.platform == "win32" else "pip.conf")
    return [*_global_files(), *user, site, *own]


def _read(path: Path) -> dict[str, dict[str, str]]:
    parser = configparser.RawConfigParser()
    try:
        parser.read(path)
    except (OSError, UnicodeDecodeError, configparser.Error):
        return {}  # pip itself tells the user that this file cannot be read
    return {section: dict(parser.items(section)) for section in parser.sections()}


def pip_options(environ: Mapping[str, str], files: Iterable[Path]) -> dict[str, str]:
    """Return the options that ``pip install`` would start with, by long name without dashes in front.

    The section ``[install]`` overrides ``[global]``, whatever the files' order, and variables override
    both; among the same section's entries the last file wins.
    """
    sections: dict[str, dict[str, str]] = {"global": {}, "install": {}, "variables": {}}
    for path in files:
        for name, entries in _read(path).items():
            if name in sections:
                sections[name].update({key.lower().replace("_", "-"): text for key, text in entries.items()})
    for name, text in environ.items():
        if name.startswith("PIP_"):
            sections["variables"][name[4:].lower().replace("_", "-")] = text
    merged: dict[str, str] = {}
    for entries in sections.values():
        merged.update({name: text.strip() for name, text in entries.items() if text.strip()})
    return merged


def _local(location: str) -> Path | None:
    if location.lower().startswith("file:"):
        return Path(url2pathname(urlsplit(location).path))
    if "://" in location:
        return None
    return expanded(location)


def _address(location: str) -> str:
    """Return a URL: uv splits its lists at spaces and commas, which paths may hold."""
    path = _local(location)
    url = location if path is None else path.absolute().as_uri()
    return url.replace(",", "%2C")


def _addresses(text: str) -> list[str]:
    """Return the URLs of a pip list without local places that do not exist, which pip passes over too."""
    places = ((location, _local(location)) for location in text.split())
    return [_address(location) for location, path in places if path is None or path.exists()]


def _index_variables(options: Mapping[str, str]) -> dict[str, str]:
    chosen: dict[str, str] = {}
    if "index-url" in options:
        chosen["UV_DEFAULT_INDEX"] = _address(options["index-url"])
    more = _addresses(options.get("extra-index-url", ""))
    if more:
        chosen["UV_INDEX"] = " ".join(more)
        # To pip all indexes are equal: the best version wins, wherever it is.
        chosen["UV_INDEX_STRATEGY"] = "unsafe-best-match"
    links = _addresses(options.get("find-links", ""))
    if links:
        chosen["UV_FIND_LINKS"] = ",".join(links)
    return chosen


def _connection_variables(options: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    certificates = options.get("cert") or environ.get("REQUESTS_CA_BUNDLE") or environ.get("CURL_CA_BUNDLE")
    timeout = options.get("timeout") or options.get("default-timeout") or ""
    values = {
        "SSL_CERT_FILE": certificates if certificates and expanded(certificates).is_file() else None,
        "SSL_CLIENT_CERT": options.get("client-cert"),
        "UV_INSECURE_HOST": " ".join(options.get("trusted-host", "").split()),
        "UV_HTTP_TIMEOUT": timeout.split(".")[0],
        "UV_HTTP_RETRIES": options.get("retries"),
        "UV_PRERELEASE": "allow" if options.get("pre", "").lower() in _TRUE else None,
        "UV_KEYRING_PROVIDER": "subprocess" if options.get("keyring-provider") == "subprocess" else None,
        "HTTPS_PROXY": options.get("proxy"),
        "HTTP_PROXY": options.get("proxy"),
    }
    return {name: value for name, value in values.items() if value}


def _set_by_user(name: str, environ: Mapping[str, str]) -> bool:
    same = next((group for group in (_UV_INDEXES, _UV_MORE_INDEXES) if name in group), (name, name.lower()))
    return any(environ.get(other) for other in same)


def index_settings(
    environ: Mapping[str, str] | None = None, files: Iterable[Path] | None = None
) -> IndexSettings:
    """Return pip's settings for uv.

    Parameters
    ----------
    environ : mapping, optional
        Environment variables; those of this process by default.
    files : iterable of Path, optional
        pip's configuration files, the weakest first; those that pip would read by default.
    """
    environ = os.environ if environ is None else environ
    options = pip_options(environ, pip_files(environ) if files is None else files)
    wanted = {**_index_variables(options), **_connection_variables(options, environ)}
    chosen = {name: value for name, value in wanted.items() if not _set_by_user(name, environ)}
    arguments: list[str] = []
    uv_has_indexes = any(environ.get(name) for name in (*_UV_INDEXES, *_UV_MORE_INDEXES))
    if options.get("no-index", "").lower() in _TRUE and not uv_has_indexes:
        arguments.append("--no-index")
    if not environ.get("UV_CONSTRAINT"):
        for location in options.get("constraint", "").split():
            arguments += ["--constraints", location]
    return IndexSettings(chosen, tuple(arguments))
