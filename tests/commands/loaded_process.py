"""Load the platform's code once, and run each requested `headwater` command in a fork of this process.

Loading takes 0.35 s of CPU for a command and 2 s more for the programs of a platform, which a run of the tests would
spend some hundred times. A fork takes some 10 ms. The command itself is the one that users type: it gets its words,
environment, folder and standard streams, and runs `services.cli.main`. A program (`python -m workers rest`) is run the same way.

    client.py --(socket: one byte; order, stdout, stderr, reply)--> this process
                                                                      | fork
                                                                      waiting process --(reply: process id, exit code)-->
                                                                      | fork
                                                                      the command

`headwater start` starts two programs of Python itself: the fork server and the migrations. `prepared_programs` has two
forks of the command wait for that; a further start of either (after a kill) uses the command line.
"""

import atexit
import contextlib
import ctypes
import gc
import importlib
import json
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from broker.processes import fork_server
from broker.processes.program_modules import module_of
from broker.processes.title import show_command
from services.cli import start
from services.cli.main import COMMANDS
from services.cli.main import main as run_command
from services.supervisor.processes import child
from services.supervisor.processes.forks import ForkedProcess
from services.supervisor.processes.plan import ChildPlan
from tests.commands.requests import CONTROL, REQUEST

_PROGRAMS = (
    "workers rest graphql auth storage scheduler management",
    "workers replication realtime",
    "workers images",
    "workers migrate",
    "workers.functions.placeholder",
    "services gateway mail",
)
_PREPARED = 2
_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Load everything, then fork for each request until the other end of the socket closes."""
    control = socket.socket(fileno=int(os.environ.pop(CONTROL)))
    gc.disable()
    for module, *arguments in (program.split() for program in _PROGRAMS):
        fork_server._preload(module, arguments)
    for command in COMMANDS:
        importlib.import_module(f"services.cli.{command.replace('-', '_')}")
    start.launch = _with_prepared_programs(start.launch)
    gc.enable()
    gc.collect()
    gc.freeze()
    while True:
        request, descriptors, _, _ = socket.recv_fds(control, len(REQUEST), 4)
        if not request:
            return
        if os.fork() == 0:
            control.close()
            _run_and_report(descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _run_and_report(descriptors: Sequence[int]) -> None:
    """Run the command in a further fork; write its process id, and its exit code when it has ended."""
    order, output, errors, reply = descriptors
    pid = os.fork()
    if pid == 0:
        os.close(reply)
        with open(order, "rb") as file:
            _exit_with(lambda: _command(json.load(file), output, errors))
    os.close(output)
    os.close(errors)
    os.write(reply, b"%d\n" % pid)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.write(reply, b"%d\n" % code)
    os._exit(0)


def _command(order: dict[str, Any], output: int, errors: int) -> int:
    """Become the command: its streams, folder, environment and words."""
    os.dup2(output, 1)
    os.dup2(errors, 2)
    os.close(output)
    os.close(errors)
    os.chdir(order["folder"])
    _set_environment(order["environment"])
    if order["is_program"]:
        return _run_module([sys.executable, "-P", "-m", *order["words"]])
    sys.argv = ["headwater", *order["words"]]
    show_command([sys.executable, "-m", "services.cli.main", *order["words"]])
    run_command()
    return 0


def _with_prepared_programs(launch: Callable[..., None]) -> Callable[..., None]:
    """Return a `launch` whose first programs of Python are forks of this process, made before it has a loop or threads."""
    execute = child.spawn

    def launch_with_programs(*arguments: object, **options: object) -> None:
        prepared = [_PreparedProgram() for _ in range(_PREPARED)]

        async def spawn(
            process: ChildPlan, folder: Path, output: int, passed: Mapping[str, Sequence[int]]
        ) -> Any:
            if prepared and process.argv[0] == sys.executable and "-m" in process.argv:
                return prepared.pop().become(process, folder, output, passed)
            return await execute(process, folder, output, passed)

        child.spawn = spawn
        launch(*arguments, **options)

    return launch_with_programs


class _PreparedProgram:
    """A fork of the supervisor that waits to become one of its programs; it ends with the supervisor."""

    def __init__(self) -> None:
        self._orders, waiting = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        supervisor = os.getpid()
        self._pid = os.fork()
        if self._pid == 0:
            self._orders.close()
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != supervisor:
                os._exit(1)
            _exit_with(lambda: _program(waiting))
        waiting.close()

    def become(
        self, process: ChildPlan, folder: Path, output: int, passed: Mapping[str, Sequence[int]]
    ) -> ForkedProcess:
        """Run a program there."""
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


def _program(orders: socket.socket) -> int:
    """Wait for an order, become the program as its command line would, and return its exit code."""
    with orders:
        message, descriptors, _, _ = socket.recv_fds(orders, 1 << 18, 16)
    if not message:
        return 0
    order = json.loads(message)
    os.setsid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, order["stop_signal"])
    output, *passed = descriptors
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    os.chdir(order["folder"])
    numbers = iter(passed)
    variables = {
        name: ",".join(str(next(numbers)) for _ in range(count)) for name, count in order["passed"].items()
    }
    _set_environment({**order["environment"], **variables})
    return _run_module(order["argv"])


def _run_module(argv: Sequence[str]) -> int:
    """Run `python -m MODULE ARGUMENTS` as its command line would, and return its exit code."""
    module, *arguments = argv[argv.index("-m") + 1 :]
    sys.argv = [module, *arguments]
    show_command(list(argv))
    code: int = module_of(module).main()
    return code


def _set_environment(environment: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environment)


def _exit_with(run: Callable[[], int]) -> None:
    """Run a function and end this process with its exit code, as the interpreter would, but without taking its modules apart."""
    code: object = 1
    try:
        code = run()
    except SystemExit as end:
        code = end.code
    except BaseException:
        traceback.print_exc()
    with contextlib.suppress(Exception):
        atexit._run_exitfuncs()
    with contextlib.suppress(Exception):
        sys.stdout.flush()
        sys.stderr.flush()
    if isinstance(code, str):
        os.write(2, f"{code}\n".encode())
    os._exit(code if isinstance(code, int) else int(code is not None))


if __name__ == "__main__":
    main()
