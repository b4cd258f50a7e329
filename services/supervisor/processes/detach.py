"""Run a platform in the background: the command waits until it is ready, then leaves it alone.

The platform is a copy of this process in a session of its own. What it says while starting comes through a pipe, one
line of JSON each, and is shown by the command as if it had been said here.
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
"""Exit code when the platform ended without a word."""


class PipeReporter:
    """Sends what it is told through a pipe; after `ready` nobody listens any more, and it keeps silent."""

    def __init__(self, descriptor: int) -> None:
        self._pipe: BinaryIO | None = open(descriptor, "wb", buffering=0)  # noqa: SIM115 - it lives as long as we

    def say(self, line: str) -> None:
        """Tell a step."""
        self._send("say", line)

    def warn(self, line: str) -> None:
        """Tell a warning."""
        self._send("warn", line)

    def ready(self, values: dict[str, str], seconds: float) -> None:
        """Tell that everything runs, and end the talk."""
        self._send("ready", [values, seconds])
        self.end(0)

    def end(self, code: int) -> None:
        """End the talk with an exit code for the waiting command."""
        self._send("end", code)
        if self._pipe:
            self._pipe.close()
            self._pipe = None

    def _send(self, kind: str, content: object) -> None:
        if self._pipe:
            try:
                self._pipe.write(json.dumps([kind, content]).encode() + b"\n")
            except OSError:  # the command was ended while it waited
                self._pipe = None


def run_detached(run: Callable[[Reporter], int], report: Reporter) -> int:
    """Run `run` in the background; give its exit code if it ends before it is ready, else 0."""
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
    """Cut all ties to the terminal, run the platform, and end this process."""
    code = LOST
    try:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(nowhere, standard)
        reporter = PipeReporter(writing)
        reporter._send("pid", os.getpid())
        try:
            code = run(reporter)
        except Exception:  # the rim of a process: the waiting command must hear why
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
                case ["say", str(text)]:
                    report.say(text)
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
