"""Pages to HTML: one self-contained file each, nothing fetched when it is read."""

from __future__ import annotations

from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from forthwith.evaluation.report.view import LeaderboardPage, ReportPage

__all__ = ["render_leaderboard", "render_report"]

_PACKAGE = "forthwith.evaluation.report"


def render_report(page: ReportPage) -> str:
    """The report as one HTML document."""
    return _render("report.html.j2", page)


def render_leaderboard(page: LeaderboardPage) -> str:
    """The leaderboard as one HTML document."""
    return _render("leaderboard.html.j2", page)


def _render(template: str, page: ReportPage | LeaderboardPage) -> str:
    environment = Environment(
        loader=PackageLoader(_PACKAGE, "templates"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    css, js = (
        Markup(resources.files(_PACKAGE).joinpath("templates", name).read_text(encoding="utf-8"))
        for name in ("report.css", "report.js")
    )
    return environment.get_template(template).render(page=page, css=css, js=js)
