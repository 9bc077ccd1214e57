"""Rendering: the documentation text of a bundle under a condition; white space and code stay as they are."""

from __future__ import annotations

import re

from novelapi.knowledge.conditions import KnowledgeCondition
from novelapi.records.bundle import Exemplar, KnowledgeBundle, KnownParameter

HEADINGS = {
    "s_name": "## API",
    "s_param": "## Parameters",
    "e": "## Examples",
    "m_prose": "## How it works",
    "m_code": "## Implementation",
}
"""The heading of each component, the same in every condition."""


def render(bundle: KnowledgeBundle, condition: KnowledgeCondition | str, *, hide: frozenset[str] = frozenset()) -> str:
    """Return the text that goes into a prompt, components in the order name, parameters, E, M_prose, M_code.

    Args:
        bundle: the knowledge.
        condition: which components of it.
        hide: normalised calls that must not be shown (`leakage.normalised_calls`): examples that hold one are left out.

    Returns:
        The text without a final line end; empty for the baseline and where none of the components exists.
    """
    wanted = KnowledgeCondition(condition).components
    parts: list[str] = []
    if "s_name" in wanted:
        parts.append(f"{HEADINGS['s_name']}\n\n`{bundle.surface.s_name}`")
    if "s_param" in wanted:
        parts.append(_parameters(bundle))
    if "e" in wanted:
        parts.append(_examples(shown_exemplars(bundle, hide)))
    if "m_prose" in wanted and bundle.m_prose:
        parts.append(f"{HEADINGS['m_prose']}\n\n{bundle.m_prose.strip()}")
    if "m_code" in wanted and bundle.m_code:
        parts.append(f"{HEADINGS['m_code']}\n\n{fenced(bundle.m_code)}")
    return "\n\n".join(part for part in parts if part)


def shown_exemplars(bundle: KnowledgeBundle, hide: frozenset[str] = frozenset()) -> list[Exemplar]:
    """Return the examples that hold none of the calls that have to be hidden."""
    return [item for item in bundle.exemplars if not hide & set(item.calls)]


def fenced(code: str, language: str = "python") -> str:
    """Return code in a fence that is longer than any in it."""
    longest = max((len(run) for run in re.findall(r"`{3,}", code)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{code.rstrip()}\n{fence}"


def _parameters(bundle: KnowledgeBundle) -> str:
    surface = bundle.surface
    lines = [HEADINGS["s_param"], ""]
    if surface.signature:
        lines += [fenced(f"{surface.s_name.rsplit('.', 1)[-1]}{surface.signature}", ""), ""]
    lines += [_parameter(item) for item in surface.parameters] or ["It takes no parameters."]
    if surface.returns:
        lines += ["", f"Returns: {surface.returns}"]
    return "\n".join(lines)


def _parameter(item: KnownParameter) -> str:
    remarks = [item.type] if item.type else []
    if item.kind in {"positional_only", "keyword_only"}:
        remarks.append(item.kind.replace("_", "-"))
    if item.default is not None:
        remarks.append(f"default {item.default}")
    head = f"- `{item.name}`" + (f" ({'; '.join(remarks)})" if remarks else "")
    if not item.description:
        return head
    return f"{head}: " + item.description.replace("\n", "\n  ").replace("\n  \n", "\n\n")


def _examples(exemplars: list[Exemplar]) -> str:
    if not exemplars:
        return ""
    parts: list[str] = []
    for exemplar in exemplars:
        text = fenced(exemplar.code)
        if exemplar.output:
            text += f"\n\nOutput:\n\n{fenced(exemplar.output, '')}"
        elif exemplar.status == "static":
            text += "\n\n(not executed)"
        parts.append(text)
    return "\n\n".join([HEADINGS["e"], *parts])
