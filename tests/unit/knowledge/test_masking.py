"""M_prose does not hold the names of its own API, and still reads well."""

import re

import pytest

from novelapi.knowledge.masking import mask

UNSTACK = ["numpy.unstack"]

TABLE = [
    (UNSTACK, "function", "`np.unstack` splits an array.", "This function splits an array."),
    (UNSTACK, "function", "Use unstack(x) here.", "Use this function(x) here."),
    (UNSTACK, "function", "The `unstack` function splits.", "This function splits."),
    (UNSTACK, "function", "Unstackable things are unstacked.", "Unstackable things are unstacked."),  # no substrings
    (UNSTACK, "function", "See `torch.tensor.unstack`.", "See its namesake."),
    (["numpy.ma.sum"], "function", "Return the sum over an axis.", "Return the total over an axis."),  # a word
    (["numpy.ma.sum"], "function", "Call `sum` once.", "Call this function once."),
    (["lib.Model"], "class", "A Model holds fields; `lib.Model` too.", "This class holds fields; this class too."),
    (["lib.Series.map"], "method", "Series.map maps, series.map(f) too.", "This method maps, this method(f) too."),
    (["lib.Array.mT"], "property", "`x[0].mT` is a view.", "`x[0].this attribute` is a view."),
    (["lib.deco"], "function", "The `@deco` decorator.", "This function decorator."),
    (["lib.a_b", "lib.c_d"], "function", "a_b and c_d are one.", "This function and this function are one."),
]


@pytest.mark.parametrize(("paths", "kind", "text", "expected"), TABLE)
def test_mask(paths, kind, text, expected):
    assert mask(text, paths, kind) == expected


@pytest.mark.parametrize(("paths", "kind", "text", "_expected"), TABLE)
def test_no_identifier_token_is_left(paths, kind, text, _expected):
    leaf = paths[0].rsplit(".", 1)[-1]
    assert not re.search(rf"(?<!\w){leaf}(?!\w)", mask(text, paths, kind))
