"""A strong model as author of a library's knowledge: what it writes is run in the new release before it is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from novelapi.catalog import find_library
from novelapi.discovery.stage import STAGE as DISCOVERY
from novelapi.discovery.stage import read_candidates
from novelapi.inference.author import ExampleRun, write_examples, write_mechanisms
from novelapi.inference.strong import strong_model
from novelapi.knowledge.requests import Improve
from novelapi.knowledge.trials import Program, Trial, run_programs
from novelapi.layout import Layout
from novelapi.ports import Completer
from novelapi.records.bundle import KnowledgeBundle
from novelapi.records.environment import Environment
from novelapi.records.request import LibraryRequest


def improver(request: LibraryRequest, layout: Layout, completer: Completer) -> Improve:
    """Return what makes better bundles of finished ones; without a usable answer a bundle stays as it is."""

    def improve(
        bundles: Sequence[KnowledgeBundle], env: Environment
    ) -> tuple[list[KnowledgeBundle], Mapping[str, float]]:
        paths = {
            item.api: item.paths for item in read_candidates(layout.stage(request.library, DISCOVERY, request.model))
        }
        roots = sorted({api.split(".", 1)[0] for api in paths} | set(find_library(request.library).imports or ()))
        with strong_model(completer, layout.completions / "cache.sqlite") as (model, asked):
            # Both are asked about the bundle as it was, so that an answer that is missing costs nothing but itself.
            prose = write_mechanisms(bundles, model)
            examples = write_examples(bundles, model, lambda pairs: run_examples(env, pairs, roots), paths)
            return [_join(*pair) for pair in zip(prose, examples, strict=True)], asked.usage.to_row()

    return improve


def _join(prose: KnowledgeBundle, examples: KnowledgeBundle) -> KnowledgeBundle:
    """Return one bundle with the prose of the first and the examples of the second."""
    return prose.model_copy(
        update={"exemplars": examples.exemplars, "provenance": {**examples.provenance, **prose.provenance}}
    )


def run_examples(env: Environment, pairs: Sequence[tuple[str, str]], roots: Sequence[str]) -> list[ExampleRun]:
    """Run (api, code) pairs in the sandbox of an environment, in order."""
    programs = [Program(id=str(number), code=code, targets=(api,)) for number, (api, code) in enumerate(pairs)]
    trials = run_programs(env, programs, roots=roots)
    return [read_trial(trials[program.id]) for program in programs]


def read_trial(trial: Trial) -> ExampleRun:
    """Return what a trial says of an example: it must end well, and the target must have accepted a call."""
    if not trial.ok:
        return ExampleRun(
            ok=False, reason=f"the example does not run ({trial.error_type}: {trial.error_message})"[:300]
        )
    if not trial.good_calls:
        return ExampleRun(ok=False, reason="the example never calls the API")
    return ExampleRun(ok=True, output=trial.output)
