"""Scores answers on a slot of any backend; harnesses are prepared once."""

from novelapi.evaluation.scoring import Job, Sample, preload_of, score
from novelapi.execution.environments import python_environment
from novelapi.execution.pool import Slot
from novelapi.generation.harness import mutants, survivors
from tests.sandbox.labels import libraries


class Bench:
    """One slot."""

    def __init__(self, options):
        self.slot = Slot(options)
        self.harnesses = {}

    def job(self, task, *texts):
        env = python_environment() if task.library == "python" else libraries.environment(task.library)
        samples = tuple(Sample(index=number, text=text) for number, text in enumerate(texts))
        return Job(
            task=task, env=env, samples=samples, preload=preload_of([task]), harness=self.harnesses.get(task.task_id)
        )

    def score(self, task, *texts):
        scored = score(self.slot, self.job(task, *texts))
        assert scored.broken is None, scored.broken
        self.harnesses[task.task_id] = scored.harness
        return [(row.outcome, row.label, row.integrity) for row in scored.rows]

    def survivors(self, task):
        """Run every mutant that the generation of tasks tries; return the names of those that pass."""
        harness = self.harnesses[task.task_id]
        wrong = mutants(task, harness, {})
        assert len(wrong) >= 4
        zygote = self.slot.zygote(self.job(task).env, preload_of([task]))
        return survivors(zygote, task, harness, wrong)
