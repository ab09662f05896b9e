"""API keys: kept as SHA-256 hashes, found by hash, with a rate each.

A key is 256 random bits, so a plain hash cannot be guessed back; only the hash is ever written or held.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from forthwith.errors import ConfigError
from forthwith.serving.failures import Failure, HttpError

__all__ = ["ApiKey", "KeyRing", "add_key", "new_key", "read_keys"]

_PREFIX = "fw_"
_FIELDS = {"name", "sha256", "requests_per_minute", "tokens_per_minute"}


@dataclass(frozen=True)
class ApiKey:
    """One caller: a name for the logs, the key's hash, and what it may use a minute (None: no bound)."""

    name: str
    sha256: str
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None


def new_key(name: str) -> tuple[str, str]:
    """A fresh key, and the lines for the keys file that let it in; the key itself is shown once and kept nowhere."""
    if not name or not name.isprintable() or '"' in name or "\\" in name:
        raise ConfigError(f"a key's name must be printable and hold no quotes or backslashes, found {name!r}", "name")
    key = _PREFIX + secrets.token_urlsafe(32)
    return key, f'[[keys]]\nname = "{name}"\nsha256 = "{_sha256(key)}"\n'


def add_key(path: Path, name: str) -> str:
    """Make a key and append its hash to a keys file, which is made readable by its owner only; gives the key.

    Raises:
        ConfigError: the file cannot be read or written, or has a key of that name.
    """
    if path.exists() and any(key.name == name for key in read_keys(path)):
        raise ConfigError(f"{path} has a key named {name!r} already; choose another name", "name")
    key, lines = new_key(name)
    try:
        with open(path, "a", encoding="utf-8", opener=_owner_only) as file:
            file.write(lines)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror or error}", "keys") from error
    return key


def read_keys(path: Path) -> tuple[ApiKey, ...]:
    """The keys in a TOML file of `[[keys]]` tables.

    Raises:
        ConfigError: unreadable, or a table is wrong; names the table and member.
    """
    try:
        tables = tomllib.loads(path.read_text("utf-8")).get("keys")
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path} cannot be read as a keys file: {error}", "keys") from error
    if not isinstance(tables, list) or not tables:
        raise ConfigError(f"{path} holds no [[keys]] table; add one with `forthwith new-key`", "keys")
    keys = tuple(_read_key(path, number, table) for number, table in enumerate(cast("list[Any]", tables), start=1))
    for field in ("name", "sha256"):
        values = [getattr(key, field) for key in keys]
        if twice := next((value for value in values if values.count(value) > 1), None):
            raise ConfigError(f"{path}: the {field} {twice!r} appears twice; each key needs its own", "keys")
    return keys


class KeyRing:
    """Knows whose key a request carries."""

    def __init__(self, keys: Sequence[ApiKey]) -> None:
        self._by_hash = {key.sha256: key for key in keys}

    def holder(self, authorization: str | None) -> ApiKey | None:
        """Who asks; None when no keys are set, whatever the header says.

        Raises:
            HttpError: 401, the key is missing or unknown.
        """
        if not self._by_hash:
            return None
        scheme, _, presented = (authorization or "").partition(" ")
        if scheme.lower() != "bearer" or not presented.strip():
            raise _unauthorised("this server needs an API key; send Authorization: Bearer <key>")
        key = self._by_hash.get(_sha256(presented.strip()))
        if key is None:
            raise _unauthorised("the API key is not known here; check it")
        return key


def _owner_only(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _read_key(path: Path, number: int, table: Any) -> ApiKey:
    where = f"{path}: key {number}"
    if not isinstance(table, dict):
        raise ConfigError(f"{where} is no table; write [[keys]]", "keys")
    members = cast("dict[str, Any]", table)
    if strays := sorted(set(members) - _FIELDS):
        raise ConfigError(
            f"{where} has the unknown member {strays[0]!r}; known are {', '.join(sorted(_FIELDS))}", "keys"
        )
    name, sha256 = members.get("name"), str(members.get("sha256", "")).lower()
    if not isinstance(name, str) or not name:
        raise ConfigError(f"{where} has no name; give it one", "keys")
    if len(sha256) != 64 or set(sha256) - set("0123456789abcdef"):
        raise ConfigError(f"{where} ({name}): sha256 must be 64 hexadecimal digits of the key's hash", "keys")
    for field in ("requests_per_minute", "tokens_per_minute"):
        value = members.get(field)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value <= 0):
            raise ConfigError(f"{where} ({name}): {field} must be a whole number above 0, found {value!r}", "keys")
    return ApiKey(name, sha256, members.get("requests_per_minute"), members.get("tokens_per_minute"))


def _sha256(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()


def _unauthorised(message: str) -> HttpError:
    return HttpError(Failure(401, "authentication_error", message, headers={"www-authenticate": "Bearer"}))
