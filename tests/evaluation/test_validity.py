"""Sound benchmarks pass, leaky ones are caught."""

from __future__ import annotations

import numpy as np
import pytest

from forthwith.errors import ConfigError, DataError
from forthwith.evaluation.align import align
from forthwith.evaluation.blind import shortcut_accuracy, state_blind_accuracy, usual_shortcuts
from forthwith.evaluation.columns import question_columns
from forthwith.evaluation.predictions import Prediction
from forthwith.evaluation.validity import Rung, ladder, noise_floor, null_baselines, oracle, seed_spread
from forthwith.schema import parse_record

KEYS = ("a", "b", "c", "d")


def records(n: int, *, leak: str | None = None, seed: int = 0):
    """Four-way choices with balanced labels; a leak names the right option's description."""
    rng = np.random.default_rng(seed)
    made = []
    for index in range(n):
        label = index % 4
        words = rng.choice(["red", "green", "blue", "grey", "pink", "teal"], size=4)
        texts = {key: f"{words[place]} thing" for place, key in enumerate(KEYS)}
        if leak == "word":
            texts[KEYS[label]] += " surely"
        if leak == "length":
            texts[KEYS[label]] += " and some more words"
        made.append(
            parse_record(
                {
                    "id": f"r{index}",
                    "task": "pick",
                    "state": f"state {index}",
                    "questions": {"q": {"type": "choice", "instructions": "Which?", "criteria": texts}},
                    "targets": {"q": {"label": KEYS[label]}},
                }
            )
        )
    return made


def aligned(made, skill: float, seed: int = 0):
    rng = np.random.default_rng(seed)
    lines = []
    for record in made:
        z = rng.normal(size=4)
        z[KEYS.index(record.targets["q"].label)] += skill
        lines.append(
            Prediction(
                id=record.id,
                qid="q",
                type="choice",
                family="pick",
                options=list(KEYS),
                log_scores=z.tolist(),
                probabilities=[0.25] * 4,
                readout="r",
            )
        )
    return align(lines, made)


def test_the_oracle_scores_full_marks_through_the_whole_path() -> None:
    result = oracle(aligned(records(40), 0.0))
    assert result.accuracy == 1.0
    assert result.brier_score < 1e-6
    assert result.is_sound


def test_balanced_labels_pass_the_null_baselines() -> None:
    null = null_baselines(aligned(records(400), 3.0))["pick"]
    assert null.chance == 0.25
    assert null.majority == null.best_position == 0.25
    assert null.half_width == pytest.approx(1.959964 * np.sqrt(0.25 * 0.75 / 400))
    assert null.permuted == pytest.approx(0.25, abs=0.02)
    assert null.is_sound


def test_a_dominant_label_fails_the_null_baselines() -> None:
    made = [record for index, record in enumerate(records(400)) if index % 4 == 0 or index < 100]
    null = null_baselines(aligned(made, 0.0))["pick"]
    assert null.majority > 0.5
    assert not null.is_sound
    with pytest.raises(ConfigError, match="at least 20"):
        null_baselines(aligned(made, 0.0), n_permutations=10)


def test_noise_floor_by_hand() -> None:
    questions = aligned(records(400), 1.5)
    columns = question_columns(questions)
    floor = noise_floor(columns, questions.scored.families)
    accuracy = columns.is_right.mean()
    assert floor["pick"].accuracy == pytest.approx(accuracy)
    assert floor["pick"].headroom == pytest.approx(1 - accuracy)
    assert floor["pick"].binomial_half_width == pytest.approx(1.959964 * np.sqrt(accuracy * (1 - accuracy) / 400))
    assert floor["pick"].half_width == pytest.approx(floor["pick"].binomial_half_width, rel=0.1)
    assert floor["macro"].paired_half_width == pytest.approx(np.sqrt(2) * floor["macro"].half_width)


def test_a_ladder_rises_and_a_fall_is_named() -> None:
    made = records(400)
    rungs = [
        Rung(name, question_columns(aligned(made, skill, seed)))
        for seed, (name, skill) in enumerate([("weak", 0.5), ("middle", 1.5), ("strong", 3.0)])
    ]
    steps = ladder(rungs, ["pick"])
    assert all(step.is_sound and step.difference > 0 for step in steps)
    (fall,) = ladder([rungs[2], rungs[0]], ["pick"])
    assert not fall.is_sound
    assert fall.falling_families == ["pick"]
    with pytest.raises(ConfigError, match="at least 2"):
        ladder(rungs[:1], ["pick"])
    with pytest.raises(DataError, match="different questions"):
        ladder([rungs[0], Rung("other", question_columns(aligned(made[:8], 1.0)))], ["pick"])


def test_seed_spread_by_hand() -> None:
    runs = [question_columns(aligned(records(200), 1.5, seed)) for seed in range(3)]
    spread = seed_spread(runs)
    macros = [run.is_right.mean() for run in runs]
    assert spread.macro_accuracies == pytest.approx(macros)
    assert spread.largest_difference == pytest.approx(max(macros) - min(macros))
    assert spread.standard_deviation == pytest.approx(np.std(macros, ddof=1))
    with pytest.raises(ConfigError, match="at least 2"):
        seed_spread(runs[:1])


def test_a_word_that_gives_the_answer_away_is_learned_without_the_state() -> None:
    leaky = state_blind_accuracy(records(160, leak="word"))["pick"]
    assert leaky.accuracy == 1.0
    assert leaky.is_above_chance
    clean = state_blind_accuracy(records(160))["pick"]
    assert clean.accuracy < 0.25 + 2 * clean.half_width


def test_the_longest_option_is_a_shortcut_only_where_it_leaks() -> None:
    leaky = shortcut_accuracy(records(80, leak="length"), usual_shortcuts())["pick"]
    assert leaky["longest option"].accuracy == 1.0
    assert leaky["longest option"].is_above_chance
    assert leaky["first option"].accuracy == 0.25
    assert not leaky["first option"].is_above_chance


def test_the_largest_number_and_shared_words_are_read_from_the_option() -> None:
    record = parse_record(
        {
            "id": "r",
            "state": "we want the blue tent",
            "questions": {"q": {"type": "choice", "criteria": {"x": "red tent $1,200.50", "y": "blue tent $90"}}},
            "targets": {"q": {"label": "x"}},
        }
    )
    found = shortcut_accuracy([record], usual_shortcuts())["q"]
    assert found["largest number"].accuracy == 1.0
    assert found["most words of the state"].accuracy == 0.0


def test_questions_without_a_right_answer_are_refused() -> None:
    bare = parse_record({"id": "r", "state": "s", "questions": {"q": {"type": "noul", "instructions": "?"}}})
    with pytest.raises(DataError, match="one right answer"):
        state_blind_accuracy([bare])
    with pytest.raises(DataError, match="one right answer"):
        shortcut_accuracy([bare], usual_shortcuts())
    with pytest.raises(ConfigError, match="folds"):
        state_blind_accuracy([bare], folds=1)
