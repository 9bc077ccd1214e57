"""Renders the prompt templates of `novelapi/prompts`."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from novelapi.fingerprint import text_digest
from novelapi.inference.markdown import fenced, nested

if TYPE_CHECKING:
    from jinja2 import Environment


def render_template(name: str, **values: Any) -> str:
    """Render `novelapi/prompts/{name}.md.j2`.

    Raises:
        jinja2.TemplateNotFound: there is no such template.
        jinja2.UndefinedError: the template needs a value that was not given.
    """
    return _environment().get_template(f"{name}.md.j2").render(**values)


@lru_cache(maxsize=32)
def template_digest(name: str) -> str:
    """Return the digest of a template's source: provenance of whatever a model wrote from it."""
    environment = _environment()
    assert environment.loader is not None
    return text_digest(environment.loader.get_source(environment, f"{name}.md.j2")[0])


@lru_cache(maxsize=1)
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415  slow to import

    environment = Environment(
        loader=PackageLoader("novelapi", "prompts"),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701  the result is text for a model, not a page
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["fenced"] = fenced
    environment.filters["nested"] = partial(nested, level=3)
    return environment
