"""A constructor that many classes inherit is one change."""

import pytest

from novelapi.discovery.apis import Api
from novelapi.discovery.classify import Verdict
from novelapi.discovery.inheritance import TAG, mark_inherited_constructors
from novelapi.discovery.surface.facts import POSITIONAL_OR_KEYWORD, Param
from novelapi.discovery.surface.model import ApiObject
from novelapi.records.api import Change


def klass(name, takes, bases=()):
    params = [Param(item, POSITIONAL_OR_KEYWORD, None, None) for item in takes.split()]
    return ApiObject(f"lib:{name}", "class", params, mro=(f"lib:{name}", *(f"lib:{base}" for base in bases)))


@pytest.fixture
def objects():
    found = [
        klass("_Root", "data limit"),
        klass("_Rows", "data shape limit", ["_Root"]),
        klass("Wide", "data shape limit", ["_Rows", "_Root"]),
        klass("Long", "data shape limit", ["_Rows", "_Root"]),
        klass("Own", "data shape limit", ["_Root"]),
        klass("Blocks", "data shape size limit", ["_Rows", "_Root"]),
    ]
    return {item.canonical: item for item in found}


def marked(objects, verdict="modified"):
    rows = []
    for item in objects.values():
        if not item.leaf.startswith("_"):
            row = Verdict(Api(item, {item.path: "all"}, shown=item.path), verdict, kind="class", shown=item.path)
            row.changes = (Change(kind="parameter_added", parameter="limit"),)
            rows.append(row)
    mark_inherited_constructors(rows, objects)
    return [row.shown for row in rows if {TAG, "no_usable_change"} <= row.tags]


def test_one_of_those_that_inherit_it_stays(objects):
    assert marked(objects) == ["lib.Wide"], "Long comes first by name; Own and Blocks have constructors of their own"


def test_new_classes_are_all_new(objects):
    assert marked(objects, verdict="added") == []
