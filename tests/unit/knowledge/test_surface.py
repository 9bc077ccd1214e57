"""S says of each parameter what signature, annotation and docstring say of it."""

import pytest

from novelapi.knowledge.docstrings import parse
from novelapi.knowledge.surface import surface_of
from novelapi.records.api import Candidate, Change, Parameter


def candidate(signature="(x, /, mode='a', *args, **kw)", parameters=None):
    return Candidate(
        api="lib.f", library="lib", release="2", old_release=None, paths=("lib.f",), canonical="lib:f", kind="function",
        change="added", changes=(Change(kind="added"),), signature=signature,
        parameters=parameters if parameters is not None else (
            Parameter(name="x", kind="positional_only", annotation="Annotated[int, Doc('text')]"),
            Parameter(name="mode", kind="positional_or_keyword", default="'a'"),
            Parameter(name="args", kind="var_positional"),
            Parameter(name="kw", kind="var_keyword"),
        ),
    )  # fmt: skip


DOC = "Do.\n\nParameters\n----------\nx : int\n    Operand.\nmode : {'a', 'b'}\n    How, see :func:`g`.\n\n    .. versionadded:: 1.0\n"


def test_parameters():
    surface = surface_of(candidate(), [parse(DOC)], {}, {})
    assert [(item.name, item.type, item.default, item.description) for item in surface.parameters] == [
        ("x", "int", None, "Operand."),
        ("mode", "{'a', 'b'}", "'a'", "How, see `g`."),
        ("*args", None, None, None),
        ("**kw", None, None, None),
    ]


def test_doc_texts_win():
    surface = surface_of(candidate(), [parse(DOC)], {"x": "From the annotation."}, {})
    assert surface.parameters[0].description == "From the annotation."


@pytest.mark.parametrize(
    ("signature", "returns"),
    [("(x) -> int", "int"), ("(x) -> 'int | None'", "int | None"), ("(x)", None), ("(x) -> None", None)],
)
def test_result(signature, returns):
    assert surface_of(candidate(signature), [], {}, {}).returns == returns


def test_signatures_hold_no_documentation():
    text = "(x: Annotated[int, Doc('long text')] = 1, *, y: 'str | None' = None) -> 'int'"
    assert surface_of(candidate(text), [], {}, {}).signature == "(x: int=1, *, y: str | None=None) -> int"


def test_no_addresses():
    parameters = (Parameter(name="x", kind="keyword_only", default="<object object at 0x7f00deadbeef>"),)
    surface = surface_of(candidate("(*, x=<object object at 0x7f00deadbeef>)", parameters), [], {}, {})
    assert "0x" not in surface.signature
    assert surface.parameters[0].default == "<object>"


def test_compiled_functions_print_their_signature():
    doc = parse("f(x1, x2, /, out=None, *, where=True[, axes, axis])\n\nText.")
    surface = surface_of(candidate(None, ()), [doc], {}, {})
    assert [(item.name, item.kind, item.default) for item in surface.parameters] == [
        ("x1", "positional_only", None),
        ("x2", "positional_only", None),
        ("out", "positional_or_keyword", "None"),
        ("where", "keyword_only", "True"),
        ("axes", "keyword_only", "..."),
        ("axis", "keyword_only", "..."),
    ]


def test_a_signature_that_hands_everything_on_gives_way_to_the_documented_one():
    parameters = (Parameter(name="args", kind="var_positional"), Parameter(name="kwargs", kind="var_keyword"))
    found = candidate("(*args, **kwargs)", parameters)
    text = "f(x, z, *, diff=0)\n\nDo.\n\nParameters\n----------\nx : int\n    Degree.\n"
    surface = surface_of(found, [parse(text)], {}, {})
    assert surface.signature == "(x, z, *, diff=0)"
    assert [(item.name, item.kind, item.description) for item in surface.parameters] == [
        ("x", "positional_or_keyword", "Degree."),
        ("z", "positional_or_keyword", None),
        ("diff", "keyword_only", None),
    ]
    plain = surface_of(found, [parse("Do.")], {}, {})
    assert [item.name for item in plain.parameters] == ["*args", "**kwargs"]
