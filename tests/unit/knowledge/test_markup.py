"""Marked-up text becomes prose."""

import pytest

from novelapi.knowledge.markup import inline, prose_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (":func:`~a.b.c` and :class:`!D`", "`c` and `D`"),
        (":meth:`call it <a.b>`", "`call it`"),
        ("``code`` stays", "`code` stays"),
        (":math:`x^2` grows [1]_.", "x^2 grows."),
        ("`text <https://example.org>`_ here", "text here"),
        ("[text](https://example.org/a_(b)) here", "text here"),
        ("[`code`][mod.code] here", "`code` here"),
        ("<b>bold</b>", "bold"),
        ("see :pep:`465`", "see PEP 465"),
    ],
)
def test_inline(text, expected):
    assert inline(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A.\n\n>>> x\n1\n\nB.", "A.\n\nB."),
        ("A.\n\nFor example:\n\n>>> x\n1\n", "A."),  # what only announces code goes with it
        (".. versionadded:: 1.2\n\nA.", "A."),
        (".. note::\n\n    Careful.\n\nA.", "Careful.\n\nA."),
        (".. plot::\n\n    import x\n\nA.", "A."),
        (".. math::\n\n    x = y\n\nA.", "x = y\n\nA."),
        ('!!! example "Usage"\n    ```python\n    x\n    ```\n\nA.', "A."),
        ('!!! note "Mind"\n    Careful.\n\nA.', "Mind:\nCareful.\n\nA."),
        (".. [1] Somebody, a paper.\n\nA.", "A."),
        (".. _label:\n\nA.", "A."),
    ],
)
def test_prose(text, expected):
    assert prose_of(text) == expected
