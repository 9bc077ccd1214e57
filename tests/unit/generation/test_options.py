"""Seeds with what a modified API newly takes."""

from __future__ import annotations

import pytest

from novelapi.generation.options import with_options
from novelapi.generation.seeds import Argument, Seed
from tests.fakes.bundles import numpy_bundle
from tests.unit.generation.examples import candidate


def calls(*arguments):
    target = candidate("lib.smooth", change="modified", added=("axes",), names=("x", "size", "axes"))
    seed = Seed(api="lib.smooth", callee="lib.smooth", arguments=(Argument(text="data", parameter="x"), *arguments))
    return [item.call({}) for item in with_options(target, numpy_bundle(), seed)]


def test_fewer_axes_take_one_number_for_all():
    found = calls(Argument(text="(3, 3)", keyword="size", parameter="size"))
    assert "lib.smooth(data, size=3, axes=(0,))" in found
    assert "lib.smooth(data, size=3, axes=(1,))" in found


def test_a_drawn_window_becomes_one_size_for_all():
    found = calls(Argument(text="[[1, 0], [1, 1]]", keyword="footprint", parameter="footprint"))
    assert "lib.smooth(data, size=3, axes=(0,))" in found


def test_numbers_that_differ_per_axis_stay():
    found = calls(Argument(text="(3, 5)", keyword="size", parameter="size"))
    assert "lib.smooth(data, size=(3, 5), axes=(0,))" in found


def options_on(option, default, data, receiver=None):
    target = candidate(
        "lib.Table.total", change="modified", added=(option,), names=("self", option), defaults={option: default}
    )
    seed = Seed(api="lib.Table.total", callee="total", receiver=data)
    return [(item.call({}), item.imports) for item in with_options(target, numpy_bundle(), seed)]


@pytest.mark.parametrize(
    ("data", "changed"),
    [
        ("Series([1, 2, 3])", "Series([1, np.nan, 3])"),
        ("Table({'key': [1, 1, 2], 'x': [4, 5, 6]}).grouped('key')", "Table({'key': [1, 1, 2], 'x': [4, np.nan, 6]}).grouped('key')"),
        ("Table([[1, 2], [1, 5], [2, 6]], columns=['a', 'b'])", "Table([[1, 2], [1, np.nan], [2, 6]], columns=['a', 'b'])"),
    ],
)  # fmt: skip
def test_what_skips_missing_numbers_is_given_one(data, changed):
    first, second = options_on("skipna", "True", data)
    assert first == (f"{changed}.total(skipna=False)", ("import numpy as np",))
    assert second == (f"{data}.total(skipna=False)", ())


def test_what_takes_numbers_only_is_given_a_column_of_text():
    first, _ = options_on("numeric_only", "False", "pd.DataFrame({'a': [1, 2]}).groupby('a')")
    assert first[0] == "pd.DataFrame({'a': [1, 2]}).assign(note='x').groupby('a').total(numeric_only=True)"


def test_other_options_keep_the_data():
    assert [call for call, _ in options_on("ascending", "True", "Series([1, 2, 3])")] == [
        "Series([1, 2, 3]).total(ascending=False)"
    ]
