"""The lines of functions, read back from the stream that keeps them: the last ones, and those that come.

A reader gets a blank line now and then while nothing comes, so that it, and all between, know that it is still read.
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
"""Lines of all functions among which those of one are sought."""


class LogReading:
    """Reads the lines of functions."""

    def __init__(self, connection: NatsConnection) -> None:
        self._connection = connection

    async def lines(self, name: str, count: int, *, follows: bool) -> AsyncGenerator[bytes, None]:
        """Give the last lines of a function, or of all (an empty name), each as JSON; then those that come."""
        subject = subjects.function_log(name).name if name else subjects.FUNCTION_LOGS_SUBJECTS
        try:
            head = await stream_head(self._connection, subjects.FUNCTION_LOGS)
            back = count if not name else _LOOKS_BACK
            after = max(head.first_seq - 1, head.last_seq - back if count else head.last_seq, 0)
            reader = StreamReader(self._connection, subjects.FUNCTION_LOGS, [subject], after)
            try:
                last: list[bytes] = []
                while count and (kept := await _more(reader, is_rest=True)):
                    last = [*last, *kept][-count:]
                yield b"".join(last) or b"\n"
                while follows:
                    yield b"".join(await _more(reader, is_rest=False)) or b"\n"
            finally:
                await reader.close()
        except (Unavailable, JetStreamError):
            return  # the reader comes again


async def _more(reader: StreamReader, *, is_rest: bool) -> list[bytes]:
    """Give lines that have arrived. Those that left the stream before they were read are passed over."""
    while True:
        try:
            kept = await (reader.rest() if is_rest else reader.next())
        except MessagesLost:
            continue
        found = []
        for each in kept:
            try:
                found.append(msgspec.json.encode(_DECODE(each.payload)) + b"\n")
            except msgspec.MsgspecError:
                continue
        if found or not kept:
            return found
