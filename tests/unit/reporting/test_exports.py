"""Exports: what the files hold, and that the tools they are meant for open them (where those are installed).

Set NOVELAPI_TOOLS_PYTHON to a Python with datasets, mlcroissant, inspect_ai and lm_eval to run the checks by the tools.
"""

import csv
import json
import os
import subprocess
import sys
from datetime import date, datetime
from importlib.util import find_spec

import polars as pl
import pytest

from novelapi import jsonl
from novelapi.errors import DataError, UsageError
from novelapi.records.task import Task
from novelapi.reporting.export.flat import write_rows
from novelapi.reporting.export.harnesses import write_harness
from novelapi.reporting.export.huggingface import write_dataset
from novelapi.reporting.export.inspect_log import write_log
from novelapi.reporting.export.sources import read_bundles, read_sources
from tests.synthetic_runs import write_experiment

HUB = """
import sys, datasets
folder = sys.argv[1]
names = datasets.get_dataset_config_names(folder)
print(names, [datasets.load_dataset(folder, name)["test"].num_rows for name in names])
"""
CROISSANT = """
import sys, mlcroissant
dataset = mlcroissant.Dataset(jsonld=sys.argv[1] + "/croissant.json")
assert not dataset.metadata.ctx.issues.errors, dataset.metadata.ctx.issues.report()
print(len(list(dataset.records("numpy-copy"))))
"""
LOG = """
import sys
from inspect_ai.log import list_eval_logs, read_eval_log
log = read_eval_log(list_eval_logs(sys.argv[1])[0])
print(log.status, len(log.samples), log.results.scores[0].metrics["accuracy"].value)
"""
LM_EVAL = """
import sys
from lm_eval.tasks import TaskManager
task = TaskManager(include_path=sys.argv[1]).load_task_or_group(["novelapi"])["novelapi"]
print(task.config.unsafe_code, len(list(task.test_docs())))
"""


