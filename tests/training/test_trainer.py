"""The loop learns, resumes to the same curve, and refuses another configuration."""

from pathlib import Path

import pytest
from training_runs import config_of, prepared_tiny, records, trainer_of

from forthwith.errors import ArtifactError


def test_training_fits_a_few_records(tmp_path: Path) -> None:
    trainer = trainer_of(config_of(epochs=10), prepared_tiny(tmp_path), tmp_path / "run")
    events = []
    trainer.report = events.append
    trainer.run()
    losses = [event["loss"] for event in events if event["event"] == "step"]
    assert sum(losses[-3:]) < sum(losses[:3]) / 2
    answers = list(trainer.answers(records()))
    assert sum(answer.is_right for answer in answers) >= 18  # of 24; guessing the commonest answer gives 12


def test_a_run_cut_off_at_a_checkpoint_goes_on_to_the_same_losses(tmp_path: Path) -> None:
    config = config_of(epochs=4, every_steps=3)
    prepared = prepared_tiny(tmp_path)
    whole: list[dict] = []
    trainer = trainer_of(config, prepared, tmp_path / "whole")
    trainer.report = whole.append
    trainer.run()

    class CutError(Exception):
        pass

    def cut_at_seven(event: dict) -> None:
        if event.get("step") == 7:
            raise CutError

    broken = trainer_of(config, prepared_tiny(tmp_path), tmp_path / "broken")
    broken.report = cut_at_seven
    with pytest.raises(CutError):
        broken.run()
    resumed: list[dict] = []
    again = trainer_of(config, prepared_tiny(tmp_path), tmp_path / "broken")
    again.report = resumed.append
    again.run()
    expected = {event["step"]: event["loss"] for event in whole if event["event"] == "step"}
    found = {event["step"]: event["loss"] for event in resumed if event["event"] == "step"}
    assert min(found) == 7
    assert found == pytest.approx({step: expected[step] for step in found}, rel=1e-6)


def test_another_configuration_is_refused(tmp_path: Path) -> None:
    trainer_of(config_of(epochs=0.5), prepared_tiny(tmp_path), tmp_path / "run").run()
    other = trainer_of(config_of(epochs=1), prepared_tiny(tmp_path), tmp_path / "run")
    with pytest.raises(ArtifactError, match=r"differs from this one in: \[optimisation\]; name another"):
        other.run()
