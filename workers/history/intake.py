"""Reads the stream of row changes and stores versions of the rows of tables with history.

Where the stream was read to is stored in the statement that stores the versions: so whatever dies, nothing is missing and nothing is stored
twice. Tables are switched on in the task that reads: changes behind the switch are not taken before the table is known. When messages have
left the stream unread, or the log of Postgres was lost, every table's history has a gap, which is shown with it.
"""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

from broker import subjects
from broker.backoff import Backoff
from broker.codec import MessageDecoder
from broker.jetstream.errors import JetStreamError
from broker.jetstream.interruptible_reader import InterruptibleReader
from broker.jetstream.ordered_reader import MessagesLost, StoredMessage, StreamReader
from broker.jetstream.streams import StreamHead, last_up_to, stream_head
from broker.nats.connection import NatsConnection
from broker.observability.observe import observe
from schemas.believed_causes import BelievedCauses
from schemas.causes import LONGEST_S, SignedCause
from schemas.changes import ChangeBatch, ChangeKind, Gap, Tick, lsn_of_id
from schemas.errors import Unavailable
from workers.database.errors import DatabaseError
from workers.database.sessions.leadership import Leadership
from workers.history.observations import HistoryGapNoted, HistoryLost
from workers.history.statements import SQL
from workers.history.tables import HistoryTables
from workers.history.versions import NewVersion, TrackedTable, versions_of

_SUBJECTS = ("changes.>", subjects.GAPS.name)
_KEEP_S = 5.0
"""How often a place is stored when nothing else is."""
_GATHER_S = 0.05
"""Pause behind each store: what arrives meanwhile shares the next statement and its flush, at half the processor time for a busy table."""
_MOST_ROWS, _MOST_BYTES = 2000, 4 * 1024 * 1024
_REMEMBER_S = 2 * LONGEST_S
_UNSTORABLE = ("22", "54")
"""Classes of SQLSTATE of values that Postgres cannot store: text with U+0000, JSON that is nested too deep."""
_NOT_FULL = "the replica identity of the table was not full"
_UNSTORED = "a row had values that cannot be stored"
_decode: MessageDecoder[ChangeBatch | Gap | Tick] = MessageDecoder(ChangeBatch | Gap | Tick)  # type: ignore[arg-type]  # msgspec accepts a union


