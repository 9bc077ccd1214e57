"""`novelapi env`: the environments of the libraries under test."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from novelapi.commands._shared import JsonOption, OfflineOption, print_json, telling
from novelapi.errors import NovelApiError, UnknownNameError, UsageError

if TYPE_CHECKING:
    from novelapi.execution.environments import Environments
    from novelapi.records.environment import Environment

env = typer.Typer(
    no_args_is_help=True,
    help="Build, list, check and prune environments of libraries under test, make an image for them.",
)


def register(app: typer.Typer) -> None:
    """Add the verb with its five parts."""
    app.add_typer(env, name="env")


@env.command()
def build(
    library: Annotated[str, typer.Argument(help="A library of the catalogue, or any distribution on the index.")],
    releases: Annotated[list[str] | None, typer.Argument(help="Releases; default: the catalogue's.")] = None,
    *,
    docs: Annotated[bool, typer.Option("--docs", help="Add what the documentation's examples need.")] = False,
    as_json: JsonOption = False,
    offline: OfflineOption = False,
) -> None:
    """Build the environments of one or more releases, with dependencies of their own time."""
    from novelapi.catalog import find_library
    from novelapi.discovery.workspace import Workspace
    from novelapi.settings import load_settings

    workspace = Workspace.open(load_settings(), offline=offline)
    found = find_library(library)
    built: list[Environment] = []
    with telling() as progress:
        for release in releases or [workspace.newest(found)]:
            progress(f"building {found.name} {release}")
            built.append(workspace.environment(found, release, documentation=docs))
    if as_json:
        print_json([item.to_row() for item in built])
    else:
        typer.echo("\n".join(item.prefix for item in built))


@env.command("list")
def list_environments(*, as_json: JsonOption = False) -> None:
    """List the environments with what each adds to the disk."""
    from novelapi.execution.environments import disk_use

    environments = _environments()
    found = environments.list()
    sizes = [disk_use(environments.layout.environment(item.key)) for item in found]
    if as_json:
        print_json([{**item.to_row(), "disk_bytes": size} for item, size in zip(found, sizes, strict=True)])
        return
    for item, size in zip(found, sizes, strict=True):
        newer = f"  newer, as of {item.undated_before:%Y-%m-%d}: {', '.join(item.undated)}" if item.undated else ""
        typer.echo(f"{item.key:50} Python {item.python_version:8} {size / 1e6:9.1f} MB{newer}")


@env.command()
def check(
    keys: Annotated[list[str] | None, typer.Argument(help="Keys as `env list` shows them; default: all.")] = None,
    *,
    as_json: JsonOption = False,
) -> None:
    """Check interpreters, lock files and installed versions."""
    environments = _environments()
    found = _chosen(environments, keys or ())
    problems = {key: environments.check(item) for key, item in found.items() if not keys or key in keys}
    if as_json:
        print_json(problems)
    else:
        for key, words in problems.items():
            typer.echo(f"{key}: {'; '.join(words) or 'sound'}")
    broken = [key for key, words in problems.items() if words]
    if broken:
        raise NovelApiError(f"{len(broken)} environments are broken: run `novelapi env prune {' '.join(broken)}`")


@env.command()
def prune(
    keys: Annotated[list[str] | None, typer.Argument(help="Environments to delete.")] = None,
    *,
    every: Annotated[bool, typer.Option("--all", help="Delete all environments.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be deleted.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Delete environments, and what killed builders left behind; they are built again when needed."""
    if keys and every:
        raise UsageError("give either names or --all")
    environments = _environments()
    found = _chosen(environments, keys or ())
    doomed = sorted(found if every else keys or ())
    leftovers = environments.leftovers()
    freed = 0
    if not dry_run:
        freed = sum(environments.remove(key) for key in doomed)
        for path in leftovers:
            shutil.rmtree(path, ignore_errors=True)
    if as_json:
        print_json({"environments": doomed, "leftovers": [path.name for path in leftovers], "freed_bytes": freed})
    else:
        verb = "would delete" if dry_run else "deleted"
        typer.echo(f"{verb} {len(doomed)} environments and {len(leftovers)} leftovers, {freed / 1e6:.1f} MB freed")


@env.command()
def image(
    name: Annotated[str, typer.Argument(help="What to call it, as novelapi:1.")],
    keys: Annotated[list[str] | None, typer.Argument(help="Keys as `env list` shows them; default: all.")] = None,
    *,
    as_json: JsonOption = False,
) -> None:
    """Make a Docker image with the system libraries that environments need, for --docker-image; nothing is pulled."""
    from novelapi.adapters import docker_image
    from novelapi.execution.environments import python_environment

    found = _chosen(_environments(), keys or ())
    chosen = [item for key, item in found.items() if not keys or key in keys]
    size = docker_image.make(name, [python_environment(), *chosen])
    if as_json:
        print_json({"image": name, "bytes": size, "environments": [item.key for item in chosen]})
    else:
        typer.echo(f"{name}: {size / 1e6:.1f} MB")


def _chosen(environments: Environments, keys: Sequence[str]) -> dict[str, Environment]:
    """Return all environments by key, after a check that the named ones exist."""
    found = {item.key: item for item in environments.list()}
    for key in keys:
        if key not in found:
            raise UnknownNameError("environment", key, found, "there is none; see `novelapi env list`")
    return found


def _environments() -> Environments:
    from novelapi.execution.environments import Environments
    from novelapi.settings import load_settings

    return Environments(root=load_settings().envs_dir)
