"""M_code holds code and comments, no documentation, and the helpers that are really called."""

import ast
import textwrap

import pytest

from novelapi.knowledge.modules import Packages
from novelapi.knowledge.source import definition_of, implementation_of
from novelapi.records.api import Candidate, Change

FILES = {
    "lib/__init__.py": "from ._core import public, Shape\nfrom .wrap import made\n",
    "lib/_core.py": '''
        """Module text."""
        from typing import Annotated
        from . import _helpers as h
        from ._helpers import shared
        import os

        def public(
            x: Annotated[int, Doc("documentation of x")],
            copy=None,
        ):
            """Docstring of public."""
            # a comment stays
            copy = copy or (lambda y: y)
            y = h.first(copy(x))
            return shared(os.fspath(y))

        def copy(x):
            """A namesake of a parameter."""
            return x

        class Shape:
            """Docstring of Shape."""

            side: int = 1
            """Documentation of side."""

            def area(self):
                """Docstring of area."""
                return self._square(self.side)

            def _square(self, x):
                return x * x

            def only_text(self):
                """Nothing else."""
    ''',
    "lib/_helpers.py": '''
        def first(x):
            """First."""
            return second(x)

        def second(x):
            return third(x)

        def third(x):
            return x

        def shared(x):
            return x
    ''',
    "lib/wrap.py": """
        def factory(name):
            def inner(x):
                return name
            return inner

        made = factory("made")
    """,
}


@pytest.fixture
def packages(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(textwrap.dedent(text))
    return Packages(tmp_path)


def code_of(packages, api, canonical, kind="function"):
    candidate = Candidate(
        api=api,
        library="lib",
        release="2",
        old_release="1",
        paths=(api,),
        canonical=canonical,
        kind=kind,
        change="added",
        changes=(Change(kind="added"),),
        signature=None,
    )
    return implementation_of(definition_of(candidate, packages, {}), packages)


def test_function_with_helpers_in_the_order_of_their_calls(packages):
    found = code_of(packages, "lib.public", "lib._core:public")
    assert found.helpers == ("lib._helpers:first", "lib._helpers:second", "lib._helpers:shared")  # depth 2; no copy
    assert "# a comment stays" in found.text
    assert "ocstring" not in found.text
    assert "documentation of x" not in found.text
    assert "x: int," in found.text
    ast.parse(found.text)


def test_a_path_is_followed_through_imports(packages):
    assert (
        code_of(packages, "lib.public", "lib:public").text == code_of(packages, "lib.public", "lib._core:public").text
    )


SIGNATURE = '"""made(x, *, order=0)\\n\\n    Return the value of the polynomial at a place.\\n    """'
HEADINGS = '"""Return the value of the polynomial.\\n\\n    Parameters\\n    ----------\\n    x : float\\n    """'
PLAIN = '"Return the value of the polynomial at a place and all its derivatives."'
PATTERN = 'r"""^ (?P<name> [a-z]+ )  # a name\\n    \\s* = \\s*\\n    (?P<value> .* ) $"""'


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (f"Maker(core, {SIGNATURE}, order=0)", 'Maker(core, "...", order=0)'),
        (f"Maker(core, {HEADINGS})", 'Maker(core, "...")'),
        (f"Maker(core, doc={PLAIN})", 'Maker(core, doc="...")'),
        (f"wrap(1)(Maker(core, docstring={PLAIN}))", 'wrap(1)(Maker(core, docstring="..."))'),
        (f"Maker(core, {PLAIN})", None),  # a message, for all we know
        (f"compile({PATTERN}, 64)", None),
        (SIGNATURE, None),  # the value itself
    ],
)
def test_docstrings_that_are_handed_to_a_maker(tmp_path, value, kept):
    (tmp_path / "lib").mkdir()
    value = value.replace("\\n", "\n")
    (tmp_path / "lib" / "__init__.py").write_text(f"made = {value}\n")
    text = code_of(Packages(tmp_path), "lib.made", "lib:made").text
    assert text == f"# lib/__init__.py\nmade = {kept or value}\n"


def test_class_without_attribute_documentation(packages):
    text = code_of(packages, "lib.Shape", "lib._core:Shape", "class").text
    assert "side: int = 1" in text
    assert "ocument" not in text
    assert "ocstring" not in text
    assert "def only_text(self):\n        ..." in text


def test_method_with_a_helper_of_its_class(packages):
    found = code_of(packages, "lib.Shape.area", "lib._core:Shape.area", "method")
    assert found.text.startswith("# lib/_core.py, class Shape\ndef area(self):\n    return self._square(self.side)")
    assert found.helpers == ("lib._core:_square",)


def test_what_a_call_makes_is_shown_with_its_maker(packages):
    text = code_of(packages, "lib.made", "lib.wrap:made").text
    assert 'made = factory("made")' in text
    assert "def inner(x):" in text


def test_compiled_code_has_none(packages):
    found = code_of(packages, "lib.compiled", "lib:compiled")
    assert found.text is None
    assert "compiled" in found.reason


@pytest.mark.parametrize("lines", [400, 1000])
def test_long_sources_are_cut_and_still_parse(tmp_path, lines):
    body = "\n".join(f"    x{n} = {n}" for n in range(lines))
    methods = "\n".join(f"    def m{n}(self):\n        return {n}\n" for n in range(lines // 2))
    (tmp_path / "long.py").write_text(
        f"def f():\n{body}\n    return 1\n\n\nclass C:\n    def __init__(self):\n        self.x = 1\n\n{methods}"
    )
    packages = Packages(tmp_path)
    for api, kind in (("long.f", "function"), ("long.C", "class")):
        text = code_of(packages, api, api.replace(".", ":"), kind).text
        assert text.count("\n") <= 300
        ast.parse(text)
        assert " more " in text
    assert "self.x = 1" in text