class HistoryIntake:
    """Reads changes during one term of leadership. `keys` verify causes."""

    def __init__(
        self, connection: NatsConnection, leadership: Leadership, tables: HistoryTables, keys: Sequence[bytes]
    ) -> None:
        self._connection, self._leadership, self._tables, self._keys = connection, leadership, tables, keys
        self._believed = BelievedCauses()
        self._changed = asyncio.Event()
        self._changed.set()
        self._reader: InterruptibleReader | None = None
        self._stream = ""
        self._lsn = self._kept_seq = self._schema_lsn = 0
        self._kept_at = 0.0
        self._partitions: dict[int, list[tuple[float, float]]] = {}
        self._not_full: set[int] = set()

    def change(self) -> None:
        """The schema may be another one."""
        self._changed.set()

    async def run(self) -> None:
        """Read for as long as there are tables with history. Raises: DatabaseError, LeadershipLost."""
        backoff = Backoff(0.05, 5.0, jitter=0.3)
        for nonce, issued_ms, lsn in await self._leadership.ask(SQL["nonces"], _REMEMBER_S):
            self._believed.remember(nonce, issued_ms, lsn)
        try:
            while True:
                try:
                    await self._follow(backoff)
                except MessagesLost as lost:
                    if lost.is_another:  # its numbers start again, below the stored place: it is opened as another stream, with a gap
                        await self._close_reader()
                    else:
                        await self._note_gap("changes left the stream before they were read")
                except (Unavailable, JetStreamError) as error:
                    if self._connection.is_connected and backoff.is_longest:
                        observe(HistoryLost(str(error)))
                    await backoff.wait()
                    await self._connection.connected()
        finally:
            await self._close_reader()

    async def _follow(self, backoff: Backoff) -> None:
        while True:
            if self._changed.is_set():
                self._changed.clear()
                await self._tables.follow()
            if not any(table.is_on for table in self._tables.by_relation.values()) and self._is_past_all():
                await self._close_reader()
                await self._leadership.ask(SQL["forget_place"])  # a later table begins at its own switch
                await self._changed.wait()
                continue
            if self._reader is None:
                self._reader = await self._open_reader()
            messages = await self._reader.next(self._changed)
            backoff.reset()
            if messages and await self._take(messages):
                await asyncio.sleep(_GATHER_S)
            await self._keep_place()

    def _is_past_all(self) -> bool:
        """Return whether all changes of tables whose history is off are read."""
        return all(self._lsn >= table.since_lsn for table in self._tables.by_relation.values())

    async def _close_reader(self) -> None:
        if self._reader is not None:
            await self._reader.close()
            self._reader = None

    async def _open_reader(self) -> InterruptibleReader:
        """Begin where the last leader ended, or else where the first table was switched on."""
        head = await stream_head(self._connection, subjects.CHANGES_STREAM)
        rows = await self._leadership.ask(SQL["place"])
        if not rows:
            after = await self._first_place(head)
        elif rows[0]["stream"] == head.created:
            after, self._lsn = rows[0]["seq"], rows[0]["lsn"]
        else:
            self._lsn = rows[0]["lsn"]
            await self._note_gap("the stream of changes was created again")
            after = head.first_seq - 1
        self._stream = head.created
        await self._leadership.ask(SQL["keep_place"], self._stream, after, self._lsn)
        self._kept_seq, self._kept_at = after, asyncio.get_running_loop().time()
        return InterruptibleReader(StreamReader(self._connection, subjects.CHANGES_STREAM, _SUBJECTS, after))

    async def _first_place(self, head: StreamHead) -> int:
        """Return up to where the stream has nothing of a table's history."""
        tables = self._tables.by_relation.values()
        lsn = self._lsn = min(
            (table.since_lsn for table in tables if table.is_on),
            default=max(table.since_lsn for table in tables),
        )
        after = await last_up_to(self._connection, subjects.CHANGES_STREAM, head, lsn_of_id, lsn)
        if after < head.first_seq and head.first_seq > 1:
            await self._note_gap("the stream of changes does not reach back to where the history begins")
        return after

    async def _take(self, messages: Sequence[StoredMessage]) -> bool:
        """Store the versions of some messages, in order; return whether there were any."""
        versions: list[NewVersion] = []
        size = count = 0
        for stored in messages:
            message = _decode(stored.payload)
            if isinstance(message, Gap):
                await self._note_gap(message.reason)
            elif isinstance(message, ChangeBatch):
                made = await self._versions(message)
                versions += made
                count += len(made)
                size += sum(len(version.row) for version in made)
            self._lsn = max(self._lsn, message.lsn)
            if len(versions) >= _MOST_ROWS or size >= _MOST_BYTES:
                await self._store(versions, stored.seq)
                versions, size = [], 0
        if versions:
            await self._store(versions, messages[-1].seq)
        return count > 0

    async def _versions(self, batch: ChangeBatch) -> list[NewVersion]:
        if batch.schema_lsn > self._schema_lsn:  # a key or a name may be another one
            self._schema_lsn = batch.schema_lsn
            await self._tables.read()
        table = self._tables.by_relation.get(batch.relation)
        if table is None or not table.has(batch.lsn):
            return []
        await self._check_identity(batch, table)

        def believe(cause: SignedCause) -> bool:
            return self._believed.believe(cause, batch.lsn, batch.committed_at)

        return list(versions_of(batch, table, self._keys, believe))

    async def _check_identity(self, batch: ChangeBatch, table: TrackedTable) -> None:
        """Note a gap where values before a change are not in the log."""
        if batch.identity == "f":
            self._not_full.discard(table.id)
        elif table.id not in self._not_full and any(
            change.kind in (ChangeKind.UPDATE, ChangeKind.DELETE) for change in batch.changes
        ):
            self._not_full.add(table.id)
            await self._note_gap(_NOT_FULL, [table])
            self._changed.set()  # switches it back

    async def _store(self, versions: Sequence[NewVersion], seq: int) -> None:
        await self._make_partitions(versions)
        try:
            await self._store_rows([version.row for version in versions], seq)
        except DatabaseError as error:
            if error.code[:2] not in _UNSTORABLE:
                raise
            await self._store_storable(versions, seq)
        self._kept_seq, self._kept_at = seq, asyncio.get_running_loop().time()

    async def _store_storable(self, versions: Sequence[NewVersion], seq: int) -> None:
        """Store versions of which some cannot be stored: those without their values, and a gap that says so."""
        rows: list[bytes] = []
        bare: set[int] = set()
        for version in versions:
            try:
                await self._leadership.ask(SQL["can_store"], f"[{version.row.decode()}]")
                rows.append(version.row)
            except DatabaseError as error:
                if error.code[:2] not in _UNSTORABLE:
                    raise
                rows.append(version.bare)
                bare.add(version.table_id)
        tables = [table for table in self._tables.by_relation.values() if table.id in bare]
        await self._note_gap(_UNSTORED, tables)
        await self._store_rows(rows, seq)

    async def _store_rows(self, rows: Sequence[bytes], seq: int) -> None:
        text = b"[%b]" % b",".join(rows)
        await self._leadership.ask(SQL["store"], self._stream, seq, self._lsn, text.decode())

    async def _make_partitions(self, versions: Sequence[NewVersion]) -> None:
        for version in versions:
            at = version.at_us / 1_000_000
            if any(starts <= at < ends for starts, ends in self._partitions.get(version.table_id, ())):
                continue
            await self._leadership.ask(SQL["partition"], version.table_id, datetime.fromtimestamp(at, UTC))
            self._partitions = {}
            for table_id, starts, ends in await self._leadership.ask(SQL["partitions"]):
                self._partitions.setdefault(table_id, []).append((starts.timestamp(), ends.timestamp()))

    async def _keep_place(self) -> None:
        """Store the place from time to time, so that a quiet table does not leave it behind the stream."""
        assert self._reader is not None
        now, seq = asyncio.get_running_loop().time(), self._reader.after
        if seq > self._kept_seq and now >= self._kept_at + _KEEP_S:
            await self._leadership.ask(SQL["keep_place"], self._stream, seq, self._lsn)
            self._kept_seq, self._kept_at = seq, now

    async def _note_gap(self, reason: str, tables: Sequence[TrackedTable] | None = None) -> None:
        """Store that versions may be missing behind the last change that was read: of some tables, or of all."""
        known = self._tables.by_relation.values() if tables is None else tables
        if known:
            await self._leadership.ask(SQL["gap"], [table.id for table in known], self._lsn, reason)
            observe(HistoryGapNoted(", ".join(table.name for table in known), reason))
