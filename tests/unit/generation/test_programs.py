"""Whole examples become tasks with blanks: what is shown is the answer, literals are parameters."""

from novelapi.generation import programs
from novelapi.generation.programs import programs_of
from novelapi.generation.stage import new_owners
from tests.fakes.bundles import numpy_bundle
from tests.unit.generation.examples import candidate, example

DECORATED = """
from lib import Model, field_check

class Thing(Model):
    a: int

    @field_check('a', mode='strict')
    def check(cls, value):
        return value + 1


print(Thing(a=3).a)
"""
TARGET = candidate("lib.field_check", names=("field", "mode"))


def one(code, target=TARGET):
    return next(iter(programs_of(target, example(code))))


def test_reference_and_parameters():
    program = one(DECORATED)
    assert program.signature == "def solve(a):"
    assert [free.text for free in program.free] == ["3"]
    reference = program.reference()
    compile(reference, "reference", "exec")
    assert reference.startswith("from lib import field_check\n")
    assert reference.endswith("    return Thing(a=a).a\n")
    assert program.context == "from lib import Model\n"
    assert program.difficulty == "hard"


def test_the_description_shows_blanks_only():
    program = one(DECORATED)
    text = program.blanked()
    assert "field_check" not in text
    assert "strict" not in text
    assert "@____('a', ____)" in text
    task = programs.to_task(program, numpy_bundle(), 1, programs.inputs_of(program, 3))
    assert "field_check" not in task.description
    assert "one setting is always `'strict'`" in task.description
    assert task.calls[0].api == "lib.field_check"


def test_new_keywords_can_be_left_out():
    target = candidate("lib.field_check", change="modified", added=("mode",), names=("field", "mode"))
    program = one(DECORATED, target)
    assert program.new_keywords == ["mode"]
    assert "@field_check('a')" in program.without("mode")
    assert "mode='strict'" in program.reference()


def test_other_names_of_the_kind_are_no_blank():
    code = DECORATED.replace("def check(cls, value)", "def field_check(cls, value)")
    assert one(code).blanked() is None


def test_several_answers():
    program = one("import lib\nx = lib.field_check([1, 2])\nprint(x.a, x.b)\nassert x.c == 3\n")
    assert program.shown == ("shown_1", "shown_2", "shown_3")
    assert program.reference().endswith("return [shown_1, shown_2, shown_3]\n")


def test_definitions_that_do_not_need_the_target_are_context():
    program = one("import lib\n\ndef helper(v):\n    return v\n\nprint(lib.field_check(helper, [5, 6]))\n")
    assert "def helper" in program.context
    assert "def helper" not in program.reference()


def test_refusals_as_answers():
    from dataclasses import replace

    reference = replace(one(DECORATED), guarded=True).reference()
    compile(reference, "reference", "exec")
    assert reference.endswith("    except ValueError:\n        return 'refused'\n")


def test_private_imports_and_long_programs_are_no_tasks():
    assert not list(programs_of(TARGET, example(f"from lib._core import thing\n{DECORATED}")))
    long = "".join(f"y{n} = {n}\n" for n in range(40))
    assert not list(
        programs_of(
            TARGET, example(f"import lib\n{long}print(lib.field_check({'+'.join(f'y{n}' for n in range(40))}, 'q'))")
        )
    )


def test_formatted_texts_are_no_parameters():
    program = one("import lib\nx = 2\nprint(lib.field_check(f'a{x}'))\n")
    assert [free.text for free in program.free] == ["2"]
    assert "f'a{x}'" in program.reference()


METHOD = """
from lib import Rotation as R

def twice(value):
    return R.of(value * 2)

first = R.of([1, 2])
print(first.joined(R.of([3, 4])).angles)
"""


def test_the_class_of_a_new_method_belongs_to_the_solution():
    target = candidate("lib.Rotation.joined", kind="method", names=("other",))
    program = next(iter(programs_of(target, example(METHOD), owners=["lib.Rotation"])))
    assert "Rotation" not in program.context
    assert "def twice" not in program.context
    reference = program.reference()
    assert reference.startswith("from lib import Rotation as R\n")
    text = program.blanked()
    assert "R" not in text.replace("____", "").split()
    assert "first = ____.of(" in text
    assert "first.____(____.of(" in text
    task = programs.to_task(program, numpy_bundle(), 1, programs.inputs_of(program, 3))
    assert "Rotation" not in task.description


def test_the_class_of_an_old_one_stays_in_the_context():
    target = candidate("lib.Rotation.joined", kind="method", names=("other",))
    program = next(iter(programs_of(target, example(METHOD))))
    assert program.context.startswith("from lib import Rotation as R\n")
    assert "R.of(" in program.blanked()


def test_whose_class_is_new():
    known = {
        "lib.Rotation": candidate("lib.Rotation", kind="class"),
        "lib.Rotation.joined": candidate("lib.Rotation.joined", kind="method", paths=["lib.sub.Rotation.joined"]),
        "lib.Old.joined": candidate("lib.Old.joined", kind="method"),
        "lib.Changed.joined": candidate("lib.Changed.joined", kind="method"),
        "lib.Changed": candidate("lib.Changed", kind="class", change="modified", added=("x",)),
    }
    found = new_owners(known)
    assert {api: owners for api, owners in found.items() if owners} == {"lib.Rotation.joined": ("lib.Rotation",)}


def test_values_in_printed_text_are_answers():
    program = one("import lib\nx = lib.field_check([1, 2])\nprint(f'a: {x.a:.2f}, field_check: {x.b}', repr(x.c))\n")
    assert program.shown == ("shown_1", "shown_2", "shown_3")
    assert program.blanked() is not None, "text that is only printed names nothing"
