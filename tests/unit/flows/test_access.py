"""How models are reached: flags to access, budgets, profiles, recordings, and mistakes that are seen before any work."""

from __future__ import annotations

import sys

import pytest
import typer
from typer.testing import CliRunner

from blocks.model_endpoint import open_completer, open_strong, within
from blocks.retrieval import default_retrieval, open_index
from flows import commands
from flows.cell import failed_cells
from novelapi.adapters.copy_model import CopyModel
from novelapi.errors import DataError, PartialError, PrerequisiteError, UnknownNameError, UsageError
from novelapi.inference.replay import Replay
from novelapi.layout import Layout
from novelapi.records.cell import Retrieval, Sampling
from novelapi.records.request import LibraryRequest, ModelAccess
from novelapi.records.stage import StageResult
from novelapi.retrieval.lexical import LexicalIndex
from tests.fakes.openai_server import error, fake_openai


@pytest.fixture
def asked(monkeypatch):
    """What the verbs ask of the session instead of running it."""
    calls = []
    session = type(sys)("flows.session")
    session.run_grid = lambda *args, **options: calls.append((args, options))
    session.build_libraries = lambda *args, **options: calls.append((args, options))
    session.build_group = session.build_libraries
    monkeypatch.setitem(sys.modules, "flows.session", session)
    return calls


def invoke(*args):
    app = typer.Typer(pretty_exceptions_enable=False)
    commands.register(app)
    return CliRunner().invoke(app, args)


def test_flags_say_how_the_models_are_reached(asked):
    flags = ["--base-url", "http://a/v1", "--strong-model", "openai:big", "--strong-base-url", "http://b/v1"]
    assert invoke("run", "-l", "numpy", "-m", "openai:tiny", *flags, "--budget-calls", "7").exit_code == 0
    access = asked[0][1]["access"]
    assert (access.base_url, access.strong_model, access.strong_base_url) == (
        "http://a/v1",
        "openai:big",
        "http://b/v1",
    )
    assert (access.budget_calls, access.offline) == (7, False)


def test_the_window_that_prompts_are_cut_to_decides_what_the_gates_say():
    from tasks.inference import windowed

    bare = ModelAccess(base_url="http://127.0.0.1:1/v1")
    assert windowed("r", "openai:tiny", bare) == "r"
    assert windowed("r", "openai:tiny", bare.model_copy(update={"window": 4096})) == "r in 4096 tokens"
    assert windowed("r", "copy", bare) == "r"


def test_documentation_is_a_delivery_beside_the_others(asked, tmp_path):
    assert invoke("run", "-l", "numpy", "--docs", str(tmp_path)).exit_code == 0
    assert asked[0][0][0]["deliveries"] == ["oracle", "docs"]
    for args in (["--delivery", "docs"], ["--docs", str(tmp_path / "none")]):
        assert isinstance(invoke("run", "-l", "numpy", *args).exception, UsageError)


def test_an_unknown_ranking_suggests_near_ones(asked):
    found = invoke("run", "-l", "numpy", "--retrieval", "hybird").exception
    assert isinstance(found, UnknownNameError)
    assert "hybrid" in str(found)


def test_a_broken_file_of_recordings_is_one_readable_line(asked, tmp_path, monkeypatch):
    monkeypatch.setattr("novelapi.settings.load_settings", type("S", (), {"home_dir": tmp_path / "home"}))
    (tmp_path / "r.jsonl").write_text('{"key": "x"}\n')
    assert isinstance(invoke("run", "-l", "numpy", "--replay", str(tmp_path / "r.jsonl")).exception, DataError)


def test_one_budget_holds_for_everything_that_a_process_asks():
    with fake_openai() as server:
        model = open_completer("openai:tiny", ModelAccess(base_url=server.base_url, budget_calls=2))
        model.complete(["a", "b"], Sampling())
        with pytest.raises(PartialError, match="budget"):
            model.complete(["c"], Sampling())
        assert len(server.requests) == 2


def test_a_profile_prices_and_limits(tmp_path):
    (tmp_path / "p.yaml").write_text("window: 4096\nusd_per_million_prompt_tokens: 2.5\n")
    access = ModelAccess(base_url="http://127.0.0.1:1/v1", profile=str(tmp_path / "p.yaml"), budget_usd=1.0)
    assert open_completer("openai:tiny", access).profile.window == 4096


