"""Docstrings: which style, which sections, what each parameter is."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

Style = Literal["numpy", "google", "sphinx"]

_UNDERLINE = re.compile(r"^(?P<title>[A-Z][\w /-]{0,40})\n(?:-{3,}|={3,})[ \t]*$", re.MULTILINE)
_GOOGLE_TITLE = re.compile(
    r"^(?P<title>Args|Arguments|Parameters|Params|Keyword Args|Keyword Arguments|Other Parameters|Attributes|Returns?|"
    r"Yields?|Raises|Warns|Warnings?|Notes?|Examples?|Usage|References|See Also|Todo|Tip|Usage Documentation):[ \t]*$",
    re.MULTILINE,
)
_FIELD = re.compile(r"^:(?P<title>\w+)(?:[ \t]+[^:\n]+)?:", re.MULTILINE)


@dataclass(frozen=True)
class Section:
    """One titled part of a docstring."""

    title: str
    """Lower-case title; empty for the text before the first title."""
    body: str
    """Text without the title, dedented."""


@dataclass(frozen=True)
class DocumentedParameter:
    """What a docstring says of one parameter."""

    type: str | None
    """Type in words or code, with documented choices."""
    description: str | None
    """Prose, blank lines kept."""


@dataclass(frozen=True)
class ParsedDocstring:
    """A docstring taken apart."""

    text: str
    """The docstring, cleaned of its indentation."""
    style: Style
    """The style that its sections follow."""
    sections: tuple[Section, ...]
    """All sections in order."""
    parameters: dict[str, DocumentedParameter] = field(default_factory=dict)
    """By name, stars removed, in documented order."""
    returns: str | None = None
    """Type and description of the result."""
    error: str | None = None
    """Why the parameter sections could not be parsed, or null."""


def referred(text: str) -> str | None:
    """Return the API to which a docstring refers for its parameters (in bold: Parameters, then: See this or that)."""
    match = re.search(r"\bParameters\W{0,4}:?\W{0,4}\s*[Ss]ee (?:also )?`+~?([\w.]+)`+", text)
    return match.group(1) if match else None


def style_of(text: str) -> Style:
    """Choose the style of one docstring: underlined titles, titles with a colon, else field lists."""
    if _UNDERLINE.search(text):
        return "numpy"
    if _GOOGLE_TITLE.search(text):
        return "google"
    return "sphinx"


def parse(text: str) -> ParsedDocstring:
    """Take a docstring apart; a part that cannot be parsed is reported in `error`, never passed over."""
    import docstring_parser  # noqa: PLC0415 - only stage 2 needs it

    text = _with_directives(inspect.cleandoc(text))
    style = style_of(text)
    styles = docstring_parser.DocstringStyle
    chosen = {"numpy": styles.NUMPYDOC, "google": styles.GOOGLE, "sphinx": styles.REST}[style]
    sections = _sections(text, style)
    source = "\n\n".join(_described(section, style) for section in sections) if style != "sphinx" else text
    try:
        parsed = docstring_parser.parse(source, chosen)
    except docstring_parser.ParseError as error:
        return ParsedDocstring(text=text, style=style, sections=sections, error=str(error))
    parameters: dict[str, DocumentedParameter] = {}
    for item in parsed.params:
        described = DocumentedParameter(type=_one_line(item.type_name), description=_tidy(item.description))
        for name in item.arg_name.split(","):
            parameters.setdefault(name.strip().lstrip("*").lstrip("\\*"), described)
    if not parameters:
        parameters = _bulleted(text)
    return ParsedDocstring(
        text=text, style=style, sections=sections, parameters=parameters, returns=_returned(parsed.many_returns)
    )


def _with_directives(text: str) -> str:
    """Write `/// version-added | v2.1` blocks as the directives of reStructuredText: one form for what follows."""
    pattern = re.compile(
        r"^/// version-(added|changed|removed)[ \t]*\|[ \t]*v?([\w.]+).*\n((?:(?!///).*\n)*)///[ \t]*$", re.MULTILINE
    )

    def directive(match: re.Match[str]) -> str:
        what, version, body = match.groups()
        return f".. version{what}:: {version}\n" + textwrap.indent(body.rstrip("\n"), "    ")

    text = pattern.sub(directive, text)
    return re.sub(r"^/// .*\n(?:(?!///).*\n)*///[ \t]*$", "", text, flags=re.MULTILINE)


def _described(section: Section, style: Style) -> str:
    """Return a section as its parser expects it; prose sections are left out, since they only confuse it."""
    title = section.title.title()
    if section.title in {"keyword args", "keyword arguments", "arguments", "params"}:
        title = "Args"
    if not section.title or section.title not in _PARSED:
        return ""
    if style == "numpy":
        return f"{title}\n{'-' * len(title)}\n{section.body}"
    return f"{title}:\n" + "\n".join(f"    {line}" if line else "" for line in section.body.splitlines())


_PARSED = {
    "args",
    "arguments",
    "parameters",
    "params",
    "keyword args",
    "keyword arguments",
    "other parameters",
    "attributes",
    "return",
    "returns",
    "yield",
    "yields",
}


def _sections(text: str, style: Style) -> tuple[Section, ...]:
    pattern = {"numpy": _UNDERLINE, "google": _GOOGLE_TITLE, "sphinx": None}[style]
    if pattern is None:
        match = _FIELD.search(text)
        if match is None:
            return (Section("", text.strip("\n")),)
        return (Section("", text[: match.start()].strip("\n")), Section("fields", text[match.start() :]))
    found = list(pattern.finditer(text))
    sections = [Section("", text[: found[0].start()].strip("\n") if found else text)]
    for match, following in zip(found, [*found[1:], None], strict=True):
        body = text[match.end() : following.start() if following else len(text)]
        sections += _body(match.group("title").strip().lower(), body, style)
    return tuple(sections)


def _body(title: str, body: str, style: Style) -> list[Section]:
    """Return the section; with Google style the text after the indented block is prose again."""
    lines = body.strip("\n").split("\n")
    if style == "numpy" or not lines[0].startswith((" ", "\t")):
        return [Section(title, inspect.cleandoc("\n" + body))]
    end = next((number for number, line in enumerate(lines) if line and not line[0].isspace()), len(lines))
    sections = [Section(title, inspect.cleandoc("\n" + "\n".join(lines[:end])))]
    rest = "\n".join(lines[end:]).strip("\n")
    return [*sections, Section("", rest)] if rest else sections


def _bulleted(text: str) -> dict[str, DocumentedParameter]:
    """Read parameters that stand in a bullet list: `* **name** - description`."""
    found: dict[str, DocumentedParameter] = {}
    pattern = re.compile(
        r"^[*-] [*`]{1,2}(\w+)[*`]{1,2}(?:\s*\(([^)]*)\))?\s*(?:[-–:]+)\s*(.+(?:\n(?![*-] |\n).*)*)", re.MULTILINE
    )
    for name, remark, said in pattern.findall(text):
        description = re.sub(r"^\*?\(optional\)\*?\s*", "", said)
        kind = re.sub(r"^\*?optional\*?$", "", remark.strip("* "))
        found.setdefault(name, DocumentedParameter(type=kind or None, description=_tidy(description)))
    return found


def _returned(items: Sequence[object]) -> str | None:
    parts: list[str] = []
    for item in items:
        name = getattr(item, "return_name", None)
        kind = _one_line(getattr(item, "type_name", None))
        description = _tidy(getattr(item, "description", None))
        head = f"{kind} (`{name}`)" if name and kind else (kind or (f"`{name}`" if name else ""))
        parts.append(f"{head}: {_one_line(description)}" if head and description else head or (description or ""))
    return "; ".join(part for part in parts if part) or None


def _one_line(text: str | None) -> str | None:
    return " ".join(text.split()) or None if text else None


def _tidy(text: str | None) -> str | None:
    if not text:
        return None
    return re.sub(r"\n{3,}", "\n\n", inspect.cleandoc("\n" + text)).strip() or None
