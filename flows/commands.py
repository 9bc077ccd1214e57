"""The verbs that compose stages: `build`, `run` and `demo`. Prefect is imported when a verb runs, not before."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Annotated, Any, ClassVar, cast

import typer
from typer.core import TyperCommand

from flows.choices import (
    CONDITIONS,
    DELIVERIES,
    FURTHER,
    RANKINGS,
    check_docs,
    check_group,
    check_names,
    check_pack,
    check_stages,
    private_library,
)
from novelapi.errors import UsageError
from novelapi.records.request import ModelAccess

DEMO_LIBRARY = "numpy"
DEMO_CUTOFF = date(2023, 12, 1)

Model = Annotated[str, typer.Option("--model", "-m", help="Model in the catalogue, `copy`, or `openai:NAME`.")]
BaseUrl = Annotated[str | None, typer.Option("--base-url", help="OpenAI-compatible endpoint, with /v1.")]
Profile = Annotated[
    Path | None,
    typer.Option("--profile", help="YAML with the model's window, habits and prices; default: the shipped."),
]
StrongModel = Annotated[
    str | None,
    typer.Option("--strong-model", help="Model that writes prose and examples, solves tasks, gives second opinions."),
]
StrongUrl = Annotated[str | None, typer.Option("--strong-base-url", help="Its endpoint, with /v1.")]
BudgetCalls = Annotated[int | None, typer.Option("--budget-calls", min=0, help="Requests that may be sent.")]
BudgetTokens = Annotated[int | None, typer.Option("--budget-tokens", min=0, help="Tokens that may be used.")]
BudgetUsd = Annotated[float | None, typer.Option("--budget-usd", min=0, help="US dollars, by the profile's prices.")]
Replay = Annotated[
    Path | None, typer.Option("--replay", help="Recordings (export completions): answer from them alone, offline.")
]
Cutoff = Annotated[
    datetime | None, typer.Option("--cutoff", formats=["%Y-%m-%d"], help="Training cutoff; default: the catalogue's.")
]
LibraryPath = Annotated[
    Path | None, typer.Option("--library-path", help="Your own package: a wheel, or the folder of a project.")
]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="Keep this many units per stage (by hash of id).")]
Subsets = Annotated[
    int | None,
    typer.Option("--subsets", min=1, help="Try tasks of several APIs on this many subsets of the library's graph."),
]
Seed = Annotated[int, typer.Option("--seed", help="Seed of everything that is drawn.")]
Jobs = Annotated[int, typer.Option("--jobs", "-j", min=1, help="Processes at work.")]
Fresh = Annotated[bool, typer.Option("--fresh/--resume", help="Do finished work again, or go on where it ended.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would run, and run nothing.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout and nothing else.")]


class ManyValues(TyperCommand):
    """A command whose list options take several values after one flag: `--stages 1 2 3`."""

    many: ClassVar[tuple[str, ...]] = ("--stages", "--conditions", "--delivery")

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:
        """Repeat the flag before every value that follows it."""
        return super().parse_args(ctx, self._spread(args))

    def _spread(self, args: Sequence[str]) -> list[str]:
        spread: list[str] = []
        flag = ""
        for position, arg in enumerate(args):
            if arg.startswith("-"):
                flag = arg if arg in self.many else ""
            elif flag == "--stages" and not arg.isdigit():
                flag = ""
            elif flag and args[position - 1] != flag:
                spread.append(flag)
            spread.append(arg)
        return spread


def register(app: typer.Typer) -> None:
    """Add the verbs to the command line."""
    app.command("build", cls=ManyValues)(build)
    app.command("run", cls=ManyValues)(run)
    app.command("demo")(demo)


def build(
    libraries: Annotated[list[str] | None, typer.Argument(metavar="LIB...", help="Libraries to build.")] = None,
    model: Model = "copy",
    base_url: BaseUrl = None,
    profile: Profile = None,
    strong_model: StrongModel = None,
    strong_base_url: StrongUrl = None,
    budget_calls: BudgetCalls = None,
    budget_tokens: BudgetTokens = None,
    budget_usd: BudgetUsd = None,
    replay: Replay = None,
    cutoff: Cutoff = None,
    library_path: LibraryPath = None,
    old: Annotated[
        str | None,
        typer.Option("--old", help="Release that the model can know; with --library-path a wheel or folder."),
    ] = None,
    new: Annotated[str | None, typer.Option("--new", help="Release under test.")] = None,
    stages: Annotated[list[int] | None, typer.Option("--stages", help="Stages to run: 1 2 3 4.")] = None,
    from_stage: Annotated[
        int | None, typer.Option("--from-stage", min=1, max=4, help="Do this stage and the later ones again.")
    ] = None,
    group: Annotated[str | None, typer.Option("--group", "-g", help="A group of the catalogue, pooled.")] = None,
    all_libraries: Annotated[bool, typer.Option("--all-libraries", help="Every library of the catalogue.")] = False,
    limit: Limit = None,
    subsets: Subsets = None,
    seed: Seed = 0,
    jobs: Jobs = 2,
    fresh: Fresh = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Find what is new in libraries, write down what there is to know, make tasks, keep those that need it."""
    named = [*(libraries or []), *([group] if group else []), *(["--all-libraries"] if all_libraries else [])]
    if private := private_library(library_path, old, [*named, *([f"--new {new}"] if new else [])]):
        libraries, old = [private], None
    if sum(map(bool, (libraries, all_libraries, group))) != 1:
        raise UsageError("name at least one library, or give --group or --all-libraries")
    if (old or new) and len(libraries or []) > 1:
        raise UsageError("--old and --new belong to one library: build the others in commands of their own")
    if group and (old or new or stages):
        raise UsageError("--old, --new and --stages belong to single libraries: name them instead of --group")
    check_stages(stages)
    check_group(group)
    access = access_of(
        base_url=base_url,
        profile=str(profile.absolute()) if profile else None,
        strong_model=strong_model,
        strong_base_url=strong_base_url,
        budget_calls=budget_calls,
        budget_tokens=budget_tokens,
        budget_usd=budget_usd,
        replay=replay,
    )
    from flows.session import build_group, build_libraries

    options = {
        "model": model,
        "cutoff": _day(cutoff),
        "limit": limit,
        "subsets": subsets,
        "seed": seed,
        "jobs": jobs,
        "from_stage": 1 if fresh else from_stage,
    }
    if group:
        build_group(group, options, access=access, dry_run=dry_run, as_json=as_json)
        return
    build_libraries(
        libraries or None,
        {**options, "old": old, "new": new, "stages": stages},
        access=access,
        dry_run=dry_run,
        as_json=as_json,
    )


