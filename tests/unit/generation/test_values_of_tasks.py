"""Inputs are varied within their kind, literals stay short, and answers that only repeat are told."""

import pytest

from novelapi.execution.answers import Answer
from novelapi.generation.drafts import guard
from novelapi.generation.inputs import vary
from novelapi.generation.literals import literal_of
from novelapi.generation.trials import choose_inputs, repeats
from novelapi.records.task import TaskInput


def changed(text, name="x", count=12, choices=()):
    return [row[0] for row in vary([text], [name], "key", count, [choices])]


def test_choices_are_kept_to():
    assert set(changed("'a'", choices=("'a'", "'b'", "'c'"))) == {"'b'", "'c'"}


def test_an_axis_stays_an_axis():
    assert set(changed("0", "axis")) <= {"-1", "1"}


def test_mappings_get_a_key_more():
    assert any("'note': 7" in text for text in changed("{'a': 1}"))


def test_json_stays_json():
    import ast
    import json

    texts = changed("""'{"a": 1}'""")
    assert any("note" in text for text in texts)
    for text in texts:
        json.loads(ast.literal_eval(text))


def test_numbers_as_text():
    assert "'5'" in " ".join(changed("5", count=30))


def test_equal_values_change_together():
    for first, second in vary(["[1, 2, 3]", "[1, 2, 3]"], ["a", "b"], "key", 12):
        assert first == second


def test_the_same_key_gives_the_same():
    assert changed("[1, 2.5, 'word']") == changed("[1, 2.5, 'word']")


ARRAY = {"$": "ndarray", "dtype": "<f8", "shape": [2, 2], "values": [1.0, 2.0, 0.123456789, 4.0]}


@pytest.mark.parametrize(
    ("tree", "text"),
    [
        (3, "3"),
        ("word", "'word'"),
        ([1, [2, 3]], "[1, [2, 3]]"),
        ({"a": 1}, "{'a': 1}"),
        ({"$": "tuple", "items": [1]}, "(1,)"),
        ({"$": "float", "value": "nan"}, "np.nan"),
        ({"$": "float", "value": "-inf"}, "-np.inf"),
        (ARRAY, "np.array([[1.0, 2.0], [0.1235, 4.0]])"),
        ({**ARRAY, "dtype": "<f4"}, "np.array([[1.0, 2.0], [0.1235, 4.0]], dtype='<f4')"),
        ({**ARRAY, "shape": [40], "values": [0.0] * 40}, None),  # too long to read
        ("x" * 500, None),
        ({"$": "frame"}, None),
        ([{"$": "opaque"}], None),
    ],
)
def test_literals(tree, text):
    assert literal_of(tree) == text


# answers, canonical texts of the arguments, whether the caller knew it all
REPEATS = [
    ([1, 2, 3], [["1", "2", "3"]], True),  # the argument itself
    ([2, 4, 6], [["1", "2", "3"]], False),
    ([7, 7, 7], [["1", "2", "3"]], True),  # always the same
    ([{"a": 1}, {"a": 2}], [["1", "2"]], True),  # a record of the arguments
    ([{"a": 1, "b": 5}, {"a": 2, "b": 5}], [["1", "2"]], True),  # and a constant
    ([{"a": 1, "b": 5}, {"a": 2, "b": 6}], [["1", "2"]], False),
    ([[1, 9], [2, 9]], [["1", "2"]], True),
    ([[1, 9], [2, 8]], [["1", "2"]], False),
    ([[1], [2, 3]], [["1", "2"]], False),
    ([1, 2], [[None, None]], False),  # an argument that is no plain value
]


@pytest.mark.parametrize(("answers", "arguments", "expected"), REPEATS)
def test_repeats(answers, arguments, expected):
    assert repeats(answers, arguments) is expected


def test_guard():
    code = "\n".join(guard(["import lib", "", "def solve(a):", "    return lib.f(a)"], "def solve(a):"))
    namespace = {"lib": None}
    exec(code.replace("import lib\n", "").replace("lib.f(a)", "int(a)"), namespace)
    assert (namespace["solve"]("3"), namespace["solve"]("x")) == (3, "refused")


def test_formatted_texts_stay():
    for text in changed("g(f'a{1}b', 2)", count=12):
        compile(text, "input", "eval")
        assert "f'a{1}b'" in text


def test_columns_without_a_value_say_nothing():
    def series(*values):
        return {"$": "series", "name": None, "data": {"dtype": "object", "values": list(values)}}

    inputs = [TaskInput(args=(str(number),)) for number in range(3)]
    answers = [Answer(value=series(None, None)), Answer(value=series(None, "a")), Answer(value=series())]
    assert choose_inputs(inputs, answers, 3) == [1]
