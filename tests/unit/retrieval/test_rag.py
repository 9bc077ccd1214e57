"""The retrieval arm: every bundle a distractor, rankings computed once, prompts byte for byte from the bundles."""

from __future__ import annotations

import re

import pytest

from novelapi import jsonl
from novelapi.inference.prompts import build_prompt
from novelapi.knowledge.conditions import KnowledgeCondition
from novelapi.knowledge.render import render
from novelapi.records.bundle import Exemplar, KnowledgeBundle, KnownParameter, Surface
from novelapi.retrieval import rag
from novelapi.retrieval.embedding import HashedNgrams
from tests.fakes.tasks import numpy_task

pytest.importorskip("lancedb", reason="the extra rag is not installed")
lancedb_index = pytest.importorskip("novelapi.adapters.lancedb_index")

SOURCE = "def {leaf}(x,\n        y  =  1):\n\n\n\tif x:\n\t    return  {{ 'a':1 }}\n    # odd   spacing\n    return y\n"
TOPICS = {
    "unstack": "Splits an array into its parts along an axis.",
    "cumulative_sum": "Running totals of the entries.",
    "vector_norm": "Length of a vector.",
    "matvec": "Product of a matrix and a vector.",
}


def bundle(leaf):
    return KnowledgeBundle(
        api=f"numpy.{leaf}", library="numpy", release="2.4.4", change="added", kind="function",
        surface=Surface(s_name=f"numpy.{leaf}", parameters=(KnownParameter(name="x", kind="positional_only"),)),
        exemplars=(Exemplar(code=f"import numpy as np\n\n\nnp.{leaf}( [1,\n   2] )", status="executed", output="  1\n2"),),
        m_prose=TOPICS[leaf], m_code=SOURCE.format(leaf=leaf), licence="BSD-3-Clause",
    )  # fmt: skip


BUNDLES = [bundle(leaf) for leaf in TOPICS]
TASKS = [
    numpy_task(task_id="unstack", description="Split the array into parts along the axis."),
    numpy_task(task_id="norm", api="numpy.vector_norm", description="Compute the length of the vector."),
]


@pytest.fixture
def prepare(tmp_path):
    def run(condition="full", bundles=BUNDLES, tasks=TASKS, **options):
        index = lancedb_index.LanceIndex(tmp_path / "lance", condition)
        return rag.prepare_rag(
            rag.corpus_of(bundles, KnowledgeCondition(condition)),
            tasks,
            condition=condition,
            index=index,
            embedder=HashedNgrams(),
            rankings=tmp_path / f"{condition}.jsonl",
            **options,
        )

    return run


@pytest.mark.parametrize("condition", ["m_prose", "full"])
def test_targets_are_found_among_the_distractors(prepare, condition):
    scores = prepare(condition).scores(TASKS, (1, 4))
    assert scores.hit == {1: 1.0, 4: 1.0}
    assert scores.mrr == 1.0


def test_code_in_a_prompt_is_byte_identical_to_its_bundle(prepare):
    arm = prepare("full")
    prompt = build_prompt(TASKS[0], arm.knowledge("unstack", 3))
    blocks = re.findall(r"^```python\n(.*?)^```", prompt, flags=re.DOTALL | re.MULTILINE)
    sources = {text for item in BUNDLES for text in (item.m_code, item.exemplars[0].code + "\n")}
    shown = [block for block in blocks if "solve" not in block and block != "import numpy as np\n"]
    assert len(shown) >= 4
    assert all(block in sources for block in shown)


def test_rankings_are_files_and_computed_once(prepare, tmp_path, monkeypatch):
    first = prepare("full")
    (row, _) = jsonl.read(tmp_path / "full.jsonl")
    assert row["task_id"] == "norm"
    assert row["hits"][0] == {
        "rank": 1,
        "passage": "numpy.vector_norm#1",
        "api": "numpy.vector_norm",
        "score": row["hits"][0]["score"],
    }
    monkeypatch.setattr(rag, "rank_queries", lambda *_: pytest.fail("ranked again"))
    assert prepare("full").rankings == first.rankings


@pytest.mark.parametrize(
    "changed",
    [
        {"bundles": BUNDLES[:3]},
        {"tasks": TASKS[:1]},
        {"mode": "vector"},
        {"depth": 2},
        {"tasks": [TASKS[0], TASKS[1].model_copy(update={"description": "Other."})]},
    ],
    ids=["bundles", "tasks", "mode", "depth", "query"],
)
def test_rankings_of_something_else_are_computed_again(prepare, tmp_path, changed):
    prepare("full")
    before = (tmp_path / "full.jsonl").read_bytes()
    prepare("full", **changed)
    assert (tmp_path / "full.jsonl").read_bytes() != before


def test_two_builds_give_identical_bytes(prepare, tmp_path):
    prepare("full")
    before = (tmp_path / "full.jsonl").read_bytes()
    (tmp_path / "full.jsonl").unlink()
    prepare("full", bundles=BUNDLES[::-1])
    assert (tmp_path / "full.jsonl").read_bytes() == before


def test_the_example_that_gives_a_task_away_is_not_shown(prepare):
    arm = prepare("full")
    hidden = {BUNDLES[0].exemplars[0].code}
    shown = arm.knowledge("unstack", 4, hidden)
    assert "np.unstack( [1," in arm.knowledge("unstack", 4)
    assert "np.unstack( [1," not in shown
    assert "np.matvec( [1," in shown


def test_the_corpus_is_what_the_oracle_would_show(prepare):
    arm = prepare("s_m_code")
    for item in BUNDLES:
        mine = [passage.text for passage in arm.passages.values() if passage.api == item.api]
        assert "\n\n".join(mine) == render(item, "s_m_code")


def test_the_manifest_says_which_index_was_used(prepare):
    use = prepare("full").use
    assert (use.apis, use.passages) == (4, 4)
    assert use.version > 0
    assert use.embedder.startswith("hashed-ngrams")
