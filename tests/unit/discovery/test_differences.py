"""What counts as a change: old code, new code, and what stage 1 says from the sources alone (griffe's form)."""

import pytest

from novelapi.discovery.apis import ApiTable
from novelapi.discovery.classify import classify_static
from novelapi.discovery.diff import Differ
from novelapi.discovery.discover import barred
from novelapi.discovery.sources import FolderArchive, Sources
from novelapi.discovery.surface.extract import Extractor

DOC = '    """Do something that is described at length here."""\n'


def table_of(folder, code):
    """Return the APIs of a package `lib` with one module, or with several that are given by name."""
    files = code if isinstance(code, dict) else {"__init__": code}
    package = folder / "lib"
    package.mkdir(parents=True)
    for name, text in {"__init__": "", **files}.items():
        path = package / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    sources = Sources([FolderArchive(folder)], ("lib",))
    return ApiTable(Extractor(sources).extract("lib", "1", {}))


def verdicts(tmp_path, old, new):
    """Return what is not unchanged, as `path: verdict change ...`, significant changes with a bang."""
    before, after = table_of(tmp_path / "old", old), table_of(tmp_path / "new", new)
    differ = Differ(before, after)
    rows = list(differ.differences())
    found = {}
    for verdict in [*(classify_static(row) for row in rows if row.new.barrier() is None), *barred(rows)]:
        if verdict.verdict != "unchanged":
            words = [f"{c.kind.removeprefix('parameter_')}:{c.parameter or ''}".rstrip(":") for c in verdict.changes]
            shown = verdict.shown.removeprefix("lib.")
            found[shown] = " ".join([verdict.verdict, *(words if verdict.verdict == "modified" else [])])
    for api in differ.removed(rows):
        found[api.shown.removeprefix("lib.")] = "removed"
    return found


def f(signature):
    """Return a function with a signature."""
    return f"def f{signature}:\n{DOC}"


# old signature, new signature, verdict and changes
SIGNATURES = [
    ("(a)", "(a)", None),
    ("(a)", "(a, b)", "modified added:b"),
    ("(a)", "(a, b=1)", "modified added:b"),
    ("(a)", "(a, *, b=1)", "modified added:b"),
    ("(a)", "(a, *, b)", "modified added:b"),
    ("(a)", "(b, a)", "modified added:b"),  # the position of a is another one, but its relative order is the same
    ("(a, b)", "(a)", "modified removed:b"),
    ("(a, b=1)", "(a, *, b=1)", "modified kind:b"),
    ("(a, *, b=1)", "(a, b=1)", "modified kind:b"),
    ("(a, b)", "(a, b, /)", "modified kind:a kind:b"),
    ("(a, /)", "(a)", "modified kind:a"),
    ("(a)", "(x)", "modified renamed:x"),
    ("(a, b)", "(x, b)", "modified renamed:x"),
    ("(a=1)", "(x=1)", "modified renamed:x"),
    ("(a=1)", "(x=2)", "modified added:x removed:a"),  # another default too: not the same parameter
    ("(a, /)", "(x, /)", None),  # no caller can write the name
    ("(a)", "(x, /)", "modified renamed:x kind:x"),  # callers wrote a=
    ("(a, /)", "(x)", "modified renamed:x kind:x"),
    ("(__a)", "(a, /)", None),  # the old convention for positional-only
    ("(a, b)", "(b, a)", "modified moved:b moved:a"),
    ("(a, b=1)", "(a, b=2)", "defaults_only"),
    ("(a, b)", "(a, b=2)", "defaults_only"),
    ("(a, b=1)", "(a, b)", "defaults_only"),
    ("(a, b=None)", "(a, b=True)", "defaults_only"),
    ("(a: int)", "(a: float)", "annotation_only"),
    ("(a)", "(a: int)", "annotation_only"),
    ("(a) -> int", "(a) -> float", None),  # results are no part of a signature that callers pass
    ("(a)", "(a, *args)", "variadic_only"),
    ("(a)", "(a, **kwargs)", "variadic_only"),
    ("(a, *args)", "(a)", "variadic_only"),
    ("(a, *args)", "(a, *parts)", None),
    ("(a, **kwargs)", "(a, **options)", None),
    ("(a, **kwargs)", "(a, *, b=1, **kwargs)", "modified added:b"),
    ("(*fields)", "(field, /, *fields)", "variadic_only"),  # calls with one or more arguments are what they were
    ("(a, *, b=1, c=2)", "(a, *, c=2, b=1)", None),  # keywords have no order
    ("(a, b=1)", "(a, b=1, c=None)", "modified added:c"),
    ("(a, b=1, c=2)", "(a, c=2)", "modified removed:b"),
    ("(a, b=1)", "(a, b=1.0)", "defaults_only"),
    ("(a, b='x')", '(a, b="x")', None),  # the same text in other quotes
    ("(a, b=(1, 2))", "(a, b=( 1,2 ))", None),
    ("(a, b=1)", "(a, *, b=2)", "modified kind:b default:b"),
    ("(a, b=1)", "(a, c=1, b=1)", "modified added:c"),
    ("(a, _x=1)", "(a)", "modified removed:_x"),
    ("()", "(a=1)", "modified added:a"),
    ("(a)", "()", "modified removed:a"),
]


