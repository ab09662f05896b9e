"""From a name to the parts of a model: engine, encoder, readout and calibration, checked against one another.

A name is a shipped bundle, a bundle or model folder, a `.gguf` file, a hub id, or a model on a completions server.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from forthwith.bundle import MANIFEST_NAME, Bundle, load_bundle, packaged_bundles, read_calibration
from forthwith.calibration import Calibration
from forthwith.default_model import SMOLLM2, ensure_default_model
from forthwith.encoding import Encoder
from forthwith.engine.protocol import Engine, EngineIdentity
from forthwith.errors import ArtifactError, ConfigError, UnknownModelError
from forthwith.readout import Readout, readout_by_name

__all__ = ["DEFAULT_BASE", "DEFAULT_BUNDLE", "LoadOptions", "ModelParts", "load_parts", "load_served_parts"]

DEFAULT_BUNDLE = "forthwith-135m"
DEFAULT_BASE = SMOLLM2.name
_PRECISIONS = ("float32", "bfloat16", "float16")


@dataclass(frozen=True)
class LoadOptions:
    """How to load what a name stands for; None leaves the choice to the model.

    Attributes:
        adapter: a PEFT adapter folder for a bare base.
        readout: branch, label, label(orders=R,…), skeleton or text.
        calibration: a calibration, or its file, for exactly this combination.
        device: cpu, cuda, ….
        precision: float32, bfloat16 or float16.
        revision: the hub revision of a hub id.
        cache_dir: where the default model is kept.
        tokenizer: folder or hub id of a served model's tokenizer, or the default base's name.
        progress: called with one line for each slow step.
    """

    adapter: str | Path | None = None
    readout: str | None = None
    calibration: str | Path | Calibration | None = None
    device: str | None = None
    precision: str | None = None
    revision: str | None = None
    cache_dir: Path | None = None
    tokenizer: str | Path | None = None
    progress: Callable[[str], None] | None = None

    def refuse(self, names: tuple[str, ...], who: str) -> None:
        """Raise `ConfigError` for the first of these options that is set: `who` has no use for it."""
        for name in names:
            if getattr(self, name) is not None:
                raise ConfigError(f"{who} takes no {name}; leave it out", name)


@dataclass(frozen=True)
class ModelParts:
    """What a model is composed of, and the name it answers by."""

    engine: Engine
    encoder: Encoder
    readout: Readout
    calibration: Calibration | None
    name: str
    bundle: Bundle | None = None


def load_parts(name: str | None, options: LoadOptions) -> ModelParts:
    """The parts of a model that runs here.

    Raises:
        UnknownModelError: nothing goes by that name.
        ArtifactError: something does not match, cannot be fetched or is broken.
        ConfigError: an option that this model has no use for.
    """
    options.refuse(("tokenizer",), "a model that runs here")
    named = _resolve(name)
    if isinstance(named, Path):
        return _bundle_parts(load_bundle(named), options)
    readout = readout_by_name(options.readout or ("branch" if options.adapter else "text"))
    calibration = _calibration(options)
    engine, encoder = _torch_engine(named, options.adapter, options.precision, options.revision, options)
    return ModelParts(engine, encoder, readout, calibration, Path(named).name)


def load_served_parts(url: str, model: str | None, options: LoadOptions, api_key: str | None = None) -> ModelParts:
    """The parts of a model on a completions server; its tokenizer stays here.

    Raises:
        ArtifactError: no such tokenizer, or the server has another one.
        ConfigError: an option that a served model has no use for, or the model must be named.
        EngineError: the server cannot be reached.
    """
    options.refuse(("adapter", "device", "precision", "revision"), "a served model")
    readout = readout_by_name(options.readout or "text")
    from forthwith.engine.served import load_served
    from forthwith.engine.server_calls import CallSettings

    tokenizer = None if options.tokenizer is None else _place(str(options.tokenizer), options)
    engine, encoder = load_served(CallSettings(url, api_key=api_key), model, tokenizer=tokenizer)
    return ModelParts(engine, encoder, readout, _calibration(options), engine.identity.model)


def _bundle_parts(bundle: Bundle, options: LoadOptions) -> ModelParts:
    if options.adapter is not None or options.readout is not None:
        raise ConfigError("a bundle brings its own adapter and readout; load its base to try others", "adapter")
    manifest = bundle.manifest
    readout = readout_by_name(manifest.readout)
    given = _calibration(options)
    precision = options.precision or manifest.precision
    engine, encoder = _torch_engine(manifest.base.model, bundle.adapter, precision, manifest.base.revision, options)
    _check_bundle(bundle, engine.identity, encoder, readout)
    # Another precision than it was fitted in: answered, and said to be uncalibrated.
    own = bundle.calibration if engine.identity.precision == manifest.precision else None
    return ModelParts(engine, encoder, readout, given or own, manifest.name, bundle)


def _resolve(name: str | None) -> str | Path:
    """A bundle's folder, or the name of a base."""
    shipped = packaged_bundles()
    if name is not None and not name.strip():
        raise UnknownModelError(name, (*shipped, DEFAULT_BASE))
    if name is None:
        return shipped.get(DEFAULT_BUNDLE, DEFAULT_BASE)
    if name in shipped:
        return shipped[name]
    return Path(name) if (Path(name) / MANIFEST_NAME).is_file() else name


def _torch_engine(
    base: str, adapter: str | Path | None, precision: str | None, revision: str | None, options: LoadOptions
) -> tuple[Engine, Encoder]:
    from forthwith.engine.loading import ModelSource, load_model  # torch loads here, not at import
    from forthwith.engine.transformers import TransformersEngine

    if precision is not None and precision not in _PRECISIONS:
        raise ConfigError(f"unknown precision {precision!r}; use one of {', '.join(_PRECISIONS)}", "precision")
    folder = None if adapter is None else str(adapter)
    source = ModelSource(_place(base, options), folder, options.device, precision, revision)
    loaded = load_model(source)
    return TransformersEngine(loaded, base), loaded.encoder


def _place(name: str, options: LoadOptions) -> str:
    """Where a name's files are: the default base has its place in the cache, others are their own."""
    return str(ensure_default_model(options.cache_dir, progress=options.progress)) if name == DEFAULT_BASE else name


def _check_bundle(bundle: Bundle, identity: EngineIdentity, encoder: Encoder, readout: Readout) -> None:
    manifest = bundle.manifest
    pairs = {
        "base weights": (manifest.base.weights_sha256, identity.weights_sha256),
        "tokenizer": (manifest.base.encoder_sha256, encoder.fingerprint),
        "prompt template": (manifest.template_sha256, readout.template_sha256),
    }
    for what, (expected, found) in pairs.items():
        if expected != found:
            raise ArtifactError(f"the bundle {manifest.name} was made for another {what}", expected, found)


def _calibration(options: LoadOptions) -> Calibration | None:
    given = options.calibration
    return given if given is None or isinstance(given, Calibration) else read_calibration(given)
