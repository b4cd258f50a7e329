"""Start platforms: in forks of loaded code where the system can do that, else by the command line.

The server of projects has one starter. Its template (code_template.py) is started with the server and loads in the background; orders wait until it
has. If it ends, platforms are started by the command line.
"""

import asyncio
import contextlib
import json
import os
import socket
import sys
from collections.abc import Mapping

import msgspec

from broker.processes.fork_orders import FORK_FD
from services.projects.code_template import ORDER
from services.projects.platform_start import PlatformTask
from services.supervisor.processes.fork_plan import bare
from services.supervisor.processes.forks import is_supported
from services.supervisor.processes.spawn import read_pipe


class PlatformStarter:
    """Starts platforms; `close` ends the template."""

    def __init__(self) -> None:
        self._socket: socket.socket | None = None
        self._template: asyncio.subprocess.Process | None = None

    async def open(self) -> None:
        """Start the template, where the system can fork so."""
        if not is_supported():
            return
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._template = await asyncio.create_subprocess_exec(
                sys.executable, "-P", "-m", "services.projects.code_template",
                env={**bare(os.environ), FORK_FD: str(theirs.fileno())},
                cwd="/",
                stdin=asyncio.subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )  # fmt: skip
        ours.setblocking(False)
        self._socket = ours

    async def start(self, task: PlatformTask, environment: Mapping[str, str]) -> tuple[int, str]:
        """Start a platform; return the exit code and what was printed as errors. Raises: OSError."""
        if self._socket is not None and self._template is not None and self._template.returncode is None:
            with contextlib.suppress(OSError, ValueError):  # it ends, or the platform's process was killed
                return await self._fork(self._socket, task, environment)
        return await _run(task, environment)

    def close(self) -> None:
        """End the template."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    async def _fork(
        self, template: socket.socket, task: PlatformTask, environment: Mapping[str, str]
    ) -> tuple[int, str]:
        """Order a fork. Raises: OSError if the template is gone, ValueError if the fork ended without an exit code."""
        order = _order_file(task, environment)
        errors, errors_end = os.pipe()
        reply, reply_end = os.pipe()
        try:
            socket.send_fds(template, [ORDER], [order, errors_end, reply_end])
        except BaseException:
            os.close(errors)
            os.close(reply)
            raise
        finally:
            for descriptor in (order, errors_end, reply_end):
                os.close(descriptor)
        text, code = await asyncio.gather(_read_all(errors), _read_all(reply))
        return int(code), text.decode(errors="replace")


def _order_file(task: PlatformTask, environment: Mapping[str, str]) -> int:
    """Write an order into a file in memory; return its descriptor, positioned at the beginning."""
    descriptor = os.memfd_create("headwater-order", os.MFD_CLOEXEC)
    content = {"environment": dict(environment), "task": msgspec.to_builtins(task)}
    with open(descriptor, "wb", closefd=False) as file:
        file.write(json.dumps(content).encode())
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


async def _run(task: PlatformTask, environment: Mapping[str, str]) -> tuple[int, str]:
    """Start a platform by the command line."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", "services.projects.platform_start",
        env=environment,
        cwd="/",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,  # Ctrl-C reaches the server alone
    )  # fmt: skip
    try:
        _, errors = await process.communicate(msgspec.json.encode(task))
    finally:
        with contextlib.suppress(ProcessLookupError):
            if process.returncode is None:
                process.kill()
    return process.returncode or 0, errors.decode(errors="replace")


async def _read_all(descriptor: int) -> bytes:
    """Read a pipe to its end and close it."""
    pieces: list[bytes] = []
    ended = asyncio.Event()
    read_pipe(descriptor, pieces.append, ended.set)
    await ended.wait()
    return b"".join(pieces)
