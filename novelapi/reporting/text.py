"""Numbers and foreign texts as readers see them: one place decides about digits, signs and invisible characters."""

from __future__ import annotations

import unicodedata

from markupsafe import Markup, escape

DASH = "–"
MINUS = "−"

HIDDEN_CATEGORIES = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
"""Control, format (bidirectional overrides, zero width), surrogates, private use, unassigned, line separators."""


def percent(share: float | None) -> str:
    """Return a share as a percentage with one decimal, without the sign for percent."""
    return DASH if share is None else f"{100 * share:.1f}".replace("-0.0", "0.0").replace("-", MINUS)


def points(difference: float | None) -> str:
    """Return a difference of shares in percentage points with its sign."""
    if difference is None:
        return DASH
    text = f"{100 * difference:+.1f}".replace("-", MINUS)
    return "0.0" if text[1:] == "0.0" else text


def p_value(p: float | None) -> str:
    """Return a p-value; below a thousandth only the bound."""
    if p is None:
        return DASH
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def count(number: int | None) -> str:
    """Return a whole number with thousands set apart."""
    return DASH if number is None else f"{number:,}"


def plural(number: int, noun: str, many: str | None = None) -> str:
    """Return a number with its noun."""
    return f"{count(number)} {noun if number == 1 else many or noun + 's'}"


def join_words(words: list[str]) -> str:
    """Return `a`, `a and b` or `a, b and c`."""
    return " and ".join(", ".join(words).rsplit(", ", 1)) if words else ""


def is_hidden(character: str) -> bool:
    """Return whether a character cannot be seen, or changes how others are shown."""
    return unicodedata.category(character) in HIDDEN_CATEGORIES


def plain(text: str) -> str:
    """Return a foreign text on one line, with everything invisible written as `<U+202E>`."""
    if text.isprintable():  # nothing hidden: nearly always, and many times faster than looking at each character
        return text
    return "".join(f"<U+{ord(character):04X}>" if is_hidden(character) else character for character in text)


def marked(text: object, *, block: bool = False) -> Markup:
    """Return a foreign text escaped for HTML, with everything invisible in a frame that says what it is.

    Args:
        text: any text; models and libraries wrote it.
        block: keep line ends and tabs, for preformatted text.
    """
    if str(text).isprintable():
        return escape(str(text))
    kept = "\n\t" if block else ""
    parts: list[Markup] = []
    run = ""
    for character in str(text):
        if character in kept or not is_hidden(character):
            run += character
            continue
        parts += [escape(run), Markup('<span class="hidden-character">U+{:04X}</span>').format(ord(character))]
        run = ""
    return Markup("").join([*parts, escape(run)])
