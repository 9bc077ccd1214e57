"""Seeds with what a modified API newly takes."""

from __future__ import annotations

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


def test_numbers_that_differ_per_axis_stay():
    found = calls(Argument(text="(3, 5)", keyword="size", parameter="size"))
    assert "lib.smooth(data, size=(3, 5), axes=(0,))" in found
