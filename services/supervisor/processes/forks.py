"""The supervisor's side of the fork server (`broker/processes/fork_server.py`): it requests processes and becomes their parent.

A forked process becomes a child of this process when the intermediate process between it and the fork server exits, because
this process is a subreaper (`prctl(PR_SET_CHILD_SUBREAPER)`). A subreaper also becomes the parent of every process below it
that loses its own: decoders of a killed images pool, processes of functions, sessions of a killed database server.
`OrphanReaper` reads the exit status of those; otherwise they would remain as zombies.
"""

import asyncio
import ctypes
import os
import signal
import socket
import sys
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from broker.processes.fork_orders import FORK, ForkOrder
from services.supervisor.processes.plan import ChildPlan

_PR_SET_CHILD_SUBREAPER = 36
_READ = 64
_LOST_STATUS = 255
"""Exit code of a process whose status other code of this process has already read, as in asyncio."""


class ForkFailed(Exception):
    """The fork server does not run, or it could not fork."""


class ForkedProcess:
    """A forked child of this process, with the part of `asyncio.subprocess.Process` that a `Child` uses."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._exited = asyncio.Event()
        self._handle = os.pidfd_open(pid)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._handle, self._read_status)

    async def wait(self) -> int:
        """Wait until the process exits; return its exit code, negative for a signal."""
        await self._exited.wait()
        return self.returncode or 0

    def send_signal(self, number: int) -> None:
        """Send a signal through the pidfd, so that no later process with the same id gets it. Raises: ProcessLookupError."""
        if self.returncode is None:
            signal.pidfd_send_signal(self._handle, number)

    def _read_status(self) -> None:
        try:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
        except ChildProcessError:
            self.returncode = _LOST_STATUS
        else:
            if pid == 0:
                return
            self.returncode = os.waitstatus_to_exitcode(status)
        self._loop.remove_reader(self._handle)
        os.close(self._handle)
        self._exited.set()


class ForkServer:
    """The connection to the running fork server; each start of one gets a new connection."""

    def __init__(self) -> None:
        self._control: socket.socket | None = None

    def connect(self) -> socket.socket:
        """Return the end of a new connection that the next fork server inherits."""
        self.close()
        self._control, server_end = socket.socketpair()
        self._control.setblocking(False)
        return server_end

    def close(self) -> None:
        """Close the connection: the fork server exits."""
        if self._control is not None:
            self._control.close()
            self._control = None

    async def fork(
        self, process: ChildPlan, folder: Path, output: int, passed: Mapping[str, Sequence[int]]
    ) -> ForkedProcess:
        """Request the fork of a program; `passed` are its descriptors, by the variables that will name them.

        Waits while the fork server is loading. Raises: ForkFailed; the supervisor then starts the program by its command line.
        """
        if self._control is None:
            raise ForkFailed
        order = ForkOrder(
            argv=list(process.argv),
            program=list(program_of(process)),
            environment=dict(process.environment),
            folder=str(folder),
            stop_signal=process.stop_signal,
            descriptors=[(variable, len(numbers)) for variable, numbers in passed.items()],
        )
        pid_pipe, pid_pipe_end = os.pipe()
        order_file = _order_file(order)
        descriptors = [number for numbers in passed.values() for number in numbers]
        try:
            socket.send_fds(self._control, [FORK], [order_file, output, pid_pipe_end, *descriptors])
        except OSError:
            os.close(pid_pipe)
            raise ForkFailed from None
        finally:
            os.close(pid_pipe_end)
            os.close(order_file)
        try:
            return ForkedProcess(int(await read_to_end(pid_pipe)))
        except (ValueError, OSError):
            raise ForkFailed from None


class OrphanReaper:
    """Reads the status of exited children that this process has not started.

    asyncio reads the status of its own children and must find it, so a process is reaped only if it had already exited at the
    previous call.
    """

    def __init__(self) -> None:
        self._seen: set[int] = set()

    def reap(self, awaited: Collection[int]) -> None:
        """Reap orphans that have exited; `awaited` are the processes that other code of this process waits for."""
        zombies = {pid for pid in _children() if pid not in awaited and _has_exited(pid)}
        for pid in zombies & self._seen:
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        self._seen = zombies - self._seen


def is_supported() -> bool:
    """Return whether this system can do what a fork server needs (pidfd: Linux 5.3, memfd)."""
    if sys.platform != "linux":
        return False
    try:
        os.close(os.pidfd_open(os.getpid()))
        os.close(os.memfd_create("headwater"))
    except OSError:
        return False
    return True


def become_subreaper() -> None:
    """Make this process a subreaper: it becomes the parent of orphans below it. Raises: OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "the supervisor cannot adopt the processes below it")


def program_of(process: ChildPlan) -> tuple[str, ...]:
    """Return the module and the arguments of a command `python -P -m MODULE ARGUMENT...`."""
    return process.argv[process.argv.index("-m") + 1 :]


def _order_file(order: ForkOrder) -> int:
    """Write an order into a file in memory; return its descriptor, positioned at the beginning."""
    descriptor = os.memfd_create("headwater-order", os.MFD_CLOEXEC)
    with open(descriptor, "wb", closefd=False) as file:
        file.write(msgspec.json.encode(order))
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


async def read_to_end(pipe: int) -> bytes:
    """Read a pipe to its end and close it. The loop reads it, so that nothing blocks."""
    loop = asyncio.get_running_loop()
    os.set_blocking(pipe, False)
    pieces: list[bytes] = []
    ended = asyncio.Event()

    def read() -> None:
        try:
            piece = os.read(pipe, _READ)
        except BlockingIOError:
            return
        pieces.append(piece)
        if not piece:
            loop.remove_reader(pipe)
            ended.set()

    loop.add_reader(pipe, read)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(pipe)
        os.close(pipe)
    return b"".join(pieces)


def _children() -> list[int]:
    try:
        return [int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]
    except (OSError, ValueError):  # a kernel without this list: zombies stay until this process exits
        return []


def _has_exited(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (OSError, IndexError):
        return False
