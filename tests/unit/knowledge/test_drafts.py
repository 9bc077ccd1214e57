"""Programs are cut out of documents and tests so that they show the call and its effect."""

import ast
import textwrap

import pytest

from novelapi.knowledge.corpus import Corpus, Document
from novelapi.knowledge.drafts import drafts, traced, usable
from novelapi.knowledge.material import Facts
from novelapi.knowledge.targets import Target

FACTS = Facts(apis={}, modules={"lib": frozenset({"f", "Thing", "make"})})


def target(api="lib.f", kind="function"):
    return Target(api=api, paths=frozenset([api]), kind=kind, positional=("a",), new=frozenset(), added=True)


def codes(text, kind, wanted=None, how=drafts):
    wanted = wanted or target()
    corpus = Corpus([wanted])
    source = {"text": "docs", "test": "tests", "module": "doctest"}[kind]
    corpus.add(Document(text=textwrap.dedent(text), origin="here", source=source, kind=kind, package="lib.tests"))
    places = corpus.places(wanted.api) if how is drafts else corpus.mentions(wanted.api)
    return [draft.code for draft in how(wanted, places, FACTS)]


TABLE = [
    # what is taken for granted is imported
    ("text", ">>> f(1)\n2\n", "from lib import f\n\nf(1)\n"),
    # the effect is shown
    ("text", ">>> import lib\n>>> r = lib.f(1)\n>>> r.size\n1\n", "import lib\n\nr = lib.f(1)\nr.size\n"),
    ("text", ">>> import lib\n>>> r = lib.f(1)\n", "import lib\n\nr = lib.f(1)\nr\n"),
    # an assertion becomes what it looks at
    ("test", "import lib\n\ndef test_a():\n    x = 1\n    assert lib.f(x) == 2\n", "import lib\n\nx = 1\nlib.f(x)\n"),
    (
        "test",
        "import lib\n\ndef test_a():\n    r = lib.f(1)\n    assert r.size == 2\n",
        "import lib\n\nr = lib.f(1)\nr.size\n",
    ),
    (
        "test",
        "from numpy.testing import assert_equal\nimport lib\n\ndef test_a():\n    assert_equal(lib.f(1), 2)\n",
        "import lib\n\nlib.f(1)\n",
    ),
    # parametrised values are bound
    (
        "test",
        "import lib, pytest\n\n@pytest.mark.parametrize('a', [3])\ndef test_a(a):\n    assert lib.f(a) == 2\n",
        "import lib\n\na = 3\nlib.f(a)\n",
    ),
    # what a class prepares becomes plain variables
    (
        "test",
        "import lib\n\nclass TestF:\n    def setup_method(self):\n        self.x = 1\n\n    def test_a(self):\n        assert lib.f(self.x) == 2\n",
        "import lib\n\nx = 1\nlib.f(x)\n",
    ),
    # a coroutine is run
    (
        "test",
        "import lib\n\nasync def test_a():\n    r = await lib.f(1)\n    assert r.x == 2\n",
        "import lib\nimport asyncio\n\nasync def main():\n    r = await lib.f(1)\n    print(r.x)\n\n\nasyncio.run(main())\n",
    ),
]


@pytest.mark.parametrize(("kind", "text", "expected"), TABLE)
def test_program(kind, text, expected):
    first = codes(text, kind)[0]
    assert sorted(first.split("\n")) == sorted(expected.split("\n"))
    ast.parse(first)


@pytest.mark.parametrize(
    "text",
    [
        "import lib\n\ndef test_a(fixture):\n    assert lib.f(fixture) == 2\n",  # nobody knows the value
        "import lib, pytest\n\ndef test_a():\n    with pytest.raises(ValueError):\n        lib.f(1)\n",
        "import lib, pytest\n\n@pytest.mark.skip\ndef test_a():\n    assert lib.f(1) == 2\n",
    ],
)
def test_unfit_tests_give_no_program(text):
    assert codes(text, "test") == []


def test_in_place_methods_show_their_receiver():
    wanted = target("lib.Thing.sort", "method")
    text = "import lib\n\ndef test_a():\n    t = lib.Thing(1)\n    t.sort()\n"
    assert codes(text, "test", wanted)[0] == "import lib\n\nt = lib.Thing(1)\nt.sort()\nt\n"


def test_tests_that_name_a_target_in_a_table_are_traced():
    wanted = target("lib.Thing", "class")
    text = "import lib, pytest\n\n@pytest.mark.parametrize('cls', [int, str, lib.Thing])\ndef test_a(cls):\n    r = cls('1')\n    assert r.x == 1\n"
    assert "import lib\n\ncls = lib.Thing\nr = cls('1')\nr.x\n" in codes(text, "test", wanted, traced)


@pytest.mark.parametrize(
    ("code", "fit"),
    [
        ("import numpy", True),
        ("import matplotlib.pyplot as plt", False),
        ("from pytest import raises", False),
        ("x =", False),
    ],
)
def test_usable(code, fit):
    assert usable(code) is fit