def run_tool(module, program, folder, tmp_path):
    """Run a program where a tool is installed; skip when it is nowhere."""
    python = sys.executable if find_spec(module) else os.environ.get("NOVELAPI_TOOLS_PYTHON")
    if python is None:
        pytest.skip(f"{module} is not installed, and NOVELAPI_TOOLS_PYTHON names no Python that has it")
    environment = {**os.environ, "HF_HOME": str(tmp_path / "hub"), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [python, "-c", program, str(folder)], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip().splitlines()[-1]


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    return write_experiment(tmp_path_factory.mktemp("home"), apis=10, tasks=20, conditions=("baseline", "full"))


@pytest.fixture(scope="module")
def instance(cells):
    return cells[0].parents[2] / "processed/groups/numpy/copy"


@pytest.fixture
def dataset(instance, tmp_path):
    """A dataset of numpy tasks and one task of a copyleft library, with a bundle of each."""
    ase = json.loads((instance / "instance.jsonl").read_text().splitlines()[0])
    ase |= {"task_id": "ase/x/1", "library": "ase", "release": "3.28.0", "api": "ase.x"}
    jsonl.write(tmp_path / "mixed.jsonl", [ase])
    names = ("numpy", "ase")
    bundles = [{"api": f"{name}.x", "library": name, "S_name": f"{name}.x", "S_param": [], "E": []} for name in names]
    jsonl.write(tmp_path / "bundles.jsonl", bundles)
    sources = read_sources([instance, tmp_path / "mixed.jsonl"])
    prompts = {task.task_id: f"Solve {task.task_id}" for source in sources for task in source.tasks}
    write_dataset(
        sources, tmp_path / "out", name="tiny", prompts=prompts, published=date(2025, 6, 1),
        bundles=read_bundles([tmp_path / "bundles.jsonl"]),
    )  # fmt: skip
    return tmp_path / "out"


def test_copyleft_excerpts_lie_in_files_of_their_own(dataset):
    plain = [pl.read_parquet(file) for file in (dataset / "data").glob("*.parquet")]
    apart = [pl.read_parquet(file) for file in (dataset / "copyleft").glob("*.parquet")]
    assert sorted(len(frame) for frame in plain) == [1, 20]
    assert sorted(len(frame) for frame in apart) == [1, 1]
    assert {library for frame in plain for library in frame["library"]} == {"numpy"}
    assert {library for frame in apart for library in frame["library"]} == {"ase"}


def test_the_card_names_the_licence_of_every_quoted_library(dataset):
    card = (dataset / "README.md").read_text()
    assert "| numpy | 2.4.4 | BSD-3-Clause | 20 |" in card
    assert "| ase | 3.28.0 | LGPL-2.1-or-later (copyleft) | 1 |" in card
    assert "config_name: knowledge-copyleft" in card


def test_a_task_survives_the_round_trip(dataset, instance):
    frame = pl.read_parquet(dataset / "data/numpy-copy.parquet")
    written = [Task.model_validate_json(text) for text in frame["task_json"]]
    assert written == list(read_sources([instance])[0].tasks)


def test_equal_sources_give_equal_bytes(dataset, instance, tmp_path):
    source = read_sources([instance])
    folders = [tmp_path / name for name in ("a", "b")]
    for folder in folders:
        write_dataset(source, folder, name="tiny", prompts={}, published=date(2025, 6, 1))
    for file in ("README.md", "croissant.json", "data/numpy-copy.parquet"):
        assert (folders[0] / file).read_bytes() == (folders[1] / file).read_bytes()


def test_the_hub_client_loads_every_configuration(dataset, tmp_path):
    found = run_tool("datasets", HUB, dataset, tmp_path)
    assert "'numpy-copy'" in found
    assert sorted(json.loads(found.split("] ")[1])) == [1, 1, 1, 20]


def test_the_croissant_checker_finds_nothing_and_reads_the_records(dataset, tmp_path):
    assert run_tool("mlcroissant", CROISSANT, dataset, tmp_path) == "20"


def test_responsible_fields_are_filled(dataset):
    described = json.loads((dataset / "croissant.json").read_text())
    for field in ("dataCollection", "dataLimitations", "dataBiases", "personalSensitiveInformation", "dataUseCases"):
        assert len(described[f"rai:{field}"]) > 20


def test_inspect_reads_the_log_of_a_run(cells, tmp_path):
    file, samples = write_log(cells[1], tmp_path / "logs")
    assert samples == 20
    rows = [json.loads(line) for line in (cells[1] / "results.jsonl").read_text().splitlines()]
    scored = [row for row in rows if row["outcome"] != "unscored"]
    share = sum(row["outcome"] == "pass" for row in scored) / len(scored)
    log = json.loads(file.read_text())
    assert log["results"]["scores"][0]["metrics"]["accuracy"]["value"] == share
    begun, ended = (datetime.fromisoformat(log["stats"][name]) for name in ("started_at", "completed_at"))
    assert (ended - begun).total_seconds() == 12.5  # what the manifest says
    assert run_tool("inspect_ai", LOG, tmp_path / "logs", tmp_path) == f"success 20 {share}"


def test_lm_eval_loads_the_task_and_asks_before_it_runs_code(instance, tmp_path):
    source = read_sources([instance])[0]
    prompts = {task.task_id: "Solve it" for task in source.tasks}
    write_harness("lm-eval", source, tmp_path / "task", prompts)
    moved = (tmp_path / "task").rename(tmp_path / "elsewhere")
    assert run_tool("lm_eval", LM_EVAL, moved, tmp_path) == "True 20"


def test_no_file_of_a_harness_names_the_folder_it_was_written_to(instance, tmp_path):
    source = read_sources([instance])[0]
    prompts = {task.task_id: "Solve it" for task in source.tasks}
    for harness in ("inspect", "lm-eval"):
        for file in write_harness(harness, source, tmp_path / harness, prompts):
            assert str(tmp_path) not in file.read_text("utf-8"), file.name


def test_the_files_of_a_harness_compile_and_hold_every_task(instance, tmp_path):
    source = read_sources([instance])[0]
    prompts = {task.task_id: "Solve it" for task in source.tasks}
    for harness in ("inspect", "lm-eval"):
        for file in write_harness(harness, source, tmp_path / harness, prompts):
            if file.suffix == ".py":
                compile(file.read_text(), str(file), "exec")
        assert len(jsonl.read(tmp_path / harness / "questions.jsonl")) == 20


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_flat_rows_hold_every_sample_with_its_run(cells, tmp_path, suffix):
    file = tmp_path / f"rows.{suffix}"
    assert write_rows([cells[0].parent], file) == 40
    if suffix == "csv":
        with file.open() as text:
            rows = list(csv.DictReader(text))
    else:
        rows = (pl.read_parquet(file) if suffix == "parquet" else pl.read_ndjson(file)).to_dicts()
    assert {(row["run_name"], row["condition"]) for row in rows} == {("oracle-baseline", "baseline"), ("oracle-full", "full")}  # fmt: skip


def test_mistakes_are_named(cells, tmp_path):
    with pytest.raises(UsageError, match="no tasks at"):
        read_sources([tmp_path / "none"])
    with pytest.raises(UsageError, match="ends in none of"):
        write_rows([cells[0]], tmp_path / "rows.xls")
    with pytest.raises(DataError, match="holds 2 runs"):
        write_log(cells[0].parent, tmp_path)
    jsonl.write(tmp_path / "empty.jsonl", [])
    with pytest.raises(UsageError, match="holds no task"):
        read_sources([tmp_path / "empty.jsonl"])
    jsonl.write(tmp_path / "other.jsonl", [{"api": "x"}])
    with pytest.raises(UsageError, match="is not a file of knowledge bundles"):
        read_bundles([tmp_path / "other.jsonl"])
