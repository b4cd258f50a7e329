"""Load the platform's programs once, and fork a process for each when the supervisor requests it.

    python -P -m broker.processes.fork_server 'workers rest auth' 'services gateway' ...

Loading takes most of the time of a start (2 s of 2.2 s for the pools). A fork of a process that has loaded everything
takes some 10 ms, and all forked processes share the memory of the loaded code. Each argument of the command line is a
program: a module and its arguments. A module `m` is `m.__main__` if that exists. A forked process runs its `main()`;
its `preload(arguments)`, if it has one, imports what that run will need, and its `warm_up(arguments, settings)` does once what
each run does in the same way (`broker/processes/warm_up.py`).

    supervisor --(socket HEADWATER_FORK_FD: one byte, descriptors)--> fork server
                                                                       | fork
                                                                       middle process, exits at once
                                                                       | fork
    supervisor <--(pipe `born`: process id)-------------------------- the program's process, a child of the supervisor

- Only a process with one thread and no event loop may be forked: another thread could hold a lock, and the copy of
  that lock would stay locked for ever. So this program starts neither, opens no connection, and stops if an import
  has started a thread.
- The forked process must be the supervisor's child, not a child of the fork server: it must outlive the fork server,
  and the supervisor awaits its exit code. The supervisor is a subreaper (prctl(2), `PR_SET_CHILD_SUBREAPER`), so a
  process whose parent has exited becomes its child.
- Secrets must not enter the memory of the fork server, or every later process would have a copy. So its environment
  contains no settings, and an order, which contains those of a program, is a file that only the forked process reads.
  The descriptors of an order are closed here at once; a forked process keeps only its own.
- Processes that were forked from the same process share its address layout and hash seed. Both change with each start
  of the platform.
"""

import ctypes
import gc
import importlib
import os
import select
import socket
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from broker.processes.allocation_gaps import fill_large_gaps, filled_gaps
from broker.processes.definition_cache import stored_definitions
from broker.processes.fork_orders import FORK, FORK_FD, ForkOrder
from broker.processes.heartbeat import EVERY_S
from broker.processes.mapped_files import release_file_pages
from broker.processes.program_modules import module_of
from broker.processes.status_lines import HEARTBEAT, READY
from broker.processes.title import show_command
from broker.processes.warm_up import warm_up
from schemas.settings.tree import Settings

READY_FD: Final = "HEADWATER_READY_FD"
MOST_DESCRIPTORS: Final = 16
_PR_SET_PDEATHSIG = 1
_LIBRARIES = (
    "aiohttp.web",
    "asyncpg",
    "cryptography.x509",
    "jwt",
    "nats.js",
    "prometheus_client",
    "structlog",
)
_ADOPTED_S = 5.0
_POLL_S = 0.0005


def main() -> int:
    """Load the programs, then fork until the supervisor closes its end; a forked process runs its program and returns its exit code."""
    programs = [word.split() for word in sys.argv[1:]]
    control = socket.socket(fileno=int(os.environ.pop(FORK_FD)))
    pipe = int(os.environ.pop(READY_FD))
    supervisor = os.getppid()
    gc.disable()  # a collection while loading would find nothing to free
    load_programs(programs)
    gc.enable()
    if (threads := threading.active_count()) > 1 or _kernel_threads() > 1:
        print(
            f"headwater: an import started a thread ({threads}); nothing can be forked safely",
            file=sys.stderr,
        )
        return 1
    gc.collect()
    gaps = filled_gaps()
    fill_large_gaps()
    gc.freeze()  # without this the collector would write to, and so copy, every shared page
    release_file_pages()
    order = _serve(control, pipe, supervisor)
    code = _run(order) if order is not None else 0
    del gaps  # until here: what they fill may not become free again
    return code


def load_programs(programs: Sequence[Sequence[str]]) -> None:
    """Import what these programs need, and do once what each would do."""
    with stored_definitions("programs"):
        _load_libraries()
        for module, *arguments in programs:
            _preload(module, arguments)
        _warm_up(programs)


def _load_libraries() -> None:
    """Import what every program imports, and exempt it from the collection after loading, which takes time for each object that it visits."""
    for library in _LIBRARIES:
        importlib.import_module(library)
    gc.freeze()


def _preload(name: str, arguments: Sequence[str]) -> None:
    preload: Callable[[Sequence[str]], None] | None = getattr(module_of(name), "preload", None)
    if preload is not None:
        preload(arguments)


def _warm_up(programs: Sequence[Sequence[str]]) -> None:
    settings = warm_up()
    msgspec.json.decode(msgspec.json.encode(ForkOrder([], [], {}, "", 0, [])), type=ForkOrder)
    for name, *arguments in programs:
        program: Callable[[Sequence[str], Settings], None] | None = getattr(module_of(name), "warm_up", None)
        if program is not None:
            program(arguments, settings)


def _serve(control: socket.socket, pipe: int, supervisor: int) -> ForkOrder | None:
    """Fork for each order. Returns None when the supervisor is gone, and its order in a forked process."""
    os.set_blocking(pipe, False)
    if not _report(pipe, READY):
        return None
    while True:
        readable = select.select([control], [], [], EVERY_S)[0]
        if not _report(pipe, HEARTBEAT):
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
    """Fork again and exit in the parent: the new process loses its parent and becomes the supervisor's child."""
    try:
        if os.fork() != 0:
            os._exit(0)
    except OSError:  # the process limit is reached: the supervisor sees the end of its pipe
        os._exit(1)


def _settle(descriptors: Sequence[int], supervisor: int) -> ForkOrder:
    """Set session, parent, output, folder and environment as if this process had been started by a command."""
    os.setsid()
    order_file, output, born, *listed = descriptors
    with open(order_file, "rb") as file:
        order = msgspec.json.decode(file.read(), type=ForkOrder)
    _await_adoption(supervisor, order.stop_signal)
    for standard in (1, 2):
        os.dup2(output, standard)
    os.close(output)
    os.chdir(order.folder)
    os.environ.clear()
    os.environ.update(order.environment)
    numbers = iter(listed)
    for variable, count in order.descriptors:
        os.environ[variable] = ",".join(str(next(numbers)) for _ in range(count))
    try:
        os.write(born, b"%d\n" % os.getpid())
    except OSError:  # the supervisor stopped waiting and started another process
        os._exit(0)
    os.close(born)
    return order


def _await_adoption(supervisor: int, stop_signal: int) -> None:
    """Wait until this process is the supervisor's child, and have the kernel send a signal when the supervisor dies."""
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
    except BlockingIOError:  # the reader is slow; the pipe contains enough heartbeats
        return True
    except OSError:
        return False
    return True


def _kernel_threads() -> int:
    """Return the kernel's count of threads: libraries start some that Python does not count."""
    return len(os.listdir("/proc/self/task"))


if __name__ == "__main__":
    sys.exit(main())
