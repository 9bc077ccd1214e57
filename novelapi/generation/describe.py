"""The description of a task: what to return from which inputs, in the words of the documentation, without the name.

Identifier tokens of the API's own name are masked, never parts of words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from novelapi.records.bundle import KnowledgeBundle, KnownParameter

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`(])")
_LONGEST = 260
UNTOLD = "Use the library's own support for this."
"""What stands where the documentation says nothing of use; no task is made of that."""
UNNAMED = "the argument of this name"
"""What stands where the documentation says nothing of an argument; a task with nothing else is refused."""
_PARAGRAPHS = 3
"""Paragraphs of the documentation in which a sentence of use is sought."""
BLANK = "____"
"""Stands where the documentation says the name."""
_TYPE_VARIABLE = re.compile(r"Self|[A-Z]\w*T(?:_co)?|_?T")
"""What annotations say of a result that is of its owner's type: nothing to a reader."""
_OWN_NOUNS = r"this function|this class method|this static method|this method|this class|its namesake"
_ABOUT_ITSELF = re.compile(
    rf"({_OWN_NOUNS}|its namesake|\bAPI compatible|compatible with|^It raises|^It returns|result comes from|^Analogous"
    r"|alias|namedtuple for easier|counterpart|equivalent of|deprecated|^See |new in version)",
    re.IGNORECASE,
)


def forbidden_names(paths: Iterable[str]) -> frozenset[str]:
    """Return the identifier tokens that give an API away: the leaves of its paths, in lower case."""
    return frozenset(path.rsplit(".", 1)[-1].lower() for path in paths)


def leaks(text: str, paths: Iterable[str]) -> str | None:
    """Return the first token of a text that names the API, or null; a whole dotted path counts too."""
    paths = list(paths)
    names = forbidden_names(paths)
    for word in _WORD.findall(text):
        if word.lower() in names:
            return word
    return next((path for path in paths if path in text), None)


def mask(text: str, paths: Iterable[str], instead: str = "____") -> str:
    """Replace the API's names, whole dotted paths first."""
    paths = sorted(paths, key=len, reverse=True)
    for path in paths:
        text = re.sub(rf"(?<![\w.]){re.escape(path)}(?!\w)", instead, text)
    for name in forbidden_names(paths):
        text = re.sub(rf"(?<!\w)(?:\w+\.)*{re.escape(name)}(?:\(\))?(?!\w)", instead, text, flags=re.IGNORECASE)
    return text


def says_no_argument(description: str) -> bool:
    """Whether a description says of none of its arguments what it is."""
    lines = [line for line in description.splitlines() if line.startswith("- `")]
    return bool(lines) and all(line.endswith(f": {UNNAMED}") for line in lines)


def first_sentences(text: str | None, limit: int = _LONGEST) -> str:
    """Return the first sentences of a text that fit into a limit, on one line, without markup."""
    if not text:
        return ""
    plain = " ".join(_plain(text).split())
    found = ""
    for sentence in _SENTENCE.split(plain):
        if found and len(found) + len(sentence) > limit:
            break
        found = f"{found} {sentence}".strip()
    if len(found) > 2 * limit:
        found = found[: 2 * limit].rsplit(" ", 1)[0] + " ..."
    return found


def _plain(text: str) -> str:
    """Remove the markup of docstrings: roles, double back quotes, directives."""
    text = re.split(r"\n\s*\.\. \w", text)[0]
    text = re.sub(r":[a-z:]+:`~?([^`<]+)(?:<[^`]*>)?`", r"`\1`", text)
    return text.replace("``", "`").replace("**", "").replace("\\", "")


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a description has to say."""

    signature: str
    """`solve(x, axis)`."""
    parameters: Mapping[str, str]
    """Name of each parameter of the entry point to the API's parameter that it feeds (or a phrase in words)."""
    fixed: Mapping[str, str]
    """Parameters of the API with fixed values, as source."""
    result: str
    """What is returned, in words; empty for the result as it is."""
    defined: frozenset[str] = frozenset()
    """Names that the context, or the program in the description, defines."""


