"""An encrypted copy of a hidden split, so that it can be kept, handed to a second person, and opened years later.

A Fernet token (AES-128-CBC with HMAC-SHA256) of the whole file: an altered or cut copy, or another key, is refused.
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import TYPE_CHECKING

from forthwith.errors import ArtifactError, ConfigError, DataError
from forthwith.personal.pseudonyms import ReleaseKey

if TYPE_CHECKING:
    from cryptography.fernet import Fernet

__all__ = ["open_sealed", "seal_file"]

_KEY_BYTES = 32


def seal_file(source: str | Path, out: str | Path, key: ReleaseKey) -> Path:
    """Write an encrypted copy of a file.

    Raises:
        ConfigError: the key has not 256 bits, or `cryptography` is not installed.
        DataError: the source cannot be read or `out` cannot be written.
    """
    token = _cipher(key).encrypt(_read(Path(source)))
    return _write(Path(out), token)


def open_sealed(sealed: str | Path, out: str | Path, key: ReleaseKey) -> Path:
    """Write the file behind an encrypted copy.

    Raises:
        ArtifactError: another key, or the copy was altered or cut; nothing is written then.
        DataError: a file cannot be read or written.
    """
    from cryptography.fernet import InvalidToken

    cipher, token = _cipher(key), _read(Path(sealed))
    try:
        plain = cipher.decrypt(token)
    except InvalidToken as error:
        raise ArtifactError(f"{sealed} does not open: another key, or the copy was altered or cut") from error
    return _write(Path(out), plain)


def _cipher(key: ReleaseKey) -> Fernet:
    try:
        from cryptography.fernet import Fernet
    except ImportError as error:
        raise ConfigError("sealing needs cryptography; install forthwith[bench]", "seal") from error
    if len(key.secret) != _KEY_BYTES:
        raise ConfigError(f"sealing needs a key of 64 hexadecimal digits, found {2 * len(key.secret)}", "key")
    return Fernet(base64.urlsafe_b64encode(key.secret))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot be read: {error}", path) from error


def _write(path: Path, content: bytes) -> Path:
    temporary = path.with_name(path.name + ".partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(content)
        temporary.replace(path)
    except OSError as error:
        raise DataError(f"cannot be written: {error}", path) from error
    finally:
        temporary.unlink(missing_ok=True)
    return path
