"""Arguments against schemas and lists of accepted values: each defect is refused under its own name."""

import json

import pytest

from novelapi.selection.accepted import accepts, alternatives, check_value, pick
from novelapi.selection.assignment import assign
from novelapi.selection.baselines import write_gold
from novelapi.selection.literals import read_literal
from novelapi.selection.score import score
from novelapi.selection.tasks import Wanted

GOOD = {"base": 10, "height": 5}

# arguments, error
ARGUMENTS = [
    (GOOD, None),
    ({**GOOD, "height": 5.0, "unit": "Square-Units"}, None),  # case and - do not count
    ({**GOOD, "unit": ""}, None),
    ({**GOOD, "points": [1.0, 2.0], "style": {"color": "dark_red"}}, None),
    ({**GOOD, "style": {"color": "red", "width": 1}}, None),
    ({"base": 10}, "missing_required"),
    ({**GOOD, "depth": 1}, "unexpected_param"),
    ({**GOOD, "base": "ten"}, "type_error:simple"),
    ({**GOOD, "base": 10.0}, "type_error:simple"),
    ({**GOOD, "base": True}, "type_error:simple"),
    ({**GOOD, "height": "5"}, "type_error:simple"),
    ({**GOOD, "points": [1.0, "2"]}, "type_error:nested"),
    ({**GOOD, "base": 11}, "value_error:others"),
    ({**GOOD, "unit": "miles"}, "value_error:string"),
    ({**GOOD, "unit": "-"}, "value_error:string"),  # what is ignored alone is not the empty text
    ({**GOOD, "points": [2.0, 1.0]}, "value_error:list/tuple"),
    ({**GOOD, "style": {"colour": "red"}}, "value_error:dict_key"),
    ({**GOOD, "style": {}}, "value_error:dict_key"),
    ({**GOOD, "style": {"color": "blue"}}, "value_error:dict_value"),
    ({**GOOD, "style": {"color": ["red", "dark red"]}}, "value_error:dict_value"),
]


@pytest.mark.parametrize(("arguments", "error"), ARGUMENTS)
def test_a_call_is_refused_by_name(functions, arguments, error):
    row = score(functions, "bfcl", 0, json.dumps([{"math.area": arguments}]))
    assert row.error == error
    assert row.outcome == ("fail" if error else "pass")
    assert row.ladder.filled is (error is None)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ("math.area(base=10, height=5)", None),
        ("math_area(base=10, height=5)", None),  # endpoints take no dots
        ("math.area(10, 5.0)", None),
        ("math.areas(base=10, height=5)", "wrong_func_name"),
        ("[math.areas(base=10, height=5)]", "wrong_func_name"),
        ("math.sum(values=[10, 5])", "wrong_func_name"),
        ("[math.area(base=10, height=5), math.area(base=10, height=5)]", "wrong_count"),
        ("[]", "wrong_count"),
        ("The function math.area with base 10 and height 5.", "text_only"),
    ],
)
def test_names_and_counts(functions, answer, error):
    assert score(functions, "bfcl", 0, answer).error == error


def test_an_optional_parameter_that_must_be_given(functions):
    from dataclasses import replace

    accepted = {"base": [10], "height": [5.0], "unit": ["m"]}
    task = replace(functions, wanted=(Wanted(name="math.area", arguments=accepted),))
    assert score(task, "bfcl", 0, json.dumps([{"math.area": GOOD}])).error == "missing_optional"


@pytest.fixture
def parallel(functions):
    from dataclasses import replace

    sums = [Wanted(name="math.sum", arguments={"values": [[number]]}) for number in (1, 2)]
    return replace(functions, wanted=(*functions.wanted, *sums))


def test_parallel_calls_match_in_any_order_one_to_one(parallel):
    calls = [{"math.sum": {"values": [2]}}, {"math.area": GOOD}, {"math.sum": {"values": [1]}}]
    assert score(parallel, "bfcl", 0, json.dumps(calls)).outcome == "pass"
    twice = [calls[0], calls[1], calls[0]]
    row = score(parallel, "bfcl", 0, json.dumps(twice))
    assert (row.error, row.errors) == ("value_error:list/tuple", ("value_error:list/tuple",))
    assert row.values is not None
    assert (row.values.hits, row.values.given, row.values.wanted) == (3, 4, 4)
    assert score(parallel, "bfcl", 0, json.dumps(calls[:2])).error == "wrong_count"


def test_one_defect_in_a_parallel_answer_keeps_its_name(parallel):
    gold = json.loads(write_gold(parallel))
    gold["calls"][0]["arguments"]["foreign"] = 1
    assert score(parallel, "bfcl", 0, json.dumps(gold)).errors == ("unexpected_param",)
    gold["calls"][0]["name"] = "math.volume"
    assert score(parallel, "bfcl", 0, json.dumps(gold)).errors == ("wrong_func_name",)


def test_rows_in_which_nothing_or_anything_must_be_called(functions):
    from dataclasses import replace

    none = replace(functions, wanted=(), calls="none")
    some = replace(functions, wanted=(), calls="some")
    call, other, prose = "[math.sum(values=[1])]", "[os.walk(path='/')]", "I cannot use math.sum for that."
    answers = (call, other, prose, "[]", "")
    assert [score(none, "bfcl", 0, text).error for text in answers] == ["unexpected_call"] * 2 + [None] * 3
    assert [score(some, "bfcl", 0, text).error for text in answers] == [
        None,
        "no_call",
        "text_only",
        "no_call",
        "text_only",
    ]
    assert score(none, "bfcl", 0, "").precision is None


