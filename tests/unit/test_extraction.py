"""Which code of an answer runs."""

import pytest

from novelapi.evaluation.extraction import compiles, extract

SIGNATURE = "def solve(x):"
ROWS = [
    # (name, answer, expected code or None for anything, how)
    ("whole", "def solve(x):\n    return x", "def solve(x):\n    return x", "whole"),
    ("one block", "Sure:\n```python\ndef solve(x):\n    return x\n```\nDone.", "def solve(x):\n    return x\n", "block"),
    ("untagged block", "```\ndef solve(x): return x\n```", "def solve(x): return x\n", "block"),
    ("the last block that defines the entry point", "```python\ndef solve(x): return 1\n```\n```python\ndef solve(x): return 2\n```", "def solve(x): return 2\n", "block"),
    ("a demo after the answer is not taken", "```python\ndef solve(x): return 1\n```\n```python\nprint(solve(3))\n```", "def solve(x): return 1\n", "block"),
    ("a broken later block is not taken", "```python\ndef solve(x): return 1\n```\n```python\ndef solve(x: return 2\n```", "def solve(x): return 1\n", "block"),
    ("other languages are passed over", "```bash\npip install x\n```\n```python\ndef solve(x): return 1\n```", "def solve(x): return 1\n", "block"),
    ("joined", "```python\nimport math\n```\n```python\ny = math.pi\n```", "import math\n\n\ny = math.pi\n", "joined"),
    ("unclosed fence", "```python\ndef solve(x):\n    return x", "def solve(x):\n    return x", "block"),
    ("body in a block", "```python\n    return x + 1\n```", "def solve(x):\n    return x + 1\n", "body"),
    ("body without a fence", "    y = x\n    return y", "def solve(x):\n    y = x\n    return y\n", "body"),
    ("body at column zero", "return x", "def solve(x):\n    return x\n", "body"),
    ("prose around code", "Here it is:\ndef solve(x):\n    return x\nThis works, I think.", "def solve(x):\n    return x", "salvaged"),
    ("thoughts are removed", "<think>\n```python\ndef solve(x): return 0\n```\n</think>\n```python\ndef solve(x): return 1\n```", "def solve(x): return 1\n", "block"),
    ("broken", "```python\ndef solve(x:\n```", "def solve(x:\n", "broken"),
    ("prose only", "I cannot do that.", "I cannot do that.", "broken"),
    ("nothing", " \n", "", "empty"),
    ("assignment defines", "```python\nsolve = lambda x: x\n```\n```python\nz = 1\n```", "solve = lambda x: x\n", "block"),
    ("tildes", "~~~python\ndef solve(x): return 1\n~~~", "def solve(x): return 1\n", "block"),
    ("fence inside a text", '```python\ndef solve(x):\n    """\n    ``` no fence at the line start of the block\n    """\n    return x\n```', None, None),
    ("null byte", "def solve(x):\n    return '\0'", None, "broken"),
    ("deep nesting", "(" * 300 + ")" * 300, None, "broken"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "answer", "code", "how"), ROWS, ids=[row[0] for row in ROWS])
def test_extract(name, answer, code, how):
    found = extract(answer, "solve", SIGNATURE)
    if code is not None:
        assert found.code == code
    if how is not None:
        assert found.how == how


def test_a_script_has_no_entry_point():
    assert extract("```python\nx = 1\n```", "", "").code == "x = 1\n"


@pytest.mark.parametrize("text", ["\ud800", "x = '\udcff'", "é = 1", "\t\tif 1:\n        pass", "# coding: nonsense"])
def test_any_text_is_answered(text):
    assert compiles(text) in (True, False)
    assert extract(text, "solve", SIGNATURE).how
