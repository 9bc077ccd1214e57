"""Chooses the inputs of a task: the reference runs on many, a few with different answers are kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from novelapi.execution.zygote import Zygote
from novelapi.generation import drafts, trials
from novelapi.generation.sealing import Chosen, Rejected
from novelapi.records.task import Task, TaskInput

WANTED = 5
LEAST = 3
VISIBLE = 1

MakeTask = Callable[[list[TaskInput]], Task]
"""Writes a draft down with some inputs, for a trial."""


def choose(
    zygote: Zygote, make_task: MakeTask, inputs: Sequence[TaskInput], names: Sequence[str], *, guarded: bool = False
) -> Chosen:
    """Run the reference on many inputs and keep a few with different answers, the first of them visible.

    Args:
        zygote: where it runs.
        make_task: writes the draft down.
        inputs: what may be chosen.
        names: parameters of the entry point.
        guarded: whether a refusal by the library is an answer.

    Raises:
        Rejected: too few different answers, or they say nothing that the caller did not know.
    """
    answers = trials.answers_of(zygote, make_task(list(inputs)))
    if isinstance(answers, str):
        raise Rejected(f"the reference does not run ({answers.split(':')[0]})")
    positions = trials.choose_inputs(inputs, answers, WANTED)
    if len(positions) < LEAST:
        failed = [trials.explain(answer) for answer in answers if not answer.is_value]
        few = len(failed) < len(answers) // 2
        raise Rejected("too few inputs with different answers" if few else "inputs cannot be varied")
    hidden = [
        TaskInput(args=inputs[position].args, hidden=order >= VISIBLE) for order, position in enumerate(positions)
    ]
    values = tuple(answers[position].value for position in positions)
    if guarded and not 0 < values.count(drafts.REFUSED) <= len(values) // 2:
        raise Rejected("inputs cannot be varied")
    if trials.repeats(values, trials.arguments_of(zygote, make_task(hidden), names)):
        raise Rejected("the result only repeats the arguments")
    return Chosen(inputs=tuple(hidden), values=values)