@pytest.mark.parametrize(
    ("language", "declared", "text", "value"),
    [
        ("java", "integer", "10", 10), ("java", "integer", "1.5", "1.5"), ("java", "long", "10L", 10),
        ("java", "float", "3.5f", 3.5), ("java", "double", "3.5", 3.5), ("java", "integer", "10L", "10L"),
        ("java", "boolean", "true", True), ("java", "String", "abc", "abc"), ("java", "String", '"abc"', "abc"),
        ("java", "Array", 'new String[]{"a, b", "c"}', ["a, b", "c"]), ("java", "Array", "new int[]{1, 2}", [1, 2]),
        ("java", "ArrayList", 'new ArrayList<>(Arrays.asList("a", "b"))', ["a", "b"]),
        ("java", "ArrayList", "new ArrayList<Integer>() {{ add(1); add(2); }}", [1, 2]),
        ("java", "ArrayList", "new ArrayList<>()", []), ("java", "ArrayList", "List.of(1, 2)", [1, 2]),
        ("java", "HashMap", 'new HashMap<String, Object>() {{ put("k", 1); put("l", "v"); }}', {"k": 1, "l": "v"}),
        ("java", "HashMap", 'Map.of("k", true)', {"k": True}), ("java", "HashMap", "new HashMap<>()", {}),
        ("java", "any", "someVariable", "someVariable"),
        ("javascript", "Bigint", "12n", 12), ("javascript", "Boolean", "false", False),
        ("javascript", "array", "[1, 'a', true]", [1, "a", True]), ("javascript", "array", "[[1, 2], [3]]", [[1, 2], [3]]),
        ("javascript", "array", "new Array(1, 2)", [1, 2]), ("javascript", "dict", "{a: 1, 'b': 'x, y'}", {"a": 1, "b": "x, y"}),
        ("javascript", "dict", "{}", {}), ("javascript", "integer", "ten", "ten"),
    ],
)  # fmt: skip
def test_literals_of_other_languages(language, declared, text, value):
    assert read_literal(text, declared.lower(), language) == value
    assert check_value("p", text, {"type": declared}, [value], language) is None
    assert check_value("p", value, {"type": declared}, [value], language) is None


def test_literals_inside_literals():
    assert read_literal("{a: [1, {b: 'c'}]}", "dict", "javascript") == {"a": [1, {"b": "c"}]}
    text = 'new HashMap<String, Object>() {{ put("k", new int[]{1, 2}); }}'
    assert read_literal(text, "hashmap", "java") == {"k": [1, 2]}


def test_a_literal_of_another_type_is_refused():
    found = check_value("p", "ten", {"type": "integer"}, [10], "java")
    assert found is not None
    assert found.error == "type_error:simple"


def test_accepted_values_of_odd_types():
    assert check_value("p", "all", {"type": "integer"}, ["all", 3]) is None  # a variable or a word in place of a number
    assert check_value("p", None, {"type": "string"}, [None, ""]) is None
    assert check_value("p", [], {"type": "array", "items": {"type": "string"}}, alternatives([])) is None
    assert check_value("p", 1, {"type": "boolean"}, [True]) is not None
    assert check_value("p", {"k": True}, {"type": "dict"}, [{"k": [1]}]) is not None
    assert check_value("p", "x", {}, ["x"]) is None


def test_objects_inside_objects_and_lists():
    accepted = {"a": [{"b": ["x", "y"]}], "c": [[1, 2], ""]}
    assert accepts({"a": {"b": "y"}, "c": [1, 2]}, accepted)
    assert accepts({"a": {"b": ["x", "y"]}}, accepted)
    assert not accepts({"a": {"b": "z"}}, accepted)
    assert not accepts({"c": [1, 2]}, accepted)
    schema = {"properties": {"a": {"properties": {"b": {"type": "string"}}}}}
    assert pick([accepted], schema) == {"a": {"b": "x"}, "c": [1, 2]}
    wrapped = check_value("p", [{"k": ["v"]}], {"type": "array", "items": {"type": "dict"}}, [[{"k": ["v"]}]])
    assert wrapped is not None, "the list of alternatives is no value"
    assert wrapped.error == "value_error:dict_value"
    listed = [[{"k": ["v", ""]}, {"k": ["w"]}]]
    assert pick(listed, {"type": "array"}) == [{"k": "v"}, {"k": "w"}]
    wrong = check_value("p", [{"k": "v"}], {"type": "array", "items": {"type": "dict"}}, listed)
    assert wrong is not None
    assert wrong.error == "value_error:list_dict_count"


def test_gold_chooses_from_the_accepted(functions):
    from dataclasses import replace

    assert json.loads(write_gold(functions))["calls"][0]["arguments"]["style"] == {"color": "red", "width": 1}
    first = replace(
        functions, wanted=(Wanted(name="math.area", arguments={"base": [1], "height": ["", 2.0], "unit": ["", "m"]}),)
    )
    assert json.loads(write_gold(first))["calls"][0]["arguments"] == {"base": 1, "height": 2.0}
    assert score(first, "bfcl", 0, write_gold(first)).outcome == "pass"


def test_assignment_is_the_cheapest():
    import itertools
    import random

    random.seed(7)
    for _ in range(60):
        rows, columns = random.randint(0, 4), random.randint(0, 4)
        table = [[random.randint(0, 5) for _ in range(columns)] for _ in range(rows)]
        pairs = assign(rows, columns, lambda row, column, table=table: table[row][column])
        assert len(pairs) == min(rows, columns)
        assert len({row for row, _ in pairs}) == len({column for _, column in pairs}) == len(pairs)
        size = min(rows, columns)
        best = min(
            sum(table[row][column] for row, column in zip(chosen, order, strict=True))
            for chosen in itertools.combinations(range(rows), size)
            for order in itertools.permutations(range(columns), size)
        )
        assert sum(table[row][column] for row, column in pairs) == best
