"""Arguments and programs are made up from what is documented."""

import pytest

from novelapi.knowledge.arguments import choices, values
from novelapi.knowledge.corpus import Place
from novelapi.knowledge.material import Facts
from novelapi.knowledge.objects import Maker, Objects
from novelapi.knowledge.repairs import repaired, stood_in
from novelapi.knowledge.snippets import script_of
from novelapi.knowledge.surroundings import served, with_file, without_extras
from novelapi.knowledge.synthesis import any_object, coupled, from_scratch, with_change, with_objects
from novelapi.knowledge.targets import Target
from novelapi.knowledge.trials import Trial
from novelapi.records.bundle import KnownParameter

FACTS = Facts(apis={})


def parameter(name, kind="positional_or_keyword", **fields):
    return KnownParameter(name=name, kind=kind, **fields)


def target(api="lib.f", kind="function", new=(), added=True, positional=()):
    return Target(
        api=api, paths=frozenset([api]), kind=kind, positional=tuple(positional), new=frozenset(new), added=added
    )


@pytest.mark.parametrize(
    ("known", "first"),
    [
        (parameter("mode", type="{'a', 'b'}"), "'a'"),
        (parameter("mode", type="Literal['x', 'y']", default="'x'"), "'y'"),  # the default itself says nothing
        (parameter("mode", type="str", description="One of 'p' or 'q'."), "'p'"),
        (parameter("flag", default="False"), "True"),
        (parameter("count", default="3"), "4"),
        (parameter("axis", type="int"), "0"),
        (parameter("url", type="str"), "'https://example.com/path?x=1'"),
        (parameter("thing", type="list[str]"), "['a', 'b']"),
    ],
)
def test_values(known, first):
    assert values(known)[0] == first


@pytest.mark.parametrize(
    ("kind", "seen", "meant"),
    [
        ("array_like", "'cdf'", False),
        ("array_like", "[1, 2]", True),
        ("array_like of str", "'cdf'", True),
        ("{'cdf', 'pdf'} or float", "'cdf'", True),
        ("float", "b'x'", False),
        ("bool, optional", "42", False),
        ("bool", "np.True_", True),
        ("int or str", "'cdf'", True),
        (None, "'cdf'", True),
    ],
)
def test_values_of_calls_fit_the_documented_type(kind, seen, meant):
    assert (seen in values(parameter("zz", type=kind), [seen])) is meant


def test_apostrophes_are_no_choices():
    assert choices(parameter("x", type="int", description="Don't use the user's value, it isn't one.")) == []


def test_new_parameters_are_added_to_working_calls():
    known = [
        parameter("a"),
        parameter("w", "keyword_only", default="None", type="int"),
        parameter("how", type="{'u', 'v'}", default="'u'"),
    ]
    program = "from lib import f\n\nx = f(1)\nx\n"
    codes = [
        draft.code for draft in with_change(target(new=["w"], added=False, positional=["a"]), [program], known, {})
    ]
    assert codes[0] == "from lib import f\n\nx = f(1, w=2)\nx\n"
    assert "from lib import f\n\nx = f(1, w=2, how='v')\nx\n" in codes  # coupled parameters, in pairs


def test_new_variadic_parameters_have_no_name_to_pass():
    wanted = target(new=["kwargs"], added=False, positional=["a"])
    known = [parameter("a"), parameter("**kwargs", "var_keyword")]
    assert list(with_change(wanted, ["from lib import f\n\nf(1)\n"], known, {})) == []


def test_refusals_tell_the_coupled_argument():
    known = [parameter("a"), parameter("method", default="'linear'"), parameter("w", "keyword_only", default="None")]
    code = "from lib import f\n\nf(1, w=2)\n"
    message = "Only method 'inverted_cdf' supports weights. Got: linear."
    wanted = target(new=["w"], added=False, positional=["a", "method"])
    assert coupled(code, message, wanted, known) == "from lib import f\n\nf(1, w=2, method='inverted_cdf')\n"
    assert coupled(code, "no such thing", wanted, known) is None


