"""Copies one table to one target: all rows in a snapshot, then the changes behind it.

    open target --> its place --> [snapshot] --> read the stream of changes behind it --> write, with the place

Theory. The leader of replication publishes a transaction when it is visible, so what is in the stream before a snapshot is almost always in the
snapshot. Where Postgres waits for a standby it may not be yet: so reading begins `_BACK` messages before, and transactions that the snapshot sees
are left out by their number. A commit behind the position that was read in the snapshot cannot be seen by it, so numbers are compared only up to there.

What is gathered is in memory only: when the target is away it is dropped and read again. The stream is bounded by `realtime.retention`; when it has
lost what follows the place, when the log of changes has a gap, or when the table changes in a way that the log does not show, all rows are copied again.
"""

import asyncio
import dataclasses
import time
from collections.abc import Sequence

import msgspec

from broker import subjects
from broker.backoff import Backoff
from broker.codec import MessageDecoder
from broker.jetstream.errors import JetStreamError
from broker.jetstream.ordered_reader import MessagesLost, StoredMessage, StreamReader
from broker.jetstream.streams import stream_head
from broker.nats.connection import NatsConnection
from broker.observability.observe import observe, traceback_of
from schemas.changes import ChangeBatch, Gap, Tick
from schemas.errors import Unavailable
from schemas.settings.streams import StreamSettings
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.errors import DatabaseError, Disconnected, PoolTimeout
from workers.database.sessions.leadership import Leadership, LeadershipLost
from workers.database.transaction_snapshot import TransactionSnapshot
from workers.streams.model import (
    DELETE,
    TRUNCATE,
    CopyPlace,
    SnapshotNeeded,
    SourceTable,
    StreamChange,
    TargetAway,
    TargetRejects,
    key_of,
)
from workers.streams.observations import StreamsCrashed
from workers.streams.reading import has_unknown, open_snapshot, read_keys
from workers.streams.selection import changes_of
from workers.streams.source import publish, read_source
from workers.streams.table_state import TableRequests, TableState
from workers.streams.targets.registry import target_of
from workers.streams.targets.target import TableTarget

_MOST_ROWS, _MOST_BYTES = 20_000, 16 * 1024 * 1024
"""Changes and bytes that are gathered before they are written."""
_UNKNOWN_BYTES = 64 * 1024
"""What a change counts for whose long values are read from the table: all that are gathered are in memory then."""
_BACK = 1000
_MOST_GONE = 1000
"""Names of former columns that a place remembers."""
_KEEP_S = 5.0
"""How often it is stored that nothing followed."""
_REJECTED_S = 60.0
"""How long until a table that cannot be copied is looked at again, unless the schema changes."""
_FIRST = "the target has no rows yet"
_decode: MessageDecoder[ChangeBatch | Gap | Tick] = MessageDecoder(ChangeBatch | Gap | Tick)  # type: ignore[arg-type]  # msgspec accepts a union


class _TableChanged(Exception):
    """The schema changed before the next message."""


