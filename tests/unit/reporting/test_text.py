"""How numbers and foreign texts are written."""

import pytest

from novelapi.reporting.text import join_words, marked, p_value, percent, plain, plural, points


@pytest.mark.parametrize(
    ("write", "value", "text"),
    [
        (percent, 0.125, "12.5"),
        (percent, None, "–"),
        (percent, 1.0, "100.0"),
        (points, 0.1, "+10.0"),
        (points, -0.051, "−5.1"),
        (points, -0.0001, "0.0"),  # no signed zero
        (points, None, "–"),
        (p_value, 0.0004, "< 0.001"),
        (p_value, 0.05, "0.050"),
        (p_value, None, "–"),
    ],
)
def test_numbers(write, value, text):
    assert write(value) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\u202eb", "a<U+202E>b"),  # turns the reading direction
        ("a\nb", "a<U+000A>b"),
        ("zero\u200bwidth", "zero<U+200B>width"),
        ("\ud800", "<U+D800>"),  # a lone surrogate
        ("née 中文 😀", "née 中文 😀"),  # what can be seen stays
    ],
)
def test_what_cannot_be_seen_is_spelled_out(text, shown):
    assert plain(text) == shown


def test_marked_escapes_and_frames():
    assert marked("<b>\u202e") == '&lt;b&gt;<span class="hidden-character">U+202E</span>'
    assert marked("a\n\tb", block=True) == "a\n\tb"


@pytest.mark.parametrize(
    ("words", "text"), [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")]
)
def test_lists_of_words(words, text):
    assert join_words(words) == text


def test_plural():
    assert [plural(1, "API"), plural(2, "API"), plural(1, "run was", "runs were")] == ["1 API", "2 APIs", "1 run was"]
