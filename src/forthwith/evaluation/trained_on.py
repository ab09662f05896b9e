"""What a model was trained on, found beside it: so that nothing is calibrated or measured on its own training data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from forthwith.bundle import MANIFEST_NAME, Bundle, load_bundle, packaged_bundles
from forthwith.calibration import Binding
from forthwith.errors import ArtifactError, DataError
from forthwith.schema import BadLine, Record, iter_records
from forthwith.schema.trained_states import TRAINED_STATES_NAME, TrainedStates

__all__ = ["states_trained_on", "trained_states_at"]


def states_trained_on(binding: Binding, places: Sequence[str | Path] = ()) -> TrainedStates:
    """The states that the model of a binding was trained on, as far as they are known.

    Args:
        binding: of the predictions; a bundle of this package with the same adapter adds its states unasked.
        places: further places, see `trained_states_at`.

    Raises:
        ArtifactError: a place holds no such states, or is a bundle with another adapter.
        DataError: a record file cannot be read.
    """
    states = TrainedStates()
    for place in places:
        states |= trained_states_at(place, binding)
    if binding.adapter_sha256 is None:
        return states
    for folder in packaged_bundles().values():
        bundle = load_bundle(folder)
        if bundle.manifest.adapter_sha256 == binding.adapter_sha256 and bundle.trained_states is not None:
            states |= TrainedStates.read(bundle.trained_states)
    return states


def trained_states_at(place: str | Path, binding: Binding | None = None) -> TrainedStates:
    """The states that a bundle, a run's folder, a `trained_states.bin` or a file of training records names.

    Args:
        place: a bundle's name or one of the four.
        binding: a bundle must hold this adapter, where it is given.

    Raises:
        ArtifactError: there are none, or the bundle holds another adapter.
        DataError: a record file cannot be read.
    """
    path = packaged_bundles().get(str(place), Path(place))
    if (path / MANIFEST_NAME).is_file():
        return _of_bundle(load_bundle(path), binding)
    if path.is_dir():
        file = path / TRAINED_STATES_NAME
        if not file.is_file():
            raise ArtifactError(
                f"{path} is neither a bundle nor a run that noted its states; name the training records"
            )
        return TrainedStates.read(file)
    if path.suffix == ".bin":
        return TrainedStates.read(path)
    return TrainedStates.of(_records(path))


def _of_bundle(bundle: Bundle, binding: Binding | None) -> TrainedStates:
    found = bundle.manifest.adapter_sha256
    if binding is not None and found != binding.adapter_sha256:
        raise ArtifactError(
            f"{bundle.folder} holds another adapter than the predictions were made with", binding.adapter_sha256, found
        )
    if bundle.trained_states is None:
        raise ArtifactError(
            f"{bundle.folder} does not say what it was trained on; name the run's folder or the training records"
        )
    return TrainedStates.read(bundle.trained_states)


def _records(path: Path) -> list[Record]:
    records: list[Record] = []
    for item in iter_records(path):
        if isinstance(item, BadLine):
            raise item.error
        records.append(item)
    if not records:
        raise DataError("holds no records; name a file of training records", path)
    return records
