"""Flow `adaptation`: every method of knowledge in the weights on the same tasks, split and evaluation."""

from __future__ import annotations

import sysconfig
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from prefect import flow, tags

from blocks.retrieval import default_retrieval
from flows._artifacts import publish_report
from flows._fits import Fits, RowBook, points, weights_of
from flows._runs import AdaptationDone, CellsDone, InstanceBuild, Tally, Work, progress, run_url
from flows.cell import failed_cells, run_cells
from flows.instance import build_instance
from flows.report import report_cells
from novelapi import jsonl
from novelapi.adaptation.fitting import write_corpus
from novelapi.adaptation.recipes import TRAINED, read_recipes
from novelapi.adaptation.summary import with_scores
from novelapi.errors import UsageError
from novelapi.fingerprint import digest
from novelapi.grid.adaptation import RowsRequest, Selection
from novelapi.grid.cells import RETRIEVES
from novelapi.records.cell import Cell, Condition, Delivery, Retrieval, Sampling
from novelapi.records.request import DIRECT, ModelAccess
from novelapi.settings import load_settings
from tasks._stage import run_layout
from tasks.adaptation import adaptation_instance, base_sha
from tasks.inference import pin_model

MATRIX: list[Delivery] = ["oracle", "sft", "raft", "grace", "memit", "alphaedit", "alphaedit_lora"]
ENDS: list[Condition] = ["baseline", "full"]
CORPUS_FILES = 80
"""Files of the default corpus: sources of the libraries, in the order of their paths."""


@flow(name="adaptation", flow_run_name="{group} / {base}")
def run_adaptation(
    group: str = "numpy",
    base: str = "",
    source: str = "copy",
    cutoff: date | None = None,
    deliveries: list[Delivery] | None = None,
    conditions: list[Condition] | None = None,
    recipes: str = "paper",
    train: int | None = None,
    test: int | None = None,
    others: int = 0,
    window: int | None = None,
    answer: int = 2048,
    samples: int = 1,
    corpus: list[str] | None = None,
    limit: int | None = None,
    subsets: int | None = None,
    batch: int | None = None,
    seed: int = 0,
    jobs: int = 2,
    access: ModelAccess = DIRECT,
    lora_url: str | None = None,
    retrieval: Retrieval | None = None,
) -> AdaptationDone:
    """Fit every method, measure what each did, ask all of them, write the report.

    Args:
        group: group in the catalogue, `lolo_LIBRARY`, or one library.
        base: folder of the base's weights, as `save_pretrained` writes them.
        source: model whose instance and bundles are used (the gates are asked of it, not of the base).
        cutoff: training cutoff; default: the catalogue's of `source`.
        deliveries: methods, `oracle` for the unchanged base; default: the parametric grid.
        conditions: knowledge in the prompt; default: `baseline` and `full`.
        recipes: `paper`, `tiny`, or a YAML file.
        train: most training tasks.
        test: most held-out tasks.
        others: most tasks of trained APIs that are kept out of training, to be reproduced without having been seen.
        window: leave out tasks whose prompt with all knowledge does not fit into so many tokens.
        answer: longest answer in tokens.
        samples: samples per task; the first is greedy.
        corpus: files behind the statistics; default: the sources of the libraries.
        limit: number of units per stage, where the libraries have to be built.
        subsets: subsets of the parameter graph that tasks of several APIs are tried on; default none.
        batch: greedy prompts per pass.
        seed: seed of everything that is drawn.
        jobs: processes at work.
        access: how `source` is reached.
        lora_url: a vLLM server of the base, started with --enable-lora: adapters are asked there, named by content;
            everything else is asked in this process.
        retrieval: how `rag_sft` finds passages; default: what this machine can do.

    Raises:
        NovelApiError: a library, a fit or a cell failed; what was finished is kept.
    """
    layout, tally, url = run_layout(), Tally(), run_url()
    if not base:
        raise UsageError("give the folder of the base's weights: base=FOLDER")
    asked = points(deliveries or MATRIX, conditions or ENDS)
    progress.info("watch this run at %s", url)

    # Extract: tasks, split, rows; the same answers for every method.
    built = build_instance(
        group=group, model=source, cutoff=cutoff, limit=limit, subsets=subsets, seed=seed, jobs=jobs, access=access
    )
    model, weights, passages = f"transformers:{base}", base_sha(base), retrieval or default_retrieval()
    selection = Selection(
        group=group, source=source, instance_sha=built.instance.sha256, train=train, test=test, others=others,
        window=window, answer=answer,
    )  # fmt: skip
    with tags(f"group:{group}", f"model:{model}"):
        chosen = tally.take(adaptation_instance(selection, model, base, weights, return_state=True))
        progress.info("%s", " ".join(f"{name} {number}" for name, number in chosen.counts.items()))
        bundles = digest([build.stages[1].sha256 for build in built.libraries], 64)
        book = RowBook(
            RowsRequest(
                group=group, model=model, source=source, instance_sha=chosen.sha256, bundles_sha=bundles, form="task",
                seed=seed,
            ),
            passages,
            tally,
        )  # fmt: skip
        texts = write_corpus(_corpus(built, corpus), layout.sft(group) / "corpus.jsonl", layout.home)
        unrelated = write_corpus(_unrelated(), layout.sft(group) / "locality.jsonl", layout.home)

        # Transform: one task run per fit and per assessment, then the cells.
        pinned = {"base": base, "base_sha": weights, "seed": seed}
        fits = Fits(pinned, book, read_recipes(recipes), texts, tally)
        for point in asked:
            fitted = weights_of(*point)
            if fitted is not None:
                fits.run(fitted, unrelated)
    experiment = experiment_of(group, base)
    shared = {
        "group": group, "model": model, "model_revision": pin_model(model, DIRECT), "source": source,
        "instance_sha": chosen.sha256, "bundles_sha": bundles,
        "sampling": Sampling(n=samples, seed=seed, max_tokens=answer),
    }  # fmt: skip
    shas = {fitted: result.sha256 for fitted, result in fits.results.items()}
    cells = [
        Cell(
            experiment=experiment, split="test", condition=condition, delivery=delivery,
            adapter_sha=shas.get(weights_of(delivery, condition) or (delivery, None)),
            retrieval=passages if delivery in RETRIEVES else None, **shared,
        )
        for delivery, condition in asked
    ]  # fmt: skip
    learned = [
        cell.model_copy(update={"experiment": f"{experiment}-train", "split": "train"})
        for cell in cells
        if cell.condition == "baseline" or cell.delivery == "rag_sft"
    ]
    local = ModelAccess(batch=batch)
    served = fits.with_adapters() if lora_url else set[str]()
    seen = _answered(f"{experiment}-train", learned, local, lora_url, served, jobs)
    done = _answered(experiment, cells, local, lora_url, served, jobs)

    # Load: one row per method, the page, then the verdict on the run itself.
    finished = {cell.path: cell for cell in (*done.cells, *seen.cells)}
    table = [with_scores(row, finished, experiment) for row in fits.rows]
    jsonl.write(layout.experiment(experiment) / "adaptation.jsonl", table)
    failures = {**done.failures, **{f"train {name}": reason for name, reason in seen.failures.items()}}
    if not done.cells:
        raise failed_cells(failures, len(cells) + len(learned))
    report = report_cells(experiment, done.cells)
    publish_report(experiment, report.page)
    if failures:
        raise failed_cells(failures, len(cells) + len(learned))
    return AdaptationDone(
        experiment=experiment, tasks=chosen, fits=list(fits.results.values()), table=table, cells=done, report=report,
        work=built.work + tally.work + seen.work + done.work + report.work, url=url,
    )  # fmt: skip


