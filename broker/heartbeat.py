"""A sign of life of one process, for whoever watches it from outside: a file that is touched again and again.

A process that is ready and whose event loop turns touches the file that `HEADWATER_ALIVE_FILE` names. So a health check
needs no port, no credentials and no Python: it looks at the file's age (`docker-compose.yml` shows it). It tells of this one
process only; whether the platform can answer is told by `/health/ready` of an edge.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

ALIVE_FILE = "HEADWATER_ALIVE_FILE"
EVERY_S = 2.0


def begin_heartbeat(environment: Mapping[str, str]) -> "asyncio.Task[None] | None":
    """Begin to touch the file that the environment names, if it names one; cancel the task to end it."""
    path = environment.get(ALIVE_FILE, "")
    if not path:
        return None
    return asyncio.get_running_loop().create_task(_beat(Path(path)), name="heartbeat")


async def _beat(path: Path) -> None:
    try:
        while True:
            with suppress(OSError):  # a full disk must not end a process that works
                path.touch()  # noqa: ASYNC240 - one small file in memory or on the own disk
            await asyncio.sleep(EVERY_S)
    finally:
        with suppress(OSError):
            path.unlink(missing_ok=True)  # noqa: ASYNC240 - as above
