"""Uses of a target are told from uses of its namesakes."""

import ast

import pytest

from novelapi.knowledge.targets import Target, sites, target_of
from novelapi.records.api import Candidate, Change, Parameter

IMPORTS = {"np": "numpy", "slice": "numpy.strings.slice"}


def make(api, kind="function", new=(), added=True, positional=("a", "b"), paths=()):
    paths = frozenset((api, *paths))
    return Target(api=api, paths=paths, kind=kind, positional=positional, new=frozenset(new), added=added)


# target, statement, uses of the change per place
TABLE = [
    (make("numpy.unstack"), "np.unstack(x)", [True]),
    (make("numpy.unstack"), "x.unstack()", []),  # a method of something
    (make("numpy.char.split"), "np.split(x)", []),  # a namesake elsewhere
    (make("numpy.char.split"), "np.char.split(x)", [True]),
    (make("numpy.strings.slice"), "slice(x)", [True]),  # imported by name
    (make("numpy.ndarray.sort", "method"), "x.sort()", [True]),
    (make("numpy.ndarray.sort", "method"), "np.sort(x)", []),
    (make("numpy.ndarray.mT", "property"), "y = x.mT", [True]),
    (make("numpy.ndarray.mT", "property"), "x.mT = 1", []),
    (make("lib.Model", "class"), "class A(Model): pass", [True]),
    (make("lib.deco"), "@deco\ndef f(): pass", [True]),
    (make("lib.Generic", "class"), "Generic[int](1)", [True]),
    (make("numpy.f", added=False, new=["w"]), "np.f(x)", [False]),
    (make("numpy.f", added=False, new=["w"]), "np.f(x, w=1)", [True]),
    (make("numpy.f", added=False, new=["b"]), "np.f(x, 1)", [True]),  # by position
    (make("numpy.f", added=False, new=["b"]), "np.f(*x)", [False]),
]


@pytest.mark.parametrize(("target", "code", "expected"), TABLE)
def test_sites(target, code, expected):
    assert [site.uses_change for site in sites(ast.parse(code).body[0], target, IMPORTS)] == expected


def test_what_is_new_comes_from_the_changes():
    candidate = Candidate(
        api="lib.f",
        library="lib",
        release="2",
        old_release="1",
        paths=("lib.f", "lib.g"),
        canonical="lib.a:f",
        kind="function",
        change="modified",
        signature="(a, *, w=None)",
        changes=(Change(kind="parameter_added", parameter="w"), Change(kind="parameter_removed", parameter="old")),
        parameters=(
            Parameter(name="a", kind="positional_or_keyword"),
            Parameter(name="w", kind="keyword_only", default="None"),
        ),
    )
    target = target_of(candidate)
    assert (target.new, target.positional, target.added, target.leaves) == ({"w"}, ("a",), False, {"f", "g"})
    assert target.passes_new(1, frozenset({"w"}))
    assert not target.passes_new(1, frozenset())
