"""Adaptation as tasks: the instance of a base, training rows, fits, and what each fit did."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from blocks.retrieval import open_index
from novelapi.adaptation.base import folder_digest
from novelapi.adaptation.chat import written
from novelapi.adaptation.extras import Tokenizer, need
from novelapi.adaptation.fitting import FIT_VERSION, FitRequest
from novelapi.adaptation.fitting import fit as fit_method
from novelapi.adaptation.probing import ASSESSMENT_VERSION, AssessRequest
from novelapi.adaptation.probing import assess as assess_artifact
from novelapi.grid.adaptation import ROWS_VERSION, RowsRequest, Selection, select_tasks, write_rows
from novelapi.records.request import FileResult
from tasks._stage import run_layout, stage_task

PLACE = {"request.base": "where the base lies does not change it; its digest is in the key"}
BASE = {"base": PLACE["request.base"]}


@stage_task(
    "adaptation-instance", version=ROWS_VERSION, subject="{selection.group}/{selection.source}", irrelevant=BASE
)
def adaptation_instance(selection: Selection, model: str, base: str, base_sha: str) -> FileResult:  # noqa: ARG001
    """Choose the tasks that a base is adapted to and asked; its tokenizer decides what fits."""
    tokenizer = _tokenizer(base)
    return select_tasks(
        selection,
        model,
        run_layout(),
        lambda prompt: len(tokenizer(written(tokenizer, prompt), add_special_tokens=False)["input_ids"]),
    )


@stage_task("adaptation-rows", version=ROWS_VERSION, subject="{request.group}/{request.form}/{request.split}")
def adaptation_rows(request: RowsRequest) -> FileResult:
    """Write training rows."""
    return write_rows(request, run_layout(), open_index)


@stage_task("fit", version=FIT_VERSION, subject="{request.delivery}", irrelevant=PLACE)
def fit(request: FitRequest) -> FileResult:
    """Fit one method."""
    layout = run_layout()
    return fit_method(request, layout.home, layout.edits)


@stage_task(
    "assess",
    version=ASSESSMENT_VERSION,
    subject="{request.fitted.delivery}",
    irrelevant={"request.fitted.base": PLACE["request.base"]},
)
def assess(request: AssessRequest) -> FileResult:
    """Measure what one fit did to its base."""
    layout = run_layout()
    out = (layout.home / request.artifact.path).parent / "assessment.json"
    return assess_artifact(request, layout.home, out)


@lru_cache(maxsize=4)
def base_sha(base: str) -> str:
    """Return the digest of a base's files, read once per process."""
    return folder_digest(Path(base))


@lru_cache(maxsize=2)
def _tokenizer(base: str) -> Tokenizer:
    return need("transformers").AutoTokenizer.from_pretrained(base)