def test_calls_from_scratch():
    codes = [draft.code for draft in from_scratch(target(), [parameter("n", type="int")], (), FACTS, {})]
    assert codes[0] == "from lib import f\n\nf(2)\n"
    needing = [draft.code for draft in from_scratch(target(), [parameter("x", type="array_like")], (), FACTS, {})]
    assert needing[0].startswith("import numpy as np\nfrom lib import f")


def test_objects_become_receivers_and_arguments():
    objects = Objects(
        {
            "Table": [Maker("from lib import Table\n\nt = Table(1)\n", "t")],
            "Engine": [Maker("from lib import make\n\ne = make()\n", "e")],
        }
    )
    method = target("lib.Table.bind", "method")
    codes = [draft.code for draft in with_objects(method, [parameter("engine", type="Engine | None")], objects, {})]
    assert codes[0] == "from lib import Table, make\n\nt = Table(1)\ne = make()\nt.bind(e)\n"


def test_objects_of_one_name_do_not_mix():
    objects = Objects({"A": [Maker("v = 1\n", "v")], "B": [Maker("v = 2\n", "v")]})
    drafts = with_objects(target("lib.A.f", "method"), [parameter("other", type="B")], objects, {})
    assert not [draft for draft in drafts if "v = 2" in draft.code]


def test_two_made_up_objects_have_two_names():
    made = {
        name: [Maker(f"from lib import {name}\n\nvalue = {name}()\n", "value")] for name in ("Box", "Lid")
    }  # fmt: skip
    drafts = with_objects(target("lib.Box.f", "method"), [parameter("lid", type="Lid")], Objects(made), {})
    assert next(drafts).code == "from lib import Box, Lid\n\nvalue = Box()\nlid = Lid()\nvalue.f(lid)\n"


def test_an_undocumented_parameter_takes_what_documents_call_by_its_name():
    receiver, stmt = (
        Maker("from lib import A\n\na = A()\n", "a"),
        Maker("from lib import make\n\nstmt = make()\n", "stmt"),
    )
    objects = Objects({"A": [receiver]}, {"stmt": [stmt]})
    drafts = list(with_objects(target("lib.A.f", "method"), [parameter("stmt")], objects, {}))
    assert drafts[0].code.endswith("a = A()\nstmt = make()\na.f(stmt)\n")
    documented = with_objects(target("lib.A.f", "method"), [parameter("stmt", type="int")], objects, {})
    assert "a.f(2)" in next(documented).code


def test_a_class_that_is_asked_for_is_the_receivers():
    objects = Objects({"A": [Maker("from lib import A\n\na = A()\n", "a")]})
    drafts = with_objects(target("lib.A.adapt", "method"), [parameter("cls")], objects, {})
    assert next(drafts).code.endswith("a.adapt(type(a))\n")


def test_objects_of_a_class_under_another_name_are_receivers():
    objects = Objects({"RealThing": [Maker("from lib import make\n\nt = make()\n", "t")]})
    method = target("lib.thing.f", "method")
    assert next(with_objects(method, [], objects, {}), None) is None
    assert next(with_objects(method, [], objects, {}, ["RealThing"])).code.endswith("t.f()\n")


def test_members_of_an_enumeration_are_looked_up_by_value():
    facts = Facts(apis={"lib.Colour": {"values": ["'red'", "'blue'"]}})
    known = [parameter("value"), parameter("names", default="None")]
    codes = [draft.code for draft in from_scratch(target("lib.Colour", "class"), known, (), facts, {})]
    assert codes == [f"from lib import Colour\n\nColour({value})\n" for value in ("'red'", "'blue'")]


@pytest.mark.parametrize(
    ("made", "call"),
    [("x = a / b", "(a / b).f()"), ("x = make(1)", "make(1).f()"), ("x = -2", "(-2).f()"), ("x = 3", "3 .f()")],
)
def test_members_of_expressions_have_brackets(made, call):
    script = script_of(f">>> from lib import a, b, make\n>>> {made}\n", "docs", "docs")
    place = Place(script, 1, uses_change=False)
    receiver = script.statements[1].node.value
    drafts = list(from_scratch(target("lib.A.f", "method"), [], [(place, receiver)], FACTS, {}))
    assert {draft.code.rstrip().split("\n")[-1] for draft in drafts} == {call}


