"""What functions print: split into lines, limited in length and rate, published.

The wrapper (`runtime/preload.ts`) writes frames, one a line: the byte RS, then JSON `[level, request id, text]`, or `"listening"`.
Other lines come from the runtime or are raw output of the function: `info` from stdout, `error` from stderr.
Each line is published as `schemas.functions.log_events.LogLine` on `logs.functions.<name>`; the stream FUNCTION_LOGS stores them.
"""

import secrets
import time
from collections.abc import Callable
from typing import ClassVar

import msgspec
from msgspec import structs

from broker import subjects
from broker.codec import encode
from broker.nats.connection import NatsConnection
from broker.observability.observations import Observation
from broker.observability.observe import observe
from schemas.errors import ApiError
from schemas.functions.log_events import LogLine
from workers.functions.catalog.registry import HostedFunction

LONGEST = 10_000
"""Longest text of a line in characters; the rest is cut off."""
_LONGEST_ID = 200
"""Longest id of a request in characters: a function may write any."""
WINDOW_S = 10.0
_MARK = b"\x1e"
_LEVELS = frozenset({"debug", "info", "warning", "error"})
_MOST_PENDING = 256 * 1024

LISTENING = "listening"

_decode: Callable[[bytes], tuple[str, str, str] | str] = msgspec.json.Decoder(
    tuple[str, str, str] | str
).decode


class FunctionStarted(Observation, frozen=True):
    """A process of a function is ready."""

    level: ClassVar[str] = "debug"
    function: str
    execution: str
    duration_s: float


class FunctionEnded(Observation, frozen=True):
    """A process of a function has exited."""

    level: ClassVar[str] = "debug"
    function: str
    execution: str
    reason: str


class FunctionKilled(Observation, frozen=True):
    """A process of a function was killed because it exceeded a limit."""

    level: ClassVar[str] = "warning"
    function: str
    execution: str
    reason: str


class FunctionNotStarted(Observation, frozen=True):
    """A function did not start."""

    level: ClassVar[str] = "warning"
    function: str
    reason: str


class LineSplitter:
    """Splits the bytes of a pipe into lines; a line that does not end is cut."""

    def __init__(self, on_line: Callable[[bytes], None]) -> None:
        self._on_line = on_line
        self._rest = b""

    def feed(self, data: bytes) -> None:
        """Take bytes and pass on every complete line."""
        *whole, self._rest = (self._rest + data).split(b"\n")
        for line in whole:
            self._on_line(line)
        if len(self._rest) > _MOST_PENDING:
            self._on_line(self._rest)
            self._rest = b""

    def end(self) -> None:
        """Pass on the last line if it does not end with a newline."""
        if self._rest:
            self._on_line(self._rest)
            self._rest = b""


def read_line(line: bytes, level: str) -> tuple[str, str, str] | str:
    """Return level, request id and text of a line, or the text of a frame that is not a log line."""
    if line.startswith(_MARK):
        try:
            frame = _decode(line[1:])
        except msgspec.MsgspecError:
            frame = (level, "", line[1:].decode(errors="replace"))
        if isinstance(frame, str) or frame[0] in _LEVELS:
            return frame
    return level, "", line.decode(errors="replace").rstrip("\r")


class Journal:
    """Publishes log lines. Lines over the rate are counted; the count is logged when the next window begins, or the process has ended."""

    def __init__(
        self, connection: NatsConnection | None, lines_in_window: int, clock: Callable[[], float] = time.time
    ) -> None:
        self._connection = connection
        self._most = lines_in_window
        self._clock = clock
        self._windows: dict[str, tuple[float, int, int]] = {}
        self._run, self._number = secrets.token_hex(6), 0

    def write(
        self,
        function: HostedFunction,
        execution: str,
        level: str,
        text: str,
        request_id: str = "",
        event: str = "log",
    ) -> None:
        """Publish one line if the rate allows it. Events of the platform are always published."""
        now = self._clock()
        if event == "log" and not self._allows(function, execution, now):
            return
        self._publish(
            LogLine(
                now,
                function.name,
                function.version,
                execution,
                level,
                text[:LONGEST],
                request_id[:_LONGEST_ID],
                event,
            )
        )

    def close(self, function: HostedFunction, execution: str) -> None:
        """Forget the rate of a process that has exited; log how many of its last lines were dropped."""
        _, _, dropped = self._windows.pop(execution, (0.0, 0, 0))
        self._tell_dropped(function, execution, dropped, self._clock())

    def _allows(self, function: HostedFunction, execution: str, now: float) -> bool:
        if not self._most:
            return True
        began, count, dropped = self._windows.get(execution, (now, 0, 0))
        if now - began >= WINDOW_S:
            self._tell_dropped(function, execution, dropped, now)
            began, count, dropped = now, 0, 0
        is_allowed = count < self._most
        self._windows[execution] = (began, count + is_allowed, dropped + (not is_allowed))
        return is_allowed

    def _tell_dropped(self, function: HostedFunction, execution: str, dropped: int, now: float) -> None:
        if dropped:
            text = f"{dropped} lines were dropped: more than {self._most} in {WINDOW_S:g} s"
            line = LogLine(now, function.name, function.version, execution, "warning", text, "", "dropped")
            self._publish(line)

    def _publish(self, line: LogLine) -> None:
        if self._connection is None:
            return
        self._number += 1
        line = structs.replace(line, run=self._run, number=self._number)
        try:
            self._connection.try_publish(subjects.function_log(line.function).name, encode(line))
        except ApiError as error:
            observe(FunctionNotStarted(line.function, f"a line could not be published: {error}"))
