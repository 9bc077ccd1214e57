"""The copy baseline: what it gets from each piece of knowledge, and that it gets nothing from anywhere else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import novelapi.adapters.copying
from novelapi.adapters.copy_model import CopyModel
from novelapi.inference.prompts import build_prompt
from novelapi.ports import RememberedApi, Rememberer
from novelapi.records.cell import Condition, Sampling
from novelapi.records.completion import Request
from tests.fakes.tasks import Scripted, numpy_task

NAME = "## API\n\n`numpy.unstack`"
PARAMETERS = """## Parameters

```
unstack(x, /, *, axis=0)
```

- `x` (array_like; positional-only): The array to be unstacked.
- `axis` (int; keyword-only; default 0): Axis along which the array will be split.
  Further words about it.

Returns: tuple of arrays"""
EXAMPLES = """## Examples

```python
import numpy as np

arr = np.arange(24).reshape((2, 3, 4))
np.unstack(arr, axis=1)
```

Output:

```
(array([[ 0,  1]]), np.float64(3.0))
```"""
PROSE = "## How it works\n\nIt splits an array into a tuple of arrays along one axis."
CODE = "## Implementation\n\n```python\ndef unstack(x, /, *, axis=0):\n    return tuple(_nx.moveaxis(x, axis, 0))\n```"
OLD = [
    RememberedApi(
        path="numpy.split",
        signature="(ary, indices_or_sections, axis=0)",
        doc="Split an array into multiple sub-arrays.",
    ),
    RememberedApi(path="numpy.arange", doc="Return evenly spaced values."),
    RememberedApi(path="numpy.ndarray.reshape", doc="Change the shape."),
    RememberedApi(path="scipy.linalg.cossin", doc="Split the array along the axis."),
]


def answer(knowledge, old=OLD, **fields):
    """The body of the greedy answer."""
    task = numpy_task(**({"description": "Split the array along the given axis.\n\nReturn the result."} | fields))
    text = CopyModel().with_memory(old).complete([build_prompt(task, knowledge)], Sampling())[0][0]
    code = re.fullmatch(r"```python\n(.*)\n```\n", text, flags=re.DOTALL)[1]
    compile(code, "answer", "exec")
    return code.replace("def solve(x, axis):\n    ", "").replace("return ", "")


@pytest.mark.parametrize(
    ("knowledge", "code"),
    [
        # Nothing: the nearest of the old surface, inside the packages that the context imports.
        ("", "np.split(x, axis=axis)"),
        # The name alone: positional arguments in the order of the entry point, which the real API refuses here.
        (NAME, "np.unstack(x, axis)"),
        # Parameters: the keyword-only one gets its name.
        (f"{NAME}\n\n{PARAMETERS}", "np.unstack(x, axis=axis)"),
        # Examples: what the memory does not know is what they are about; arguments by name, then by place.
        (EXAMPLES, "np.unstack(x, axis=axis)"),
        # Code: the definition's name and parameters; the path is a guess.
        (CODE, "np.unstack(x, axis=axis)"),
        # Prose without a name leads to the old surface again.
        (PROSE, "np.split(x, axis=axis)"),
        ("\n\n".join([NAME, PARAMETERS, EXAMPLES, PROSE, CODE]), "np.unstack(x, axis=axis)"),
    ],
    ids=["nothing", "name", "surface", "examples", "code", "prose", "all"],
)
def test_what_each_component_gives(knowledge, code):
    assert answer(knowledge) == code


@pytest.mark.parametrize(
    ("context", "name", "code"),
    [
        ("import numpy as np", "numpy.linalg.cross", "from numpy.linalg import cross\n\n\ncross(x, axis)"),
        ("import numpy", "numpy.unstack", "numpy.unstack(x, axis)"),
        ("from numpy import linalg as LA", "numpy.linalg.cross", "LA.cross(x, axis)"),
        ("from pandas import DataFrame", "pandas.DataFrame.case_when", "x.case_when(axis)"),
        ("", "json.dumps", "from json import dumps\n\n\ndumps(x, axis)"),
        # A member of a class without a receiver: the entry point has exactly its parameters.
        (
            "import scipy",
            "scipy.signal.Window.from_parts`\n\n- `x`\n- `axis`\n\n`x",
            "from scipy.signal import Window\n\n\nWindow.from_parts(x, axis)",
        ),
    ],
)
def test_how_a_path_is_reached(context, name, code):
    assert answer(f"`{name}`", context_code=context) == code


def parameters(*lines):
    return "`numpy.thing`\n\n## Parameters\n\n" + "\n".join(lines)


@pytest.mark.parametrize(
    ("lines", "entry", "code"),
    [
        # Equal names, whatever the order.
        (["- `a`", "- `b`"], "b, a", "np.thing(a, b)"),
        # Defaults are passed by keyword.
        (["- `a`", "- `b` (default 1)"], "a, b", "np.thing(a, b=b)"),
        # Nothing alike: required ones first.
        (["- `mode` (default 'x')", "- `data`"], "first, second", "np.thing(mode=second, data=first)"),
        # Similar names.
        (
            ["- `weights` (keyword-only; default None)", "- `values` (default None)"],
            "weight",
            "np.thing(weights=weight)",
        ),
        # Variadic ones take the rest.
        (["- `first`", "- `*rest`"], "first, a, b", "np.thing(first, a, b)"),
        # A positional-only one behind another cannot be skipped.
        (
            [
                "- `a` (positional-only)",
                "- `b` (positional-only; default None)",
                "- `c` (positional-only; default None)",
            ],
            "a, c",
            "np.thing(a, None, c)",
        ),
    ],
)
def test_binding_by_parameters(lines, entry, code):
    found = answer(parameters(*lines), signature=f"def solve({entry}):", description="Do it.\n\nReturn the result.")
    assert found.splitlines()[-1].strip() == code


def test_descriptions_tell_which_parameter_is_meant():
    lines = [
        "- `q` (float): Probability of the quantile to compute.",
        "- `axis` (int; default None): Axis along which it is computed.",
        "- `weights` (array_like; default None): An array of weights associated with the values.",
    ]
    description = "Compute it.\n\n- `level`: float; Probability of the quantile to compute.\n- `extra`: array_like; An array of weights associated with the values.\n\nReturn the result."
    assert "np.thing(level, weights=extra)" in answer(
        parameters(*lines), signature="def solve(level, extra):", description=description
    )


@pytest.mark.parametrize(
    ("wording", "code"),
    [
        (
            "Use the value.\n- fixed: `'nearest'` for this choice: How to estimate between two values.",
            "np.thing(x, method='nearest')",
        ),
        ("Use method='nearest'.", "np.thing(x, method='nearest')"),
        ("The method is 'nearest'.", "np.thing(x, method='nearest')"),
        ("Set `keepdims` to True.", "np.thing(x, keepdims=True)"),
        ("- fixed: `float` for this choice: The type of the result.", "np.thing(x, dtype=float)"),
        # What stands in parentheses behind a name need not be a value.
        ("The method (e.g. of the normal distribution) is free.", "np.thing(x)"),
        # Being mentioned is not being set.
        ("Mind the method and the axis.", "np.thing(x)"),
        # What the documentation of a parameter says of another one is not an order.
        ("- `x`: array_like; Internally this selects method='nearest'.", "np.thing(x)"),
    ],
)
def test_options_are_set_where_the_wording_sets_them(wording, code):
    lines = [
        "- `x` (array_like)",
        "- `method` (str; default 'linear'): How to estimate between two values.",
        "- `keepdims` (bool; default False): Leaves axes.",
        "- `dtype` (dtype; default None): The type of the result.",
    ]
    found = answer(parameters(*lines), signature="def solve(x):", description=f"{wording}\n\nReturn the result.")
    assert found.splitlines()[-1].strip() == code


def test_an_option_shown_by_an_example_is_taken_when_the_wording_names_its_value():
    example = "```python\nimport numpy as np\nnp.thing([1], how='outer', level=3)\n```"
    asked = answer(
        example, signature="def solve(x):", description="Join them by the 'outer' way.\n\nReturn the result."
    )
    other = answer(example, signature="def solve(x):", description="Join them.\n\nReturn the result.")
    assert "np.thing(x, how='outer')" in asked
    assert "np.thing(x)" in other


def test_what_an_example_computes_before_the_call_is_taken_along():
    example = "```python\nimport numpy as np\nrng = np.random.default_rng(1)\nunused = 2\nrng.spawn(3)\n```"
    code = answer(
        example,
        old=[RememberedApi(path="numpy.random.default_rng")],
        signature="def solve(n, m):",
        description="Do it.",
    )
    assert "n.spawn(m)" in code
    alone = answer(
        example, old=[RememberedApi(path="numpy.random.default_rng")], signature="def solve():", description="Do it."
    )
    assert "rng = np.random.default_rng(1)" in alone
    assert "unused" not in alone
    assert "rng.spawn(3)" in alone


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ("Return the result.", "np.unstack(x)"),
        ("Return the result as a plain tuple (a, b).", "tuple(np.unstack(x))"),
        ("Return everything that comes out, as a list.", "list(np.unstack(x))"),
        ("Return it as a nested list.", "np.unstack(x).tolist()"),
        ("Return the number of parts.", "len(np.unstack(x))"),
        ("Return the parts in reverse order.", "np.unstack(x)[::-1]"),
        (
            "Return a dictionary with the keys 'a', 'b': the attributes of these names.",
            "result = np.unstack(x)\n    {'a': result.a, 'b': result.b}",
        ),
        # Only what is said of the result counts.
        ("Sorted input, the sum of it as a list.\n\nReturn the result.", "np.unstack(x)"),
        # The documentation of the result, in parentheses, is no order either.
        ("Return the result (as a list of arrays).", "np.unstack(x)"),
    ],
)
def test_the_result_is_turned_into_what_is_asked_for(asked, code):
    assert answer(NAME, signature="def solve(x):", description=asked).replace("def solve(x):\n    ", "") == code


def test_attributes_that_examples_read_are_used_when_the_wording_names_them():
    example = "```python\nimport numpy as np\nres = np.thing([1])\nprint(res.pvalue, res.statistic)\n```"
    assert "np.thing(x).statistic" in answer(example, signature="def solve(x):", description="Return the statistic.")


def test_of_several_passages_the_one_that_speaks_of_the_task_is_used():
    other = "## API\n\n`numpy.nansum`\n\nSums without not-a-numbers."
    right = f"{NAME}\n\n{PROSE}"
    for knowledge in (f"{other}\n\n---\n\n{right}", f"{right}\n\n---\n\n{other}"):
        assert answer(knowledge) == "np.unstack(x, axis)"


@pytest.mark.parametrize(
    "prompt",
    [
        "",
        "Hello.",
        "## Task\n\nDo it.",
        "## Task\n\n```python\nnot python (\n```\n",
        "## Documentation\n\n```python\n",
        "\x00\ud800",
        "## Task\n\n```python\ndef solve(*args, **kw):\n```",
    ],
)
def test_any_prompt_gets_an_answer(prompt):
    (text,) = CopyModel().complete([prompt], Sampling())[0]
    assert text.startswith("```python\ndef ")


def test_greedy_is_the_best_guess_and_samples_are_alternatives():
    prompt = build_prompt(numpy_task(), f"{NAME}\n\n{PARAMETERS}")
    model = CopyModel().with_memory(OLD)
    ranked = model.alternatives(prompt)
    drawn = model.complete([prompt], Sampling(n=20, seed=1))[0]
    assert drawn[0] == ranked[0]
    assert set(drawn) <= set(ranked)
    assert len(set(drawn)) > 1
    assert drawn == model.complete([prompt], Sampling(n=20, seed=1))[0]
    assert drawn != model.complete([prompt], Sampling(n=20, seed=2))[0]


def test_a_hot_temperature_draws_more_widely():
    prompt = build_prompt(numpy_task(), "\n\n".join([NAME, PARAMETERS, EXAMPLES]))

    def share_of_best(temperature):
        ((_, completion),) = CopyModel().stream([Request(prompt=prompt, n=200, temperature=temperature)])
        return completion.texts.count(CopyModel().alternatives(prompt)[0])

    assert share_of_best(0.2) > share_of_best(2.0)


def test_it_holds_no_name_of_a_condition_and_no_api():
    folder = Path(novelapi.adapters.copying.__file__).parent
    files = [*folder.glob("*.py"), folder.parent / "copy_model.py"]
    source = "\n".join(path.read_text() for path in files)
    conditions = [name for name in Condition.__args__ if "_" in name]
    assert len(conditions) == 8
    for name in (*conditions, "S_name", "oracle", "numpy.", "scipy", "pandas", "pydantic"):
        assert not re.search(rf"\b{re.escape(name)}", source), name


def test_the_revision_tells_memories_apart():
    model = CopyModel()
    assert model.revision == CopyModel().revision
    assert model.with_memory(OLD).revision == model.with_memory(OLD[::-1]).revision != model.revision


def test_only_the_baseline_takes_a_memory():
    assert isinstance(CopyModel(), Rememberer)
    assert not isinstance(Scripted(), Rememberer)
