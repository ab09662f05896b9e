"""The stored results of a release, and the documents that are made from them (tables and pictures: result_tables.py).

    python benchmarks/results.py public --answers RECIPE-SEED.npz --calibration FILE --left-out NAMES.txt --command TEXT
    python benchmarks/results.py paired --first FILE… --second FILE… --left-out NAMES.txt   # prints: mean of runs against mean of runs
    python benchmarks/results.py personal --evaluation DIR --data FILE --preds FILE --baseline FILE --command TEXT
    python benchmarks/results.py seeds --answers NAME=FILE… --data FILE --command TEXT   # on a set that was measured as val
    python benchmarks/results.py readouts --preds NAME=FILE… --data FILE --command TEXT   # on the questions that all of them answered
    python benchmarks/results.py write      # tables in the documents, pictures in docs/images
    python benchmarks/results.py check      # exit 1 where a document differs from the stored results

`public` reads the answers that `benchmarks/h200_train.py` keeps; `personal` what `forthwith evaluate` wrote for TEST with the untrained
base beside it. Both write one JSON file under docs/results; `forthwith gate` writes hidden-gate.json there, `forthwith personal audit`
audit-test.json. A document's tables stand between `<!-- results:NAME -->` and `<!-- /results -->`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

import numpy as np
from result_tables import TABLES, family_picture
from scipy.stats import beta

from forthwith.bundle import read_calibration
from forthwith.metrics import ece
from forthwith.schema import Record, iter_records

ROOT = Path(__file__).resolve().parents[1]
STORE = ROOT / "docs" / "results"
DOCUMENTS = (ROOT / "docs" / "results.md", *sorted((ROOT / "src" / "forthwith" / "bundles").glob("*/card.md")))
BLOCKED = (
    "ag_news",
    "amazon_alexa",
    "chaosnli",
    "climate_fever",
    "enron_genre",
    "imdb",
    "sst5",
    "subjectivity",
    "trec",
)
SIX = ("apply_memory", "forgotten_violation", "needs_approval", "share_ok", "route", "notify_level")
RESAMPLES, SEED = 10_000, 20260930
Json = dict[str, Any]


# ---- public tasks -------------------------------------------------------------------------------------------------


class Answer(NamedTuple):
    """One answered question of a public test: log-scores in nats, the place of the right option."""

    task: str
    log_scores: np.ndarray
    label: int


def read_answers(path: Path) -> Iterator[Answer]:
    stored = np.load(path)
    scores = np.split(stored["log_scores"].astype(np.float64), np.cumsum(stored["count"])[:-1])
    for task, values, label in zip(stored["task"], scores, stored["label"], strict=True):
        yield Answer(str(task), values, int(label))


def public(arguments: argparse.Namespace) -> None:
    answers = list(read_answers(arguments.answers))
    left_out = set(arguments.left_out.read_text(encoding="utf-8").split())
    temperature = read_calibration(arguments.calibration).temperature
    own = {answer.task for answer in answers if is_public(answer.task)}
    groups = {
        "trained": own - set(BLOCKED), "blocked": set(BLOCKED), "all25": own, "left_out": left_out,
    }  # fmt: skip
    store("public", arguments, {
        "answers_sha256": sha256(arguments.answers), "temperature": temperature,
        "groups": {name: group_figures(answers, tasks, temperature) for name, tasks in groups.items()},
        "by_task": {task: round(accuracy([a for a in answers if a.task == task]), 4) for task in sorted(own | left_out)},
    })  # fmt: skip


def group_figures(answers: Sequence[Answer], tasks: set[str], temperature: Json) -> Json:
    mine = [answer for answer in answers if answer.task in tasks]
    by_task = [[answer for answer in mine if answer.task == task] for task in sorted({a.task for a in mine})]
    draw = np.random.default_rng(SEED)
    right = [np.array([is_right(answer) for answer in group], dtype=np.float64) for group in by_task]
    means = np.stack([draw.binomial(len(one), one.mean(), RESAMPLES) / len(one) for one in right])
    low, high = np.percentile(means.mean(axis=0), [2.5, 97.5])
    return {
        "tasks": len(by_task), "questions": len(mine), "macro": round(float(np.mean([one.mean() for one in right])), 4),
        "macro_low": round(float(low), 4), "macro_high": round(float(high), 4), "pooled": round(accuracy(mine), 4),
        "ece_before": pooled_ece(mine, {}), "ece_after": pooled_ece(mine, temperature),
        "below_majority": sum(bool(is_below_majority(group)) for group in by_task),
    }  # fmt: skip


def paired(arguments: argparse.Namespace) -> None:
    """Macro accuracy of two groups of runs on the same questions, their difference, and its interval over questions within tasks."""
    left_out = set(arguments.left_out.read_text(encoding="utf-8").split())
    first, second = ([list(read_answers(path)) for path in paths] for paths in (arguments.first, arguments.second))
    tasks = np.array([answer.task for answer in first[0]])
    rights = [np.mean([[is_right(answer) for answer in run] for run in runs], axis=0) for runs in (first, second)]
    draw = np.random.default_rng(SEED)
    for name, of_group in (("public tasks", is_public), ("left-out tasks", left_out.__contains__)):
        places = [np.flatnonzero(tasks == task) for task in np.unique(tasks) if of_group(str(task))]
        one, two = (np.mean([right[place].mean() for place in places]) for right in rights)
        gain = rights[0] - rights[1]
        drawn = [np.mean([gain[draw.choice(place, len(place))].mean() for place in places]) for _ in range(2000)]
        low, high = np.percentile(drawn, [2.5, 97.5])
        print(f"{len(places)} {name}: {one:.4f} and {two:.4f}, difference {one - two:+.4f} ({low:+.4f} to {high:+.4f})")


def is_public(task: str) -> bool:
    return "/" not in task or task.startswith("toolace/")


def is_right(answer: Answer) -> bool:
    return int(np.argmax(answer.log_scores)) == answer.label


def accuracy(answers: Sequence[Answer]) -> float:
    return float(np.mean([is_right(answer) for answer in answers]))


def pooled_ece(answers: Sequence[Answer], temperature: Json) -> float:
    """15 bins over all answers; a question of two options counts as yes/no, which the stored answers do not tell apart."""
    confidence: list[float] = []
    for answer in answers:
        kind = "noul" if len(answer.log_scores) == 2 else "choice"
        weights = np.exp((answer.log_scores - answer.log_scores.max()) / temperature.get(kind, 1.0))
        confidence.append(float(weights.max() / weights.sum()))
    return round(ece(confidence, [float(is_right(a)) for a in answers], n_bins=15, closed="right"), 4)


def is_below_majority(answers: Sequence[Answer]) -> bool:
    """Whether accuracy lies more than two standard errors under the share of the commonest label."""
    labels = np.bincount([answer.label for answer in answers])
    share = labels.max() / len(answers)
    return accuracy(answers) < share - 2 * np.sqrt(share * (1 - share) / len(answers))


# ---- personal decisions -------------------------------------------------------------------------------------------


class Question(NamedTuple):
    """One hard question of TEST: who asked, how it is put and set, whether past cases grade it, and whether it was answered rightly."""

    record: str
    user: str
    family: str
    scenario: str
    is_seen: bool
    is_buried: bool
    is_graded: bool
    is_right: bool


def personal(arguments: argparse.Namespace) -> None:
    evaluation: Json = json.loads((arguments.evaluation / "evaluation.json").read_text(encoding="utf-8"))
    models = {one["report"]["name"]: one["report"] for one in evaluation["models"]}
    candidate, base = list(models.values())[:2]
    records = {item.id: item for item in iter_records(arguments.data) if isinstance(item, Record)}
    own, other = (hard_questions(path, records) for path in (arguments.preds, arguments.baseline))
    figures = {name: family_figures(candidate["families"][name], base["families"][name], own, other, name)
               for name in candidate["families"]}  # fmt: skip
    automated = [candidate["families"][name] for name in SIX]
    store("personal", arguments, {
        "data_sha256": evaluation["data_sha256"], "records": len(records), "questions": candidate["n_questions"],
        "macro": macro(figures, tuple(figures)), "macro_six": macro(figures, SIX),
        "base_macro": macro(figures, tuple(figures), "base"), "base_macro_six": macro(figures, SIX, "base"),
        "ece": round(candidate["micro"]["ece_15"], 4), "nll": round(candidate["micro"]["nll"], 4),
        "coverage_six": round(float(np.mean([one["coverage"] for one in automated])), 4),
        "families": figures,
        "wording": split(own, lambda question: "seen" if question.is_seen else "held out"),
        "buried": split(own, lambda question: "buried" if question.is_buried else "clean"),
        "graded": split(own, lambda question: "graded" if question.is_graded else "one label"),
        "scenarios": {name: split([q for q in own if q.family == name], lambda question: question.scenario)
                      for name in figures},
        "safety": [{**one, "bound": round(upper_bound(one["n_missed"], one["n_at_risk"]), 4)} for one in candidate["safety"]],
        "reliability": candidate["reliability"]["all"],
    })  # fmt: skip


def hard_questions(path: Path, records: dict[str, Record]) -> list[Question]:
    """Questions whose answer the state decides, with whether the likeliest option is the right one."""
    found: list[Question] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        answer = json.loads(line)
        record, qid = records[answer["id"]], answer["qid"]
        target = record.targets[qid]
        if target.is_ambiguous():
            continue
        meta: Json = dict(record.meta)
        variant = str(meta["variants"][qid])
        best = answer["options"][int(np.argmax(answer["log_scores"]))]
        found.append(
            Question(record.id, str(record.user_id), answer["family"], f"{variant.removeprefix('buried+')}, {meta['scenarios'][qid]}",
                     meta["render"]["wording"] == "seen", variant.startswith("buried+"),
                     target.distribution is not None, best == target.best_key())
        )  # fmt: skip
    return found


def family_figures(own: Json, base: Json, mine: list[Question], theirs: list[Question], family: str) -> Json:
    low, high = paired_interval([q for q in mine if q.family == family], [q for q in theirs if q.family == family])
    names = ("accuracy", "accuracy_low", "accuracy_high", "coverage", "realised_error", "n_scorable", "n_automated")
    told = {name: None if own[name] is None else round(own[name], 4) for name in names}
    return told | {"base": round(base["accuracy"], 4), "gain_low": low, "gain_high": high}


def paired_interval(mine: list[Question], theirs: list[Question]) -> tuple[float, float]:
    """95 % percentile interval of the difference in accuracy; users are drawn, their questions stay together."""
    users = sorted({question.user for question in mine})
    place = {user: index for index, user in enumerate(users)}
    gain, count = np.zeros(len(users)), np.zeros(len(users))
    for a, b in zip(mine, theirs, strict=True):
        gain[place[a.user]] += float(a.is_right) - float(b.is_right)
        count[place[a.user]] += 1
    drawn = np.random.default_rng(SEED).multinomial(len(users), np.full(len(users), 1 / len(users)), RESAMPLES)
    low, high = np.percentile(drawn @ gain / (drawn @ count), [2.5, 97.5])
    return round(float(low), 4), round(float(high), 4)


def split(questions: Sequence[Question], key: Callable[[Question], str]) -> Json:
    """Accuracy of each part, macro over its families, with the number of questions."""
    parts: Json = {}
    for name in sorted({key(question) for question in questions}):
        mine = [question for question in questions if key(question) == name]
        families = sorted({question.family for question in mine})
        means = [float(np.mean([q.is_right for q in mine if q.family == family])) for family in families]
        parts[name] = {"accuracy": round(float(np.mean(means)), 4), "questions": len(mine)}
    return parts


def macro(figures: Json, families: Sequence[str], name: str = "accuracy") -> float:
    return round(float(np.mean([figures[family][name] for family in families])), 4)


def upper_bound(missed: int, total: int) -> float:
    """Clopper-Pearson, one-sided, 95 %."""
    return 1.0 if missed == total else float(beta.ppf(0.95, missed + 1, total - missed))


def seeds(arguments: argparse.Namespace) -> None:
    """Macro accuracy of several runs on VAL, of the questions that the state decides."""
    records = {item.id: item for item in iter_records(arguments.data) if isinstance(item, Record)}
    runs: Json = {}
    for item in arguments.answers:
        name, _, path = item.partition("=")
        right: dict[str, list[bool]] = {}
        with np.load(path) as stored:
            record, task, label, count = (stored[f"val/{key}"] for key in ("record", "task", "label", "count"))
            scores = np.split(stored["val/log_scores"], np.cumsum(count)[:-1])
        for rid, family, gold, values in zip(record, task, label, scores, strict=True):
            if not records[str(rid)].targets[str(family)].is_ambiguous():
                right.setdefault(str(family), []).append(int(np.argmax(values)) == int(gold))
        means = {family: round(float(np.mean(found)), 4) for family, found in sorted(right.items())}
        runs[name] = {
            "macro": round(float(np.mean(list(means.values()))), 4), "macro_six": round(float(np.mean([means[one] for one in SIX])), 4),
            "families": means,
        }  # fmt: skip
    store("seeds", arguments, {"data_sha256": sha256(arguments.data), "runs": runs})


def readouts(arguments: argparse.Namespace) -> None:
    """Macro accuracy of several prediction files of TEST on the questions that all of them answered."""
    records = {item.id: item for item in iter_records(arguments.data) if isinstance(item, Record)}
    found = {
        name: hard_questions(Path(path), records) for name, _, path in (item.partition("=") for item in arguments.preds)
    }
    answered = set.intersection(*({(one.record, one.family) for one in questions} for questions in found.values()))
    rows: Json = {}
    for name, questions in found.items():
        mine = [one for one in questions if (one.record, one.family) in answered]
        means = {
            family: float(np.mean([q.is_right for q in mine if q.family == family]))
            for family in sorted({q.family for q in mine})
        }
        rows[name] = {
            "macro": round(float(np.mean(list(means.values()))), 4),
            "questions": len(mine),
            "families": means,
        }
    store("readouts", arguments, {"records": len({record for record, _ in answered}), "rows": rows})


# ---- storing and writing ------------------------------------------------------------------------------------------


def store(name: str, arguments: argparse.Namespace, figures: Json) -> None:
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True)
    STORE.mkdir(exist_ok=True)
    told = {"command": arguments.command, "commit": commit.stdout.strip()[:12], **figures}
    (STORE / f"{name}.json").write_text(json.dumps(told, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(f"docs/results/{name}.json")


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def documents(pages: Sequence[Path] = DOCUMENTS) -> dict[Path, str]:
    """Every document as it has to be."""
    results = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in STORE.glob("*.json")}

    def filled(match: re.Match[str]) -> str:
        source, render = TABLES[match[1]]
        return f"<!-- results:{match[1]} -->\n{render(results[source])}\n<!-- /results -->"

    pattern = re.compile(r"<!-- results:(\w+) -->.*?<!-- /results -->", re.DOTALL)
    texts = {path: pattern.sub(filled, path.read_text(encoding="utf-8")) for path in pages}
    texts[ROOT / "docs" / "images" / "personal.svg"] = family_picture(results["personal"])
    return texts


def write(_arguments: argparse.Namespace) -> None:
    for path, text in documents().items():
        path.write_text(text, encoding="utf-8")


def check(_arguments: argparse.Namespace) -> None:
    stale = [
        path for path, text in documents().items() if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]
    for path in stale:
        print(f"{path.relative_to(ROOT)} differs from docs/results; run `python benchmarks/results.py write`")
    sys.exit(bool(stale))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("public")
    one.add_argument("--answers", type=Path, required=True)
    one.add_argument("--calibration", type=Path, required=True)
    one.add_argument("--left-out", type=Path, required=True, help="text file with the names of the left-out tasks")
    one.add_argument("--command", required=True, help="how the answers were made")
    one.set_defaults(run=public)
    between = commands.add_parser("paired")
    between.add_argument("--first", type=Path, nargs="+", required=True, help="answers of one or more runs")
    between.add_argument(
        "--second", type=Path, nargs="+", required=True, help="and of those that they are compared with"
    )
    between.add_argument("--left-out", type=Path, required=True)
    between.set_defaults(run=paired)
    two = commands.add_parser("personal")
    two.add_argument(
        "--evaluation", type=Path, required=True, help="folder of `forthwith evaluate`, the base as its baseline"
    )
    two.add_argument("--data", type=Path, required=True)
    two.add_argument("--preds", type=Path, required=True)
    two.add_argument("--baseline", type=Path, required=True, help="the base, read by branches")
    two.add_argument("--command", required=True, help="how the predictions were made")
    two.set_defaults(run=personal)
    runs = commands.add_parser("seeds")
    runs.add_argument("--answers", nargs="+", required=True, metavar="NAME=FILE", help="answers of each run, .npz")
    runs.add_argument("--data", type=Path, required=True, help="the records of VAL")
    runs.add_argument("--command", required=True, help="how the answers were made")
    runs.set_defaults(run=seeds)
    told = commands.add_parser("readouts")
    told.add_argument(
        "--preds", nargs="+", required=True, metavar="NAME=FILE", help="prediction files of one set of records"
    )
    told.add_argument("--data", type=Path, required=True)
    told.add_argument("--command", required=True, help="how the predictions were made")
    told.set_defaults(run=readouts)
    commands.add_parser("write").set_defaults(run=write)
    commands.add_parser("check").set_defaults(run=check)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