def describe(bundle: KnowledgeBundle, plan: Plan, paths: Iterable[str]) -> str:
    """Write the description.

    Args:
        bundle: the API's knowledge: summary, descriptions of parameters and result.
        plan: the task's own part.
        paths: every path of the API, for masking.
    """
    paths = list(paths)
    lines = [summary(bundle, paths), "", f"Write `{plan.signature}`:", *argument_lines(bundle, plan, paths)]
    lines += ["", plan.result or f"Return the result{returns(bundle, paths)}."]
    return "\n".join(lines).strip() + "\n"


def argument_lines(bundle: KnowledgeBundle, plan: Plan, paths: Sequence[str]) -> list[str]:
    """Return one line for each parameter of the entry point and each fixed setting of a call."""
    known = {parameter.name.lstrip("*"): parameter for parameter in bundle.surface.parameters}
    lines = [f"- `{name}`: {_words(feeds, known, paths) or UNNAMED}" for name, feeds in plan.parameters.items()]
    for name, value in plan.fixed.items():
        parameter = known.get(name)
        words = first_sentences(parameter.description) if parameter is not None else ""
        words = mask(words, paths) or f"{name.replace('_', ' ').capitalize()}."
        where = " (defined in the code shown)" if value in plan.defined else ""
        lines.append(f"- one setting is always `{value}`{where}: {words}")
    return lines


def parameter_words(bundle: KnowledgeBundle, name: str, paths: Sequence[str]) -> str:
    """Return what the documentation says of a parameter, empty where it says nothing."""
    return _words(name, {item.name.lstrip("*"): item for item in bundle.surface.parameters}, paths)


def _words(feeds: str, known: Mapping[str, KnownParameter], paths: Sequence[str]) -> str:
    parameter = known.get(feeds)
    words = feeds if " " in feeds else ""
    if parameter is not None:
        words = "; ".join(part for part in (_type(parameter.type), first_sentences(parameter.description)) if part)
    return mask(words, paths)


def summary(bundle: KnowledgeBundle, paths: Iterable[str]) -> str:
    """Return what the API does, in one or two sentences that do not talk about the API itself."""
    useful: list[str] = []
    for paragraph in (bundle.m_prose or "").split("\n\n")[:_PARAGRAPHS]:
        if useful or paragraph.startswith(("Changes:", "- ", "* ")):
            break
        sentences = _SENTENCE.split(" ".join(_plain(paragraph).split()))
        useful = [text for text in sentences if text and not _ABOUT_ITSELF.search(text)]
    if not useful:
        return UNTOLD
    chosen = useful[:2]
    text = " ".join(chosen) if sum(map(len, chosen)) <= 320 else chosen[0]
    text = text.replace("[operation]", BLANK).replace("[object]", BLANK).replace("[value]", BLANK)
    text = re.sub(rf"\b(?:{_OWN_NOUNS})\b", BLANK, text, flags=re.IGNORECASE)
    return mask(text, paths, BLANK) or UNTOLD


def _type(text: str | None) -> str:
    """Return a short type in words; long annotations say less than they cost."""
    if not text or len(text) > 80:
        return ""
    return _plain(text).removesuffix(", optional").removesuffix(",optional")


def returns(bundle: KnowledgeBundle, paths: Sequence[str]) -> str:
    """Return what the documentation says of the result, after a colon; empty where it says nothing."""
    first = (bundle.surface.returns or "").split("; ")[0]
    words = mask(first_sentences(re.sub(r"^\w+ : ", "", first), 160), paths, "the result")
    words = re.sub(r",? see \w+ parameter above", "", words)
    words = "" if _TYPE_VARIABLE.fullmatch(words.rstrip(".")) else words
    return f": {words.rstrip('.')}" if words else ""
