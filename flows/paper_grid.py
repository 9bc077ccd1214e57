"""Flow `paper-grid`: every condition and delivery on one model, from the libraries to the report."""

from __future__ import annotations

from datetime import date

from prefect import flow

from flows._artifacts import publish_report
from flows._plan import expand, experiment_name
from flows._runs import GridDone, progress, run_url
from flows.cell import failed_cells, run_cells
from flows.instance import build_instance
from flows.report import report_cells
from flows.served import build_instance_on_server, pinned, run_cells_on_server
from novelapi.records.cell import Condition, Delivery
from novelapi.records.request import DIRECT, ModelAccess
from tasks._results import forget_cells
from tasks._stage import run_layout
from tasks.inference import pin_model


@flow(name="paper-grid", flow_run_name="{group} / {model}")
def run_paper_grid(
    group: str = "data_science",
    model: str = "copy",
    cutoff: date | None = None,
    conditions: list[Condition] | None = None,
    deliveries: list[Delivery] | None = None,
    samples: int = 1,
    limit: int | None = None,
    seed: int = 0,
    jobs: int = 2,
    fresh: bool = False,
    access: ModelAccess = DIRECT,
    server: str | None = None,
) -> GridDone:
    """Build what is missing, run the grid, write the report.

    Args:
        group: group in the catalogue, or one library.
        model: model in the catalogue, `copy`, or `openai:NAME`.
        cutoff: training cutoff; default: the catalogue's.
        conditions: knowledge conditions, default all twelve.
        deliveries: ways of giving the knowledge, default `oracle`.
        samples: samples per task; the first is greedy.
        limit: number of tasks per cell.
        seed: seed of everything that is drawn.
        jobs: processes at work.
        fresh: do finished work again.
        access: how the model is reached.
        server: saved block `vllm-server`: the cells run on the pool `gpu`, beside the server that it describes.

    Raises:
        NovelApiError: a library or a cell failed; what was finished is kept and reported.
    """
    url = run_url()
    progress.info("watch this run at %s", url)

    # Extract: the tasks that are asked, and what pins the answers.
    wanted = {"group": group, "model": model, "cutoff": cutoff, "limit": limit, "seed": seed, "jobs": jobs}
    from_stage = 1 if fresh else None
    if server is not None:
        access = pinned(server, access)
        build_instance_on_server(server, {**wanted, "from_stage": from_stage, "access": access.to_row()})
        from_stage = None
    built = build_instance(**wanted, from_stage=from_stage, access=access)
    revision = pin_model(model, access)

    # Transform: one task run per missing cell.
    experiment = experiment_name(group, model)
    if fresh:
        forget_cells(experiment, run_layout())
    cells = expand(
        experiment=experiment,
        built=built,
        revision=revision,
        conditions=conditions,
        deliveries=deliveries,
        samples=samples,
        seed=seed,
        limit=limit,
    )
    if server is None:
        done = run_cells(experiment=experiment, cells=cells, access=access, jobs=jobs, strict=False)
    else:
        done = run_cells_on_server(server, experiment, cells, access, jobs)

    # Load: the page of what was finished, then the verdict on the run itself.
    if not done.cells:
        raise failed_cells(done.failures, len(cells))
    report = report_cells(experiment, done.cells)
    publish_report(experiment, report.page)
    if done.failures:
        raise failed_cells(done.failures, len(cells))
    return GridDone(experiment=experiment, instance=built, cells=done, report=report, url=url)
