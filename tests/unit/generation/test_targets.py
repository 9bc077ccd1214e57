"""Tasks whose result is written into a given array, at all places or at some."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from novelapi.execution.answers import Answer
from novelapi.generation import drafts, trials
from novelapi.generation.author import Author
from novelapi.generation.choosing import Chosen
from novelapi.generation.mining import mine_example
from novelapi.generation.sealing import Rejected, with_target
from novelapi.records.bundle import KnowledgeBundle, Surface
from novelapi.records.task import TaskInput
from tests.unit.generation.examples import candidate, example

API = candidate("numpy.char.isdigit", change="modified", names=("x", "out", "where"), added=("out", "where"))
BUNDLE = KnowledgeBundle(
    api="numpy.char.isdigit", library="numpy", release="2", change="modified", kind="function",
    surface=Surface(s_name="numpy.char.isdigit", parameters=(), returns=None), exemplars=(),
    m_prose="Says of each text whether it is a number.", m_code=None, licence="",
)  # fmt: skip
DRAFT = drafts.drafts_of(
    API, mine_example(API, example("import numpy as np\nnp.char.isdigit(np.array(['1', 'a']))\n"))[0]
)
MASKED = replace(DRAFT, target="target", mask="mask")
GIVEN = TaskInput(args=("np.array(['1', 'a', '2'])",))


def array(values):
    return {"$": "ndarray", "dtype": "|b1", "shape": [len(values)], "values": values}


def test_a_mask_is_passed_required_and_told():
    assert MASKED.reference().splitlines() == [
        "def solve(x, mask, target):",
        "    np.char.isdigit(x, out=target, where=mask)",
        "    return target",
    ]
    assert "np.char.isdigit(x, where=mask)" in MASKED.reference(without="out")
    assert "np.char.isdigit(x, out=target)" in MASKED.reference(without="where")
    assert MASKED.by_hand().splitlines()[-1] == "    return np.where(mask, np.char.isdigit(x), target)"
    assert drafts.required_values(MASKED) == {"out": "target", "where": "mask"}
    task = drafts.to_task(MASKED, BUNDLE, 1, [with_target(GIVEN, array([True, False, True]), mask=0)])
    assert "into `target` where `mask` is true, and nowhere else" in task.description
    assert task.signature == "def solve(x, mask, target):"


def test_masks_leave_out_other_places_each_time_and_take_the_shape_of_the_result():
    first, second = (with_target(GIVEN, array([True] * 4), mask=number).args for number in (0, 1))
    assert first == (GIVEN.args[0], "np.array([False, True, True, False])", "np.zeros((4,), dtype='b1')")
    assert second[1] == "np.array([True, False, True, True])"
    flat = {"$": "ndarray", "dtype": "<f8", "shape": [1, 2], "values": [1.0, 2.0]}
    assert with_target(GIVEN, flat, mask=2).args[1:] == (
        "np.array([True, True]).reshape((1, 2))",
        "np.zeros((1, 2), dtype='f8')",
    )


@pytest.mark.parametrize(("by_hand", "accepted"), [([False, False, True], True), ([True, False, True], False)])
def test_a_mask_that_is_no_choice_of_places_makes_no_task(monkeypatch, by_hand, accepted):
    written = [False, False, True]
    runs = iter([[Answer(value=array(written))], [Answer(value=array(by_hand))]])
    monkeypatch.setattr(trials, "answers_of", lambda *_: next(runs))
    author = SimpleNamespace(zygote=None, task_of=lambda draft, inputs: drafts.to_task(draft, BUNDLE, 0, inputs))
    chosen = Chosen(inputs=(GIVEN,), values=(array([True, False, True]),))
    if accepted:
        draft, found = Author._masked(author, DRAFT, chosen)
        assert draft.mask
        assert found.values == (array(written),)
    else:
        with pytest.raises(Rejected, match="no choice of places"):
            Author._masked(author, DRAFT, chosen)
