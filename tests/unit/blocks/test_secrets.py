"""Blocks keep secrets: none is in a text, a record, a job variable or a cache key."""

from __future__ import annotations

import json
import logging

import pytest

from blocks.model_endpoint import ModelEndpoint
from blocks.run_store import RunStore
from blocks.strong_model import StrongModel
from blocks.vllm_server import VLLMServer
from novelapi.errors import NovelApiError
from novelapi.records.request import ModelAccess
from tasks._keys import task_key

KEY = "sk-very-secret"


@pytest.mark.parametrize(
    "block",
    [
        ModelEndpoint(api_key=KEY),
        StrongModel(model="openai:big", api_key=KEY),
        RunStore(url="memory://runs", key=KEY, secret=KEY),
    ],
    ids=lambda block: type(block).__name__,
)
def test_a_secret_is_in_no_text_of_its_block(block, caplog):
    with caplog.at_level(logging.DEBUG):
        logging.getLogger("novelapi").warning("%s %r", block, block)
    assert KEY not in caplog.text + str(block) + repr(block) + block.model_dump_json()


def test_an_access_names_a_block_and_so_can_hold_no_key():
    names = [name.replace("budget_tokens", "") for name in ModelAccess.model_fields]
    assert not [name for name in names if "key" in name or "secret" in name or "token" in name]
    access = ModelAccess(block="mine")
    assert KEY not in access.model_dump_json() + task_key("cell", 1, "x", {"access": access}, {})


def test_a_server_is_described_twice_in_the_same_words():
    block = VLLMServer(model="folder", served_name="tiny", serve_arguments=["--max-model-len", "512"])
    variables = block.job_variables()
    served = json.loads(variables["env"]["NOVELAPI_SERVE"])
    assert (served["model"], served["name"]) == (variables["model"], variables["served_name"])
    assert served["arguments"] == variables["serve_arguments"]
    assert "program" not in variables, "the pool knows where its program lies"
    assert VLLMServer(model="folder", program="/p").job_variables()["program"] == "/p"


def test_what_changes_an_answer_changes_the_revision_and_where_it_runs_does_not():
    block = VLLMServer(model="folder")
    assert VLLMServer(model="folder", gpu="3", program="/p").revision() == block.revision()
    assert VLLMServer(model="folder", serve_arguments=["--dtype", "float16"]).revision() != block.revision()


def test_run_folders_go_to_a_store_and_come_back(tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    (here / "results" / "a").mkdir(parents=True)
    (here / "results" / "a" / "rows.jsonl").write_text("{}\n")
    store = RunStore(url=str(tmp_path / "store"))
    assert store.push(here, here / "results") == 1
    assert store.pull(there, "results") == 1
    assert (there / "results" / "a" / "rows.jsonl").read_text() == "{}\n"


@pytest.mark.parametrize("path", ["../outside", "/etc/passwd", "a/../../b"])
def test_a_path_cannot_leave_the_store(tmp_path, path):
    with pytest.raises(NovelApiError, match="leaves the store"):
        RunStore(url=str(tmp_path)).pull(tmp_path, path)
