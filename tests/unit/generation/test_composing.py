"""The small computation around a call fits the answer, works on it, and is said in words."""

import math

import numpy as np
import pytest

from novelapi.generation.compose import steps_for

ARRAY = {"$": "ndarray", "dtype": "<f8", "shape": [2], "values": [3.0, 1.0]}

# recorded answer, the same as a Python value
ANSWERS = [
    (ARRAY, np.array([3.0, 1.0])),
    ({"$": "ndarray", "dtype": "|b1", "shape": [2], "values": [True, False]}, np.array([True, False])),
    ({"$": "tuple", "items": [1.5, 2.5]}, (1.5, 2.5)),
    (2.5, 2.5),
    ("two words", "two words"),
    ({"a": 1, "b": 2}, {"a": 1, "b": 2}),
    ([3, "x"], [3, "x"]),
]


@pytest.mark.parametrize(("answer", "value"), ANSWERS, ids=lambda item: type(item).__name__)
def test_steps_work(answer, value):
    steps = steps_for(answer, "key")
    assert steps
    for step in steps:
        found = eval(step.expression, {"result": value, "np": np, "math": math})
        assert found is not None
        assert step.words.startswith(("return ", "from the ", "compute "))
        assert step.numpy == ("np." in step.expression)


def test_the_order_depends_on_the_key_alone():
    orders = {tuple(step.expression for step in steps_for(ARRAY, f"key{number}")) for number in range(12)}
    assert len(orders) > 1
    assert steps_for(ARRAY, "key1") == steps_for(ARRAY, "key1")


@pytest.mark.parametrize("answer", [None, {}, {"only": 1}, "", [], {"$": "opaque"}])
def test_nothing_to_compute(answer):
    assert steps_for(answer, "key") == []
