"""A call is cut out of its example with everything that it needs, as the names stand just before it."""

import pytest

from novelapi.generation.mining import mine_example
from tests.fakes.bundles import numpy_bundle
from tests.unit.generation.examples import candidate, example

NUMPY = "import numpy as np\n"

# example, the call that is cut out (null: none can be)
CALLS = [
    ("np.unstack([1, 2])", "np.unstack([1, 2])"),
    ("x = np.eye(2)\nnp.unstack(x)", "np.unstack(np.eye(2))"),
    ("x = np.eye(2)\nx = np.eye(3)\nnp.unstack(x)", "np.unstack(np.eye(3))"),  # the last binding before the call
    ("x = np.eye(2)\nnp.unstack(x)\nx = np.eye(3)", "np.unstack(np.eye(2))"),  # not one after it
    ("a = 2\nx = np.eye(a)\na = 3\nnp.unstack(x)", "np.unstack(np.eye(2))"),  # names of values at their own place
    ("x: object = np.eye(2)\nnp.unstack(x)", "np.unstack(np.eye(2))"),
    ("a, b = 1, 2\nnp.unstack([a, b])", "np.unstack([1, 2])"),
    ("f = np.unstack\nf([1])", "np.unstack([1])"),
    ("x = np.eye(2)\nx[0] = 1\nnp.unstack(x)", None),  # changed in between
    ("x = [1]\nx.append(2)\nnp.unstack(x)", None),
    ("np.unstack(y)", None),  # nothing binds it
    ("np.unstack(*parts)", None),
    ("other.unstack([1])", None),  # a namesake
    ("from numpy._core import thing\nnp.unstack(thing)", None),  # no user imports that
]


@pytest.mark.parametrize(("code", "expected"), CALLS)
def test_calls(code, expected):
    found = [seed.call({}) for seed in mine_example(candidate(), example(NUMPY + code))]
    assert found == ([expected] if expected else [])


def test_values_that_several_statements_make():
    seen = []

    def evaluate(program, expression):
        seen.append((program.splitlines()[1:], expression))
        return "np.array([1.0, 2.0])"

    (seed,) = mine_example(candidate(), example(f"{NUMPY}x = np.zeros(2)\nx[0] = 1\nnp.unstack(x, axis=0)"), evaluate)
    assert seed.call({}) == "np.unstack(np.array([1.0, 2.0]), axis=0)"
    assert seen == [(["x = np.zeros(2)", "x[0] = 1"], "x")]
    assert "import numpy as np" in seed.imports


def test_the_array_library_of_tests_is_numpy():
    (seed,) = mine_example(candidate(), example("import numpy as np\nimport numpy as xp\nxp.unstack(xp.eye(2))"))
    assert seed.call({}) == "np.unstack(np.eye(2))"


MODEL = "from lib import Base\n\nclass Model(Base):\n    x: int\n\n"


def test_class_methods_through_a_class_of_the_example():
    target = candidate("lib.Base.check", "classmethod", names=("data",))
    (seed,) = mine_example(target, example(f"{MODEL}Model.check({{'x': 1}})"))
    assert seed.call({}) == "Model.check({'x': 1})"
    assert seed.helpers == ("class Model(Base):\n    x: int",)


def test_methods_of_objects():
    target = candidate("lib.Base.dump", "method", names=())
    found = mine_example(target, example(f"{MODEL}m = Model(x=1)\nm.dump()\nm.dump()"))
    assert found[0].call({}) == "Model(x=1).dump()"
    assert len(found) == 1  # the second stands after a call that may have changed it


def test_parameters_are_named_by_the_documentation_where_the_signature_hands_everything_on():
    from novelapi.generation.assignment import Assignment
    from novelapi.records.api import Parameter

    bundle = numpy_bundle()
    parameters = (Parameter(name="args", kind="var_positional"), Parameter(name="kwargs", kind="var_keyword"))
    handed_on = candidate().model_copy(update={"parameters": parameters})
    given = Assignment(candidate=handed_on, bundle=bundle, env=None, preload=())
    assert [item.name for item in given.named_candidate.parameters] == [item.name for item in bundle.surface.parameters]
    own = Assignment(candidate=candidate(), bundle=bundle, env=None, preload=())
    assert own.named_candidate is own.candidate