def test_offline_nothing_is_sent():
    model = open_completer("openai:tiny", ModelAccess(base_url="http://127.0.0.1:1/v1", offline=True))
    assert isinstance(model, Replay)
    with pytest.raises(PartialError, match="unrecorded"):
        model.complete(["a"], Sampling())


def test_the_baseline_costs_nothing_and_needs_no_recording():
    copy = CopyModel()
    assert within(ModelAccess(offline=True, budget_calls=0), copy) is copy


def test_the_strong_model_has_an_address_of_its_own():
    assert open_strong(ModelAccess()) is None
    with fake_openai() as server:
        strong = open_strong(
            ModelAccess(base_url="http://127.0.0.1:1/v1", strong_model="openai:tiny", strong_base_url=server.base_url)
        )
        assert strong is not None
        assert strong.complete(["a"], Sampling()) != []


@pytest.mark.parametrize(("partial", "code"), [(True, 4), (False, 1)])
def test_a_budget_that_ended_is_partial_and_another_failure_is_not(partial, code):
    assert failed_cells({"rag-full": "the budget has ended"}, 3, partial=partial).exit_code == code


@pytest.mark.parametrize(
    ("behaviour", "model", "path", "kind", "words"),
    [
        (None, "openai:tinny", "", UnknownNameError, "tiny"),
        (lambda *_: error(401, "bad key"), "openai:tiny", "", PrerequisiteError, "OPENAI_API_KEY"),
    ],
    ids=["name", "key"],
)
def test_a_mistake_is_one_readable_line(behaviour, model, path, kind, words):
    with fake_openai(*([behaviour] if behaviour else [])) as server:
        completer = open_completer(model, ModelAccess(base_url=server.base_url + path))
        with pytest.raises(kind, match=words):
            completer.complete(["a"], Sampling())


def test_without_lancedb_terms_are_compared_in_memory(monkeypatch, tmp_path):
    monkeypatch.setattr("blocks.retrieval.find_spec", lambda _: None)
    assert default_retrieval() == Retrieval(index="lexical", mode="bm25", k=5, embedder=None, version=2)
    index, embedder = open_index(default_retrieval(), tmp_path, "x")
    assert isinstance(index, LexicalIndex)
    assert embedder is None
    monkeypatch.setattr("blocks.retrieval.find_spec", lambda _: object())
    assert (default_retrieval().index, default_retrieval().mode) == ("lancedb", "hybrid")


def test_a_dry_run_gives_every_stage_its_parameters(monkeypatch, tmp_path):
    preview = pytest.importorskip("flows.preview")
    monkeypatch.setattr(preview, "run_layout", lambda: Layout(tmp_path))
    before = [StageResult(stage="s", path="p", sha256="0" * 64)]
    request = LibraryRequest(library="numpy", model="copy")
    for number, task in enumerate((preview.discovery, preview.knowledge, preview.generation, preview.filters)):
        assert preview._stored(task, request, before[: min(number, 1)], ModelAccess()) is None


def test_a_model_that_is_served_beside_another_run_is_described_and_not_asked(tmp_path, monkeypatch):
    from novelapi.settings import load_settings
    from tasks.inference import check_model, completer, known_window, windowed

    monkeypatch.setenv("NOVELAPI_HOME", str(tmp_path))
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    load_settings.cache_clear()
    pinned = ModelAccess(revision="tiny@1")
    with pytest.raises(PrerequisiteError, match="no key"):
        known_window("openai:tiny", pinned)
    with fake_openai(windows={"tiny": 4096}) as server:
        there = known_window("openai:tiny", pinned.model_copy(update={"base_url": server.base_url}))
    here = known_window("openai:tiny", pinned.model_copy(update={"elsewhere": True}))
    check_model("openai:tiny", here)
    assert here.window == there.window == 4096
    assert completer("openai:tiny", here).revision == completer("openai:tiny", there).revision
    assert windowed("tiny@1", "openai:tiny", here) == windowed("tiny@1", "openai:tiny", there)
    load_settings.cache_clear()


def test_a_strong_model_is_reached_although_the_other_is_elsewhere():
    access = ModelAccess(elsewhere=True, strong_model="openai:big", strong_base_url="http://127.0.0.1:1/v1")
    assert open_strong(access)._base_url == "http://127.0.0.1:1/v1"
