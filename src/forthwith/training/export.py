"""A finished run as something to use: a bundle, merged weights, a GGUF file, or an adapter named as vLLM expects it.

Every export is scored on fixed probes through its own loader and compared with the trained model; one that answers otherwise is refused.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file  # pyright: ignore[reportUnknownVariableType]

from forthwith.bundle import BaseModelReference, load_bundle, write_bundle
from forthwith.calibration import Binding, Calibration, ScoredQuestion, ScoredQuestions, fit_calibration
from forthwith.default_model import SMOLLM2, ensure_default_model
from forthwith.engine.loading import LoadedModel, ModelSource, load_model
from forthwith.engine.transformers import TransformersEngine
from forthwith.errors import ArtifactError, DataError
from forthwith.readout import Readout, readout_by_name
from forthwith.schema import Record, option_keys, state_sha256
from forthwith.schema.trained_states import TRAINED_STATES_NAME, TrainedStates
from forthwith.training.card import write_card
from forthwith.training.gguf_file import write_gguf
from forthwith.training.probes import ProbeGap, compare_scores, probe_scores, require_same
from forthwith.training.run import RUN_FILE

__all__ = ["Exported", "TrainedRun", "export_bundle", "export_gguf", "export_merged", "export_vllm_adapter", "open_run"]

_EXACT = 1e-3
_HALF = 0.1


@dataclass(frozen=True)
class Exported:
    """What was written, and how its answers to the probes compare."""

    place: Path
    gap: ProbeGap


@dataclass(frozen=True)
class TrainedRun:
    """A run's folder, read.

    Attributes:
        folder: the run.
        summary: its `run.json`.
        readout: its readout.
        base_place: where the base lies.
        adapter: the folder of the chosen adapter.
    """

    folder: Path
    summary: dict[str, Any]
    readout: Readout
    base_place: str
    adapter: Path

    def load(self, *, device: str | None = None, precision: Any = None) -> LoadedModel:
        """The trained model: the base with its adapter merged in.

        Raises:
            ArtifactError: the base has changed since.
        """
        loaded = load_model(
            ModelSource(self.base_place, str(self.adapter), device, precision, self.summary["base"]["revision"])
        )
        expected = self.summary["base"]["weights_sha256"]
        if loaded.weights_sha256 != expected:
            raise ArtifactError(
                f"{self.base_place} is another base than {self.folder} was trained on", expected, loaded.weights_sha256
            )
        return loaded


def open_run(folder: str | Path) -> TrainedRun:
    """A finished run.

    Raises:
        ArtifactError: it is none, or it is not finished.
    """
    folder = Path(folder)
    try:
        summary: dict[str, Any] = json.loads((folder / RUN_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ArtifactError(
            f"{folder} is no finished run: it has no readable {RUN_FILE}; train first, or resume it"
        ) from error
    base = str(summary["base"]["model"])
    place = str(ensure_default_model()) if base == SMOLLM2.name else base
    return TrainedRun(folder, summary, readout_by_name(summary["config"]["readout"]), place, folder / "best")


def export_bundle(
    run: TrainedRun,
    out: Path,
    validation: Sequence[Record],
    *,
    name: str,
    version: str = "1",
    licence: str | None = None,
    adapter_dtype: Literal["float32", "float16", "bfloat16"] = "float32",
    device: str | None = None,
) -> Exported:
    """A bundle: adapter, calibration fitted on validation records, manifest and card.

    Args:
        run: the run.
        out: a new folder.
        validation: records the model was not trained on; empty leaves the bundle uncalibrated.
        name: of the bundle.
        version: of the bundle.
        licence: of the base, for the manifest.
        adapter_dtype: how the adapter is stored.
        device: where it is scored; the calibration holds for the precision used there.

    Raises:
        ArtifactError: the folder is not empty, or the bundle answers otherwise than the run.
        DataError: a validation record's state was trained on.
    """
    states = run.folder / TRAINED_STATES_NAME
    if states.is_file():
        _check_unseen(validation, TrainedStates.read(states))
    adapter = _stored_adapter(run, out, adapter_dtype)
    trained = TrainedRun(run.folder, run.summary, run.readout, run.base_place, adapter)
    loaded = trained.load(device=device)
    engine = TransformersEngine(loaded, run.base_place)
    expected = probe_scores(engine, loaded.encoder, run.readout)
    binding = Binding(
        weights_sha256=loaded.weights_sha256,
        adapter_sha256=loaded.adapter_sha256,
        template_sha256=run.readout.template_sha256,
        readout=run.readout.name,
        precision=loaded.precision,
    )
    answered = _answers(engine, loaded, run.readout, validation)
    calibration: Calibration | None = (
        fit_calibration(ScoredQuestions.from_rows(answered), binding) if answered else None
    )
    base = run.summary["base"]
    precision: Any = loaded.precision
    bundle = write_bundle(
        out,
        name=name,
        version=version,
        base=BaseModelReference(
            model=base["model"], weights_sha256=loaded.weights_sha256, encoder_sha256=loaded.encoder.fingerprint,
            revision=base["revision"], licence=licence,
        ),
        readout=run.readout.name,
        template_sha256=run.readout.template_sha256,
        precision=precision,
        adapter=adapter,
        calibration=calibration,
        card=write_card(name, run.summary, answered, calibration),
        trained_states=states.read_bytes() if states.is_file() else None,
        provenance={
            "run": run.summary["fingerprint"], "data": run.summary["data"], "rows_sha256": run.summary["rows"]["rows_sha256"],
            "config": run.summary["config"], "versions": run.summary["versions"],
        },
    )  # fmt: skip
    _remove(adapter)
    again = load_model(ModelSource(run.base_place, str(load_bundle(out).adapter), device, precision, base["revision"]))
    found = probe_scores(TransformersEngine(again, run.base_place), again.encoder, run.readout)
    return Exported(bundle.folder, require_same(compare_scores(expected, found), _EXACT, "bundle"))


def _check_unseen(validation: Sequence[Record], trained: TrainedStates) -> None:
    if known := [record.id for record in validation if state_sha256(record.state) in trained]:
        raise DataError(
            f"{len(known)} of {len(validation)} validation records show a state that the model was trained on, first {known[0]!r};"
            " a calibration fitted on them would promise too much, so give records that were held back"
        )


def export_merged(run: TrainedRun, out: Path, *, device: str | None = None) -> Exported:
    """A plain model folder with the adapter merged in, in the precision of the base.

    Raises:
        ArtifactError: the folder is not empty, or the merged model answers otherwise.
    """
    _require_new(out)
    loaded = run.load(device=device)
    expected = probe_scores(TransformersEngine(loaded, "trained"), loaded.encoder, run.readout)
    loaded.model.save_pretrained(str(out))
    loaded.tokenizer.save_pretrained(str(out))
    again = load_model(ModelSource(str(out), None, device, None, None))
    found = probe_scores(TransformersEngine(again, str(out)), again.encoder, run.readout)
    return Exported(out, require_same(compare_scores(expected, found), _EXACT, "merged model"))


def export_gguf(run: TrainedRun, out: Path, *, half: bool = True) -> Exported:
    """A GGUF file with the adapter merged in; the Llama architecture only.

    Raises:
        ArtifactError: the file exists, the architecture is another, or the file answers otherwise.
    """
    if out.exists():
        raise ArtifactError(f"{out} exists; name a new file")
    loaded = run.load(device="cpu", precision="float32")
    expected = probe_scores(TransformersEngine(loaded, "trained"), loaded.encoder, run.readout)
    out.parent.mkdir(parents=True, exist_ok=True)
    write_gguf(loaded.model, loaded.tokenizer, out, name=str(run.summary["config"]["name"]), half=half)
    again = load_model(ModelSource(str(out), None, "cpu", "float32", None))
    # The trained model's own tokenizer: what llama.cpp makes of the text is a matter of its own tests.
    found = probe_scores(TransformersEngine(again, str(out)), loaded.encoder, run.readout)
    return Exported(out, require_same(compare_scores(expected, found), _HALF if half else _EXACT, "GGUF file"))


def export_vllm_adapter(run: TrainedRun, out: Path) -> Exported:
    """The adapter with tensors named after the base checkpoint's own, as vLLM looks them up.

    A wrapper's checkpoint names its text layers `model.language_model.layers.N`, while the text model alone calls them
    `model.layers.N`; vLLM ignores tensors of the second kind without a word.

    Raises:
        ArtifactError: the folder is not empty, or an adapted module is not in the checkpoint.
    """
    _require_new(out)
    stored = load_file(str(run.adapter / "adapter_model.safetensors"))
    names = checkpoint_names(Path(run.base_place))
    renamed = {rename_for_checkpoint(name, names): tensor for name, tensor in stored.items()}
    out.mkdir(parents=True, exist_ok=True)
    save_file(renamed, str(out / "adapter_model.safetensors"), metadata={"format": "pt"})
    config = json.loads((run.adapter / "adapter_config.json").read_text(encoding="utf-8"))
    (out / "adapter_config.json").write_text(json.dumps(config, indent=1), encoding="utf-8")
    if set(renamed) != set(stored):
        return Exported(out, ProbeGap(0, 0.0, 0))  # only the wrapper's own loader reads these names
    loaded, again = run.load(device="cpu"), load_model(ModelSource(run.base_place, str(out), "cpu", None, None))
    expected, found = (probe_scores(TransformersEngine(m, "x"), m.encoder, run.readout) for m in (loaded, again))
    return Exported(out, require_same(compare_scores(expected, found), _EXACT, "adapter"))


def checkpoint_names(folder: Path) -> set[str]:
    """Names of the modules that a checkpoint's files hold weights for."""
    names: set[str] = set()
    for path in folder.glob("*.safetensors"):
        with safe_open(str(path), framework="pt") as file:  # pyright: ignore[reportUnknownVariableType]
            names |= {str(key).removesuffix(".weight") for key in file.keys()}  # noqa: SIM118 # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType, reportUnknownVariableType]
    if not names:
        raise ArtifactError(f"{folder} holds no safetensors file to read module names from")
    return names


