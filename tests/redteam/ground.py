"""Where attacks run: one warm parent and one prepared task for all of them."""

import time

from novelapi.evaluation import extraction, outcome
from novelapi.execution.environments import python_environment
from novelapi.execution.harness import prepare
from novelapi.execution.limits import SampleLimits
from novelapi.execution.trial import observe
from novelapi.execution.zygote import Zygote
from tests.sandbox.tasks import PAIRWISE


class Ground:
    """Runs completions as samples of PAIRWISE, under small limits."""

    limits = SampleLimits(cpu_s=1.0, memory_mb=512)

    def __init__(self, launcher=None):
        self.zygote = Zygote(python_environment(), ("itertools",), launcher=launcher)
        self.harness = prepare(self.zygote, PAIRWISE)
        assert self.harness.integrity == "strong"

    def run(self, text):
        code = extraction.extract(text, PAIRWISE.entry_point, PAIRWISE.signature).code
        started = time.monotonic()
        seen = observe(self.zygote, PAIRWISE, self.harness, code, "fork", limits=self.limits)
        self.elapsed = time.monotonic() - started
        assert seen.infra is None, seen.infra
        return outcome.row(PAIRWISE, self.harness, seen, sample=0, text=text)
