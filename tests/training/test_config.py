"""Configurations are checked, and every shipped one is valid."""

from pathlib import Path

import pytest

from forthwith.errors import ConfigError
from forthwith.training.config import load_config, parse_config, shipped_configs


@pytest.mark.parametrize("name", sorted(shipped_configs()))
def test_shipped_configurations_are_valid(name: str) -> None:
    assert load_config(name).name == name


def test_an_unknown_setting_suggests_the_nearest() -> None:
    with pytest.raises(
        ConfigError, match=r"optimisation.learnig_rate: unknown setting, found 1; did you mean 'learning_rate'\?"
    ) as caught:
        parse_config({"name": "x", "optimisation": {"learnig_rate": 1}})
    assert caught.value.field == "optimisation.learnig_rate"


def test_a_value_out_of_range_names_its_field() -> None:
    with pytest.raises(ConfigError, match=r"lora\.rank"):
        parse_config({"name": "x", "lora": {"rank": 0}})


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"readout": "branch", "objective": {"full_vocabulary": True}}, "full_vocabulary is for label and skeleton"),
        ({"readout": "text"}, "not trained"),
        ({"readout": "label", "augmentation": {"none_of_these": 0.1}}, "needs the branch readout"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(settings: dict, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        parse_config({"name": "x", **settings})


def test_a_file_that_is_missing_or_not_toml_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="did you mean 'smollm2-135m-branch'"):
        load_config("smollm2-135-branch")
    (tmp_path / "c.toml").write_text("name = ")
    with pytest.raises(ConfigError, match="not TOML"):
        load_config(tmp_path / "c.toml")


def test_the_fingerprint_ignores_how_a_run_computes() -> None:
    one = parse_config({"name": "x"})
    assert (
        parse_config({"name": "x", "runtime": {"compile": False}, "batching": {"workers": 3}}).fingerprints
        == one.fingerprints
    )
    assert parse_config({"name": "x", "seed": 1}).fingerprints != one.fingerprints
