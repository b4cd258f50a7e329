"""Log lines of functions, read from the stream that stores them: the last lines, then new ones.

A blank line is sent while no lines arrive, so that the reader, and every proxy in between, sees that the connection is alive.
"""

from collections.abc import AsyncGenerator

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


class LogReader:
    """Reads log lines of functions."""

    def __init__(self, connection: NatsConnection) -> None:
        self._connection = connection

    async def lines(self, name: str, count: int, *, follows: bool) -> AsyncGenerator[bytes, None]:
        """Yield the last lines of a function, or of all (empty name), each as JSON; then new ones if `follows`."""
        subject = subjects.function_log(name).name if name else subjects.FUNCTION_LOGS_SUBJECTS
        try:
            head = await stream_head(self._connection, subjects.FUNCTION_LOGS)
            back = count if not name else _LOOKS_BACK
            after = max(head.first_seq - 1, head.last_seq - back if count else head.last_seq, 0)
            reader = StreamReader(self._connection, subjects.FUNCTION_LOGS, [subject], after)
            try:
                last: list[bytes] = []
                while count and (batch := await _more(reader, is_rest=True)):
                    last = [*last, *batch][-count:]
                yield b"".join(last) or b"\n"
                while follows:
                    yield b"".join(await _more(reader, is_rest=False)) or b"\n"
            finally:
                await reader.close()
        except (Unavailable, JetStreamError):
            return  # the client connects again


async def _more(reader: StreamReader, *, is_rest: bool) -> list[bytes]:
    """Return lines that have arrived. Messages that left the stream before they were read are skipped."""
    while True:
        try:
            messages = await (reader.rest() if is_rest else reader.next())
        except MessagesLost:
            continue
        lines = []
        for message in messages:
            try:
                lines.append(msgspec.json.encode(_DECODE(message.payload)) + b"\n")
            except msgspec.MsgspecError:
                continue
        if lines or not messages:
            return lines