def test_lists_take_the_place_of_arrays_where_there_is_no_numpy():
    code = "import numpy as np\nfrom lib import f\n\nf(np.array([1, 2, 3]), 2)\n"
    assert list(repaired(code, "No module named 'numpy'")) == ["from lib import f\n\nf([1, 2, 3], 2)\n"]


LACKING = "'int' object has no attribute 'autocommit'"


@pytest.mark.parametrize(
    ("code", "message", "unknown", "expected"),
    [
        ("x = A()\nx.f(2, 3)\n", LACKING, ["a"], "x.f(SimpleNamespace(autocommit=True), 3)\n"),
        ("x = A()\nx.f(2, 3)\n", LACKING, ["b"], "x.f(2, SimpleNamespace(autocommit=True))\n"),
        ("x = A()\nx.f(2, 3)\n", LACKING, [], None),  # both are known to be numbers
        ("x = A()\nx.f('a', 'b')\n", LACKING, ["a"], None),  # another object lacks it
        ("x = A()\nx.f(2, 3)\n", "'int' object has no attribute '_hidden'", ["a"], None),
        ("x = A()\nx.g(2, 3)\n", LACKING, ["a"], None),
        ("x = A()\nx.f(2, 3)\n", "no such thing", ["a"], None),
    ],
)
def test_a_stand_in_has_what_was_missed(code, message, unknown, expected):
    found = stood_in(code, message, target("lib.A.f", "method"), ["a", "b"], unknown)
    assert found == (expected and f"from types import SimpleNamespace\nx = A()\n{expected}")


@pytest.mark.parametrize(
    ("known", "meant"),
    [
        (parameter("conn"), True),
        (parameter("conn", type="interfaces.DBAPIConnection"), True),
        (parameter("conn", description="a connection"), False),
        (parameter("x", type="int"), False),
        (parameter("x", type="Series or DataFrame"), False),
        (parameter("x", type="Callable"), False),
        (parameter("conn", default="None"), False),
    ],
)
def test_what_may_be_any_object(known, meant):
    assert any_object(known) is meant


@pytest.mark.parametrize(
    ("code", "message", "expected"),
    [
        (
            "f('https://example.com/path')",
            "URL scheme should be 'amqp' or 'amqps'",
            "f('amqp://user:password@localhost:1234/name')",
        ),
        ("f('abc')", "mode must be 'r'", "f('r')"),
        ("f('abc')", "unrelated", None),
    ],
)
def test_error_messages_tell_the_words(code, message, expected):
    assert next(repaired(code, message), None) == expected


def test_a_program_brings_its_own_server():
    code = served('import httpx\n\nhttpx.get("https://www.example.org/a")\n')
    assert 'httpx.get(base_url + "/a")' in code
    assert "127.0.0.1" in code
    assert served("x = 1") is None


def test_a_program_brings_its_own_file():
    code = with_file(
        "assert 'abc' in open('d/x.txt').read()", "[Errno 2] No such file or directory: '/scratch/run3/d/x.txt'"
    )
    assert "Path('d').mkdir(parents=True, exist_ok=True)" in code
    assert "write_text('abc\\n" in code
    assert with_file("x", "No such file or directory: '/etc/x'") is None


def missing(line, error="ModuleNotFoundError"):
    return Trial(ok=False, error_type=error, error_message="no plots", error_line=line, output="", calls=(), objects={}, cpu_ms=1)  # fmt: skip


PLOTTED = """from lib import Thing

x = Thing(
    a=1)
x.plot(
    'a')
y = x.f(2)
x.plot()
y
"""


def test_a_line_that_only_asks_for_an_extra_is_left_out_with_all_of_its_kind():
    assert without_extras(PLOTTED, missing(5)) == "from lib import Thing\n\nx = Thing(\n    a=1)\n\ny = x.f(2)\n\ny\n"


@pytest.mark.parametrize(
    "trial",
    [missing(7), missing(3), missing(None), missing(5, error="ValueError"), missing(99)],
    ids=["its value is used", "an object is made", "no line", "another failure", "no such line"],
)
def test_what_is_needed_stays(trial):
    assert without_extras(PLOTTED, trial) is None
