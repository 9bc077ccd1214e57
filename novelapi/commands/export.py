"""`novelapi export`: tasks, knowledge and rows for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from novelapi.commands._shared import JsonOption, print_json
from novelapi.errors import UsageError

if TYPE_CHECKING:
    from novelapi.reporting.export.sources import Source

SourcesArgument = Annotated[list[Path], typer.Argument(help="Task files, or folders of instances.")]
SourceArgument = Annotated[Path, typer.Argument(help="Task file, or folder of an instance.")]
TasksOption = Annotated[Path | None, typer.Option(help="Task file, where the manifests do not name it.")]


def register(app: typer.Typer) -> None:
    """Add the group of verbs."""
    group = typer.Typer(no_args_is_help=True, help="Write tasks, knowledge and rows in the formats of other tools.")
    group.command("huggingface")(huggingface)
    group.command("inspect")(inspect)
    group.command("inspect-log")(inspect_log)
    group.command("lm-eval")(lm_eval)
    group.command("rows")(rows)
    group.command("completions")(completions)
    app.add_typer(group, name="export")


def huggingface(
    sources: SourcesArgument,
    out: Annotated[Path, typer.Option(help="Folder of the dataset.")],
    bundles: Annotated[list[Path] | None, typer.Option(help="Knowledge bundles (stage2_knowledge files).")] = None,
    name: Annotated[str, typer.Option(help="Name of the dataset.")] = "novelapi",
) -> None:
    """Write a dataset folder: parquet, one configuration per instance, card with licences, Croissant description."""
    from novelapi.bookkeeping import utc_now
    from novelapi.reporting.export.huggingface import write_dataset
    from novelapi.reporting.export.sources import read_bundles, read_sources

    read = read_sources(sources)
    done = write_dataset(
        read, out, name=name, prompts=_prompts(read), published=utc_now().date(), bundles=read_bundles(bundles or [])
    )
    for configuration, count in done.configurations.items():
        typer.echo(f"{configuration:<40} {count:>7} rows")
    typer.echo(f"dataset {done.folder}")


def inspect(source: SourceArgument, out: Annotated[Path, typer.Option(help="Folder of the task.")]) -> None:
    """Write an Inspect AI task: `inspect eval OUT/novelapi_task.py --model ...`."""
    _harness("inspect", source, out)


def lm_eval(source: SourceArgument, out: Annotated[Path, typer.Option(help="Folder of the task.")]) -> None:
    """Write a task of lm-evaluation-harness: `lm_eval --include_path OUT --tasks novelapi ...`."""
    _harness("lm-eval", source, out)


def inspect_log(
    run: Annotated[Path, typer.Argument(help="Folder of one run.")],
    out: Annotated[Path, typer.Option(help="Folder of logs.")],
    tasks: TasksOption = None,
) -> None:
    """Write a run as a log that Inspect AI's viewer opens: `inspect view --log-dir FOLDER`."""
    from novelapi.reporting.export.inspect_log import write_log

    file, samples = write_log(run, out, tasks)
    typer.echo(f"{samples} samples in {file}")


def rows(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs, or of experiments.")],
    out: Annotated[Path, typer.Option(help="File: .csv, .jsonl or .parquet.")],
    tasks: TasksOption = None,
) -> None:
    """Write one line per (run, task, sample) as one flat table."""
    from novelapi.reporting.export.flat import write_rows

    typer.echo(f"{write_rows(runs, out, tasks)} rows in {out}")


def _harness(harness: str, path: Path, out: Path) -> None:
    from novelapi.reporting.export.harnesses import write_harness
    from novelapi.reporting.export.sources import read_sources

    read = read_sources([path])
    write_harness("inspect" if harness == "inspect" else "lm-eval", read[0], out, _prompts(read))
    typer.echo(f"{len(read[0].tasks)} tasks in {out}")


def _prompts(sources: list[Source]) -> dict[str, str]:
    """Return the prompt without any knowledge of every task: the very one that the pipeline asks."""
    from novelapi.inference.prompts import build_prompt

    return {task.task_id: build_prompt(task, "") for source in sources for task in source.tasks}


def completions(
    out: Annotated[Path, typer.Option("--out", "-o", help="JSONL file to write.")],
    as_json: JsonOption = False,
) -> None:
    """Write every recorded answer of every model, so that `--replay FILE` repeats a build or a grid offline."""
    number = export_completions(out)
    if as_json:
        print_json({"path": str(out), "completions": number})
    else:
        typer.echo(f"{number} recorded answers in {out}")


def export_completions(out: Path) -> int:
    """Write all recordings to a file and return their number.

    Raises:
        UsageError: nothing is recorded yet.
        NovelApiError: the disk is full.
    """
    from novelapi.inference.cache import CompletionCache
    from novelapi.layout import Layout
    from novelapi.settings import load_settings

    path = Layout(load_settings().home_dir).completions / "cache.sqlite"
    if not path.exists():
        raise UsageError("nothing is recorded yet: run `novelapi build` or `novelapi run` with a model first")
    with CompletionCache(path) as cache:
        return cache.export(out)
