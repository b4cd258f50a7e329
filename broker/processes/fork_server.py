"""A process that has loaded our programs and forks each of them when the supervisor asks.

    python -P -m broker.processes.fork_server 'workers rest auth' 'services gateway' ...

Loading takes most of the time of a start (2 s of 2.2 s for the pools); a fork of a process that has loaded everything takes
some 10 ms, and all forked processes share the memory of the loaded code. A word of the command line is a program: a module
and its arguments. A module `m` is `m.__main__` if there is one; its `main()` is what a forked process runs, and its
`preload(arguments)`, if it has one, imports what that run will need.

    supervisor --(socket HEADWATER_FORK_FD: one byte, descriptors)--> fork server
                                                                       | fork
                                                                       middle process, exits at once
                                                                       | fork
    supervisor <--(pipe `born`: process id)-------------------------- the program's process, a child of the supervisor

- Only a process with one thread and no event loop may be forked: another thread could hold a lock, and the copy of that lock
  would stay locked for ever. So this program starts neither, opens no connection, and stops if an import has started a thread.
- The forked process is to be the supervisor's child, not ours: it must outlive us, and the supervisor awaits its exit code.
  The supervisor is a subreaper (prctl(2), `PR_SET_CHILD_SUBREAPER`), so a process whose parent has exited becomes its child.
- No secret comes into our memory, or each later process would have a copy: our environment holds no settings, and an order,
  which holds those of a program, is a file that only the forked process reads. Its descriptors are closed here at once; a
  forked process keeps its own and no other.
- Processes that were forked from one share its address layout and its hash seed; both are new with each start of the platform.
"""

import ctypes
import gc
import importlib
import importlib.util
import os
import select
import socket
import sys
import threading
import time
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Final

import msgspec

from broker.processes.heartbeat import EVERY_S
from broker.processes.status_lines import SIGN
from broker.processes.title import show_command

READY_FD: Final = "HEADWATER_READY_FD"
FORK_FD: Final = "HEADWATER_FORK_FD"
FORK: Final = b"f"
"""The one byte that asks for a fork; the descriptors travel with it."""
MOST_DESCRIPTORS: Final = 16
_PR_SET_PDEATHSIG = 1
_ADOPTED_S = 5.0
_POLL_S = 0.0005


class ForkOrder(msgspec.Struct, frozen=True):
    """What to fork, as the forked process reads it from a descriptor (`memfd_create`)."""

    argv: list[str]
    """The command that `ps` shows: it would start the same program by itself."""
    program: list[str]
    """The module and its arguments."""
    environment: dict[str, str]
    folder: str
    stop_signal: int
    descriptors: list[tuple[str, int]]
    """Environment variables, and how many of the request's descriptors each of them names.

    The request's first three descriptors are this order, the output, and the pipe for the process id.
    """


def main() -> int:
    """Load, then fork until the supervisor closes its end; in a forked process run the program and return its exit code."""
    programs = [word.split() for word in sys.argv[1:]]
    control = socket.socket(fileno=int(os.environ.pop(FORK_FD)))
    pipe = int(os.environ.pop(READY_FD))
    supervisor = os.getppid()
    gc.disable()  # a collection during the load finds nothing
    for module, *arguments in programs:
        _preload(module, arguments)
    gc.enable()
    if (threads := threading.active_count()) > 1 or _kernel_threads() > 1:
        print(
            f"headwater: an import started a thread ({threads}); nothing can be forked safely",
            file=sys.stderr,
        )
        return 1
    gc.collect()
    gc.freeze()  # the collector leaves what is loaded alone, or it would write to, and so copy, every shared page
    order = _serve(control, pipe, supervisor)
    return _run(order) if order is not None else 0


def module_of(name: str) -> ModuleType:
    """Import the module that holds the `main()` of a program."""
    entry = f"{name}.__main__"
    is_package = importlib.util.find_spec(name)
    if is_package is not None and is_package.submodule_search_locations is not None:
        name = entry
    return importlib.import_module(name)


def _preload(name: str, arguments: Sequence[str]) -> None:
    preload: Callable[[Sequence[str]], None] | None = getattr(module_of(name), "preload", None)
    if preload is not None:
        preload(arguments)


def _serve(control: socket.socket, pipe: int, supervisor: int) -> ForkOrder | None:
    """Fork for each order. Returns None when the supervisor is gone; in a forked process its order."""
    os.set_blocking(pipe, False)
    if not _report(pipe, b"ready\n"):
        return None
    while True:
        readable = select.select([control], [], [], EVERY_S)[0]
        if not _report(pipe, SIGN):
            return None
        if not readable:
            continue
        request, descriptors, _, _ = socket.recv_fds(control, len(FORK), MOST_DESCRIPTORS)
        if not request:
            return None
        middle = os.fork()
        if middle == 0:
            _exit_as_middle()
            control.close()
            os.close(pipe)
            return _settle(descriptors, supervisor)
        for descriptor in descriptors:
            os.close(descriptor)
        os.waitpid(middle, 0)


def _exit_as_middle() -> None:
    """Fork once more and exit in the parent: the new process loses its parent and becomes the supervisor's child."""
    try:
        if os.fork() != 0:
            os._exit(0)
    except OSError:  # no more processes: the supervisor sees the end of its pipe
        os._exit(1)


def _settle(descriptors: Sequence[int], supervisor: int) -> ForkOrder:
    """Make this forked process what a started one would be: its session, parent, output, folder and environment."""
    os.setsid()
    written, output, born, *named = descriptors
    with open(written, "rb") as file:
        order = msgspec.json.decode(file.read(), type=ForkOrder)
    _await_adoption(supervisor, order.stop_signal)
    for standard in (1, 2):
        os.dup2(output, standard)
    os.close(output)
    os.chdir(order.folder)
    os.environ.clear()
    os.environ.update(order.environment)
    numbers = iter(named)
    for variable, count in order.descriptors:
        os.environ[variable] = ",".join(str(next(numbers)) for _ in range(count))
    try:
        os.write(born, b"%d\n" % os.getpid())
    except OSError:  # the supervisor no longer waits for us: it has started another process instead
        os._exit(0)
    os.close(born)
    return order


def _await_adoption(supervisor: int, stop_signal: int) -> None:
    """Wait until this process is the supervisor's child, and ask for a signal when the supervisor dies."""
    deadline = time.monotonic() + _ADOPTED_S
    while os.getppid() != supervisor:
        if time.monotonic() > deadline:
            os._exit(1)
        time.sleep(_POLL_S)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, stop_signal)
    if os.getppid() != supervisor:
        os._exit(1)


def _run(order: ForkOrder) -> int:
    """Run the program as if it had been started by its command line; return its exit code."""
    module, *arguments = order.program
    show_command(order.argv)
    sys.argv = [module, *arguments]
    code: int = module_of(module).main()
    return code


def _report(pipe: int, line: bytes) -> bool:
    """Write a line into the supervisor's pipe; return False if the supervisor is gone."""
    try:
        os.write(pipe, line)
    except BlockingIOError:  # the reader is slow; the pipe holds enough signs
        return True
    except OSError:
        return False
    return True


def _kernel_threads() -> int:
    """Return how many threads the kernel counts in this process: libraries start some that Python does not know."""
    return len(os.listdir("/proc/self/task"))


if __name__ == "__main__":
    sys.exit(main())
