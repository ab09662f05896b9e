"""Requests to exact prompt text, by hashed templates."""

from forthwith.prompt.render import (
    CONTENT_FREE_STATE,
    Template,
    instructions_text,
    load_template,
    noul_criteria,
    option_text,
    options_of,
    render_content,
)

__all__ = [
    "CONTENT_FREE_STATE",
    "Template",
    "instructions_text",
    "load_template",
    "noul_criteria",
    "option_text",
    "options_of",
    "render_content",
]
