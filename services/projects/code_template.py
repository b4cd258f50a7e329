"""A process that has loaded the platform's code once: platforms that wake are forked from it (`python -P -m services.projects.code_template`).

    server --(socket: environment and task; descriptors of errors and exit code)--> template
                                                                                      | fork
                                                          platform_start.start_platform, which detaches the platform

Loading takes most of the time of a start, and the projects share the memory of the code. Like the fork server of a platform, this process has
one thread, no loop, no settings and no secrets: an order is read by the forked process alone. Projects that were forked from it share its
address layout and hash seed, until the server is started again.
"""

import gc
import importlib
import json
import os
import select
import socket
import sys
import threading
import traceback
from contextlib import suppress

import msgspec

from broker.processes.definition_cache import stored_definitions
from broker.processes.fork_orders import FORK_FD
from broker.processes.program_modules import module_of
from broker.processes.title import show_command
from services.projects import platform_start
from services.projects.platform_start import PlatformTask

ORDER = b"o"
_REAP_S = 5.0
_PROGRAMS = (
    "workers rest graphql auth storage scheduler management",
    "workers replication realtime",
    "workers images",
    "workers migrate",
    "workers.functions.placeholder",
    "services gateway mail",
)
"""What a platform with default settings runs; others load what they lack themselves."""


def main() -> int:
    """Load, then fork for each order until the server closes its end."""
    orders = socket.socket(fileno=int(os.environ.pop(FORK_FD)))
    gc.disable()  # a collection while loading would find nothing to free
    with stored_definitions("programs"):
        for module, *arguments in (program.split() for program in _PROGRAMS):
            preload = getattr(module_of(module), "preload", None)
            if preload is not None:
                preload(arguments)
    importlib.import_module("services.supervisor.processes.prepared_programs")
    gc.enable()
    if threading.active_count() > 1 or len(os.listdir("/proc/self/task")) > 1:
        print("headwater: an import started a thread; nothing can be forked safely", file=sys.stderr)
        return 1
    gc.collect()
    gc.freeze()  # without this the collector would write to, and so copy, every shared page
    while True:
        readable = select.select([orders], [], [], _REAP_S)[0]
        _reap()
        if not readable:
            continue
        message, descriptors, _, _ = socket.recv_fds(orders, len(ORDER), 3)
        if not message:
            return 0
        if os.fork() == 0:
            orders.close()
            _start(*descriptors)
        for descriptor in descriptors:
            os.close(descriptor)


def _reap() -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _start(order: int, errors: int, reply: int) -> None:
    """Start a platform in the forked process, and write the exit code into the pipe `reply`."""
    code = 1
    try:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for number, descriptor in ((0, null), (1, null), (2, errors)):
            os.dup2(descriptor, number)
        os.close(null)
        os.close(errors)
        os.set_inheritable(reply, False)
        with open(order, "rb") as file:
            content = json.load(file)
        os.environ.clear()
        os.environ.update(content["environment"])
        os.chdir("/")
        show_command([sys.executable, "-P", "-m", "services.projects.platform_start"])
        task = msgspec.convert(content["task"], PlatformTask)
        code = platform_start.start_platform(task, is_loaded=True, closed_later=(reply,))
    except BaseException:  # last handler of this process: the server reports the reason
        traceback.print_exc()
    os.write(reply, b"%d\n" % code)
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
