"""Parts what a reasoning model thinks from what it answers."""

from __future__ import annotations

DEFAULT_TAGS = ("<think>", "</think>")


def split_thinking(text: str, tags: tuple[str, str] = DEFAULT_TAGS) -> tuple[str, str]:
    """Return (thinking, answer).

    Templates often write the opening mark into the prompt, so the closing one alone ends the thinking too. Thinking
    that never ends was cut off by the length limit: then there is no answer.
    """
    opening, closing = tags
    head, found, tail = text.rpartition(closing)
    if found:
        return head.strip().removeprefix(opening).strip(), tail.lstrip("\n")
    if text.lstrip().startswith(opening):
        return text.strip().removeprefix(opening).strip(), ""
    return "", text