def split_deliveries(deliveries: Sequence[Delivery], model: str) -> tuple[list[Delivery], list[Delivery]]:
    """Return the deliveries that need no weights of their own, and those that do.

    Raises:
        UsageError: the model's weights are not at hand.
    """
    plain = [delivery for delivery in deliveries if delivery not in TRAINED]
    trained = [delivery for delivery in deliveries if delivery in TRAINED]
    if trained and not model.startswith("transformers:"):
        raise UsageError(f"delivery '{trained[0]}' needs weights that can be changed: give --model transformers:FOLDER")
    return plain, trained


def experiment_of(group: str, base: str) -> str:
    """Return the name of an experiment: `numpy-tiny-adapt`."""
    return f"{group}-{Path(base).name}-adapt".replace("_", "-")


def _answered(
    experiment: str, cells: list[Cell], local: ModelAccess, lora_url: str | None, served: set[str], jobs: int
) -> CellsDone:
    """Ask the cells, those of adapters at the server, if there is one."""
    done = CellsDone(cells=[], work=Work())
    for access, mine in (
        (local, [cell for cell in cells if cell.adapter_sha not in served]),
        (ModelAccess(base_url=lora_url), [cell for cell in cells if cell.adapter_sha in served]),
    ):
        if mine:
            part = run_cells(experiment=experiment, cells=mine, access=access, jobs=jobs, strict=False)
            done = CellsDone(
                cells=[*done.cells, *part.cells], work=done.work + part.work, failures=done.failures | part.failures
            )
    return done


def _corpus(built: InstanceBuild, named: Sequence[str] | None) -> list[Path]:
    """Return the files behind the statistics: those that were named, else sources of the libraries under test.

    Raises:
        UsageError: a file does not exist.
    """
    if named:
        missing = [name for name in named if not Path(name).is_file()]
        if missing:
            raise UsageError(f"corpus file {missing[0]} does not exist: name existing files")
        return [Path(name) for name in named]
    found: list[Path] = []
    for library in built.libraries:
        pattern = f"{library.library}-{library.new}-*/lib/python3*/site-packages/*/**/*.py"
        sources = sorted(path for path in load_settings().envs_dir.glob(pattern) if path.stat().st_size > 400)
        found += sources[:: max(1, len(sources) // CORPUS_FILES)][:CORPUS_FILES]
    return found


def _unrelated() -> list[Path]:
    """Return the texts on which an edited model should be as before: modules of the standard library."""
    return sorted(Path(sysconfig.get_paths()["stdlib"]).glob("[m-z]*.py"))[:12]
