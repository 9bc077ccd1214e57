"""Makes tasks of whole examples, for an API of which cutting calls out gave none."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from novelapi.generation import programs, trials
from novelapi.generation.programs import Program
from novelapi.generation.sealing import Rejected, same_answers, tolerance

if TYPE_CHECKING:
    from novelapi.generation.author import Author

_MOST_PROGRAMS = 2


def write_programs(author: Author) -> None:
    """Make tasks of whole examples where cutting calls out of them gave none."""
    if author.tasks:
        return
    exemplars = sorted(author.bundle.exemplars, key=lambda item: not item.uses_change)
    for exemplar in exemplars:
        for program in programs.programs_of(author.candidate, exemplar, author.known_parameters, author.owners):
            if len(author.tasks) >= _MOST_PROGRAMS:
                return
            try:
                author.or_refused(_with_plain_answers(author, program), lambda draft: _accept(author, draft))
            except Rejected as rejected:
                author.reasons[f"as a program: {rejected}"] += 1


def _with_plain_answers(author: Author, program: Program) -> Program:
    """Keep what a program shows as plain data, by a view where there is one.

    Raises:
        Rejected: nothing is left, or the program does not use the change.
    """
    if author.candidate.change == "modified" and not program.new_keywords:
        raise Rejected("the example does not use the change")
    if program.blanked() is None:
        raise Rejected("it names the API in other places too")
    kinds = trials.kinds_of(author.zygote, author.task_of(program, programs.inputs_of(program, 2)), program.probe)
    if isinstance(kinds, str):
        raise Rejected(f"it does not run ({kinds.split(':')[0]})")
    views = [(kind.form, kind.view.format(text), text) for kind, text in zip(kinds, program.shown, strict=True)]
    shown = [text if form == "plain" else view for form, view, text in views if form == "plain" or view]
    if not shown:
        raise Rejected("the result is no plain data")
    return replace(program, shown=tuple(shown))


def _accept(author: Author, program: Program) -> None:
    """Make a task of a program.

    Raises:
        Rejected: with the reason.
    """
    chosen = author.choose(program)
    task = programs.to_task(program, author.bundle, len(author.tasks) + 1, chosen.inputs)
    task = task.model_copy(update={"tolerance": tolerance(chosen.values), "expected": chosen.values})
    author.check_words(task)
    dropped = {name: program.without(name) for name in program.new_keywords}
    for without in dropped.values():
        answers = trials.answers_of(author.zygote, task, without)
        if not isinstance(answers, str) and same_answers(task, answers):
            raise Rejected("the change has no visible effect")
    author.admit(task, dropped, program.origin, "\n".join(program.lines()))
