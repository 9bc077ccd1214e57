"""What is found in an answer: JSON, code, records, prose; and what is only mentioned."""

import json
import time

import pytest

from novelapi.selection.extraction import extract
from novelapi.selection.scanning import fences, spans
from novelapi.selection.score import score

PAIRS = [["Kick.com API | Kick API", "Get Channel Clips"], ["Kick.com API | Kick API", "Get Channel Details"]]
CALLS = json.dumps({"api_calls": PAIRS})
NAMES = ["get_channel_clips_for_kick_com_api_kick_api", "get_channel_details_for_kick_com_api_kick_api"]
OBJECTS = [{"tool_name": tool, "api_name": name} for tool, name in PAIRS]
MESSAGES = [
    {"role": "user", "content": "clips?"},
    {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": NAMES[0], "arguments": '{"q": "x"}'}}]},
    {"role": "tool", "tool_call_id": "a", "content": '{"error": "", "response": "fine"}'},
    {"role": "assistant", "content": None, "function_call": {"name": NAMES[1], "arguments": "{}"}},
    {"role": "function", "name": NAMES[1], "content": '{"error": "broken", "response": ""}'},
    {"role": "assistant", "function_call": {"name": "Finish", "arguments": "{}"}},
]
REACT = (
    f'Thought: x\nAction: {NAMES[0]}\nAction Input: {{"q": 1}}\nObservation: y\nAction: {NAMES[1]}\nAction Input: {{}}'
)

# answer, extraction, place; all call both APIs
FORMS = {
    "container": (CALLS, "json", "whole"),
    "objects": (json.dumps({"calls": OBJECTS}), "json", "whole"),
    "bare list": (json.dumps(OBJECTS), "json", "whole"),
    "names": (json.dumps([{"name": name, "arguments": {}} for name in NAMES]), "json", "whole"),
    "keyed in one": (json.dumps({name: {} for name in NAMES}), "json", "whole"),
    "keyed": (json.dumps([{name: {}} for name in NAMES]), "json", "whole"),
    "endpoint": (
        json.dumps({"tool_calls": [{"function": {"name": n, "arguments": "{}"}} for n in NAMES]}),
        "json",
        "whole",
    ),
    "thoughts": ('<think>maybe {"api_calls": []}</think>' + CALLS, "json", "whole"),
    "fence": (f"First:\n```json\n{CALLS}\n```\nThat is all.", "json", "fence"),
    "last of two fences": (f'```json\n{{"api_calls": []}}\n```\nNo:\n```\n{CALLS}\n```', "json", "fence"),
    "open fence": (f"```json\n{CALLS}", "json", "fence"),
    "prose": (f'I {{would}} call {CALLS} and "stop}}".', "json", "prose"),
    "last of two in prose": (f'Not {{"api_calls": []}} but {CALLS}.', "json", "prose"),
    "single objects in prose": (
        " then ".join(json.dumps({"name": n, "arguments": {}}) for n in NAMES),
        "json",
        "prose",
    ),
    "tagged": (
        "".join(f'<tool_call>{{"name": "{n}", "arguments": {{}}}}</tool_call>\n' for n in NAMES),
        "json",
        "prose",
    ),
    "single quotes": (f"Sure: {json.loads(CALLS)!r}.", "json", "prose"),
    "unclosed before": (f"Set {{1, 2 and so on. {CALLS}", "json", "prose"),
    "code": (f"a = {NAMES[0]}(q='x')\nprint({NAMES[1]}(q=a))", "ast", "whole"),
    "list of calls": (f"[{NAMES[0]}(q='x'), {NAMES[1]}()]", "ast", "whole"),
    "code in a fence": (f"So:\n```python\nimport math\n{NAMES[0]}(q=math.sqrt(4))\n{NAMES[1]}()\n```", "ast", "fence"),
    "list of calls in prose": (f"I call [{NAMES[0]}(q='x'), {NAMES[1]}()] now.", "ast", "prose"),
    "lines": (f"I call:\n- `{NAMES[0]}(q=1)`\n- `{NAMES[1]}()`\nThat is all.", "ast", "prose"),
    "messages": (json.dumps({"messages": MESSAGES}), "trace", "whole"),
    "list of messages": (json.dumps(MESSAGES), "trace", "whole"),
    "transcript": (REACT, "trace", "whole"),
}


@pytest.mark.parametrize("form", FORMS)
def test_calls_are_found_in_every_form(row, form):
    answer, kind, place = FORMS[form]
    found = extract(answer, row.tools, row.names)
    assert (found.kind, found.place) == (kind, place)
    tools = [row.names.find(call.name, call.owner) for call in found.calls if call.name != "Finish"]
    assert [[tool.title for tool in several] for several in tools] == [["Get Channel Clips"], ["Get Channel Details"]]


def test_a_record_says_what_was_answered(row):
    found = extract(json.dumps(MESSAGES), row.tools, row.names)
    assert [call.ok for call in found.calls] == [True, False]
    assert found.calls[0].arguments == {"q": "x"}
    assert extract(REACT, row.tools, row.names).calls[0].ok is None


def test_a_search_tree_counts_by_the_path_to_its_answer(row):
    steps = [
        {"node_type": "Action", "description": NAMES[0]},
        {"node_type": "Action Input", "description": "{}", "observation": '{"error": ""}', "observation_code": 0},
        {"node_type": "Action", "description": "Finish"},
    ]
    branch = {**steps[0], "children": [{**steps[1], "children": []}]}
    tree = {"tree": {"tree": {"node_type": "Thought", "children": [branch, branch]}}}
    answered = {**tree, "answer_generation": {"train_messages": [MESSAGES[:2], MESSAGES[:3]]}}
    given_up = {**tree, "answer_generation": {"train_messages": []}}
    for value, calls in ((answered, 1), (given_up, 2), ({"trys": [{"chain": steps}]}, 1)):
        found = extract(json.dumps(value), row.tools, row.names)
        assert (found.kind, len(found.calls), found.calls[0].ok) == ("trace", calls, True)


NOTHING = {
    "empty": "",
    "words": "I would look at the channel.",
    "numbers": "[1, 2, 3]",
    "object": '{"price": 3, "answer": {"text": "none"}}',
    "broken": '{"api_calls": [["Kick',
    "not a number": '{"api_calls": NaN}',
    "other code": "```python\nimport math\ndef area(x):\n    return math.sqrt(x)\nprint(area(3))\n```",
    "a shell": "```bash\nkick(1)\n```",
}


@pytest.mark.parametrize("form", NOTHING)
def test_what_calls_nothing_is_text(row, form):
    found = extract(NOTHING[form], row.tools, row.names)
    assert (found.kind, found.place) == ("text", "none")


def test_an_empty_list_is_an_answer(row):
    for answer in ('{"api_calls": []}', "[]", 'None fits: {"calls": []}'):
        found = extract(answer, row.tools, row.names)
        assert (found.kind, found.calls) == ("json", ())


def test_the_list_of_tools_is_no_call(row, functions, chain):
    for task in (row, functions, chain):
        for text in (json.dumps(task.listing), f"Here they are: {json.dumps(task.listing)}", repr(task.listing)):
            assert extract(text, task.tools, task.names).kind == "text"
    for mixed in (
        {"name": "str", "input": {}, "price": "int"}, {"name": "str", "input": "str"}, {"actions": [{"name": "str"}]},
    ):  # fmt: skip
        assert extract(f"It returns {json.dumps(mixed)}.", row.tools, row.names).kind == "text"
    assert extract(json.dumps({"name": "invented", "arguments": {}}) + ".", row.tools, row.names).kind == "json"
    described = [{"name": "math.sum", "description": "because", "arguments": {"values": [1]}}]
    assert extract(json.dumps(described), functions.tools, functions.names).kind == "json"


def test_mentions_are_sought_for_all_candidates(row):
    text = "Use the Forecast of 168 Weather, then Kick.com API | Kick API: Get Channel Details."
    found = extract(text, row.tools, row.names)
    assert [call.name for call in found.calls] == ["Forecast", "Get Channel Details"]
    assert extract("Get Channel Details", row.tools, row.names).calls == ()


def test_items_that_are_no_calls_are_counted(row):
    found = extract(json.dumps({"api_calls": [*PAIRS, 3, {"x": 1}, ["a", "b", "c", "d"]]}), row.tools, row.names)
    assert (len(found.calls), found.malformed) == (2, 3)


def test_code_hands_results_on():
    from novelapi.selection.calls import Reference
    from novelapi.selection.python_calls import read_python

    calls = read_python(
        "a = find(query='x')\nb = fly(start=a['id'], end=find(query='y').id, n=len(a))", lambda name: name != "len"
    )
    assert calls is not None
    assert [call.name for call in calls] == ["find", "find", "fly"]
    assert calls[2].arguments == {"start": Reference("call0", "id"), "end": Reference("call1", "id"), "n": "len(a)"}


HOSTILE = {
    "open braces": "{" * 4_000,
    "open lists": "[" * 4_000,
    "pairs": "{}" * 5_000,
    "nested": "[" * 5_000 + "]" * 5_000,
    "quotes": '{"' * 5_000,
    "fences": "```\n" * 5_000,
    "actions": "Action: x\n" * 5_000,
    "calls": "f(" * 5_000,
    "brackets of code": "[f(" * 4_000 + ")]" * 4_000,
    "digits": "[" + "9" * 100_000 + "]",
    "surrogate": '{"api_calls": ["\ud800"]} \ud800',
    "null": "\0{}\0",
    "deep arguments": '[{"f": ' + '{"a": [' * 300 + "]}" * 300 + "}]",
    "long chain": "f(x" + ".a" * 5_000 + ")",
    "long sum": "f(a=" + "1+" * 5_000 + "1)",
    "keys of all kinds": "[{1: 2, None: 3}, {'name': 'f', 'arguments': {1: 2, 'a': {3}}}]",
    "huge number": '[{"math.area": {"base": 1, "height": ' + "9" * 4_000 + "}}]",
}


@pytest.mark.parametrize("form", HOSTILE)
def test_hostile_answers_end_soon(row, functions, chain, form):
    begin = time.process_time()
    for task in (row, functions, chain):
        assert score(task, "suite", 0, HOSTILE[form]).outcome == "fail"
    assert time.process_time() - begin < 6


def test_spans_are_outermost_and_in_order():
    text = 'a {"x": [1, "}"]} b [2] c {broken [3]} "{" {"y": "\\"]"}'
    assert [value for _, value in spans(text)] == [{"x": [1, "}"]}, [2], [3], {"y": '"]'}]


def test_fences_keep_their_language():
    assert fences("```JSON\n1\n```\n~~~\n2\n~~~\n````py\n```\n3\n````") == [
        ("json", "1\n"),
        ("", "2\n"),
        ("py", "```\n3\n"),
    ]
