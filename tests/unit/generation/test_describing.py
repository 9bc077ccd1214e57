"""Descriptions never name the API: identifier tokens are masked, parts of words are not."""

import pytest

from novelapi.generation.describe import (
    UNNAMED,
    UNTOLD,
    first_sentences,
    leaks,
    mask,
    returns,
    says_no_argument,
    summary,
)
from novelapi.generation.sealing import order_is_free, telling
from tests.fakes.bundles import numpy_bundle

PATHS = ["numpy.unstack", "numpy.lib.unstack"]


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("Use `unstack` here.", "Use `____` here."),
        ("See numpy.unstack for more.", "See ____ for more."),
        ("Unstack the array", "____ the array"),
        ("an unstacked array", "an unstacked array"),
        ("np.unstack(x)", "____(x)"),
        ("unstack_all", "unstack_all"),
    ],
)
def test_mask(text, masked):
    assert mask(text, PATHS) == masked
    assert leaks(masked, PATHS) is None


def test_leaks():
    assert leaks("call unstack now", PATHS) == "unstack"
    assert leaks("nothing here", PATHS) is None


def test_first_sentences_lose_their_markup():
    text = "Split an :class:`~numpy.ndarray` along ``axis``. More of it.\n\n.. versionadded:: 2.1"
    assert first_sentences(text) == "Split an `numpy.ndarray` along `axis`. More of it."


def test_what_a_result_tells():
    names = ["nfev", "x", "fun", "success", "message", "jac"]
    assert telling(names, "The solution `fun` and `x`.") == ["x", "fun", "jac"]


@pytest.mark.parametrize(
    ("text", "free"),
    [
        ("Zeros, repeated, but not in any specific order.", True),
        ("in no particular order", True),
        ("sorted in ascending order", False),
        (None, False),
    ],
)
def test_free_order(text, free):
    assert order_is_free(text) is free


def test_documentation_that_says_nothing_makes_no_description():
    bundle = numpy_bundle(m_prose="Its result comes from `self._dispatch`.")
    assert summary(bundle, PATHS) == UNTOLD
    assert summary(numpy_bundle(m_prose="Cut an array along an axis."), PATHS) == "Cut an array along an axis."


@pytest.mark.parametrize(
    ("arguments", "nothing"),
    [
        ([UNNAMED, UNNAMED], True),
        ([UNNAMED, "int; The degree."], False),
        (["array_like; The input."], False),
        ([], False),
    ],
)
def test_arguments_that_no_document_describes(arguments, nothing):
    lines = [f"- `{name}`: {words}" for name, words in zip("ab", arguments, strict=False)]
    assert says_no_argument("\n".join(["What it does.", "", *lines, "", "Return the result."])) is nothing


@pytest.mark.parametrize(
    ("prose", "told"),
    [
        ("Split an array.\n\nMore of it.", "Split an array."),
        (
            "Compute this function.\n\nThis function is defined so. It is a smooth rectifier.",
            "It is a smooth rectifier.",
        ),
        ("Compute this function.\n\nChanges:\n- 2.0: It is faster now.", UNTOLD),
        ("Compute this function.\n\n\n\nSee there.", UNTOLD),
    ],
)
def test_a_later_paragraph_may_say_what_the_first_does_not(prose, told):
    assert summary(numpy_bundle().model_copy(update={"m_prose": prose}), PATHS) == told


@pytest.mark.parametrize(
    ("returned", "told"),
    [
        ("tuple of arrays", ": tuple of arrays"),
        ("Self", ""),
        ("NDFrameT", ""),
        ("DataFrame", ": DataFrame"),
        (None, ""),
    ],
)
def test_a_type_variable_says_nothing_of_a_result(returned, told):
    bundle = numpy_bundle()
    surface = bundle.surface.model_copy(update={"returns": returned})
    assert returns(bundle.model_copy(update={"surface": surface}), PATHS) == told
