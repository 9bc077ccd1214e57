"""The console of the verbs: one line per message, whatever is attached to it."""

from __future__ import annotations

import logging
import os
from pathlib import Path

LOGGING = Path(__file__).with_name("logging.yml")


class OneLine(logging.Formatter):
    """Formats a record as one line; a traceback is on the run's page, not here."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the message without its traceback."""
        plain = logging.makeLogRecord({**record.__dict__, "exc_info": None, "exc_text": None, "stack_info": None})
        return super().format(plain)


def configure_logging() -> None:
    """Choose the console's configuration; must be called before Prefect is imported."""
    os.environ["PREFECT_LOGGING_SETTINGS_PATH"] = str(LOGGING)
    os.environ["PREFECT_LOGGING_EXTRA_LOGGERS"] = "novelapi"
    logging.raiseExceptions = False  # a server that takes no lines is told where a flow needs it, not once per batch
