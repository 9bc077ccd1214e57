"""The environment of a Prefect server for several people or machines, as lines for a shell or a service file.

`python -m flows.server_settings DATABASE_URL [REDIS_URL]`: PostgreSQL instead of SQLite, task run states written in
batches, and, with Redis, several server processes behind one address. Imports no Prefect.
"""

from __future__ import annotations

import sys

from flows.server import CAPACITY, QUIET
from novelapi.errors import NovelApiError, UsageError

KEEP_DAYS = 30
"""How long events are kept; each task run leaves three, and their tables outgrow all others."""


def server_environment(database: str, redis: str | None = None) -> dict[str, str]:
    """Return the environment of the server, and of its services where Redis lets them be processes of their own.

    Args:
        database: `postgresql://USER:PASSWORD@HOST/NAME`.
        redis: `redis://HOST:PORT/0`; null keeps messages in the memory of the one server process.

    Raises:
        UsageError: an address is of another kind.
    """
    scheme, separator, rest = database.partition("://")
    if scheme not in {"postgresql", "postgres", "postgresql+asyncpg"} or not separator:
        raise UsageError(f"'{scheme}' is no PostgreSQL address: give postgresql://USER:PASSWORD@HOST/NAME")
    kept = {"PREFECT_SERVER_EVENTS_RETENTION_PERIOD": f"P{KEEP_DAYS}D"}
    found = QUIET | CAPACITY | kept | {"PREFECT_SERVER_DATABASE_CONNECTION_URL": f"postgresql+asyncpg://{rest}"}
    if redis is None:
        return found
    if not redis.startswith(("redis://", "rediss://")):
        raise UsageError(f"'{redis}' is no Redis address: give redis://HOST:PORT/0")
    return found | {
        "PREFECT_MESSAGING_BROKER": "prefect_redis.messaging",
        "PREFECT_MESSAGING_CACHE": "prefect_redis.messaging",
        "PREFECT_SERVER_EVENTS_CAUSAL_ORDERING": "prefect_redis.ordering",
        "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": "prefect_redis.lease_storage",
        "PREFECT_REDIS_MESSAGING_URL": redis,
        "PREFECT_SERVER_DOCKET_URL": redis,
    }


def main(argv: list[str]) -> int:
    """Print the environment as `NAME=value` lines; return the exit code."""
    if len(argv) not in {1, 2}:
        sys.stderr.write("usage: python -m flows.server_settings DATABASE_URL [REDIS_URL]\n")
        return 2
    try:
        lines = [f"{name}={value}\n" for name, value in server_environment(*argv).items()]
    except NovelApiError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    sys.stdout.write("".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
