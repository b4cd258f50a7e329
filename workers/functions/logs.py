"""What functions print, line by line: taken apart, bounded, published for whoever follows.

A line of the wrapper (`runtime/preload.ts`) is a frame: RS, then JSON `[level, request id, text]`, or `"listening"`.
Any other line is the runtime's own or the function's raw output: `info` from stdout, `error` from stderr.
Each goes out as `schemas.functions.log_events.LogLine` on `logs.functions.<name>`, which the stream FUNCTION_LOGS keeps for a while.
"""

import time
from collections.abc import Callable
from typing import ClassVar

import msgspec

from broker import subjects
from broker.codec import encode
from broker.nats.connection import NatsConnection
from broker.observability.observations import Observation
from broker.observability.observe import observe
from schemas.errors import ApiError
from schemas.functions.log_events import LogLine
from workers.functions.registry import Function

LONGEST = 10_000
"""Characters of a line; the rest is cut."""
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
    """A process of a function has ended."""

    level: ClassVar[str] = "debug"
    function: str
    execution: str
    reason: str


class FunctionKilled(Observation, frozen=True):
    """A process of a function was ended because it went beyond a limit."""

    level: ClassVar[str] = "warning"
    function: str
    execution: str
    reason: str


class FunctionNotStarted(Observation, frozen=True):
    """A function does not start."""

    level: ClassVar[str] = "warning"
    function: str
    reason: str


class Lines:
    """Takes the bytes of a pipe apart into lines; an endless one is cut."""

    def __init__(self, take: Callable[[bytes], None]) -> None:
        self._take = take
        self._rest = b""

    def feed(self, data: bytes) -> None:
        """Take bytes; every whole line is passed on."""
        *whole, self._rest = (self._rest + data).split(b"\n")
        for line in whole:
            self._take(line)
        if len(self._rest) > _MOST_PENDING:
            self._take(self._rest)
            self._rest = b""

    def end(self) -> None:
        """Pass on what has no line end."""
        if self._rest:
            self._take(self._rest)
            self._rest = b""


def read_line(line: bytes, level: str) -> tuple[str, str, str] | str:
    """Give level, request id and text of a line; the word of a frame that is none."""
    if line.startswith(_MARK):
        try:
            found = _decode(line[1:])
        except msgspec.MsgspecError:
            found = (level, "", line[1:].decode(errors="replace"))
        if isinstance(found, str) or found[0] in _LEVELS:
            return found
    return level, "", line.decode(errors="replace").rstrip("\r")


class Journal:
    """Publishes lines. Those beyond the rate are counted, and the count is told when the rate allows it again."""

    def __init__(
        self, connection: NatsConnection | None, lines_in_window: int, clock: Callable[[], float] = time.time
    ) -> None:
        self._connection = connection
        self._most = lines_in_window
        self._clock = clock
        self._windows: dict[str, tuple[float, int, int]] = {}

    def write(
        self,
        function: Function,
        execution: str,
        level: str,
        text: str,
        request_id: str = "",
        event: str = "log",
    ) -> None:
        """Publish one line, if the rate allows it. Events of the platform are always told."""
        now = self._clock()
        if event == "log" and not self._allows(function, execution, now):
            return
        self._publish(
            LogLine(now, function.name, function.version, execution, level, text[:LONGEST], request_id, event)
        )

    def close(self, execution: str) -> None:
        """Forget the rate of a process that is gone."""
        self._windows.pop(execution, None)

    def _allows(self, function: Function, execution: str, now: float) -> bool:
        if not self._most:
            return True
        began, count, dropped = self._windows.get(execution, (now, 0, 0))
        if now - began >= WINDOW_S:
            if dropped:
                told = f"{dropped} lines were dropped: more than {self._most} in {WINDOW_S:g} s"
                self._publish(
                    LogLine(now, function.name, function.version, execution, "warning", told, "", "dropped")
                )
            began, count, dropped = now, 0, 0
        is_allowed = count < self._most
        self._windows[execution] = (began, count + is_allowed, dropped + (not is_allowed))
        return is_allowed

    def _publish(self, line: LogLine) -> None:
        if self._connection is None:
            return
        try:
            self._connection.try_publish(subjects.function_log(line.function).name, encode(line))
        except ApiError as error:
            observe(FunctionNotStarted(line.function, f"a line could not be published: {error}"))
