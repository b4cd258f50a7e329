"""One term of leadership: a task for each table of each stream."""

import asyncio
from collections.abc import Callable, Mapping

from broker.nats.connection import NatsConnection
from broker.observability.observe import gauge
from schemas.settings.stream_checks import table_name
from schemas.settings.streams import StreamSettings
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.errors import DatabaseError
from workers.database.sessions.leadership import Leadership
from workers.streams.statements import SQL
from workers.streams.table_copy import TableCopy
from workers.streams.table_state import TableRequests, TableState
from workers.streams.targets.registry import kind_of

CHANNEL = "headwater_streams"
"""Notifications that administrators request something."""
_AGAIN_S = 1.0
_SNAPSHOTS = 2
"""Tables whose rows are read at a time."""


class StreamsTerm:
    """The work of a leader."""

    def __init__(
        self,
        leadership: Leadership,
        connection: NatsConnection,
        database: ConnectionPool,
        streams: Mapping[str, StreamSettings],
    ) -> None:
        self._leadership = leadership
        snapshots = asyncio.Semaphore(_SNAPSHOTS)
        self._copies = [
            TableCopy(
                stream,
                text,
                TableState(leadership, name, table_name(text), kind_of(stream)),
                leadership,
                connection,
                database,
                snapshots,
            )
            for name, stream in streams.items()
            for text in stream.tables
        ]
        self._requested = asyncio.Event()

    def change(self) -> None:
        """The schema may be another one."""
        for copy in self._copies:
            copy.change()

    async def run(self) -> None:
        """Work until the leadership is lost. Raises: LeadershipLost, DatabaseError."""
        states = [copy.state for copy in self._copies]
        keys = [state.key for state in states]
        await self._leadership.ask(SQL["forget"], *(list(column) for column in zip(*keys, strict=True)))
        await self._leadership.listen(CHANNEL, self._requested.set)
        for state in states:
            await state.begin()
        await self._read_requests()
        hide = [remove for copy in self._copies for remove in _gauges(copy)]
        try:
            await self._leadership.work(self._follow_requests, *(copy.run for copy in self._copies))
        finally:
            for remove in hide:
                remove()

    async def _follow_requests(self) -> None:
        """Pass each copy what administrators request of it, whenever that changes. Raises: LeadershipLost."""
        while True:
            await self._requested.wait()
            self._requested.clear()
            try:
                await self._read_requests()
            except DatabaseError:
                self._requested.set()
                await asyncio.sleep(_AGAIN_S)  # nothing announces that the database answers again

    async def _read_requests(self) -> None:
        rows = await self._leadership.ask(SQL["requests"])
        requests = {
            (row["stream"], row["table_schema"], row["table_name"]): TableRequests(
                row["is_paused"], row["copy_again_at"]
            )
            for row in rows
        }
        for copy in self._copies:
            copy.request(requests.get(copy.state.key, TableRequests()))


def _gauges(copy: TableCopy) -> list[Callable[[], None]]:
    state = copy.state
    named = {"stream": state.stream, "table": state.name}
    return [
        gauge("headwater_stream_up", "1: the target takes rows.", lambda: state.state not in ("away", "rejected"), **named),
        gauge("headwater_stream_rows", "Rows that the target took since this process leads.", lambda: state.rows, **named),
        gauge("headwater_stream_lag_seconds", "From the last commit that was written to its arrival.", lambda: state.lag_s, **named),
        gauge("headwater_stream_snapshots", "How often all rows were copied since this process leads.", lambda: state.snapshots, **named),
        gauge("headwater_stream_unfit", "Values that the target's types cannot hold, which became null.", lambda: copy.unfit, **named),
    ]  # fmt: skip
