"""Code is found in docstrings, reStructuredText and Markdown."""

import textwrap

import pytest

from novelapi.knowledge.snippets import blocks, script_of, source_of, statements_of

# text, expected (code, shown) of each block
TABLE = [
    (">>> x = 1\n>>> x\n1\n", [("x = 1", False), ("x", True)]),  # a value below means that it is displayed
    (">>> def f():\n...     return 1\n", [("def f():\n    return 1", False)]),
    (">>> f(x)  # doctest: +SKIP\n", [("f(x)", False)]),
    ("```python\nx = 1\ny = 2\n```\n", [("x = 1\ny = 2", False)]),
    ("```pycon\n>>> x\n1\n```\n", [("x", True)]),
    ("```bash\npip install x\n```\n", []),
    ("~~~py\nx = 1\n~~~\n", [("x = 1", False)]),
    (".. code-block:: python\n\n    x = 1\n\nText\n", [("x = 1", False)]),
    (".. code-block:: python\n    :linenos:\n\n    x = 1\n", [("x = 1", False)]),
    (".. code-block:: console\n\n    $ ls\n", []),
    ("Such as this::\n\n    x = 1\n\nText\n", [("x = 1", False)]),
    ("Only text: nothing.\n", []),
]


@pytest.mark.parametrize(("text", "expected"), TABLE)
def test_blocks(text, expected):
    assert [(block.code, block.shown) for block in blocks(text)] == expected


def test_a_script_leaves_out_what_is_no_python():
    script = script_of(">>> x = 1\n>>> y = !magic\n>>> z = 2\n", "here", "docs")
    assert [statement.text for statement in script.statements] == ["x = 1", "z = 2"]


def test_statements_keep_comments_and_decorators():
    code = textwrap.dedent("""\
        x = f(1,  # first
              2)  # second
        @decorator
        def g():
            return 1
        a = 1; b = 2
    """)
    texts = [statement.text for statement in statements_of(code)]
    assert texts == ["x = f(1,  # first\n      2)  # second", "@decorator\ndef g():\n    return 1", "a = 1", "b = 2"]


def test_statements_in_a_body_are_dedented():
    node = __import__("ast").parse("def f():\n    if x:\n        y = 1\n").body[0].body[0]
    assert source_of(node, "def f():\n    if x:\n        y = 1\n") == "if x:\n    y = 1"
