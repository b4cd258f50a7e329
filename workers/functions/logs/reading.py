"""Log lines of functions, read from the stream that stores them: the last lines, then new ones.

A blank line is sent while no lines arrive, so that the reader, and every proxy in between, sees that the connection is alive.
"""

from collections.abc import AsyncGenerator
from dataclasses import dataclass

import msgspec

from broker import subjects
from broker.jetstream.errors import JetStreamError
from broker.jetstream.ordered_reader import MessagesLost, StreamReader
from broker.jetstream.streams import stream_head
from broker.nats.connection import NatsConnection
from schemas.errors import Unavailable
from schemas.functions.log_events import LogLine

_DECODE = msgspec.msgpack.Decoder(LogLine).decode
_LOOKS_BACK = 50_000
"""How many lines of all functions are searched for the last lines of one function."""


LEVELS = ("debug", "info", "warning", "error")


@dataclass(frozen=True, slots=True)
class LogCondition:
    """Which lines are read: of this level or a higher one, between two moments, with this text, of this request. Empty: all."""

    level: str = ""
    after: float | None = None
    before: float | None = None
    text: str = ""
    request_id: str = ""

    def admits(self, line: LogLine) -> bool:
        """Return whether a line fits."""
        is_severe = not self.level or (
            line.level in LEVELS and LEVELS.index(line.level) >= LEVELS.index(self.level)
        )
        return (
            is_severe
            and (self.after is None or line.at > self.after)
            and (self.before is None or line.at < self.before)
            and self.text.lower() in line.text.lower()
            and self.request_id in ("", line.request_id)
        )

    @property
    def is_empty(self) -> bool:
        """Whether every line fits."""
        return self == LogCondition()


_ALL = LogCondition()


class LogReader:
    """Reads log lines of functions."""

    def __init__(self, connection: NatsConnection) -> None:
        self._connection = connection

    async def lines(
        self, name: str, count: int, *, follows: bool, condition: LogCondition = _ALL
    ) -> AsyncGenerator[bytes, None]:
        """Yield the last lines of a function, or of all (empty name), each as JSON; then new ones if `follows`."""
        subject = subjects.function_log(name).name if name else subjects.FUNCTION_LOGS_SUBJECTS
        try:
            head = await stream_head(self._connection, subjects.FUNCTION_LOGS)
            back = count if not name and condition.is_empty else _LOOKS_BACK
            after = max(head.first_seq - 1, head.last_seq - back if count else head.last_seq, 0)
            reader = StreamReader(self._connection, subjects.FUNCTION_LOGS, [subject], after)
            try:
                last: list[bytes] = []
                while count and (batch := await _more(reader, condition, is_rest=True)):
                    last = [*last, *batch][-count:]
                yield b"".join(last) or b"\n"
                while follows:
                    yield b"".join(await _more(reader, condition, is_rest=False)) or b"\n"
            finally:
                await reader.close()
        except (Unavailable, JetStreamError):
            return  # the client connects again


async def _more(reader: StreamReader, condition: LogCondition, *, is_rest: bool) -> list[bytes]:
    """Return lines that have arrived. Messages that left the stream before they were read are skipped."""
    while True:
        try:
            messages = await (reader.rest() if is_rest else reader.next())
        except MessagesLost:
            continue
        lines = []
        for message in messages:
            try:
                line = _DECODE(message.payload)
            except msgspec.MsgspecError:
                continue
            if condition.admits(line):
                lines.append(msgspec.json.encode(line) + b"\n")
        if lines or not messages:
            return lines
