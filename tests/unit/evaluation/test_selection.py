"""The selection score: hand-checked snippets, gold, trivial programs, and what a name means."""

from pathlib import Path
from typing import ClassVar

import pytest

from novelapi.evaluation.selection import called_apis, score_selection, select, trivial_baselines

SNIPPETS = Path(__file__).with_name("snippets.txt")


class Mini:
    """A library of a few names."""

    objects: ClassVar = {
        "lib.f": "lib.f", "lib.f2": "lib.f", "lib.g": "lib.g", "lib.h": "lib.h", "lib.PI": "lib.PI", "lib.C": "lib.C",
        "lib.C.run": "lib.C.run", "lib.C.stop": "lib.C.stop", "lib.sub.k": "lib.sub.k", "lib.sub.D": "lib.sub.D",
        "lib.sub.D.go": "lib.sub.D.go", "lib.sub.deep.m": "lib.sub.deep.m",
    }  # fmt: skip
    modules = ("lib", "lib.sub", "lib.sub.deep", "lib.open")

    def __init__(self, *more):
        self.objects = {**Mini.objects, **dict(zip(more, more, strict=True))}

    def canonical(self, path):
        return self.objects.get(path)

    def is_class(self, path):
        return path in ("lib.C", "lib.sub.D")

    def lacks(self, path):
        if path in self.modules or path in self.objects or "._" in path:
            return False
        owner = path.rpartition(".")[0]
        if owner == "lib.open":
            return False
        return owner in self.modules or (owner.startswith("lib.") and self.lacks(owner))


def rows():
    for number, line in enumerate(SNIPPETS.read_text().splitlines(), 1):
        if not line.startswith("#"):
            module, body, called, *missing = [part.strip() for part in line.split(" |")]
            yield pytest.param(module, body, called, missing[0] if missing else "", id=f"line {number}")


def program(module, body):
    head = [] if module == "-" else [line.strip() for line in module.split("; ")]
    head = [f"    {line[2:]}" if line.startswith("> ") else line for line in head]
    lines = [line.strip() for line in body.split("; ")]
    lines = [f"        {line[2:]}" if line.startswith("> ") else f"    {line}" for line in lines]
    return "\n".join([*head, "def solve(x):", *lines]) + "\n"


@pytest.mark.parametrize(("module", "body", "called", "missing"), list(rows()))
def test_the_calls_of_a_snippet(module, body, called, missing):
    code = program(module, body)
    wanted = set() if called == "-" else set(called.split())
    assert called_apis(code, "", "solve", {"lib"}, Mini()) == wanted, code
    found = select(
        code, context="", entry_point="solve", expected={"lib.f"}, packages={"lib"}, known=Mini(), old=Mini("lib.gone")
    )
    assert set(found.hallucinated) == set(missing.split()), code
    assert set(found.stale) == set(missing.split()) & {"lib.gone"}
    assert found.exact == (wanted == {"lib.f"} and not missing)


def test_there_are_two_hundred_snippets_and_all_but_the_broken_ones_compile():
    snippets = list(rows())
    assert len(snippets) >= 200
    broken = 0
    for snippet in snippets:
        try:
            compile(program(*snippet.values[:2]), "snippet", "exec")
        except SyntaxError:
            broken += 1
    assert broken == 2


def test_naming_every_api_in_a_comment_scores_nothing():
    names = " ".join(f"{path}(x)" for path in Mini.objects)
    code = f'import lib\n\n\ndef solve(x):\n    """{names}"""\n    # {names}\n    return "{names}"\n'
    found = select(code, context="", entry_point="solve", expected={"lib.f"}, packages={"lib"}, known=Mini())
    assert (found.precision, found.recall, found.f1, found.exact, found.called) == (0.0, 0.0, 0.0, False, ())


def test_calling_everything_has_recall_and_no_precision():
    calls = "; ".join(f"{path}(x)" for path in ("lib.f", "lib.g", "lib.h", "lib.sub.k"))
    code = f"import lib\ndef solve(x):\n    {calls}\n"
    found = select(code, context="", entry_point="solve", expected={"lib.f"}, packages={"lib"}, known=Mini())
    assert (found.recall, found.precision, found.exact) == (1.0, 0.25, False)
    assert found.f1 == pytest.approx(0.4)


def test_what_the_spy_saw_counts_where_the_text_does_not_tell():
    code = "import lib\ndef solve(x):\n    return getattr(lib, ''.join(['f']))(x)\n"
    arguments = {"context": "", "entry_point": "solve", "expected": {"lib.f"}, "packages": {"lib"}, "known": Mini()}
    assert select(code, **arguments).recall == 0.0
    assert select(code, **arguments, seen=["lib.f"]).exact


def test_a_member_that_is_asked_for_counts_on_a_receiver_of_unknown_type_and_no_other_does():
    arguments = {"context": "", "entry_point": "solve", "packages": {"lib"}, "known": Mini()}
    assert select("def solve(x):\n    return x.run()\n", **arguments, expected={"lib.C.run"}).exact
    assert select("def solve(x):\n    return x.run()\n", **arguments, expected={"lib.C.stop"}).called == ()
    other = "import lib\ndef solve(x):\n    return lib.sub.D(x).run()\n"
    assert "lib.C.run" not in select(other, **arguments, expected={"lib.C.run"}).called


def test_names_of_the_context_are_resolved():
    code = "def solve(x):\n    return q(x)\n"
    arguments = {"entry_point": "solve", "expected": {"lib.sub.k"}, "packages": {"lib"}, "known": Mini()}
    assert select(code, context="from lib.sub import k as q\n", **arguments).exact
    assert not select(code, context="", **arguments).exact


def test_without_an_expectation_nothing_is_scored():
    with pytest.raises(ValueError, match="at least one expected"):
        score_selection([], ["lib.f"])


def test_trivial_programs_are_told_from_right_ones():
    baselines = trivial_baselines({"a": ["lib.f"], "b": ["lib.f", "lib.g"], "c": ["lib.h"]})
    assert [s.recall for s in baselines["every API"]] == [1.0, 1.0, 1.0]
    assert [s.exact for s in baselines["every API"]] == [False, False, False]
    assert [s.exact for s in baselines["the most frequent API"]] == [True, False, False]