def rename_for_checkpoint(tensor: str, modules: set[str]) -> str:
    """An adapter tensor's name with the module called as the checkpoint calls it.

    Raises:
        ArtifactError: the checkpoint has no such module.
    """
    prefix = "base_model.model."
    module, _, rest = tensor.removeprefix(prefix).partition(".lora_")
    if module in modules or (module == "lm_head" and any(name.endswith("embed_tokens") for name in modules)):
        return tensor
    wrapped = module.replace("model.", "model.language_model.", 1)
    if wrapped in modules:
        return f"{prefix}{wrapped}.lora_{rest}"
    raise ArtifactError(f"the base checkpoint has no module {module!r}; the adapter was made for another base")


def _answers(
    engine: TransformersEngine, loaded: LoadedModel, readout: Readout, records: Sequence[Record]
) -> list[ScoredQuestion]:
    rows: list[ScoredQuestion] = []
    for record in records:
        plan = readout.plan(record.request, loaded.encoder)
        readings = engine.evaluate([*plan.trees, *plan.prior_trees])
        count = len(plan.trees)
        scores = readout.scores(plan, readings[:count], readings[count:])
        for qid, target in record.targets.items():
            question = record.questions[qid]
            keys = option_keys(question)
            rows.append(
                ScoredQuestion(
                    question.type, record.family(qid), record.cluster_id, scores[qid].log_scores.tolist(),
                    target.vector(keys), keys.index(target.best_key()), target.is_ambiguous(),
                )
            )  # fmt: skip
    return rows


def _stored_adapter(run: TrainedRun, out: Path, dtype: str) -> Path:
    place = out.with_name(f".{out.name}.adapter")
    place.mkdir(parents=True, exist_ok=True)
    stored = load_file(str(run.adapter / "adapter_model.safetensors"))
    converted = {name: tensor.to(getattr(torch, dtype)) for name, tensor in stored.items()}
    save_file(converted, str(place / "adapter_model.safetensors"), metadata={"format": "pt"})
    (place / "adapter_config.json").write_bytes((run.adapter / "adapter_config.json").read_bytes())
    return place


def _remove(folder: Path) -> None:
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()


def _require_new(out: Path) -> None:
    if out.exists() and any(out.iterdir()):
        raise ArtifactError(f"{out} is not empty; name a new folder")
