"""How a result that is no plain data becomes some: by conversions that it offers itself."""

from __future__ import annotations

import pytest

from novelapi.generation.trials import _KIND

SPACE: dict = {}
exec(_KIND, SPACE)


class Transform:
    def as_degrees(self):
        return 90

    def as_matrix(self):
        return [[1, 2], [3, 4]]

    def as_euler(self, order):
        return order

    def mean(self):
        return 7


class Sparse(Transform):
    def toarray(self):
        return [0, 1]


class Distribution:
    def mean(self, *, method=None):
        return 0.5


class Measured(Distribution):
    def __init__(self):
        self.size = 3


class Opaque:
    def to_other(self):
        return Opaque()


@pytest.mark.parametrize(
    ("value", "fields", "view"),
    [
        (Transform(), [], "{}.as_matrix()"),
        (Sparse(), [], "{}.toarray()"),
        (Distribution(), [], "{}.mean()"),
        (Measured(), ["size"], ""),
        (Opaque(), [], ""),
    ],
    ids=lambda value: type(value).__name__,
)
def test_views(value, fields, view):
    kind, _, found, shown = SPACE["_kind_of_result"](value)
    assert (kind, found, shown) == ("object", fields, view)
