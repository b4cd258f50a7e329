"""What a process prints: both of its pipes are read, lines go to the log, and the frame `"listening"` is noticed.

stdout, stderr --> LineSplitter --> read_line --> Journal
                                        `-------> `listening` is set: the process accepts connections
"""

import asyncio
import os
from collections import deque
from collections.abc import Callable

from workers.functions.catalog.registry import HostedFunction
from workers.functions.logs.journal import LISTENING, Journal, LineSplitter, read_line

_READ = 64 * 1024
_REMEMBERED = 40
_HARMLESS = ("warning: Detected export default { fetch }",)
"""Warnings of the runtime about things that are in order here; they are not logged."""


class ProcessOutput:
    """The output of one process. `listening` is set when it accepts connections, `ended` when its stderr is closed."""

    def __init__(self, function: HostedFunction, execution: str, journal: Journal) -> None:
        self.listening = asyncio.Event()
        self.ended = asyncio.Event()
        self._function, self._execution, self._journal = function, execution, journal
        self._project_url = f"file://{function.root.parent}/"
        self._last_errors: deque[str] = deque(maxlen=_REMEMBERED)

    def follow(self, stdout: int, stderr: int) -> None:
        """Read both pipes until their ends; they are closed then."""
        _follow(stdout, LineSplitter(lambda line: self._handle(line, "info")))
        _follow(stderr, LineSplitter(lambda line: self._handle(line, "error")), self.ended.set)

    def log(self, level: str, text: str, event: str) -> None:
        """Write an event of the process into its log."""
        self._journal.write(self._function, self._execution, level, text, event=event)

    def has_error(self, *signs: str) -> bool:
        """Return whether one of the last lines of errors contains one of the texts."""
        return any(sign in line for line in self._last_errors for sign in signs)

    def close(self) -> None:
        """Forget the line rate of the process; log how many of its last lines were dropped."""
        self._journal.close(self._function, self._execution)

    def _handle(self, line: bytes, level: str) -> None:
        frame = read_line(line, level)
        if isinstance(frame, str):
            if frame == LISTENING:
                self.listening.set()
            return
        level, request_id, text = frame
        if text.startswith(_HARMLESS):
            return
        text = text.replace(self._project_url, "")  # paths of the server stay out of the log
        if level == "error":
            self._last_errors.append(text[:_READ])
        self._journal.write(self._function, self._execution, level, text, request_id)


def _follow(descriptor: int, lines: LineSplitter, at_end: Callable[[], None] = lambda: None) -> None:
    """Read a pipe until its end."""
    loop = asyncio.get_running_loop()
    os.set_blocking(descriptor, False)

    def read() -> None:
        try:
            data = os.read(descriptor, _READ)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            lines.feed(data)
            return
        loop.remove_reader(descriptor)
        os.close(descriptor)
        lines.end()
        at_end()

    loop.add_reader(descriptor, read)