@pytest.mark.parametrize(("old", "new", "expected"), SIGNATURES)
def test_signatures(tmp_path, old, new, expected):
    found = verdicts(tmp_path, f(old), f(new))
    assert found == ({} if expected is None else {"f": expected})


CLASS = 'class C:\n    """A thing that is described at length here."""\n'
TYPED = "from typing import TypedDict, NamedTuple\nfrom dataclasses import dataclass, field\n"


def members(text):
    """Return a class with a body."""
    return CLASS + "".join(f"    {line}\n" for line in text.split("\n"))


# old code, new code, verdicts by path
CODE = [
    # names
    ("", f("(a)"), {"f": "added"}),
    (f("(a)"), "", {"f": "removed"}),
    ("", "def _f(a):\n" + DOC, {}),
    ("", CLASS, {"C": "added"}),
    ("x = 1\n", "x = 2\n", {}),
    ("C = 1\n", CLASS, {"C": "became_class"}),
    ("f = 1\n", f("(a)"), {"f": "became_callable"}),
    (f("(a)"), "class f:\n" + DOC, {"f": "kind_changed"}),
    (CLASS, "def C(a):\n" + DOC, {"C": "kind_changed"}),
    # methods
    (members("pass"), members("def m(self): ..."), {"C.m": "added"}),
    (members("def m(self): ..."), members("def m(self, a): ..."), {"C.m": "modified added:a"}),
    (members("def m(self, a): ..."), members("def m(self): ..."), {"C.m": "modified removed:a"}),
    (members("def m(self): ..."), members("pass"), {"C.m": "removed"}),
    (members("def _m(self): ..."), members("def _m(self, a): ..."), {}),
    (members("def m(self): ..."), members("def m(this): ..."), {}),  # nobody passes it
    (members("pass"), members("@property\ndef p(self): ..."), {"C.p": "added"}),
    (members("pass"), members("@classmethod\ndef m(cls, a): ..."), {"C.m": "added"}),
    (members("pass"), members("@staticmethod\ndef m(a): ..."), {"C.m": "added"}),
    (
        members("@staticmethod\ndef m(a): ..."),
        members("@staticmethod\ndef m(a, b=1): ..."),
        {"C.m": "modified added:b"},
    ),
    (members("def m(self, a): ..."), members("@classmethod\ndef m(cls, a): ..."), {}),  # calls look the same
    # constructors
    (members("def __init__(self, a): ..."), members("def __init__(self, a, b=1): ..."), {"C": "modified added:b"}),
    (members("def __new__(cls, a): ..."), members("def __new__(cls, a, b=1): ..."), {"C": "modified added:b"}),
    (
        f"{TYPED}@dataclass\n{members('a: int')}",
        f"{TYPED}@dataclass\n{members('a: int' + chr(10) + 'b: int = 1')}",
        {"C": "modified added:b"},
    ),
    (
        f"{TYPED}@dataclass\n{members('a: int')}",
        f"{TYPED}@dataclass\n{members('a: int' + chr(10) + 'b: int = field(init=False, default=1)')}",
        {},
    ),
    (
        f"{TYPED}class C(TypedDict):\n    a: int\n",
        f"{TYPED}class C(TypedDict):\n    a: int\n    b: int\n",
        {"C": "modified added:b"},
    ),
    (
        f"{TYPED}class C(NamedTuple):\n    a: int\n",
        f"{TYPED}class C(NamedTuple):\n    a: int\n    b: int = 2\n",
        {"C": "modified added:b"},
    ),
    # inheritance
    (
        "class B:\n    def m(self): ...\n" + CLASS,
        "class B:\n    def m(self): ...\n" + CLASS.replace("class C", "class C(B)"),
        {},  # the method is old and shown at the class that defines it
    ),
    (
        CLASS,
        "class _B:\n    def m(self): ...\n" + CLASS.replace("class C", "class C(_B)"),
        {"C.m": "added"},  # the base is private: users reach it through the class alone
    ),
    (
        "class _B:\n    def m(self): ...\n" + CLASS.replace("class C", "class C(_B)"),
        "class _B:\n    pass\n" + members("def m(self): ...").replace("class C", "class C(_B)"),
        {},
    ),
    # places
    (
        {"a": f("(x, y)"), "b": ""},
        {"a": "", "b": f("(x, y)")},
        {"b.f": "moved"},
    ),
    (
        {"a": f("(x, y)"), "b": ""},
        {"a": "", "b": f("(x, y, z)")},
        {"b.f": "modified moved added:z"},
    ),
    (
        {"_a": f("(x, y)"), "__init__": "from lib._a import f\n__all__ = ['f']\n"},
        {"_b": f("(x, y)"), "__init__": "from lib._b import f\n__all__ = ['f']\n"},
        {},  # the public path is what counts
    ),
    (
        {"_a": f("(x, y)"), "__init__": "from lib._a import f\n__all__ = ['f']\n"},
        {"_a": f("(x, y)"), "__init__": "from lib._a import f\ng = f\n__all__ = ['f', 'g']\n"},
        {},  # a new spelling is no new API
    ),
    ({"_a": ""}, {"_a": f("(x)")}, {}),
    ({"tests/test_a": ""}, {"tests/test_a": f("(x)")}, {}),
    # exports
    ("__all__ = []\n", "__all__ = []\n" + f("(a)"), {"f": "not_exported"}),
    ("__all__ = []\n", "__all__ = ['f']\n" + f("(a)"), {"f": "added"}),
    ("__all__ = []\n", "__all__ = []\n__all__ += ['f']\n" + f("(a)"), {"f": "added"}),
    (
        {"_a": "", "m": ""},
        {"_a": f("(x)"), "m": "from lib._a import f\n\n\ndef g(x):\n    return f(x)\n"},
        {"m.g": "added", "m.f": "leaked_import"},
    ),
    ({"_a": f("(x)"), "m": ""}, {"_a": f("(x)"), "m": "from lib._a import f as f\n"}, {"m.f": "added"}),
    ("", "from os import path as path\n", {}),  # somebody else's
    ("import os\n", "from os.path import join\n", {}),
    # deprecation
    (
        "",
        "import warnings\n\n\ndef f(a):\n    " + '"""Do it.\n\n    .. deprecated:: 2.0\n    """\n',
        {"f": "deprecated"},
    ),
    # overloads and conditions
    (
        "from typing import overload\n" + f("(a)"),
        "from typing import overload\n\n\n@overload\ndef f(a: int): ...\n@overload\ndef f(a: str): ...\n" + f("(a)"),
        {},
    ),
    (
        "import sys\n",
        "import sys\nif sys.version_info >= (3, 8):\n    def f(a):\n        '''Do it.'''\n",
        {"f": "added"},
    ),
    ("import sys\n", "import sys\nif sys.version_info < (3, 8):\n    def f(a):\n        '''Do it.'''\n", {}),
    ("", "try:\n    import nothing\nexcept ImportError:\n    nothing = None\n" + f("(a)"), {"f": "added"}),
    ("", "async def f(a):\n" + DOC, {"f": "added"}),
    ("", "f = lambda a: a\n", {"f": "needs_running"}),  # a value: only running tells what it is
]


@pytest.mark.parametrize(("old", "new", "expected"), CODE)
def test_code(tmp_path, old, new, expected):
    assert verdicts(tmp_path, old, new) == expected
