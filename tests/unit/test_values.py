"""Comparison of answers: exact types, two allowances, no trust in the sender."""

import base64
import struct

import pytest

from novelapi.execution import values
from novelapi.execution.answers import Answer, verdict_on
from novelapi.records.task import Tolerance


def array(numbers, code="<f8", shape=None):
    data = struct.pack(f"<{len(numbers)}{code[-2] if code[-2] in 'iq' else 'd'}", *numbers)
    return {"$": "ndarray", "dtype": code, "shape": shape or [len(numbers)], "base64": base64.b64encode(data).decode()}


def scalar(number, code="<f8"):
    kind = {"<f8": "d", "<f4": "f", "<i8": "q", "|b1": "?"}[code]
    return {"$": "scalar", "dtype": code, "base64": base64.b64encode(struct.pack(f"<{kind}", number)).decode()}


TUPLE = {"$": "tuple", "items": [1, 2]}

EQUAL = [
    (1, 1, "the same integer"),
    (1.5, scalar(1.5), "a numpy scalar is the Python number of its kind"),
    (scalar(3, "<i8"), 3, "in both directions"),
    (True, scalar(True, "|b1"), "flags too"),
    ({"$": "float", "value": "nan"}, {"$": "float", "value": "nan"}, "NaN equals NaN"),
    ({"$": "set", "items": [1, 2]}, {"$": "set", "items": [2, 1]}, "sets have no order"),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}, "dicts compare by key"),
    (array([1, 2]), array([1, 2]), "arrays by content"),
    (array([0.0]), array([-0.0]), "zeros have no sign"),
]
DIFFERENT = [
    (1, True, "a flag is no number"),
    (1, 1.0, "an integer is no float"),
    ([1, 2], TUPLE, "a list is no tuple"),
    (1.0, 1.0 + 1e-9, "exact without tolerance"),
    (1.5, scalar(1.5, "<f4"), "single precision is another type"),
    ([1, 2], [1, 2, 3], "another length"),
    ({"a": 1}, {"b": 1}, "other keys"),
    (array([1, 2]), array([2, 1]), "another order"),
    (array([1, 2, 3, 4]), array([1, 2, 3, 4], shape=[2, 2]), "another shape"),
    (array([1, 2]), [1.0, 2.0], "a list is no array"),
    ("1", 1, "a text is no number"),
    (None, 0, "nothing is not zero"),
    (1, {"$": "ndarray"}, "malformed: fields missing"),
    ({"$": "tuple", "items": [1]}, {"$": "tuple"}, "malformed: no items"),
    (
        {"$": "ndarray", "dtype": "<f8", "shape": [1], "base64": "AAAAAAAA8D8="},
        {"$": "ndarray", "dtype": "<f8", "shape": [1], "base64": "!"},
        "malformed: no base64",
    ),
    (1, {"$": ["x"]}, "malformed: a tag that is no text"),
]


@pytest.mark.parametrize(("expected", "actual", "why"), EQUAL, ids=[row[2] for row in EQUAL])
def test_equal(expected, actual, why):
    assert verdict_on(Answer(value=actual), expected, values.Comparison()) is None


@pytest.mark.parametrize(("expected", "actual", "why"), DIFFERENT, ids=[row[2] for row in DIFFERENT])
def test_different(expected, actual, why):
    assert verdict_on(Answer(value=actual), expected, values.Comparison()) is not None


def test_tolerance_applies_to_numbers_at_any_depth():
    near = values.Comparison(Tolerance(rtol=1e-6))
    assert near.difference({"a": [array([1.0, 2.0])]}, {"a": [array([1.0 + 1e-9, 2.0])]}) is None
    assert near.difference([1.0], [1.001]) is not None
    assert near.difference(1, 2) is not None


def test_unordered_frees_the_outermost_sequence_only():
    free = values.Comparison(unordered=True)
    assert free.difference([3, 1, 2], [1, 2, 3]) is None
    assert free.difference(array([3, 1]), array([1, 3])) is None
    assert free.difference([[1, 2]], [[2, 1]]) is not None
    assert free.difference([1, 1, 2], [1, 2, 2]) is not None


@pytest.mark.parametrize(
    ("expected", "kind", "bases", "right"),
    [
        ("ValueError", "builtins.ValueError", [], True),
        ("builtins.ValueError", "builtins.ValueError", [], True),
        ("ValueError", "builtins.UnicodeDecodeError", ["builtins.ValueError"], True),
        ("KeyError", "builtins.ValueError", [], False),
    ],
)
def test_expected_exception(expected, kind, bases, right):
    answer = Answer(error={"type": kind, "bases": bases})
    answer.error = __import__("novelapi.records.verdict", fromlist=["ErrorEvidence"]).ErrorEvidence(
        type=kind, bases=tuple(bases)
    )
    found = verdict_on(answer, {"$": "raises", "type": expected}, values.Comparison())
    assert (found is None) is right


def test_a_value_is_no_expected_exception():
    assert verdict_on(Answer(value=1), {"$": "raises", "type": "ValueError"}, values.Comparison()) is not None


@pytest.mark.parametrize("dtype", ["<f8", "<i4", "<c16", "<M8[ns]"])
def test_bytes_that_make_no_element_are_no_array(dtype):
    tree = {"$": "ndarray", "dtype": dtype, "shape": "3", "base64": "AAAAAAAAAAAAAAAAAAA="}
    with pytest.raises(ValueError, match="buffer"):
        values.excerpt(tree)
    assert "malformed" in str(verdict_on(Answer(value=tree), dict(tree, shape="3", base64=""), values.Comparison()))


def test_excerpt_reads_like_python():
    tree = {"a": TUPLE, "b": array([1, 2]), "c": None, "d": {"$": "set", "items": [1]}}
    assert (
        values.excerpt(tree) == "{'a': (1, 2), 'b': array([1.0, 2.0], shape=(2,), dtype=<f8), 'c': None, 'd': set([1])}"
    )
