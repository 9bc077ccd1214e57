"""Programs are sorted by the objects that they make."""

from __future__ import annotations

from novelapi.knowledge.material import Facts
from novelapi.knowledge.objects import PER_CLASS, Maker, _sorted, names_of_class
from novelapi.knowledge.trials import Trial


def made(**objects):
    return Trial(ok=True, error_type=None, error_message="", output="", calls=(), objects=objects, cpu_ms=1)


def test_documented_ones_come_first_and_variables_before_attributes():
    trials = {
        "x": made(x=("A",)),
        "engine = make_engine()": made(**{"engine": ("Engine",), "engine.a": ("A",)}),
        "long = documented(1, 2, 3)": made(long=("A",)),
    }
    found = _sorted(trials, {"engine = make_engine()", "long = documented(1, 2, 3)"})
    assert [maker.name for maker in found.of(["A"])] == ["long", "engine.a", "x"]
    assert found.named("engine") == [Maker("engine = make_engine()", "engine")]
    assert found.named("x") == [], "made up"


def test_an_object_of_the_class_itself_is_always_kept():
    trials = {f"{'x' * number} = 1": made(x=("Sub", "Base")) for number in range(1, 9)}
    trials["base = a_much_longer_program()"] = made(base=("Base",))
    found = _sorted(trials, set(trials)).of(["Base"])
    assert (len(found), found[-1].name) == (PER_CLASS + 1, "base"), "a subclass may override what is wanted"


def test_a_class_has_the_name_that_its_objects_know():
    facts = Facts(apis={"lib.sqlite.dialect": {"qualname": "SQLiteDialect"}})
    assert names_of_class("lib.sqlite.dialect", facts) == ["SQLiteDialect", "dialect"]
    assert names_of_class("lib.Thing", facts) == ["Thing"]
