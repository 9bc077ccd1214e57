"""Flow `paper-grid`: every condition and delivery on one model, from the libraries to the report."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from prefect import flow

from blocks.retrieval import default_retrieval
from flows._artifacts import publish_report, publish_scores
from flows._plan import expand, experiment_name, keep_pack, prerequisites_of
from flows._runs import GridDone, progress, run_url
from flows.adaptation import run_adaptation, split_deliveries
from flows.cell import failed_cells, run_cells
from flows.instance import build_instance
from flows.report import report_cells
from flows.served import build_instance_on_server, pinned, run_cells_on_server
from novelapi.errors import NovelApiError
from novelapi.grid.retrieved import store_documents
from novelapi.inference.profile import profile_of
from novelapi.records.cell import Condition, Delivery, FurtherCondition, Retrieval
from novelapi.records.request import DIRECT, ModelAccess
from tasks._results import forget_cells
from tasks._stage import run_layout
from tasks.inference import author_of, completer, pin_model, with_window


@flow(name="paper-grid", flow_run_name="{group} / {model}")
def run_paper_grid(
    group: str = "data_science",
    model: str = "copy",
    cutoff: date | None = None,
    conditions: list[Condition | FurtherCondition] | None = None,
    deliveries: list[Delivery] | None = None,
    samples: int = 1,
    limit: int | None = None,
    subsets: int | None = None,
    seed: int = 0,
    jobs: int = 2,
    fresh: bool = False,
    access: ModelAccess = DIRECT,
    server: str | None = None,
    recipes: str = "paper",
    retrieval: Retrieval | None = None,
    docs: str | None = None,
    pack: str | None = None,
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
        subsets: subsets of the parameter graph that tasks of several APIs are tried on; default none.
        seed: seed of everything that is drawn.
        jobs: processes at work.
        fresh: do finished work again.
        access: how the model is reached.
        retrieval: how `rag` and `docs` find passages; default: what this machine can do.
        pack: file or folder of a context pack, for the delivery `pack`.
        docs: folder of the maintainer's documentation, for the delivery `docs`.
        server: saved block `vllm-server`: the cells run on the pool `gpu`, beside the server that it describes.
        recipes: how deliveries with weights of their own are fitted; see the flow `adaptation`, which runs them.

    Raises:
        NovelApiError: a library or a cell failed; what was finished is kept and reported.
    """
    url = run_url()
    progress.info("watch this run at %s", url)
    plain, trained = split_deliveries(deliveries or ["oracle"], model)

    # Extract: the tasks that are asked, and what pins the answers.
    wanted = {
        "group": group, "model": model, "cutoff": cutoff, "limit": limit, "subsets": subsets, "seed": seed,
        "jobs": jobs,
    }  # fmt: skip
    from_stage = 1 if fresh else None
    if server is not None:
        access = pinned(server, access)
        build_instance_on_server(server, {**wanted, "from_stage": from_stage, "access": access.to_row()})
        access, from_stage = access.model_copy(update={"elsewhere": True}), None
    built = build_instance(**wanted, from_stage=from_stage, access=access)
    if not built.instance.counts.get("tasks", 1):
        raise NovelApiError(
            f"no task of {group} passed the gates for {model}: see the reasons of stage 4 in `novelapi build`, "
            "raise --limit, or give another cutoff"
        )
    access = with_window(model, access)
    revision = pin_model(model, access)

    # Transform: one task run per missing cell; weights of their own are the flow `adaptation`'s.
    if trained:
        adapted = run_adaptation(
            group=group, base=model.partition(":")[2], source=model, cutoff=cutoff, conditions=conditions,
            deliveries=["oracle", *trained], recipes=recipes, samples=samples, limit=limit, subsets=subsets,
            seed=seed, jobs=jobs, access=access, retrieval=retrieval,
        )  # fmt: skip
        if not plain:
            return GridDone(
                experiment=adapted.experiment, instance=built, cells=adapted.cells, report=adapted.report, url=url
            )
    experiment = experiment_name(group, model)
    if fresh:
        forget_cells(experiment, run_layout())
    cells = expand(
        experiment=experiment,
        built=built,
        revision=revision,
        conditions=conditions,
        deliveries=plain,
        samples=samples,
        seed=seed,
        limit=limit,
        retrieval=_retrieval(retrieval, docs, group),
        profile=profile_of(completer(model, access)),
        opinion=author_of(access),
        before=prerequisites_of(group, model, conditions, plain),
        pack=keep_pack(pack, group),
    )
    if server is None:
        done = run_cells(experiment=experiment, cells=cells, access=access, jobs=jobs, strict=False)
    else:
        done = run_cells_on_server(server, experiment, cells, access, jobs)

    # Load: the page of what was finished, then the verdict on the run itself.
    if not done.cells:
        raise failed_cells(done.failures, len(cells), partial=done.partial)
    publish_scores(experiment, done.cells)
    report = report_cells(experiment, done.cells)
    publish_report(experiment, report.page)
    if done.failures:
        raise failed_cells(done.failures, len(cells), partial=done.partial)
    return GridDone(experiment=experiment, instance=built, cells=done, report=report, url=url)


def _retrieval(wanted: Retrieval | None, docs: str | None, group: str) -> Retrieval:
    """Return how passages are found, with the digest of the documentation where there is one."""
    found = wanted or default_retrieval()
    if docs is None:
        return found
    return found.model_copy(update={"documents": store_documents(Path(docs), group, run_layout())})
