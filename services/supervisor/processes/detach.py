"""Run a platform in the background: the command waits until it is ready and then exits.

The platform is a copy of this process (double fork) in a session of its own. Its reports during the start come through a pipe,
one line of JSON each, and the command prints them as if they were its own.
"""

import contextlib
import json
import os
import signal
import traceback
from collections.abc import Callable
from typing import BinaryIO

from services.supervisor.report import Reporter

LOST = 1
"""Exit code when the platform exited without reporting an exit code."""


class PipeReporter:
    """Writes reports into a pipe, until `ready` or `end` closes it: after that no command reads them."""

    def __init__(self, descriptor: int) -> None:
        self._pipe: BinaryIO | None = open(descriptor, "wb", buffering=0)  # noqa: SIM115 - it lives as long as we

    def info(self, line: str) -> None:
        """Send a step."""
        self._send("info", line)

    def warn(self, line: str) -> None:
        """Send a warning."""
        self._send("warn", line)

    def ready(self, values: dict[str, str], seconds: float) -> None:
        """Send that everything runs, and close the pipe."""
        self._send("ready", [values, seconds])
        self.end(0)

    def end(self, code: int) -> None:
        """Send the exit code of the waiting command, and close the pipe."""
        self._send("end", code)
        if self._pipe:
            self._pipe.close()
            self._pipe = None

    def _send(self, kind: str, content: object) -> None:
        if self._pipe:
            try:
                self._pipe.write(json.dumps([kind, content]).encode() + b"\n")
            except OSError:  # the command was terminated while it waited
                self._pipe = None


def run_detached(run: Callable[[Reporter], int], report: Reporter) -> int:
    """Run `run` in the background; return its exit code if it exits before it is ready, else 0."""
    reading, writing = os.pipe()
    first = os.fork()
    if first == 0:
        os.close(reading)
        os.setsid()
        second = os.fork()
        if second:
            os._exit(0)
        _become_platform(run, writing)
    os.close(writing)
    os.waitpid(first, 0)
    with open(reading, "rb") as pipe:
        return _relay(pipe, report)


def _become_platform(run: Callable[[Reporter], int], writing: int) -> None:
    """Detach from the terminal, run the platform and exit."""
    code = LOST
    try:
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        reporter = PipeReporter(writing)
        reporter._send("pid", os.getpid())
        try:
            code = run(reporter)
        except Exception:  # last handler of this process: the waiting command reports the reason
            reporter.warn(traceback.format_exc())
        reporter.end(code)
    finally:
        os._exit(code)


def _relay(pipe: BinaryIO, report: Reporter) -> int:
    pid = 0
    try:
        for line in pipe:
            match json.loads(line):
                case ["pid", int(number)]:
                    pid = number
                case ["info", str(text)]:
                    report.info(text)
                case ["warn", str(text)]:
                    report.warn(text)
                case ["ready", [dict(values), (float() | int()) as seconds]]:
                    report.ready(values, seconds)
                case ["end", int(code)]:
                    return code
    except KeyboardInterrupt:
        if pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        raise
    report.warn("The platform ended while it was starting. `headwater logs` may tell why.")
    return LOST
