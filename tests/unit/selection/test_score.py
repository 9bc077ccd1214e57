"""Sets, rankings, sequences, the ladder, and what must never resolve a task."""

import json
from dataclasses import replace

import pytest

from novelapi.selection.baselines import BASELINES, write_echo, write_everything, write_everything_in_prose, write_gold
from novelapi.selection.measures import match_counts, mean_ranking, score_ranking
from novelapi.selection.names import changed, find_defect, mangled
from novelapi.selection.score import score
from novelapi.selection.summary import summarise_rows
from novelapi.selection.tasks import Tool, Wanted


def run(task, text):
    return score(task, "suite", 0, text)


def test_gold_resolves_and_trivial_answers_do_not(row):
    outcomes = {name: run(row, write(row)) for name, write in BASELINES.items()}
    assert {name: found.outcome for name, found in outcomes.items()} == {
        "gold": "pass", "everything": "fail", "everything in prose": "fail", "first": "fail", "empty": "fail", "echo": "fail",
    }  # fmt: skip
    assert (outcomes["everything"].precision, outcomes["everything"].recall) == (0.5, 1.0)
    assert (outcomes["first"].precision, outcomes["first"].recall) == (1.0, 0.5)
    assert (outcomes["echo"].extraction, outcomes["echo"].recall) == ("text", 1.0)
    assert outcomes["empty"].precision == 0


def test_where_everything_is_right_a_list_in_prose_does_not_resolve(blind):
    assert run(blind, write_everything(blind)).outcome == "pass"
    assert run(blind, f"So:\n```json\n{write_gold(blind)}\n```").outcome == "pass"
    prose = run(blind, write_everything_in_prose(blind))
    assert (prose.outcome, prose.error, prose.exact) == ("fail", "undecidable_in_prose", True)
    assert prose.ladder.selected
    assert run(blind, write_echo(blind)).outcome == "fail"
    assert run(blind, ", ".join(tool.name for tool in blind.tools)).error == "text_only"


def test_gold_in_prose_resolves_where_the_labels_can_tell(row):
    found = run(row, f"I would call these. {write_gold(row)} Good luck.")
    assert (found.outcome, found.extraction, found.place) == ("pass", "json", "prose")


def test_function_names_are_mapped_back(row, shown):
    names = [shown(tool) for tool in row.tools]
    assert names[:3] == [
        "get_channel_clips_for_kick_com_api_kick_api", "get_channel_details_for_kick_com_api_kick_api",
        "is_from_for_get_168_weather",
    ]  # fmt: skip
    found = run(row, json.dumps([{"name": name, "arguments": {}} for name in [*names[:2], "Finish"]]))
    assert (found.outcome, found.called) == ("pass", found.expected)


def test_cut_names_and_names_that_stand_for_two():
    tools = [
        Tool(name=f"{title} / long", owner="t" * 70, title=title) for title in ("Get first thing", "Get second thing")
    ]
    assert [len(name) for name in (changed(tools[0], "toolbench")[1], mangled("Get first thing", "t" * 70))] == [64, 90]
    assert find_defect(tools, "toolbench") is None


def test_an_ambiguous_name_matches_neither(row):
    tools = tuple(Tool(name=f"{'t' * 70} / {title}", owner="t" * 70, title=title) for title in ("first", "second"))
    task = replace(row, tools=tools, wanted=(Wanted(name=tools[0].name),))
    cut = mangled("first", "t" * 70)[-64:]
    found = run(task, json.dumps([{"name": cut, "arguments": {}}]))
    assert (found.error, found.ambiguous, found.recall) == ("ambiguous_name", (cut,), 0.0)
    whole = run(task, json.dumps([{"name": mangled("first", "t" * 70), "arguments": {}}]))
    assert whole.outcome == "pass"


@pytest.mark.parametrize(
    ("tools", "words"),
    [
        ([], "no tool is listed"),
        ([Tool(name="a"), Tool(name="a")], "two listed tools have one name: 'a'"),
        ([Tool(name="a.b"), Tool(name="a_b")], "one normal form: 'a.b' and 'a_b'"),
    ],
)
def test_lists_that_cannot_be_scored(tools, words):
    assert words in (find_defect(tools, "plain") or "")


