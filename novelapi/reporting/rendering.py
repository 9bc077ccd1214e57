"""Pages from templates: one environment, in which every value is text unless the project itself wrote it."""

from __future__ import annotations

import base64
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from novelapi.reporting.palette import css_variables
from novelapi.reporting.table import Table, shown, to_csv
from novelapi.reporting.text import marked, plain

TEMPLATES = Path(__file__).parent / "templates"
LONGEST_LINK = 200_000
"""Characters of csv that a download link may hold; longer tables lie beside the page as files."""


def page_template(name: str) -> Template:
    """Return a template of a page."""
    return _environment().get_template(name)


def page_style() -> Markup:
    """Return the style sheet of all pages, colours of both themes included."""
    return Markup(css_variables() + (TEMPLATES / "style.css").read_text("utf-8"))  # noqa: S704  our own


def _csv_link(table: Table | None) -> str:
    """Return a link that holds the table; empty when it is too long for one."""
    if table is None or len(table.rows) * len(table.columns) * 2 > LONGEST_LINK:  # at least a character and a comma
        return ""
    text = to_csv(table)
    if len(text) > LONGEST_LINK:
        return ""
    return "data:text/csv;charset=utf-8;base64," + base64.b64encode(text.encode()).decode()


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(marked=marked, plain=plain)
    functions: dict[str, Any] = environment.globals
    functions |= {"shown": shown, "csv_link": _csv_link}
    return environment