def run(
    library: Annotated[str | None, typer.Option("--library", "-l", help="One library.")] = None,
    library_path: LibraryPath = None,
    old: Annotated[
        str | None, typer.Option("--old", help="With --library-path: wheel or folder that the model can know.")
    ] = None,
    group: Annotated[str | None, typer.Option("--group", "-g", help="A group of the catalogue.")] = None,
    model: Model = "copy",
    base_url: BaseUrl = None,
    profile: Profile = None,
    strong_model: StrongModel = None,
    strong_base_url: StrongUrl = None,
    budget_calls: BudgetCalls = None,
    budget_tokens: BudgetTokens = None,
    budget_usd: BudgetUsd = None,
    replay: Replay = None,
    cutoff: Cutoff = None,
    conditions: Annotated[list[str] | None, typer.Option("--conditions", help="Knowledge conditions.")] = None,
    delivery: Annotated[list[str] | None, typer.Option("--delivery", help="Ways of giving the knowledge.")] = None,
    top_k: Annotated[int, typer.Option("--top-k", min=1, help="Passages in a prompt of rag and docs.")] = 5,
    retrieval: Annotated[
        str | None, typer.Option("--retrieval", help="vector, bm25 or hybrid; default: what the extras allow.")
    ] = None,
    docs: Annotated[
        Path | None, typer.Option("--docs", help="Folder of the maintainer's documentation, for the delivery docs.")
    ] = None,
    pack: Annotated[
        Path | None, typer.Option("--pack", help="A context pack (`novelapi pack`), for the delivery pack.")
    ] = None,
    samples: Annotated[int, typer.Option("--samples", "-n", min=1, help="Samples per task; one is greedy.")] = 1,
    limit: Limit = None,
    subsets: Subsets = None,
    seed: Seed = 0,
    jobs: Jobs = 2,
    fresh: Fresh = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Run the grid of conditions and deliveries on a model, after building what is missing."""
    library = private_library(library_path, old, [name for name in (library, group) if name]) or library
    if old is not None and library_path is None:
        raise UsageError("--old goes with --library-path: build a library of the index with `novelapi build` first")
    if (library is None) == (group is None):
        raise UsageError("give one of --library, --group and --library-path")
    check_names("condition", conditions, (*CONDITIONS, *FURTHER))
    check_names("delivery", delivery, DELIVERIES)
    check_names("retrieval", [retrieval] if retrieval else None, RANKINGS)
    check_group(group)
    delivery = check_pack(pack, check_docs(docs, delivery))
    access = access_of(
        base_url=base_url,
        profile=str(profile.absolute()) if profile else None,
        strong_model=strong_model,
        strong_base_url=strong_base_url,
        budget_calls=budget_calls,
        budget_tokens=budget_tokens,
        budget_usd=budget_usd,
        replay=replay,
    )
    from blocks.retrieval import default_retrieval
    from flows.session import run_grid

    options: dict[str, Any] = {
        "group": library or group,
        "model": model,
        "cutoff": _day(cutoff),
        "conditions": conditions,
        "deliveries": delivery,
        "samples": samples,
        "retrieval": default_retrieval(cast("Any", retrieval), top_k),
        "docs": str(docs.absolute()) if docs else None,
        "pack": str(pack.absolute()) if pack else None,
        "limit": limit,
        "subsets": subsets,
        "seed": seed,
        "jobs": jobs,
        "fresh": fresh,
    }
    run_grid(options, access=access, dry_run=dry_run, as_json=as_json)


def demo(
    show_tasks: Annotated[
        bool, typer.Option("--show-tasks", help="Also print 30 tasks with the old release's error.")
    ] = False,
    limit: Limit = None,
    jobs: Jobs = 2,
    fresh: Fresh = False,
    as_json: Json = False,
) -> None:
    """Measure the embedded baseline on numpy: four stages, twelve conditions, one report."""
    from flows.session import run_grid

    options: dict[str, Any] = {
        "group": DEMO_LIBRARY,
        "model": "copy",
        "cutoff": DEMO_CUTOFF,
        "deliveries": ["oracle"],
        "limit": limit,
        "jobs": jobs,
        "fresh": fresh,
    }
    run_grid(options, show_tasks=30 if show_tasks else 0, as_json=as_json)


def access_of(*, replay: Path | None, **fields: Any) -> ModelAccess:
    """Return how models are reached; recordings are put into the completion cache first.

    Raises:
        DataError: the file of recordings is missing or broken.
    """
    if replay is not None:
        from novelapi.inference.cache import CompletionCache
        from novelapi.layout import Layout
        from novelapi.settings import load_settings

        with CompletionCache(Layout(load_settings().home_dir).completions / "cache.sqlite") as cache:
            cache.load(replay)
    return ModelAccess(offline=replay is not None, **fields)


def _day(moment: datetime | None) -> date | None:
    return moment.date() if moment else None
