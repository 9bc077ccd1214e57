"""Each docstring is read in its own style."""

import pytest

from novelapi.knowledge.docstrings import parse, style_of

NUMPY = """Join things.

Longer text.

Parameters
----------
x, y : array_like
    The operands.
mode : {'a', 'b'}, optional
    How.

Returns
-------
out : ndarray
    The result.

Notes
-----
A note.
"""
GOOGLE = """Join things.

Args:
    x: The operand,
        on two lines.
    mode (str): How.

Returns:
    The result.

Text after the sections.
"""
SPHINX = """Join things.

:param x: The operand.
:param int mode: How.
:return: The result.
"""
BULLETS = """Join things.

* **x** - The operand.
* **mode** - *(optional)* How.
"""


@pytest.mark.parametrize(
    ("text", "style"),
    [(NUMPY, "numpy"), (GOOGLE, "google"), (SPHINX, "sphinx"), (BULLETS, "sphinx"), ("One line.", "sphinx")],
)
def test_style_is_chosen_per_docstring(text, style):
    assert style_of(text) == style


@pytest.mark.parametrize(
    ("text", "name", "kind", "description"),
    [
        (NUMPY, "x", "array_like", "The operands."),
        (NUMPY, "y", "array_like", "The operands."),  # several names share one entry
        (NUMPY, "mode", "{'a', 'b'}", "How."),
        (GOOGLE, "x", None, "The operand,\non two lines."),
        (GOOGLE, "mode", "str", "How."),
        (SPHINX, "x", None, "The operand."),
        (SPHINX, "mode", "int", "How."),
        (BULLETS, "x", None, "The operand."),
        (BULLETS, "mode", None, "How."),
    ],
)
def test_parameters(text, name, kind, description):
    found = parse(text).parameters[name]
    assert (found.type, found.description) == (kind, description)


def test_returns_names_the_type():
    assert parse(NUMPY).returns == "ndarray (`out`): The result."
    assert parse(GOOGLE).returns == "The result."


def test_text_after_google_sections_is_prose_again():
    assert [section.title for section in parse(GOOGLE).sections] == ["", "args", "returns", ""]
    assert parse(GOOGLE).sections[-1].body == "Text after the sections."


def test_sections_of_numpy_style():
    assert [section.title for section in parse(NUMPY).sections] == ["", "parameters", "returns", "notes"]


def test_version_blocks_of_markdown_become_directives():
    text = parse("Text.\n\n/// version-added | v2.1\nNew option.\n///\n\n/// tip\nIgnored.\n///\n").text
    assert ".. versionadded:: 2.1\n    New option." in text
    assert "///" not in text
