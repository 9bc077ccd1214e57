"""`novelapi pack RUN`: the least context that closes a model's failures; `novelapi serve-mcp PACK` answers from it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from novelapi.commands._shared import JsonOption, print_json

if TYPE_CHECKING:
    from novelapi.packing.evidence import RunEvidence
    from novelapi.records.pack import Pack

BUDGET = 2000


def register(app: typer.Typer) -> None:
    """Add the verbs."""

    @app.command()
    def pack(
        run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a finished experiment below results/.")],
        *,
        budget: Annotated[
            int | None,
            typer.Option("--budget", min=1, help=f"Most tokens of the whole pack (default {BUDGET})."),
        ] = None,
        out: Annotated[Path, typer.Option("--out", help="Folder of the pack.")] = Path("pack"),
        refit: Annotated[
            bool, typer.Option("--refit", help="Choose again, with the crowding that the delivery pack showed.")
        ] = False,
        seed: Annotated[int, typer.Option("--seed", help="Seed of the intervals.")] = 0,
        as_json: JsonOption = False,
    ) -> None:
        """Write a context pack from a finished run: AGENTS.md section, skill folder, llms.txt, with its effect."""
        from novelapi.packing.evidence import read_run
        from novelapi.packing.write import effect_text, write_pack

        evidence = read_run(run)
        found = decide(evidence, run, budget, refit=refit, seed=seed)
        files = write_pack(found, out)
        if as_json:
            print_json({**found.to_row(), "digest": found.digest, "files": [str(path) for path in files]})
            return
        typer.echo(f"{len(found.sections)} sections, {found.tokens} of {found.budget} tokens, in {out}")
        typer.echo(effect_text(found))
        if found.left_out:
            typer.echo("left out: " + ", ".join(f"{number} APIs, {name}" for name, number in found.left_out.items()))
        if found.measured is None:
            typer.echo(f"measure it: novelapi run --delivery pack --pack {out} with the flags of the run")
        elif found.basis == "alone":
            typer.echo("choose again with the crowding that was measured: the same command with --refit")

    @app.command("serve-mcp")
    def serve_mcp(
        pack: Annotated[Path, typer.Argument(metavar="PACK", help="A pack: its folder or pack.json.")],
    ) -> None:
        """Answer search_api and read_api from a pack, as an MCP server on stdin and stdout."""
        from novelapi.adapters.mcp_server import serve
        from novelapi.grid.packed import read_pack

        serve(read_pack(pack))


def decide(evidence: RunEvidence, run: Path, budget: int | None, *, refit: bool, seed: int) -> Pack:
    """Return the measured pack of a run with its effect, or a new one.

    A pack that the delivery `pack` has measured is kept, unless another budget or a new choice is asked for.

    Raises:
        UsageError: nothing fits, or `refit` without a measurement.
        DataError: the measured pack is broken or gone.
    """
    from novelapi.errors import UsageError
    from novelapi.grid.packed import read_pack
    from novelapi.layout import Layout
    from novelapi.packing.choose import Together, make_pack, measured_effect

    home = Layout.home_of(run / "oracle-baseline")
    if evidence.together is None or evidence.pack_digest is None or home is None:
        if refit:
            raise UsageError("--refit needs a measurement: run the delivery pack first")
        return make_pack(evidence, budget or BUDGET, seed=seed)
    known = read_pack(Layout(home).pack(evidence.group, evidence.pack_digest))
    if not refit and budget in (None, known.budget):
        return known.model_copy(update={"measured": measured_effect(evidence, seed)})
    together = Together(pack=known, passed=evidence.together)
    return make_pack(evidence, budget or known.budget, together=together, seed=seed)
