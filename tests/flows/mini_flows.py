"""The flows as a worker loads them, with the miniature core in the place of the real one."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import miniature

miniature.install()

from flows.adaptation import run_adaptation  # noqa: E402, F401
from flows.cell import run_cells  # noqa: E402, F401
from flows.group import build_group  # noqa: E402, F401
from flows.instance import build_instance  # noqa: E402, F401
from flows.library import build_library  # noqa: E402, F401
from flows.paper_grid import run_paper_grid  # noqa: E402, F401
from flows.rediscover import rediscover  # noqa: E402, F401
from flows.report import write_report  # noqa: E402, F401
