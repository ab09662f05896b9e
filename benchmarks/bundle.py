r"""Put a trained adapter, its calibration and its card together into a bundle that ships with the package.

    python benchmarks/bundle.py --adapter FOLDER --calibration FILE --card FILE --name forthwith-135m --version 0.4.0 \
        --trained-on FILE… --provenance FILE --out src/forthwith/bundles/forthwith-135m

The adapter folder holds `adapter_config.json` and `adapter_model.safetensors`; `--trained-on` names the training records (or the
`trained_states.bin` of a bundle), whose states are noted as hashes, so that nobody calibrates on them. Of the calibration, families that
ask always are not listed: unlisted ones do, too.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from forthwith.bundle import BaseModelReference, read_calibration, write_bundle
from forthwith.calibration import Calibration
from forthwith.model import Model
from forthwith.schema import Record, iter_records
from forthwith.schema.trained_states import TrainedStates

BASE = "smollm2-135m-instruct"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--adapter", type=Path, required=True)
    parser.add_argument("--calibration", type=Path, required=True)
    parser.add_argument("--card", type=Path, required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument(
        "--trained-on", type=Path, nargs="*", default=[], help="files of training records, or lists of them (.bin)"
    )
    parser.add_argument("--provenance", type=Path, required=True, help="JSON object: how the adapter was made")
    parser.add_argument("--out", type=Path, required=True, help="replaced")
    arguments = parser.parse_args()

    model = Model.load(BASE, readout="branch", adapter=str(arguments.adapter), device="cpu")
    states = trained_states(arguments.trained_on)
    card = arguments.card.read_text(encoding="utf-8")
    provenance = json.loads(arguments.provenance.read_text(encoding="utf-8"))
    calibration = without_idle_families(read_calibration(arguments.calibration))
    shutil.rmtree(arguments.out, ignore_errors=True)
    bundle = write_bundle(
        arguments.out,
        name=arguments.name,
        version=arguments.version,
        base=BaseModelReference(
            model=BASE,
            weights_sha256=model.binding.weights_sha256,
            encoder_sha256=model.encoder.fingerprint,
            licence="Apache-2.0",
        ),
        readout="branch",
        template_sha256=model.binding.template_sha256,
        precision="float32",
        adapter=arguments.adapter,
        calibration=calibration,
        card=card,
        trained_states=states.to_bytes() if len(states) else None,
        provenance=provenance,
    )
    size = sum(path.stat().st_size for path in arguments.out.rglob("*") if path.is_file())
    print(f"{bundle.manifest.bundle_id}: {size:,} bytes, {len(states):,} training states")


def trained_states(paths: list[Path]) -> TrainedStates:
    lists = [path for path in paths if path.suffix == ".bin"]
    states = TrainedStates.of(records([path for path in paths if path not in lists]))
    for path in lists:
        states |= TrainedStates.read(path)
    return states


def records(paths: list[Path]) -> Iterator[Record]:
    for path in paths:
        for item in iter_records(path):
            if not isinstance(item, Record):
                raise item.error
            yield item


def without_idle_families(calibration: Calibration) -> Calibration:
    thresholds = calibration.thresholds
    if thresholds is None or any(value is not None for value in thresholds.by_type.values()):
        return calibration
    kept = {family: value for family, value in thresholds.by_family.items() if value is not None}
    told = {name: detail for name, detail in thresholds.details.get("families", {}).items() if name in kept}
    return calibration.model_copy(
        update={"thresholds": thresholds.model_copy(update={"by_family": kept, "details": {"families": told}})}
    )


if __name__ == "__main__":
    main()
