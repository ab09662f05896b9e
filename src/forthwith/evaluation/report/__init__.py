"""Reports: the numbers of an evaluation as pictures and tables, in HTML and Markdown, and leaderboards of many."""

from forthwith.evaluation.report.write import write_leaderboard, write_report

__all__ = ["write_leaderboard", "write_report"]
