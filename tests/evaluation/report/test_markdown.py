"""Tables as text."""

from __future__ import annotations

from forthwith.evaluation.document import Evaluation
from forthwith.evaluation.report.build import report_page
from forthwith.evaluation.report.markdown import render_markdown


def test_markdown_carries_the_numbers_of_the_page_and_no_state(evaluation: Evaluation) -> None:
    text = render_markdown(report_page(evaluation))
    report = evaluation.models[0].report
    assert text.startswith("# Evaluation of strong & tuned\n")
    for scores in report.families.values():
        assert f"{scores.nll:.3f}" in text
    assert f"{100 * evaluation.comparisons[0].macro.difference:+.1f}" in text
    assert "alert(1)" not in text
    heads = [line for line in text.splitlines() if line.startswith("|")]
    assert all(line.endswith("|") for line in heads)


def test_marks_in_names_do_not_become_markdown(evaluation: Evaluation) -> None:
    main = evaluation.models[0]
    nasty = main.model_copy(update={"report": main.report.model_copy(update={"name": "a|b*c_<d>`"})})
    text = render_markdown(report_page(evaluation.model_copy(update={"models": [nasty, *evaluation.models[1:]]})))
    assert r"a\|b\*c\_\<d>\`" in text
