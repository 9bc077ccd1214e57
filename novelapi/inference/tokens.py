"""How long a text is for a model, without its vocabulary: an estimate that errs on the long side."""

from __future__ import annotations

import re
from collections.abc import Callable

TokenCounter = Callable[[str], int]
"""Counts the tokens of a text."""

# Byte-pair vocabularies keep short words whole, split numbers into digits, join common punctuation and take one token
# for a line end with its indentation. Each rule here takes at least what they take on code and English.
_PIECES = re.compile(r"[A-Za-z]+|[0-9]|\s*\n\s*|[^\S\n]+|_|[!-/:-@\[-^`{-~]+|[^\x00-\x7f]|.", flags=re.DOTALL)
_LETTERS_PER_TOKEN = 5
_PUNCTUATION_PER_TOKEN = 2
_TOKENS_PER_MESSAGE = 16
"""What a chat template puts around one message."""


def counter_of(completer: object) -> TokenCounter:
    """Return how a completer counts the tokens of a prompt: by its own vocabulary, else by the estimate."""
    found: TokenCounter | None = getattr(completer, "count_tokens", None)
    return found or estimate_tokens


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text from above, without a vocabulary (ASCII code and prose; 2 per other character)."""
    total = _TOKENS_PER_MESSAGE
    for piece in _PIECES.findall(text):
        first = piece[0]
        if first.isascii() and first.isalpha():
            total += -(-len(piece) // _LETTERS_PER_TOKEN)
        elif first in " \t":
            total += len(piece) > 1  # a single blank belongs to the word that follows
        elif first.isascii() and not first.isspace() and not first.isdigit():
            total += -(-len(piece) // _PUNCTUATION_PER_TOKEN)
        else:
            total += 1 if first.isascii() else 2
    return total
