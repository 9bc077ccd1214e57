"""The words around the numbers: what was measured, on what, and how to read it."""

from __future__ import annotations

from markupsafe import Markup

from novelapi.reporting.analysis import Analysis
from novelapi.reporting.probed import chosen_by_failure
from novelapi.reporting.stats.intervals import INFORMATIVE
from novelapi.reporting.stats.permutation import PERMUTATIONS
from novelapi.reporting.stats.resampling import DRAWS
from novelapi.reporting.text import count, join_words, marked, percent, points

MOST_NAMED = 4


def kicker(analysis: Analysis) -> Markup:
    """Return the line above the headline: model, libraries with releases, deliveries."""
    runs = analysis.rows.runs
    models = list(dict.fromkeys(run.model for run in runs if run.model))
    releases = sorted({f"{task.library} {task.release}".strip() for task in analysis.rows.tasks.values()})
    deliveries = list(dict.fromkeys(run.delivery for run in runs if run.delivery))
    parts = [_some(models), _some(releases), _some(deliveries)]
    if not models:
        parts[0] = _some([run.name for run in runs])
    who, *rest = [marked(part) for part in parts if part]
    return Markup("<b>{}</b>").format(who) + Markup("").join(Markup(" · {}").format(part) for part in rest)


def page_title(analysis: Analysis) -> str:
    """Return the title of the page."""
    experiments = list(dict.fromkeys(run.experiment for run in analysis.rows.runs))
    return f"{_some(experiments)} – NovelAPIBench"


def facts(analysis: Analysis) -> list[tuple[str, str]]:
    """Return the size of the report in a few numbers."""
    scored = sum(summary.passed + summary.failed for summary in analysis.summaries)
    strong = sum(summary.strong for summary in analysis.summaries)
    unscored = sum(summary.unscored + summary.missing for summary in analysis.summaries)
    changed = sum(task.change == "modified" for task in analysis.rows.tasks.values())
    return [
        ("Tasks", count(len(analysis.rows.tasks))),
        ("APIs", count(len(set(analysis.outcomes.apis)))),
        ("Tasks of changed APIs", count(changed)),
        ("Runs", count(len(analysis.rows.runs))),
        ("Samples", count(len(analysis.rows.frame))),
        ("Proved verdicts", f"{percent(strong / scored)} %" if scored else "–"),
        ("Unscored", count(unscored)),
    ]


def method_notes(analysis: Analysis) -> list[tuple[str, str]]:
    """Return the paragraphs of the method section, each with its title."""
    figures = {
        "draws": count(DRAWS),
        "informative": INFORMATIVE,
        "permutations": count(PERMUTATIONS),
        "seed": analysis.seed,
        "threshold": f"{analysis.threshold:g}",
    }
    left_out = () if analysis.differences else ("Comparisons", "Overlap")
    if not chosen_by_failure(analysis.rows.tasks.values()):
        left_out += ("Choice of tasks",)
    detectable = [d.detectable for d in analysis.differences if d.detectable is not None]
    if detectable:
        figures |= {"least": points(min(detectable)).lstrip("+"), "most": points(max(detectable)).lstrip("+")}
    else:
        left_out += ("Power",)
    return [
        (title, " ".join(text.split()).format(**figures)) for title, text in METHOD.items() if title not in left_out
    ]


METHOD = {
    "pass@1": """
        The first sample of every task is greedy; pass@1 is the share of scored tasks whose first sample passes.
        Samples that could not be scored, because of a fault that is not the model's, are in no denominator; the table
        also gives the share of all tasks. pass@k is estimated without bias from the sampled answers.""",
    "Intervals": """
        Tasks of one API are not independent, so APIs are resampled, not tasks: {draws} bootstrap replicates,
        bias-corrected and accelerated (bca), widened to Student's t. Where fewer than {informative} APIs speak for the
        rarer outcome a bootstrap covers too little; there the binomial mid-p interval at the effective sample size is
        taken (binomial). Every table says which.""",
    "Comparisons": """
        Differences are paired by task. p-values come from sign-flip permutations that keep the tasks of an API
        together ({permutations}, or all of them where few APIs differ), adjusted by Holm within one question, model
        and delivery. Everything is seeded ({seed}) and does not depend on the order of rows.""",
    "Choice of tasks": """
        A task is in the instance only if the model that it was made for failed all its answers without knowledge.
        So pass@1 without knowledge is low by that choice, and a part of every gain over it is mere regression to the
        mean; comparisons of two conditions with knowledge are free of that.""",
    "Power": """
        With a power of 80 % these APIs show true differences from {least} to {most} points, depending on the
        comparison; the table gives each one's own (Detectable), from the spread that was observed. A smaller
        difference may well be there and not be shown. "same" is claimed only where the 90 % interval lies within 5
        points of none, and "open" where neither is shown.""",
    "Overlap": """
        An example that is close to a task's reference can be copied. Its token overlap is stored per sample; the
        comparisons are repeated without tasks above {threshold}.""",
    "Proved verdicts": """
        A verdict is strong when the real call ran where the answer could not reach it, or when the flow of the value
        was proved; all others are weak. Comparisons are repeated on strong ones alone.""",
    "Causes of failure": """
        WrongSyntax: does not compile. WrongImport: the target was meant and not reached. WrongAPISelection: something
        else was called. WrongParam: the target refused the arguments. WrongShapeDtype: it refused the structure of
        its data. WrongLogic: it was called acceptably and the program around it is wrong.""",
}
"""Title and text, with the analysis's own figures filled in."""


def _some(names: list[str]) -> str:
    return join_words(names) if len(names) <= MOST_NAMED else f"{join_words(names[:MOST_NAMED])} and others"
