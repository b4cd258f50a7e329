"""System calls of a child process: start it by its command line, tie its life to ours, and read its pipes."""

import asyncio
import contextlib
import ctypes
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from services.supervisor.postgres.system_user import run_as
from services.supervisor.processes.plan import ChildPlan

_READ_SIZE = 64 * 1024
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


async def spawn(
    process: ChildPlan, folder: Path, output: int, passed: Mapping[str, Sequence[int]]
) -> asyncio.subprocess.Process:
    """Start a process by its command line. `passed` are descriptors for it, by the variables that name them.

    Raises: OSError.
    """
    variables = {name: ",".join(map(str, numbers)) for name, numbers in passed.items()}
    return await asyncio.create_subprocess_exec(
        *process.argv,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        env={**process.environment, **variables},
        cwd=folder,
        pass_fds=[number for numbers in passed.values() for number in numbers],
        start_new_session=True,
        preexec_fn=signal_at_parent_death(os.getpid(), process.stop_signal),
        **run_as(process.user),
    )


def signal_at_parent_death(parent: int, number: int) -> Callable[[], None] | None:
    """Return what a child runs before its program: the kernel then sends it a signal when the parent dies."""
    if _LIBC is None:
        return None
    prctl = _LIBC.prctl

    def request_signal() -> None:
        prctl(_PR_SET_PDEATHSIG, number)
        if os.getppid() != parent:  # the parent died before prctl: no signal will come
            os._exit(1)

    return request_signal


def read_pipe(
    descriptor: int, on_data: Callable[[bytes], None], on_end: Callable[[], None] = lambda: None
) -> None:
    """Read a pipe until its end and close it; the event loop calls `on_data` with each piece, then `on_end`."""
    loop = asyncio.get_running_loop()
    os.set_blocking(descriptor, False)

    def read() -> None:
        try:
            data = os.read(descriptor, _READ_SIZE)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            on_data(data)
        else:
            loop.remove_reader(descriptor)
            os.close(descriptor)
            on_end()

    loop.add_reader(descriptor, read)


def exit_text(code: int) -> str:
    """Return an exit code in words: code 1, signal SIGKILL."""
    if code < 0:
        with contextlib.suppress(ValueError):
            return f"signal {signal.Signals(-code).name}"
    return f"code {code}"
