"""Compiled layers compute what plain ones do, and give way where they cannot."""

import importlib.util
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from training_runs import config_of, prepared_tiny, records, trainer_of

from forthwith.training.compilation import compile_layers
from forthwith.training.forward import TreeForward
from forthwith.training.row_probe import largest_gap, probe_batch, run_probe, stirred_adapter

HAS_COMPILER = shutil.which("g++") is not None and importlib.util.find_spec("torch._inductor") is not None
PLAIN = {"rank": 8, "alpha": 16, "dropout": 0.0}


def losses(place: Path, *, compiled: bool) -> tuple[list[float], list[float], dict[str, Any]]:
    """Losses of two epochs, the last row of each short, and the answers' log-scores behind them."""
    config = config_of(epochs=2, lora=PLAIN, runtime={"compile": compiled})
    prepared = prepared_tiny(place, config)
    trainer = trainer_of(config, prepared, place / f"run-{compiled}")
    found: list[float] = []
    trainer.report = lambda event: found.append(event["loss"]) if event["event"] == "step" else None
    trainer.run()
    answers = sorted(trainer.answers(records()), key=lambda answer: answer.record_id)
    return found, [float(value) for answer in answers for value in answer.log_scores], prepared.notes


@pytest.mark.slow  # compiles C++
@pytest.mark.skipif(not HAS_COMPILER, reason="needs g++")
@pytest.mark.filterwarnings("ignore")  # the compiler's own
def test_compiled_training_gives_the_plain_losses_and_answers(tmp_path: Path) -> None:
    plain, plain_answers, plain_notes = losses(tmp_path, compiled=False)
    found, answers, notes = losses(tmp_path, compiled=True)
    assert "compiled" not in plain_notes
    assert notes["compiled"], notes
    assert notes["compile_gap"] < 1e-5
    assert len(plain) >= 4
    assert found[0] == pytest.approx(plain[0], rel=1e-5)
    assert found == pytest.approx(plain, rel=2e-4, abs=1e-4)  # Adam's first steps magnify rounding
    assert answers == pytest.approx(plain_answers, rel=2e-3, abs=2e-3)


def test_layers_stay_plain_and_say_why_where_the_compiler_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared = prepared_tiny(tmp_path)

    def fails(_self: torch.nn.Module, **_options: Any) -> None:
        raise RuntimeError("no compiler found")

    monkeypatch.setattr(torch.nn.Module, "compile", fails)
    notes: dict[str, Any] = {}
    assert not compile_layers(prepared.forward, 1024, prepared.autocast, notes)
    assert notes["compiled"] is False
    assert "no compiler found" in notes["compile_error"]
    assert not prepared.forward.body.get_input_embeddings()._forward_hooks


def test_layers_that_differ_are_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = prepared_tiny(tmp_path, config_of(lora=PLAIN))

    def compiles_wrongly(self: torch.nn.Module, **_options: Any) -> None:
        plain = self._call_impl
        self._compiled_call_impl = lambda *args, **inputs: plain(*args, **inputs) * 1.5

    monkeypatch.setattr(torch.nn.Module, "compile", compiles_wrongly)
    notes: dict[str, Any] = {}
    before = run_probe(prepared.forward, probe_batch(), prepared.autocast)
    assert not compile_layers(prepared.forward, 1024, prepared.autocast, notes)
    assert notes["compile_gap"] > 0.01
    assert "differs from the plain layers" in notes["compile_error"]
    after = run_probe(prepared.forward, probe_batch(), prepared.autocast)
    assert largest_gap(after, before) == 0.0


def test_a_probe_leaves_the_adapter_as_it_was(tmp_path: Path) -> None:
    forward: TreeForward = prepared_tiny(tmp_path, config_of(lora=PLAIN)).forward
    before = {name: value.clone() for name, value in forward.state_dict().items()}
    with stirred_adapter(forward):
        values = run_probe(forward, probe_batch(), lambda: torch.enable_grad())
        widened = run_probe(forward, probe_batch(2048), lambda: torch.enable_grad())
    assert largest_gap(widened, values) < 1e-4  # padding changes nothing
    assert bool((values.gradient != 0).float().mean() > 0.9)  # both halves of every matrix have a part
    assert all(torch.equal(before[name], value) for name, value in forward.state_dict().items())
    assert all(parameter.grad is None for parameter in forward.parameters())
