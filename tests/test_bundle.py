from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from forthwith.bundle import BaseModelReference, Bundle, load_bundle, packaged_bundles, read_calibration, write_bundle
from forthwith.calibration import Binding, Calibration
from forthwith.errors import ArtifactError

BASE = BaseModelReference(model="tiny", weights_sha256="a" * 64, encoder_sha256="b" * 64)


def adapter(folder: Path) -> Path:
    folder.mkdir()
    (folder / "adapter_config.json").write_text("{}")
    (folder / "adapter_model.safetensors").write_bytes(b"weights")
    return folder


def make(tmp_path: Path, calibration: Calibration | None = None) -> Bundle:
    return write_bundle(
        tmp_path / "bundle", name="mine", version="1", base=BASE, readout="branch", template_sha256="c" * 64,
        precision="float32", adapter=adapter(tmp_path / "adapter"), calibration=calibration, card="# Card\n",
        provenance={"data": "hand-made"},
    )  # fmt: skip


def calibration(**changes: str) -> Calibration:
    values = {"weights_sha256": "a" * 64, "template_sha256": "c" * 64, "readout": "branch", "precision": "float32"}
    sha = hashlib.sha256(b"weights").hexdigest()
    return Calibration(binding=Binding(**(values | {"adapter_sha256": sha} | changes)), temperature={"noul": 2.0})


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    bundle = make(tmp_path, calibration())
    again = load_bundle(bundle.folder)
    assert again == bundle
    assert again.adapter == bundle.folder / "adapter"
    assert again.calibration == calibration()
    assert again.manifest.binding == calibration().binding
    assert len(again.manifest.bundle_id) == 12
    assert set(again.manifest.files) == {
        "adapter/adapter_config.json",
        "adapter/adapter_model.safetensors",
        "calibration.json",
        "card.md",
    }


def test_a_bundle_may_be_bare(tmp_path: Path) -> None:
    bundle = write_bundle(
        tmp_path / "b",
        name="bare",
        version="1",
        base=BASE,
        readout="text",
        template_sha256="c" * 64,
        precision="float32",
    )
    assert (bundle.adapter, bundle.calibration, bundle.manifest.adapter_sha256) == (None, None, None)


@pytest.mark.parametrize("name", ["adapter/adapter_model.safetensors", "calibration.json", "card.md"])
def test_a_changed_or_missing_file_is_named(tmp_path: Path, name: str) -> None:
    bundle = make(tmp_path, calibration())
    (bundle.folder / name).write_bytes(b"other")
    with pytest.raises(ArtifactError, match=f"{name} in the bundle .* was changed"):
        load_bundle(bundle.folder)
    (bundle.folder / name).unlink()
    with pytest.raises(ArtifactError, match=f"lacks the file {name}"):
        load_bundle(bundle.folder)


@pytest.mark.parametrize(
    ("field", "value"),
    [("weights_sha256", "d" * 64), ("template_sha256", "d" * 64), ("readout", "label"), ("precision", "bfloat16"),
     ("adapter_sha256", "d" * 64)],
)  # fmt: skip
def test_a_calibration_of_something_else_is_refused_by_name(tmp_path: Path, field: str, value: str) -> None:
    with pytest.raises(ArtifactError, match=f"was fitted on another {field}; fit it again") as caught:
        make(tmp_path, calibration(**{field: value}))
    assert caught.value.found == {field: value}


def test_no_manifest_and_a_broken_one_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="is no bundle"):
        load_bundle(tmp_path)
    bundle = make(tmp_path)
    manifest = json.loads((bundle.folder / "manifest.json").read_text())
    (bundle.folder / "manifest.json").write_text(json.dumps(manifest | {"format": "forthwith-bundle/9"}))
    with pytest.raises(ArtifactError, match="cannot be read as a bundle manifest"):
        load_bundle(bundle.folder)


def test_an_existing_folder_is_not_overwritten(tmp_path: Path) -> None:
    make(tmp_path)
    with pytest.raises(ArtifactError, match="is not empty"):
        write_bundle(
            tmp_path / "bundle",
            name="x",
            version="1",
            base=BASE,
            readout="text",
            template_sha256="c",
            precision="float32",
        )


def test_an_unreadable_calibration_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="cannot be read: No such file"):
        read_calibration(tmp_path / "none.json")
    (tmp_path / "other.json").write_text('{"a": 1}')
    with pytest.raises(ArtifactError, match=r"is no calibration: binding: .* found \{'a': 1\}; .*forthwith calibrate"):
        read_calibration(tmp_path / "other.json")


def test_bundles_are_found_by_the_names_of_their_folders(tmp_path: Path) -> None:
    bundle = make(tmp_path)
    assert packaged_bundles(tmp_path) == {"bundle": bundle.folder}  # the adapter's folder beside it is none
    assert packaged_bundles(tmp_path / "nowhere") == {}


def test_shipped_bundles_are_whole() -> None:
    for name, folder in packaged_bundles().items():
        assert load_bundle(folder).manifest.name == name
