"""The text of a section: the API's name, one line on what it is for, and the components of a condition."""

from __future__ import annotations

import re

from novelapi.inference.tokens import estimate_tokens
from novelapi.knowledge.conditions import KnowledgeCondition
from novelapi.knowledge.render import render
from novelapi.records.bundle import KnowledgeBundle

RULE = "\n\n---\n\n"
"""Stands between two sections."""
_SUMMARY = 160
_SIGNATURE = re.compile(r"[\w.]+\(.*\)")
"""Compiled functions begin their documentation with a signature."""
_MESSAGE = estimate_tokens("")
"""What the estimate adds for a message: it is counted once, not for each section."""


def section_text(bundle: KnowledgeBundle, condition: str, purpose: str = "") -> str:
    """Return the section of an API; the name and its line stand first, whatever the components are."""
    body = render(bundle, KnowledgeCondition(condition))
    name = render(bundle, KnowledgeCondition.S_NAME)
    if not body:
        return ""
    rest = body.removeprefix(name).strip("\n")
    return "\n\n".join(part for part in (name, purpose, rest) if part)


def first_sentence(documentation: str | None) -> str:
    """Return the first sentence of a documentation string on one line, empty where there is none."""
    paragraphs = [" ".join(part.split()) for part in (documentation or "").strip().split("\n\n")]
    first = next((part for part in paragraphs if part and not _SIGNATURE.match(part)), "")
    sentence = re.split(r"(?<=[.!?])\s", first)[0]
    return sentence if len(sentence) <= _SUMMARY else sentence[: _SUMMARY - 3].rsplit(" ", 1)[0] + "..."


def tokens_of(text: str) -> int:
    """Return the tokens of a section with the rule before it, estimated from above."""
    return estimate_tokens(RULE + text) - _MESSAGE


def total_tokens(texts: list[str]) -> int:
    """Return the tokens of a whole pack."""
    return estimate_tokens(RULE.join(texts)) if texts else 0