def test_lists_of_apis_that_cannot_be_scored(row):
    same = Tool(
        name="KICK.com API Kick API / get-channel-clips", owner="KICK.com API Kick API", title="get-channel-clips"
    )
    assert "one normal form" in (find_defect([*row.tools, same], "toolbench") or "")
    assert "empty" in (find_defect([Tool(name="天气 / 今天", owner="天气", title="今天")], "toolbench") or "")


def test_unknown_names_lower_precision(row):
    pairs = [[tool.owner, tool.title] for tool in row.tools[:2]]
    found = run(row, json.dumps({"api_calls": [*pairs, ["Kick", "Invented"]]}))
    assert (found.unknown, found.precision, found.recall, found.error) == (("Kick.Invented",), 2 / 3, 1.0, "wrong_set")
    twice = run(row, json.dumps({"api_calls": [*pairs, *pairs]}))
    assert (twice.recall, twice.precision, twice.outcome) == (1.0, 1.0, "pass")


def test_rankings():
    scores = score_ranking(["x", "a", "x", "b", "c"], {"a", "b"}, (1, 2, 3))
    assert scores.recall == {1: 0.0, 2: 0.5, 3: 1.0}
    assert scores.complete == {1: 0.0, 2: 0.0, 3: 1.0}
    assert scores.ndcg[1] == 0
    assert scores.ndcg[3] == pytest.approx((0.63093 + 0.5) / 1.63093, abs=1e-5)
    assert mean_ranking([scores, score_ranking(["a", "b"], {"a", "b"}, (1, 2, 3))], (1, 2, 3)).complete[3] == 1.0
    with pytest.raises(ValueError, match="at least one relevant"):
        score_ranking(["a"], set())


def test_repeating_a_right_unit_is_no_second_hit():
    found = match_counts(["a", "a", "a", "x"], ["a", "b"])
    assert (found.hits, found.given, found.wanted) == (1, 4, 2)


def calls(*items):
    return json.dumps([{"name": name, "arguments": given, "label": label} for name, given, label in items])


NEW_YORK = ("find", {"query": "New York"}, "a")
LONDON = ("find", {"query": "london "}, "b")
FLY = ("fly", {"start": "$a.id$", "end": "$b.id$", "date": "2024-08-15"}, "c")
CLOSING = ("var_result", {"all": "$c$"}, "")

