"""Signs of life of one process, for whoever watches it from outside.

A process whose event loop turns gives a sign every two seconds, in two forms:

- a line `alive` in the pipe on which it reported `ready` to its supervisor. A supervisor that has seen one and then sees
  none for a while kills the process and starts it again (`services/supervisor/processes/supervise.py`): a loop that hangs, or a
  process that was stopped by SIGSTOP, keeps its connections open, so neither NATS nor Postgres notices. Behind the word
  stand the faults that the process knows of (`broker/observability/faults.py`); a fault that is new or over is written at once.
- a new date of the file that `HEADWATER_ALIVE_FILE` names, which holds the process's id: a container's health check needs
  no port, no credentials and no Python then. It looks at the file's age, and kills a process that is silent, so that the
  container is started again (`docker-compose.yml` shows it). A file that an earlier process left in the container is
  removed before anything else, or the check would take its age for ours.

Both report on this one process only; `/health/ready` of an edge reports whether the platform can answer.
"""

import asyncio
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from broker.observability.faults import FAULTS
from broker.processes.status_lines import sign_with

ALIVE_FILE = "HEADWATER_ALIVE_FILE"
EVERY_S = 2.0


def forget_earlier(environment: Mapping[str, str]) -> None:
    """Remove the file of an earlier process, if the environment names one."""
    if path := environment.get(ALIVE_FILE, ""):
        with suppress(OSError):
            Path(path).unlink(missing_ok=True)


def begin_heartbeat(environment: Mapping[str, str], pipe: int | None) -> "asyncio.Task[None] | None":
    """Start to give signs of life in a pipe and in the file that the environment names; cancel the task to end it.

    The task owns the descriptor and closes it, at the latest when nobody reads the pipe any more.
    """
    path = environment.get(ALIVE_FILE, "")
    if not path and pipe is None:
        return None
    if pipe is not None:
        os.set_blocking(pipe, False)
    beating = _beat(Path(path) if path else None, pipe)
    return asyncio.get_running_loop().create_task(beating, name="heartbeat")


async def _beat(path: Path | None, pipe: int | None) -> None:
    changed = asyncio.Event()
    FAULTS.on_change.append(changed.set)
    try:
        while True:
            changed.clear()
            if pipe is not None and not _sign(pipe):
                os.close(pipe)
                pipe = None
            if path is not None:
                with suppress(OSError):  # a full disk must not end a process that works
                    path.write_text(f"{os.getpid()}\n")  # noqa: ASYNC240 - one small file in memory or on the own disk
            with suppress(TimeoutError):
                async with asyncio.timeout(EVERY_S):
                    await changed.wait()
    finally:
        FAULTS.on_change.remove(changed.set)
        if pipe is not None:
            os.close(pipe)
        if path is not None:
            with suppress(OSError):
                path.unlink(missing_ok=True)  # noqa: ASYNC240 - as above


def _sign(pipe: int) -> bool:
    """Write one sign; return False if the reader is gone. A full pipe holds enough of them."""
    try:
        os.write(pipe, sign_with(FAULTS.present))
    except BlockingIOError:
        return True
    except OSError:
        return False
    return True
