"""Thinking is kept apart from the answer; lengths are estimated from above."""

from __future__ import annotations

import pytest

from novelapi.inference.thinking import split_thinking
from novelapi.inference.tokens import estimate_tokens


@pytest.mark.parametrize(
    ("text", "thinking", "answer"),
    [
        ("plain", "", "plain"),
        ("<think>\nhm\n</think>\n\nanswer", "hm", "answer"),
        # The template wrote the opening mark into the prompt.
        ("hm</think>answer", "hm", "answer"),
        # Two rounds: the last mark counts.
        ("<think>a</think>b</think>c", "a</think>b", "c"),
        # Cut off by the limit while it still thought: no answer.
        ("<think>endless", "endless", ""),
        # White space of the answer survives.
        ("</think>    indented", "", "    indented"),
        ("", "", ""),
    ],
)
def test_split_thinking(text, thinking, answer):
    assert split_thinking(text) == (thinking, answer)


def test_other_marks():
    assert split_thinking("[T]a[/T]b", ("[T]", "[/T]")) == ("a", "b")


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        # Counts of a published 150k-entry byte-pair vocabulary for code are at most these.
        ("import numpy as np\n", 5),
        ("def solve(x, axis):\n    return x\n", 12),
        ("12345", 5),
        ("array_like", 3),
        ("日本", 2),
    ],
)
def test_the_estimate_is_not_below_known_counts(text, tokens):
    assert tokens <= estimate_tokens(text) - 16 <= 3 * tokens
