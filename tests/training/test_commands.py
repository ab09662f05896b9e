"""The commands do what the library does, and say it."""

from pathlib import Path

import typer
from training_runs import model_folder, records, write_records
from typer.testing import CliRunner

from forthwith.cli.export import export
from forthwith.cli.train import train
from forthwith.errors import ArtifactError

app = typer.Typer()
app.command()(train)
app.command()(export)

CONFIG = """
name = "tiny"
[lora]
rank = 4
[optimisation]
epochs = 1
warmup_steps = 0
[batching]
row_tokens = 512
"""


def test_train_then_export(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "c.toml").write_text(CONFIG)
    data, val = write_records(tmp_path / "t.jsonl", records()[:8]), write_records(tmp_path / "v.jsonl", records()[8:])
    out, bundle = tmp_path / "run", tmp_path / "bundle"
    common = ["--device", "cpu"]
    trained = CliRunner().invoke(
        app, ["train", "--config", str(tmp_path / "c.toml"), "--data", str(data), "--val", str(val), "--out", str(out),
              "--base", str(model_folder(tmp_path)), "--seed", "7", *common],
    )  # fmt: skip
    assert trained.exit_code == 0, trained.output
    assert "1 steps, 16 questions" in trained.output
    exported = CliRunner().invoke(app, ["export", str(out), "--out", str(bundle), "--val", str(val), *common])
    assert exported.exit_code == 0, exported.output
    assert "8 probe questions agree" in exported.output
    assert (bundle / "manifest.json").is_file()


def test_an_unknown_export_is_refused(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["export", str(tmp_path), "--out", str(tmp_path / "x"), "--as", "onnx"])
    assert "'onnx' is none of bundle, merged, gguf, vllm" in str(result.exception)


def test_an_option_of_another_export_is_refused(tmp_path: Path) -> None:
    val = write_records(tmp_path / "v.jsonl", records()[:2])
    for options, said in (
        (["--as", "vllm", "--val", str(val)], "vllm has neither"),
        (["--as", "merged", "--adapter-dtype", "float16"], "merged has neither"),
        (["--as", "merged", "--full"], "--full is for a GGUF file"),
    ):
        result = CliRunner().invoke(app, ["export", str(tmp_path), "--out", str(tmp_path / "x"), *options])
        assert said in str(result.exception)


def test_a_record_without_targets_is_refused_with_what_to_do(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "c.toml").write_text(CONFIG)
    some = [*records()[:2], records()[2].model_copy(update={"targets": {}})]
    data = write_records(tmp_path / "t.jsonl", some)
    result = CliRunner().invoke(
        app, ["train", "--config", str(tmp_path / "c.toml"), "--data", str(data), "--out", str(tmp_path / "run"),
              "--device", "cpu", "--base", str(model_folder(tmp_path))],
    )  # fmt: skip
    assert "'w2' cannot be trained on: no question has a target; give one of them a label" in str(result.exception)
    assert "shorten it" not in str(result.exception)


def test_records_that_teach_nothing_are_told(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "c.toml").write_text(CONFIG + 'overlong = "skip"\n')
    some = records()[:8]
    some[3] = some[3].model_copy(update={"targets": {}})
    data, out = write_records(tmp_path / "t.jsonl", some), tmp_path / "run"
    result = CliRunner().invoke(
        app, ["train", "--config", str(tmp_path / "c.toml"), "--data", str(data), "--out", str(out), "--device", "cpu",
              "--base", str(model_folder(tmp_path))],
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert f"1 of 8 training records were left out, {some[3].id!r} because no question has a target" in result.stderr


def test_there_must_be_a_run_to_resume(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(CONFIG)
    data = write_records(tmp_path / "t.jsonl", records()[:8])
    result = CliRunner().invoke(
        app,
        [
            "train",
            "--config",
            str(tmp_path / "c.toml"),
            "--data",
            str(data),
            "--out",
            str(tmp_path / "typo"),
            "--resume",
        ],
    )
    assert isinstance(result.exception, ArtifactError)
    assert "no run to resume" in str(result.exception)
    assert not (tmp_path / "typo").exists()