class TableCopy:
    """The copy of the table that the settings of a stream name `text`, during one term of leadership."""

    def __init__(
        self,
        stream: StreamSettings,
        text: str,
        state: TableState,
        leadership: Leadership,
        connection: NatsConnection,
        database: ConnectionPool,
        snapshots: asyncio.Semaphore,
    ) -> None:
        self._stream, self._text, self.state = stream, text, state
        self._leadership, self._connection, self._database = leadership, connection, database
        self._snapshots = snapshots
        self._changed = asyncio.Event()
        self._reason = ""
        self._target: TableTarget | None = None
        self._gathered: list[StreamChange] = []
        self._size = 0
        self._began_at = 0.0
        self._schema_lsn = 0
        self._requests = TableRequests()
        self._seen_lsn = 0

    @property
    def unfit(self) -> float:
        """Return how many values did not fit into the target's types."""
        return self._target.figures().get("unfit", 0.0) if self._target is not None else 0.0

    def change(self) -> None:
        """The schema may be another one."""
        self._changed.set()

    def request(self, requests: TableRequests) -> None:
        """Do what administrators request from now on; what is being written ends before."""
        if requests != self._requests:
            self._requests = requests
            self._changed.set()

    async def run(self) -> None:
        """Copy for as long as this process leads. Raises: LeadershipLost."""
        backoff = Backoff(0.2, 30.0, jitter=0.3)
        while True:
            try:
                await self._copy(backoff)
            except SnapshotNeeded as needed:
                self._reason = str(needed)
                await asyncio.sleep(backoff.next_s())
            except _TableChanged:
                continue
            except MessagesLost:
                self._reason = "changes left the stream before the target had taken them"
            except TargetRejects as rejected:
                await self.state.rejected(str(rejected))
                await self._wait_for_change(_REJECTED_S)
            except TargetAway as away:
                await self.state.away(str(away))
                await self._wait_for_change(backoff.next_s())
            except DatabaseError as error:
                await self.state.away(_database_reason(error))
                await self._wait_for_change(backoff.next_s())
            except (
                Unavailable,
                JetStreamError,
                Disconnected,
                PoolTimeout,
            ):  # of the broker or the database, which the connections report
                await self.state.away("the platform's broker or database does not answer")
                await self._wait_for_change(backoff.next_s())
            except LeadershipLost:
                raise
            except (
                Exception
            ) as error:  # of a target's library, say: it must not end the copies of other tables
                observe(StreamsCrashed(traceback_of(error)))
                await self.state.away(f"an error in the platform, which its log has: {type(error).__name__}")
                await self._wait_for_change(backoff.next_s())

    async def _copy(self, backoff: Backoff) -> None:
        self._changed.clear()
        requests = self._requests
        if requests.is_paused:
            await self.state.paused()
            await self._changed.wait()
            return
        if requests.copy_again_at is not None:
            self._reason = "an administrator requested it"
        source = await read_source(self._leadership, self._stream, self._text)
        await publish(self._leadership, source)
        self._target = target = await target_of(self.state.stream, self._stream, source)
        try:
            place = await target.open()
            kept, idle_place, idle_seq = await self.state.place()
            if not target.keeps_place:
                place = kept
            place = await self._current_place(source, target, place)
            if requests.copy_again_at is not None:
                await self.state.copied_again(requests.copy_again_at)
                if self._requests == requests:  # else another request came meanwhile
                    self._requests = dataclasses.replace(requests, copy_again_at=None)
            await self.state.following()
            after = max(place.seq, idle_seq) if idle_place == place.as_text() else place.seq
            await self._follow(source, target, place, after, backoff)
        finally:
            self._target = None
            await target.close()

    async def _current_place(
        self, source: SourceTable, target: TableTarget, place: CopyPlace | None
    ) -> CopyPlace:
        """Return the place of the target, after a snapshot if it cannot follow from where it is."""
        head = await stream_head(self._connection, subjects.CHANGES_STREAM)
        reason = self._reason
        if place is None:
            reason = reason or _FIRST
        elif place.created != head.created:
            reason = "the stream of changes was created again"
        elif place.fingerprint != f"{source.fingerprint}/{source.relation}":
            reason = "the table, or what the stream copies of it, is another one"
        elif target.newest_epoch > place.epoch:
            reason = "a later snapshot did not come to its end"
        elif not reason:
            try:
                return await self._fitted(source, target, place)
            except SnapshotNeeded as needed:
                reason = str(needed)
        async with self._snapshots:
            place = await self._snapshot(source, target, reason)
        self._reason = ""
        return place

    async def _fitted(self, source: SourceTable, target: TableTarget, place: CopyPlace) -> CopyPlace:
        """Have the target follow the columns of the table. Raises: SnapshotNeeded."""
        columns = {column.name: column.number for column in source.columns}
        former = {name: number for name, number in place.columns.items() if number}
        if columns == former:
            await target.fit(source, ())
            return place
        names = {number: name for name, number in former.items()}
        added = [column for column in source.columns if column.number not in names]
        if unknown := [column.name for column in added if column.has_former]:
            raise SnapshotNeeded(f"the new column {unknown[0]} has values in rows from before")
        renamed = [
            (names[column.number], column.name)
            for column in source.columns
            if column.number in names and names[column.number] != column.name
        ]
        # The target, and messages that are not read yet, may have values of the former column under this name.
        reused = {*(new for _, new in renamed), *(column.name for column in added)} & set(place.columns)
        if reused:
            raise SnapshotNeeded(f"the column {min(reused)} has the name of another one from before")
        gone = {name: 0 for name in place.columns if name not in columns}
        if len(gone) > _MOST_GONE:
            raise SnapshotNeeded("too many columns have gone")
        await target.fit(source, renamed)
        return _replaced(place, columns={**columns, **gone})

    async def _snapshot(self, source: SourceTable, target: TableTarget, reason: str) -> CopyPlace:
        await self.state.snapshot(reason)
        head = await stream_head(self._connection, subjects.CHANGES_STREAM)
        after = max(head.first_seq - 1, head.last_seq - _BACK)
        async with open_snapshot(self._database, source) as snapshot:
            place = CopyPlace(
                head.created,
                after,
                0,
                snapshot.text,
                snapshot.lsn,
                f"{source.fingerprint}/{source.relation}",
                max(time.time_ns() // 1000, target.newest_epoch + 1),  # a clock may have been set back
                {column.name: column.number for column in source.columns},
            )
            rows = await target.snapshot(snapshot.pages(), place)
        await self.state.written(rows, 0.0, "" if target.keeps_place else place.as_text(), place.snapshot_lsn)
        return place

    async def _follow(
        self, source: SourceTable, target: TableTarget, place: CopyPlace, after: int, backoff: Backoff
    ) -> None:
        """Read and write until the schema changes."""
        names = [subjects.changes(schema, name).name for schema, name in sorted(source.parts)]
        reader = StreamReader(self._connection, subjects.CHANGES_STREAM, [*names, subjects.GAPS.name], after)
        self._gathered, self._size = [], 0
        kept_at, kept_seq = time.monotonic(), after
        taken = after  # not `reader.after`: messages that arrive during a write are read by the task and not taken yet
        reading: asyncio.Task[list[StoredMessage]] | None = None
        try:
            while True:
                reading = reading or asyncio.ensure_future(reader.next())
                await self._wait(reading)
                if reading.done():
                    done, reading = reading, None
                    for message in done.result():
                        place = await self._take(message, source, target, place)
                    taken = reader.after
                    backoff.reset()
                is_due = time.monotonic() >= self._began_at + self._stream.every
                if self._gathered and (is_due or self._changed.is_set()):
                    place = await self._write(source, target, place, taken)
                if self._changed.is_set():
                    return
                if not self._gathered and taken > kept_seq and time.monotonic() >= kept_at + _KEEP_S:
                    kept_at, kept_seq = time.monotonic(), taken
                    await self.state.idle(place, kept_seq, self._seen_lsn)
                    await target.tidy()
        finally:
            if reading is not None:
                reading.cancel()
                await asyncio.gather(reading, return_exceptions=True)
            await reader.close()

    async def _wait(self, reading: "asyncio.Task[list[StoredMessage]]") -> None:
        """Wait for messages, a change of the schema, or until what was gathered is due."""
        due_s = None
        if self._gathered:
            due_s = max(0.0, self._began_at + self._stream.every - time.monotonic())
        changing = asyncio.ensure_future(self._changed.wait())
        try:
            await asyncio.wait((reading, changing), timeout=due_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            changing.cancel()

    async def _take(
        self, stored: StoredMessage, source: SourceTable, target: TableTarget, place: CopyPlace
    ) -> CopyPlace:
        """Gather the changes of a message; write when there are enough."""
        message = _decode(stored.payload)
        if isinstance(message, Gap) and message.lsn > place.snapshot_lsn:
            raise SnapshotNeeded(f"changes are missing: {message.reason}")
        self._seen_lsn = max(self._seen_lsn, message.lsn)
        if not isinstance(message, ChangeBatch):
            return place
        if place.snapshot and message.lsn <= place.snapshot_lsn and _is_in(place.snapshot, message.xid):
            return place
        if message.schema_lsn > self._schema_lsn:
            self._schema_lsn = message.schema_lsn
            if self._gathered:
                await self._write(source, target, place, stored.seq - 1)
            raise _TableChanged  # this message is read again, by the table as it is now
        if not self._gathered:
            self._began_at = time.monotonic()
        for change in changes_of(message, source):
            self._gathered.append(change)
            self._size += sum(len(value or b"") for value in change.values)
            self._size += _UNKNOWN_BYTES if change.is_unsure or has_unknown(change.values) else 0
        if len(self._gathered) >= _MOST_ROWS or self._size >= _MOST_BYTES:
            return await self._write(source, target, place, stored.seq)
        return place

    async def _write(self, source: SourceTable, target: TableTarget, place: CopyPlace, seq: int) -> CopyPlace:
        changes = await self._completed(source, self._gathered)
        last = changes[-1]
        is_behind = last.lsn > place.snapshot_lsn
        place = _replaced(
            place,
            seq=seq,
            lsn=last.lsn,
            snapshot="" if is_behind else place.snapshot,
            snapshot_lsn=0 if is_behind else place.snapshot_lsn,
        )
        await target.write(changes, place)
        self._gathered, self._size = [], 0
        lag_s = max(0.0, time.time() - last.committed_at_us / 1e6)
        await self.state.written(len(changes), lag_s, "" if target.keeps_place else place.as_text(), last.lsn)
        await target.tidy()
        return place

    async def _completed(self, source: SourceTable, changes: Sequence[StreamChange]) -> list[StreamChange]:
        """Return changes with the values that the log has not, as they are now in the table: a later change follows if they were others."""
        if not source.key:
            return list(changes)
        unknown = {
            key_of(change.values, source.key_places)
            for change in changes
            if change.kind not in (DELETE, TRUNCATE) and (change.is_unsure or has_unknown(change.values))
        }
        if not unknown:
            return list(changes)
        rows = await read_keys(self._database, source, sorted(unknown))
        return [_filled(change, rows.get(key_of(change.values, source.key_places))) for change in changes]

    async def _wait_for_change(self, within_s: float) -> None:
        """Wait before the table is tried again; no longer when its schema changes, or what administrators request."""
        try:
            async with asyncio.timeout(within_s):
                await self._changed.wait()
        except TimeoutError:
            return


def _is_in(snapshot: str, xid: int) -> bool:
    return xid == 0 or TransactionSnapshot.parse(snapshot).can_see(xid)


def _filled(change: StreamChange, row: Sequence[bytes | None] | None) -> StreamChange:
    if change.kind in (DELETE, TRUNCATE) or not (change.is_unsure or has_unknown(change.values)):
        return change
    if row is None:  # gone, or it does not pass the filters, which may have been unknown
        return dataclasses.replace(change, kind=DELETE) if change.is_unsure else change
    values = [now if value is None else value for value, now in zip(change.values, row, strict=True)]
    return dataclasses.replace(change, values=values)


def _replaced(place: CopyPlace, **changes: object) -> CopyPlace:
    return msgspec.structs.replace(place, **changes)


def _database_reason(error: DatabaseError) -> str:
    if error.code == "42501":
        return "service_role, which reads the rows, may not read the table: grant select on it"
    return f"the database answers with SQLSTATE {error.code}"
