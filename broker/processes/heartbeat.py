"""Send the heartbeat of this process to its supervisor and to the health check of its container.

A task of the event loop sends it every two seconds, so a process whose loop hangs sends none. It has three forms:

- a line `alive` in the pipe on which the process reported `ready` to its supervisor. A supervisor that has seen one
  and then receives none for a while kills the process and starts it again
  (`services/supervisor/processes/supervise.py`): a process that hangs, or that was stopped by SIGSTOP, keeps its
  connections open, so neither NATS nor Postgres notices. The line also contains the present faults of the process
  (`broker/observability/faults.py`); a fault that is new or over is written at once.
- a new modification time of the file that `HEADWATER_ALIVE_FILE` names, which contains the process id. So the health
  check of a container needs neither a port nor credentials nor Python. It checks the file's age, and kills a silent
  process, so that the container is started again (`docker-compose.yml` shows it). A file of an earlier process in the
  container is removed first, or the check would use its age.
- messages `READY=1` and `WATCHDOG=1` on the socket that systemd names in `NOTIFY_SOCKET`: `Type=notify` waits for the first one, and
  `WatchdogSec` has a silent process killed and started again (sd_notify(3); `deploy/systemd`).

All report on this one process only; `/health/ready` of an edge reports whether the platform can answer.
"""

import asyncio
import os
import socket
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from broker.observability.faults import FAULTS
from broker.processes.status_lines import heartbeat_line

ALIVE_FILE = "HEADWATER_ALIVE_FILE"
NOTIFY_SOCKET = "NOTIFY_SOCKET"
EVERY_S = 2.0
_ALIVE = b"READY=1\nWATCHDOG=1"


def remove_stale_file(environment: Mapping[str, str]) -> None:
    """Remove the file of an earlier process, if the environment names one."""
    if path := environment.get(ALIVE_FILE, ""):
        with suppress(OSError):
            Path(path).unlink(missing_ok=True)


def start_heartbeat(environment: Mapping[str, str], pipe: int | None) -> "asyncio.Task[None] | None":
    """Start to send heartbeats into a pipe and to the file that the environment names; cancel the task to stop.

    The task owns the descriptor and closes it, at the latest when the reader of the pipe is gone.
    """
    path, notified = environment.get(ALIVE_FILE, ""), environment.get(NOTIFY_SOCKET, "")
    if not path and not notified and pipe is None:
        return None
    if pipe is not None:
        os.set_blocking(pipe, False)
    beating = _beat(Path(path) if path else None, pipe, notified)
    return asyncio.get_running_loop().create_task(beating, name="heartbeat")


async def _beat(path: Path | None, pipe: int | None, notified: str) -> None:
    changed = asyncio.Event()
    FAULTS.on_change.append(changed.set)
    try:
        while True:
            changed.clear()
            if pipe is not None and not _send(pipe):
                os.close(pipe)
                pipe = None
            if path is not None:
                with suppress(OSError):  # a full disk must not stop a working process
                    path.write_text(f"{os.getpid()}\n")  # noqa: ASYNC240 - one small file in memory or on the own disk
            if notified:
                _notify(notified)
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


def _notify(address: str) -> None:
    """Send a sign of life to systemd. `@` in front stands for the NUL of an abstract address. Source: sd_notify(3)."""
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.setblocking(False)
        sender.sendto(_ALIVE, "\0" + address[1:] if address.startswith("@") else address)


def _send(pipe: int) -> bool:
    """Write one heartbeat; return False if the reader is gone. A full pipe contains enough of them."""
    try:
        os.write(pipe, heartbeat_line(FAULTS.present))
    except BlockingIOError:
        return True
    except OSError:
        return False
    return True
