"""Identifiers are searchable whole and in parts."""

from __future__ import annotations

import pytest

from novelapi.retrieval.terms import terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cumulative_sum", ["cumulative_sum", "cumulative", "sum"]),
        ("DataFrame.to_iceberg", ["dataframe", "data", "frame", "to_iceberg", "to", "iceberg"]),
        ("np.unstack(x)", ["np", "unstack", "x"]),
        ("HTTPServer2", ["httpserver2", "http", "server", "2"]),
        ("__init__", ["init"]),
        ("Plain words", ["plain", "words"]),
        ("naïve Größe", ["naïve", "größe"]),
        ("", []),
    ],
)
def test_terms(text, expected):
    found = terms(text)
    assert set(expected) <= set(found)
    if text.isascii():
        assert found == expected
