"""A strong model as author of knowledge: better prose and more examples, each marked, checked, and rejected by reason.

The deterministic bundle stands wherever the model's contribution is missing or rejected.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from novelapi.inference.roles import WrittenExamples, WrittenMechanism, reject_example, reject_mechanism
from novelapi.inference.strong import Answer, StrongModel
from novelapi.knowledge.conditions import KnowledgeCondition
from novelapi.knowledge.leakage import normalised_calls
from novelapi.knowledge.render import render
from novelapi.records.base import Record
from novelapi.records.bundle import Exemplar, KnowledgeBundle

EXAMPLES = 2
"""Examples that are asked for per API."""

LENGTHS: Mapping[str, tuple[int, int]] = {"docstring": (50, 100), "source": (200, 400), "paper": (200, 400)}
"""Words of M_prose by what it stands on, as in the published method."""


class ExampleRun(Record):
    """What came of running an example in the new release, in the sandbox."""

    ok: bool
    """Whether it ran to its end and the target accepted a call."""

    output: str = ""
    """What it printed."""

    reason: str = ""
    """Why it failed."""


ExampleRunner = Callable[[Sequence[tuple[str, str]]], Sequence[ExampleRun]]
"""Runs (api, code) pairs, in order."""


def write_mechanisms(bundles: Sequence[KnowledgeBundle], model: StrongModel) -> list[KnowledgeBundle]:
    """Return the bundles with rewritten M_prose where the model's text passed its checks.

    Either way `provenance["author_m_prose"]` says who wrote what, or why it was rejected.
    """
    questions = [_mechanism_question(bundle) for bundle in bundles]
    answers = model.ask("author_mechanism", questions, WrittenMechanism)
    return [_with_prose(*pair) for pair in zip(bundles, answers, strict=True)]


def write_examples(
    bundles: Sequence[KnowledgeBundle], model: StrongModel, run: ExampleRunner, paths: Mapping[str, Sequence[str]]
) -> list[KnowledgeBundle]:
    """Return the bundles with the model's examples behind their own: those that ran, with their recorded output.

    Args:
        bundles: the knowledge.
        model: the author.
        run: runs examples in the new release.
        paths: public paths by API, for the leakage rule.
    """
    questions = [_example_question(bundle) for bundle in bundles]
    answers = model.ask("author_examples", questions, WrittenExamples)
    offered = [
        (number, item.code)
        for number, (bundle, answer) in enumerate(zip(bundles, answers, strict=True))
        for item in (answer.value.examples if answer.value else ())
        if item.code not in {own.code for own in bundle.exemplars}
    ]
    checked = [(number, code, reject_example(code, bundles[number].api)) for number, code in offered]
    fit = [(number, code) for number, code, why in checked if why is None]
    runs = dict(zip(fit, run([(bundles[number].api, code) for number, code in fit]), strict=True))
    found: list[KnowledgeBundle] = []
    for number, (bundle, answer) in enumerate(zip(bundles, answers, strict=True)):
        good = [(code, runs[number, code]) for n, code in fit if n == number and runs[number, code].ok]
        bad = [why for n, _, why in checked if n == number and why]
        bad += [runs[number, code].reason for n, code in fit if n == number and not runs[number, code].ok]
        bad += [answer.reason] if answer.reason else []
        exemplars = [_exemplar(code, ran, bundle, answer, paths) for code, ran in good]
        note = {**answer.author.to_row(), "kept": len(good), "rejected": bad}
        found.append(
            bundle.model_copy(
                update={
                    "exemplars": (*bundle.exemplars, *exemplars),
                    "provenance": {**bundle.provenance, "author_e": note},
                }
            )
        )
    return found


def _with_prose(bundle: KnowledgeBundle, answer: Answer[WrittenMechanism]) -> KnowledgeBundle:
    text = answer.value.text.strip() if answer.value else ""
    why = answer.reason or reject_mechanism(text, bundle.api, [render(bundle, KnowledgeCondition.FULL)])
    note: dict[str, Any] = {**answer.author.to_row(), "rejected": why}
    update: dict[str, Any] = {"provenance": {**bundle.provenance, "author_m_prose": note}}
    return bundle.model_copy(update=update if why else {**update, "m_prose": text})


def _exemplar(
    code: str,
    ran: ExampleRun,
    bundle: KnowledgeBundle,
    answer: Answer[WrittenExamples],
    paths: Mapping[str, Sequence[str]],
) -> Exemplar:
    return Exemplar(
        code=code,
        status="executed",
        output=ran.output or None,
        source="model",
        origin=f"{answer.author.model} prompt {answer.author.prompt}",
        uses_change=bundle.change == "added",
        calls=tuple(sorted(normalised_calls(code, paths.get(bundle.api, (bundle.api,))))),
        note=f"written by {answer.author.model}",
    )


def _mechanism_question(bundle: KnowledgeBundle) -> dict[str, Any]:
    least, most = LENGTHS[bundle.m_prose_tier or "docstring"]
    return {
        "library": bundle.library,
        "release": bundle.release,
        "leaf": bundle.api.rsplit(".", 1)[-1],
        "documentation": render(bundle, KnowledgeCondition.S_M_PROSE),
        "source": bundle.m_code or "",
        "least": least,
        "most": most,
    }


def _example_question(bundle: KnowledgeBundle) -> dict[str, Any]:
    return {
        "library": bundle.library,
        "release": bundle.release,
        "api": bundle.api,
        "count": EXAMPLES,
        "documentation": render(bundle, KnowledgeCondition.S_M_PROSE),
        "known": render(bundle, KnowledgeCondition.E),
    }
