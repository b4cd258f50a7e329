"""Forks of a supervisor that has loaded all code, made before it has a loop or threads; each waits to become one of its programs.

A supervisor that was forked from loaded code (services/projects/code_template.py) starts the fork server and the migrations in such forks:
loading is most of the time of a start. A further start of either, after a kill, uses the command line.
"""

import ctypes
import json
import os
import signal
import socket
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path

from broker.processes.program_modules import module_of
from broker.processes.title import show_command
from services.supervisor.processes.forks import ForkedProcess
from services.supervisor.processes.plan import ChildPlan

_PR_SET_PDEATHSIG = 1
_ORDER_BYTES = 1 << 18
_MOST_DESCRIPTORS = 16
_PROGRAMS = ("broker.processes.fork_server", "workers")
"""Modules that a start runs by a command line of our interpreter: the fork server, and `workers migrate`."""


class PreparedPrograms:
    """The waiting forks; they end with this process."""

    def __init__(self) -> None:
        self._waiting = [PreparedProgram() for _ in _PROGRAMS]

    def take(self, process: ChildPlan) -> "PreparedProgram | None":
        """Return a fork that may become a program of ours, or None if the program is started by its command line."""
        is_ours = process.argv[0] == sys.executable and "-m" in process.argv and process.user is None
        if not (self._waiting and is_ours and process.argv[process.argv.index("-m") + 1] in _PROGRAMS):
            return None
        return self._waiting.pop()

    def close(self) -> None:
        """Let the forks that wait still exit."""
        while self._waiting:
            self._waiting.pop().close()


class PreparedProgram:
    """One fork."""

    def __init__(self) -> None:
        self._orders, waiting = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        supervisor = os.getpid()
        self._pid = os.fork()
        if self._pid == 0:
            self._orders.close()
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != supervisor:
                os._exit(1)
            _become(waiting)
        waiting.close()

    def become(
        self, process: ChildPlan, folder: Path, output: int, passed: Mapping[str, Sequence[int]]
    ) -> ForkedProcess:
        """Run a program there. `passed` are its descriptors, by the variables that name them. Raises: OSError."""
        order = {
            "argv": list(process.argv),
            "environment": dict(process.environment),
            "folder": str(folder),
            "stop_signal": int(process.stop_signal),
            "passed": {name: len(numbers) for name, numbers in passed.items()},
        }
        descriptors = [number for numbers in passed.values() for number in numbers]
        with self._orders:
            socket.send_fds(self._orders, [json.dumps(order).encode()], [output, *descriptors])
        return ForkedProcess(self._pid)

    def close(self) -> None:
        """Let the fork exit."""
        self._orders.close()


def run_module(argv: Sequence[str]) -> int:
    """Run `python -m MODULE ARGUMENTS` as its command line would, and return its exit code."""
    module, *arguments = argv[argv.index("-m") + 1 :]
    sys.argv = [module, *arguments]
    show_command(list(argv))
    code: int = module_of(module).main()
    return code


def _become(orders: socket.socket) -> None:
    """Wait for an order, become the program as its command line would, and exit with its code."""
    code: object = 1
    try:
        with orders:
            message, descriptors, _, _ = socket.recv_fds(orders, _ORDER_BYTES, _MOST_DESCRIPTORS)
        if not message:
            os._exit(0)
        order = json.loads(message)
        os.setsid()
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, order["stop_signal"])
        output, *passed = descriptors
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.close(output)
        os.chdir(order["folder"])
        numbers = iter(passed)
        os.environ.clear()
        os.environ.update(order["environment"])
        for name, count in order["passed"].items():
            os.environ[name] = ",".join(str(next(numbers)) for _ in range(count))
        code = run_module(order["argv"])
    except SystemExit as end:
        code = end.code
    except BaseException:  # last handler of this process: its log gets the reason
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))