# calls, rung that is reached, error
SEQUENCES = {
    "gold with other labels": ((NEW_YORK, LONDON, FLY, CLOSING), "sequenced", None),
    "independent calls in another order": ((LONDON, NEW_YORK, FLY), "sequenced", None),
    "a label given anew": ((NEW_YORK, LONDON, (*FLY[:2], "a")), "sequenced", None),
    "results exchanged": (
        (NEW_YORK, LONDON, ("fly", {**FLY[1], "start": "$b.id$", "end": "$a.id$"}, "c")),
        "filled",
        "wrong_links",
    ),
    "used before it is there": ((FLY, NEW_YORK, LONDON), "filled", "wrong_links"),
    "another part of the result": (
        (NEW_YORK, LONDON, ("fly", {**FLY[1], "start": "$a.code$"}, "c")),
        "selected",
        "wrong_arguments",
    ),
    "a value in place of a result": (
        (NEW_YORK, LONDON, ("fly", {**FLY[1], "start": "JFK"}, "c")),
        "selected",
        "wrong_arguments",
    ),
    "a reference to nothing": (
        (NEW_YORK, LONDON, ("fly", {**FLY[1], "start": "$z.id$"}, "c")),
        "selected",
        "wrong_arguments",
    ),
    "a call too few": ((NEW_YORK, FLY), "none", "wrong_count"),
    "another tool": ((NEW_YORK, LONDON, ("stay", {"place": "$b.id$"}, "c")), "none", "wrong_set"),
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_the_ladder(chain, name):
    items, rung, error = SEQUENCES[name]
    found = run(chain, calls(*items))
    reached = [step for step in ("selected", "filled", "sequenced") if getattr(found.ladder, step)]
    assert (reached[-1] if reached else "none") == rung
    assert reached == ["selected", "filled", "sequenced"][: len(reached)]
    assert found.error == error


def test_parameters_values_and_edges_are_scored_apart(chain):
    found = run(chain, calls(NEW_YORK, LONDON, ("fly", {"start": "$a.id$", "end": "LHR", "day": 1}, "c")))
    assert (found.parameters.hits, found.parameters.given, found.parameters.wanted) == (4, 5, 5)
    assert (found.values.hits, found.values.given, found.values.wanted) == (3, 5, 5)
    assert (found.edges.hits, found.edges.given, found.edges.wanted) == (1, 1, 2)


def test_code_is_a_sequence_too(chain):
    code = 'a = find(query="New York")\nfly(start=a.id, end=find(query="London").id, date="2024-08-15")'
    found = run(chain, code)
    assert (found.outcome, found.extraction) == ("pass", "ast")


@pytest.fixture
def graph(chain):
    """A row of TaskBench's kind: nodes in no order, links stated."""
    tools = tuple(
        Tool(name=name, parameters={kind: {}}) for name, kind in (("Image Search", "text"), ("Image Editor", "image"))
    )
    wanted = (
        Wanted(name="Image Editor", arguments={"image": "<node-1>"}, label="<node-0>"),
        Wanted(name="Image Search", arguments={"text": "cats"}, label="<node-1>"),
    )
    return replace(chain, tools=tools, wanted=wanted, links=(("Image Search", "Image Editor"),), scheme="spaced")


def test_nodes_and_links(graph):
    gold = run(graph, write_gold(graph))
    assert (gold.outcome, gold.ladder.sequenced) == ("pass", True)
    nodes = [{"task": "Image_Search", "arguments": ["cats"]}, {"task": "Image Editor", "arguments": ["<node-0>"]}]
    links = [{"source": "Image_Search", "target": "Image_Editor"}]
    assert run(graph, json.dumps({"task_nodes": nodes, "task_links": links})).outcome == "pass"
    assert run(graph, json.dumps({"task_nodes": nodes})).outcome == "pass", "links follow from the arguments"
    wrong = run(graph, json.dumps({"task_nodes": nodes, "task_links": []}))
    assert (wrong.error, wrong.edges.hits, wrong.edges.wanted) == ("wrong_links", 0, 1)
    circle = [{"task": "Image_Search", "arguments": ["<node-1>"]}, {"task": "Image Editor", "arguments": ["<node-0>"]}]
    assert run(graph, json.dumps({"task_nodes": circle, "task_links": links})).error == "wrong_arguments"
    malformed = [3, *nodes[:1], {"task": "Image Editor", "arguments": ["<node-1>"]}]
    assert run(graph, json.dumps({"task_nodes": malformed, "task_links": links})).outcome == "pass", "places are kept"


def test_a_graph_by_its_links_alone(graph):
    task = replace(graph, wanted=tuple(Wanted(name=tool.name) for tool in graph.tools))
    assert run(task, write_gold(task)).outcome == "pass"
    links = [{"source": "Image Search", "target": "Image Editor"}]
    found = run(task, json.dumps({"links": links}))
    assert (found.outcome, found.ladder.filled) == ("pass", None)
    both = run(task, json.dumps({"links": [*links, {"source": "Image Editor", "target": "Image Search"}]}))
    assert (both.edges.hits, both.edges.given, both.outcome) == (1, 2, "fail")


def test_a_record_tells_whether_the_calls_ran(row, shown):
    def record(*errors):
        messages = []
        for tool, error in zip(row.tools, errors, strict=False):
            messages += [
                {"role": "assistant", "function_call": {"name": shown(tool), "arguments": "{}"}},
                {"role": "function", "content": json.dumps({"error": error, "response": ""})},
            ]
        return run(row, json.dumps(messages))

    assert [record(*errors).ladder.executed for errors in (("", ""), ("", "down"), ("",))] == [True, False, False]
    assert run(row, write_gold(row)).ladder.executed is None


def test_text_is_summed_up_apart(row):
    rows = [run(row, write_gold(row)), run(row, write_echo(row))]
    found = summarise_rows(rows)
    assert (found["resolved"], found["scored"]) == (1, 2)
    assert found["selection"]["recall"] == 0.5
    assert (found["text"]["rows"], found["text"]["recall"], found["text"]["precision"]) == (1, 1.0, 0.5)
    assert found["extraction"] == {"json": 1, "text": 1}
    assert found["errors"] == {"text_only": 1}
    assert found["ladder"]["filled"] is None
