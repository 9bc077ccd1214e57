"""One cell of a grid as a task: answer every prompt, run and judge every sample."""

from __future__ import annotations

from blocks.retrieval import open_index
from novelapi.adaptation.store import find_artifact
from novelapi.grid.cells import CELL_VERSION, run_cell
from novelapi.records.cell import Cell
from novelapi.records.request import FileResult, ModelAccess
from tasks._stage import ACCESS_IS_IRRELEVANT, run_layout, stage_task
from tasks.inference import completer, strong

IRRELEVANT = {**ACCESS_IS_IRRELEVANT, "jobs": "how many processes work does not change a verdict"}


@stage_task(
    "cell", version=CELL_VERSION, subject="{cell.experiment}/{cell.delivery}/{cell.condition}", irrelevant=IRRELEVANT
)
def cell(cell: Cell, access: ModelAccess, jobs: int) -> FileResult:
    """Run one cell."""
    if cell.adapter_sha is not None:
        folder = find_artifact(run_layout().edits, cell.adapter_sha)
        access = access.model_copy(update={"artifact": str(folder)})
    return run_cell(
        cell,
        run_layout(),
        completer(cell.model, access),
        jobs=jobs,
        open_index=open_index,
        strong=strong(access) if cell.opinion else None,
    )
