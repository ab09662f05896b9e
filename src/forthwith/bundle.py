"""One decision model on disk: a manifest that names its base, adapter, readout, template and calibration, each by hash.

A folder with `manifest.json` and, as the manifest says, `adapter/`, `calibration.json`, `trained_states.bin` and `card.md`. Loading
refuses whatever does not match and says which part. Knows no engine.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from forthwith.calibration import Binding, Calibration
from forthwith.default_model.source import file_sha256
from forthwith.errors import ArtifactError
from forthwith.schema.frozen import Frozen
from forthwith.schema.trained_states import TRAINED_STATES_NAME

__all__ = ["BaseModelReference", "Bundle", "Manifest", "load_bundle", "packaged_bundles", "write_bundle"]

MANIFEST_NAME = "manifest.json"
CALIBRATION_NAME = "calibration.json"
ADAPTER_FOLDER = "adapter"
ADAPTER_FILES = ("adapter_config.json", "adapter_model.safetensors")


class BaseModelReference(Frozen):
    """The base weights: a name or place to find them, and the hash that proves them."""

    model: str
    weights_sha256: str
    encoder_sha256: str
    revision: str | None = None
    licence: str | None = None


class Manifest(Frozen):
    """Everything that a bundle's answers depend on."""

    format: Literal["forthwith-bundle/1"] = "forthwith-bundle/1"
    name: str
    version: str
    base: BaseModelReference
    readout: str
    template_sha256: str
    precision: Literal["float32", "bfloat16", "float16"]
    files: dict[str, str] = Field(default_factory=dict)
    provenance: dict[str, Any] = Field(default_factory=dict)

    @property
    def bundle_id(self) -> str:
        """First 12 hexadecimal digits of the hash of the whole manifest."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:12]

    @property
    def adapter_sha256(self) -> str | None:
        """Hash of the adapter's weights, if there is an adapter."""
        return self.files.get(f"{ADAPTER_FOLDER}/{ADAPTER_FILES[1]}")

    @property
    def binding(self) -> Binding:
        """What a calibration of this bundle must be bound to."""
        return Binding(
            weights_sha256=self.base.weights_sha256,
            adapter_sha256=self.adapter_sha256,
            template_sha256=self.template_sha256,
            readout=self.readout,
            precision=self.precision,
        )


@dataclass(frozen=True)
class Bundle:
    """A loaded bundle: its manifest, its folder, and its calibration if it has one."""

    manifest: Manifest
    folder: Path
    calibration: Calibration | None

    @property
    def adapter(self) -> Path | None:
        """The adapter's folder, if the bundle has one."""
        return self.folder / ADAPTER_FOLDER if self.manifest.adapter_sha256 is not None else None

    @property
    def trained_states(self) -> Path | None:
        """The file of the states that the adapter was trained on (`TrainedStates`), if the bundle has one."""
        return self.folder / TRAINED_STATES_NAME if TRAINED_STATES_NAME in self.manifest.files else None


def load_bundle(folder: str | Path) -> Bundle:
    """Read a bundle and check every file against the manifest.

    Raises:
        ArtifactError: no manifest, an unreadable one, a missing or changed file, or a calibration bound to something else.
    """
    folder = Path(folder)
    manifest = _read_manifest(folder / MANIFEST_NAME)
    for name, expected in manifest.files.items():
        path = folder / name
        if not path.is_file():
            raise ArtifactError(f"the bundle {folder} lacks the file {name}; take the bundle again")
        if (found := file_sha256(path)) != expected:
            raise ArtifactError(f"{name} in the bundle {folder} was changed", expected, found)
    return Bundle(manifest, folder, _read_calibration(folder, manifest))


def _read_manifest(path: Path) -> Manifest:
    try:
        return Manifest.model_validate_json(path.read_bytes())
    except FileNotFoundError as error:
        raise ArtifactError(f"{path.parent} is no bundle: it has no {MANIFEST_NAME}") from error
    except (OSError, ValidationError) as error:
        raise ArtifactError(f"{path} cannot be read as a bundle manifest: {error}") from error


def _read_calibration(folder: Path, manifest: Manifest) -> Calibration | None:
    if CALIBRATION_NAME not in manifest.files:
        return None
    calibration = read_calibration(folder / CALIBRATION_NAME)
    check_binding(calibration, manifest.binding, str(folder / CALIBRATION_NAME))
    return calibration


def read_calibration(path: str | Path) -> Calibration:
    """A calibration file.

    Raises:
        ArtifactError: missing or unreadable, or another kind of file; names the field at fault.
    """
    try:
        return Calibration.model_validate_json(Path(path).read_bytes())
    except OSError as error:
        raise ArtifactError(f"{path} cannot be read: {error.strerror}") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or "the file"
        raise ArtifactError(
            f"{path} is no calibration: {field}: {first['msg']}, found {first['input']!r:.60};"
            " name a file that `forthwith calibrate` wrote"
        ) from error


def check_binding(calibration: Calibration, binding: Binding, where: str) -> None:
    """Refuse a calibration that was fitted on something else.

    Raises:
        ArtifactError: names the fields that differ.
    """
    differences = calibration.binding.differences(binding)
    if differences:
        expected = {name: getattr(binding, name) for name in differences}
        found = {name: getattr(calibration.binding, name) for name in differences}
        raise ArtifactError(f"{where} was fitted on another {', '.join(differences)}; fit it again", expected, found)


def write_bundle(
    folder: str | Path,
    *,
    name: str,
    version: str,
    base: BaseModelReference,
    readout: str,
    template_sha256: str,
    precision: Literal["float32", "bfloat16", "float16"],
    adapter: Path | None = None,
    calibration: Calibration | None = None,
    card: str | None = None,
    trained_states: bytes | None = None,
    provenance: dict[str, Any] | None = None,
) -> Bundle:
    """Write a bundle: copies the adapter, hashes every file, and reads it back.

    Raises:
        ArtifactError: the folder holds other files already, or the calibration is bound to something else.
    """
    folder = Path(folder)
    if folder.exists() and any(folder.iterdir()):
        raise ArtifactError(f"{folder} is not empty; name a new folder for the bundle")
    folder.mkdir(parents=True, exist_ok=True)
    files: dict[str, bytes] = {}
    if adapter is not None:
        files |= {f"{ADAPTER_FOLDER}/{file}": (adapter / file).read_bytes() for file in ADAPTER_FILES}
    if calibration is not None:
        files[CALIBRATION_NAME] = (calibration.model_dump_json(indent=1) + "\n").encode()
    if card is not None:
        files["card.md"] = card.encode()
    if trained_states is not None:
        files[TRAINED_STATES_NAME] = trained_states
    manifest = Manifest(
        name=name,
        version=version,
        base=base,
        readout=readout,
        template_sha256=template_sha256,
        precision=precision,
        files={file: hashlib.sha256(data).hexdigest() for file, data in sorted(files.items())},
        provenance=provenance or {},
    )
    for file, data in files.items():
        path = folder / file
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
    text = json.dumps(manifest.model_dump(mode="json"), indent=1, ensure_ascii=False) + "\n"
    (folder / MANIFEST_NAME).write_text(text, encoding="utf-8")
    return load_bundle(folder)


def packaged_bundles(root: Path | None = None) -> dict[str, Path]:
    """The bundles that ship inside the package (or lie in another folder), by name."""
    root = root or Path(str(resources.files("forthwith") / "bundles"))
    if not root.is_dir():
        return {}
    return {path.name: path for path in sorted(root.iterdir()) if (path / MANIFEST_NAME).is_file()}
