"""The tables and the picture that documents show, each made from one stored result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["TABLES", "family_picture"]

Json = dict[str, Any]


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def public_table(results: Json) -> str:
    names = {"trained": "public tasks trained on (their test splits)", "blocked": "public tasks not trained on (licence)",
             "all25": "all public tasks", "left_out": "left-out tasks of the variety set"}  # fmt: skip
    rows = [
        [f"{one['tasks']} {names[name]}", one["questions"], f"{one['macro']:.3f} ({one['macro_low']:.3f} to {one['macro_high']:.3f})",
         f"{one['ece_before']:.3f}", f"{one['ece_after']:.3f}", one["below_majority"]]
        for name, one in ((name, results["groups"][name]) for name in names)
    ]  # fmt: skip
    head = ("tests", "questions", "macro accuracy (95 %)", "ECE before", "ECE after", "tasks below majority")
    return table(head, rows)


def family_table(results: Json) -> str:
    rows = [
        [name, one["n_scorable"], f"{one['base']:.3f}", f"**{one['accuracy']:.3f}** {interval(one)}",
         f"{one['gain_low']:+.3f} to {one['gain_high']:+.3f}", f"{one['coverage']:.2f}",
         "–" if one["realised_error"] is None or not one["n_automated"] else f"{one['realised_error']:.3f}"]
        for name, one in results["families"].items()
    ]  # fmt: skip
    head = ("family", "questions", "base", "accuracy (95 %)", "gain (95 %)", "automated", "wrong of those")
    return table(head, rows)


def interval(one: Json) -> str:
    return f"({one['accuracy_low']:.3f} to {one['accuracy_high']:.3f})"


def hypothesis_table(results: Json) -> str:
    families = results["families"]
    above = sum(one["gain_low"] > 0 for one in families.values())
    wording = [results["wording"][name]["accuracy"] for name in ("seen", "held out")]
    buried = [results["buried"][name]["accuracy"] for name in ("clean", "buried")]
    worst = max(one["realised_error"] or 0.0 for one in families.values() if one["n_automated"])
    missed = {one["family"]: one["n_missed"] / one["n_at_risk"] for one in results["safety"]}
    misses = ", ".join(f"{family} {rate:.3f}" for family, rate in missed.items())
    rows: list[tuple[str, str, str, str, bool]] = [
        ("H1", "macro accuracy, seven families", "≥ 0.90", f"{results['macro']:.3f}", results["macro"] >= 0.9),
        ("H2", "without pick_option", "≥ 0.97", f"{results['macro_six']:.3f}", results["macro_six"] >= 0.97),
        ("H3", "families above the untrained base", "7", str(above), above == 7),
        ("H4", "seen and held-out wordings", "within 0.03", f"{wording[0]:.3f} and {wording[1]:.3f}", abs(wording[0] - wording[1]) <= 0.03),
        ("H5", "clean and buried states", "within 0.03", f"{buried[0]:.3f} and {buried[1]:.3f}", abs(buried[0] - buried[1]) <= 0.03),
        ("H6", "ECE", "≤ 0.03", f"{results['ece']:.3f}", results["ece"] <= 0.03),
        ("H7", "coverage of the six; largest error of a family", "≥ 0.90; ≤ 0.05", f"{results['coverage_six']:.3f}; {worst:.3f}",
         results["coverage_six"] >= 0.9 and worst <= 0.05),
        ("H8", "safety: risky cases missed", "≤ 0.01 each", misses, max(missed.values()) <= 0.01),
    ]  # fmt: skip
    lines = [(*row[:4], "yes" if row[4] else "no") for row in rows]
    sure = results["graded"]["one label"]
    also = (
        "",
        f"macro accuracy of the {sure['questions']} questions that a rule decides alone",
        "–",
        f"{sure['accuracy']:.3f}",
        "–",
    )
    return table(("", "claim", "goal", "found", "met"), [*lines, also])


def scenario_table(results: Json) -> str:
    rows = [[family, scenario, one["questions"], f"{one['accuracy']:.3f}"]
            for family, parts in results["scenarios"].items() for scenario, one in parts.items()]  # fmt: skip
    return table(("family", "scenario", "questions", "accuracy"), rows)


def gate_table(results: Json) -> str:
    rows = [[check["name"], check["asked"], "–" if check["found"] is None else f"{check['found']:.3g}", "yes" if check["passed"] else "no"]
            for check in results["checks"]]  # fmt: skip
    return table(("check", "asked", "found", "passed"), rows)


def seed_table(results: Json) -> str:
    families = list(next(iter(results["runs"].values()))["families"])
    rows = [[name, f"**{one['macro']:.3f}**", f"{one['macro_six']:.3f}", *(f"{one['families'][family]:.3f}" for family in families)]
            for name, one in results["runs"].items()]  # fmt: skip
    return table(("run", "macro", "without pick_option", *families), rows)


def guess_table(audit: Json) -> str:
    """What can be had without reading the state: majority, the best single feature, a bag of words of the question; of hard labels."""
    rows: list[list[object]] = []
    for blind in audit["blind"]:
        mine = [one for one in audit["shortcuts"] if one["family"] == blind["family"]]
        best = max(mine, key=lambda one: one["accuracy"] - one["chance"])
        majority = (
            next(one["accuracy"] for one in mine if one["name"] == "majority label")
            if best["family"] != "pick_option"
            else None
        )
        rows.append([
            blind["family"], f"{blind['chance']:.3f}", "–" if majority is None else f"{majority:.3f}",
            f"{best['accuracy']:.3f} ({best['name']})", f"{blind['accuracy']:.3f}",
        ])  # fmt: skip
    return table(("family", "chance", "majority label", "best shortcut", "bag of words, state unseen"), rows)


def readout_table(results: Json) -> str:
    families = list(next(iter(results["rows"].values()))["families"])
    rows = [[name, one["questions"], f"**{one['macro']:.3f}**", *(f"{one['families'][family]:.2f}" for family in families)]
            for name, one in results["rows"].items()]  # fmt: skip
    return table(("model and readout", "questions", "macro", *families), rows)


TABLES: dict[str, tuple[str, Callable[[Json], str]]] = {
    "public": ("public", public_table),
    "families": ("personal", family_table),
    "hypotheses": ("personal", hypothesis_table),
    "scenarios": ("personal", scenario_table),
    "gate": ("hidden-gate", gate_table),
    "seeds": ("seeds", seed_table),
    "readouts": ("readouts", readout_table),
    "guesses": ("audit-test", guess_table),
}


def family_picture(results: Json) -> str:
    """Bars of base and candidate with 95 % intervals, one row a family."""
    rows: list[str] = []
    for number, (name, one) in enumerate(results["families"].items()):
        y = 44 + 40 * number
        end, low, high = (190 + 460 * one[key] for key in ("accuracy", "accuracy_low", "accuracy_high"))
        rows += [
            f'<text x="180" y="{y + 19}" text-anchor="end">{name}</text>',
            f'<rect x="190" y="{y}" width="{460 * one["base"]:.0f}" height="11" fill="#b8bec9"/>',
            f'<rect x="190" y="{y + 13}" width="{end - 190:.0f}" height="13" fill="#2f6f4f"/>',
            f'<path d="M{low:.0f} {y + 19.5}H{high:.0f}" stroke="#10291d" stroke-width="2"/>',
            f'<text x="{max(end, high) + 8:.0f}" y="{y + 24}">{one["accuracy"]:.2f}</text>',
        ]
    height = 60 + 40 * len(results["families"])
    told = "untrained base (grey) and forthwith-135m (green, 95 % interval), accuracy on TEST"
    head = f'<text x="190" y="26" fill="#6b7280">{told}</text>'
    style = 'font-family="system-ui, sans-serif" font-size="14" fill="#1f2937"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 {height}" {style}>'
        f'<rect width="720" height="{height}" fill="#ffffff"/>{head}{"".join(rows)}</svg>\n'
    )
