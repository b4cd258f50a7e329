"""One shape: its snapshot is read once, then every change of its rows is appended to its log.

Theory. The log of Postgres says which rows may have changed and when; what a caller may see of them is asked of Postgres, as that
caller, in a snapshot that is later than the change. What is seen is compared with what the shape has for that key:

    not had, seen       insert                had, other values    update
    had, not seen       delete                neither              nothing

So a change that is applied twice, or that the snapshot had already, appends nothing; no version is sent that the caller may not see
now; and a row of which only the right changed is found by comparing all keys (`compare`). A message carries the numbers of the
transactions it was caused by. The row that is read may include later transactions, whose own turn then finds no difference: those
get a message without changed columns, so that whoever waits for their number finds it.

Positions. A client holds `<position>_0` of the last up-to-date message, so every batch gets a position above all that were reported.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from functools import partial
from typing import TypeVar

from workers.database.connection_pool.pool import ConnectionPool
from workers.database.transaction_snapshot import TransactionSnapshot
from workers.sql.compose import quoted
from workers.sync.definition import ResolvedShape
from workers.sync.errors import MustRefetch
from workers.sync.messages import Batch, Draft, RowState, change_of, rendered
from workers.sync.parameters import INFINITE, Offset
from workers.sync.pending import KeyValues, PendingChange, key_values
from workers.sync.reading import SnapshotPoint, open_snapshot, read_by_keys
from workers.sync.recent_reads import RecentReads
from workers.sync.shape_members import MOST_MEMBERS, ShapeMembers
from workers.sync.snapshot_chunks import chunks_of
from workers.sync.store import ShapeStore, in_thread

KEYS_AT_ONCE = 500
_QUIET_S = 1.0
T = TypeVar("T")


class ShapeState(Enum):
    """The life of a shape."""

    BUILDING = "building"
    LIVE = "live"
    ENDED = "ended"


class Shape:
    """One shape. `reached` returns the position up to which the stream was applied to all shapes."""

    def __init__(
        self,
        handle: str,
        resolved: ResolvedShape,
        store: ShapeStore,
        chunk_size: int,
        reached: Callable[[], int],
        on_changed: Callable[[str], None],
        catch_up: Callable[[], Awaitable[None]],
        working: asyncio.Semaphore,
    ) -> None:
        self._catch_up, self._working = catch_up, working
        self.handle, self.resolved, self.store = handle, resolved, store
        self.state = ShapeState.BUILDING
        self.used_at = 0.0
        self.compared_at = 0.0
        self.compare_s = 0.0
        self.applied_seq = 0
        """Number of the stream's message up to which everything was applied, while it is behind."""
        self.is_retired = False
        """Rows went out of sight since its snapshot: who starts again gets another shape."""
        self.pending: PendingChange | None = None
        self._is_busy = self._is_indexed = False
        self._idle = asyncio.Event()
        self._idle.set()
        self._has_work = asyncio.Event()
        self.snapshot = ""
        self.chunks = 0
        self._read_at = 0.0
        self._chunk_size, self._reached, self._on_changed = chunk_size, reached, on_changed
        self.lock = asyncio.Lock()
        self._work = asyncio.Lock()
        self._grew = asyncio.Event()
        self._told = 0
        self._last: Offset | None = None
        self._recent = RecentReads()
        table = resolved.table
        self._relation = f"{quoted(table.schema)}.{quoted(table.name)}"
        self.members = ShapeMembers(self._relation)

    # Building

    async def build(self, database: ConnectionPool) -> None:
        """Read the snapshot and write its chunks. Raises: DatabaseError, Disconnected, PoolTimeout, OSError."""
        has_output = not self.resolved.definition.has_tags
        async with open_snapshot(database, self.resolved.session, has_output=has_output) as snapshot:
            self.snapshot = snapshot.point.text
            async for pieces in chunks_of(snapshot, self.resolved, self._chunk_size):
                await self._append_chunk(*pieces)
        await self._in_thread(lambda: self.store.note(snapshot=self.snapshot.encode()))
        self._told = max(self._told, self._reached())  # what shapes before this one may have reported
        self.state = ShapeState.LIVE
        self._wake()

    async def load(self) -> None:
        """Go on with what the store has. Raises: LookupError if its snapshot was not complete."""
        notes = await self._in_thread(self.store.notes)
        self.snapshot = notes["snapshot"].decode()
        self.chunks = await self._in_thread(self.store.count_chunks)
        self._last = await self._in_thread(self.store.last_offset)
        self._is_indexed = "indexed" in notes
        self.state = ShapeState.LIVE

    async def _index(self) -> None:
        """Make the rows of the snapshot known by key, before the first change; clients do not wait for that."""
        if not self._is_indexed:
            await self._in_thread(self.store.begin_index)
            for number in range(self.chunks):  # one after another: readers of the log come in between
                await self._in_thread(partial(self.store.index_chunk, number))
            await self._in_thread(self.store.end_index)
            self._is_indexed = True
        if not self.members.are_known and self.resolved.equal and self.resolved.has_plain_key:
            self.members.load(await self._in_thread(lambda: self.store.first_keys(MOST_MEMBERS + 1)))

    async def _wait_for_quiet(self) -> None:
        """Wait until no client reads the snapshot any more, or a change came: what follows takes as long as the reading."""
        loop = asyncio.get_running_loop()
        while self.chunks > 1 and not self._has_work.is_set() and loop.time() < self._read_at + _QUIET_S:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(self._read_at + _QUIET_S):
                    await self._has_work.wait()

    async def _append_chunk(self, pieces: list[bytes], end: bytes) -> None:
        number = self.chunks
        await self._in_thread(lambda: self.store.append_chunk(number, pieces, end))
        self.chunks += 1
        self._wake()

    async def wait_for_chunk(self, number: int) -> bool:
        """Wait until a chunk of the snapshot is there; return whether it exists."""
        self._read_at = asyncio.get_running_loop().time()
        while self.state is ShapeState.BUILDING and self.chunks <= number:
            grew = self._grew
            await grew.wait()
        return number < self.chunks

    async def wait_until_built(self) -> None:
        """Wait until the shape is complete, or has ended."""
        while self.state is ShapeState.BUILDING:
            grew = self._grew
            await grew.wait()

    def end(self) -> None:
        """Mark it as ended: requests that wait are answered with 409."""
        self.state = ShapeState.ENDED
        self._wake()
        self._on_changed(self.handle)

    def _wake(self) -> None:
        self._grew.set()
        self._grew = asyncio.Event()

    # Answers

    @property
    def position(self) -> int:
        """Return the position up to which the log is complete, and note that it is reported."""
        last = self._last[0] + 1 if self._last else 0
        self._told = max(self._told, last, 0 if self.is_behind else self._reached())
        return self._told

    @property
    def is_behind(self) -> bool:
        """Return whether changes wait to be applied, or are being applied."""
        return self._is_busy or self.pending is not None

    async def settled(self, longest_s: float) -> bool:
        """Wait until no transaction is applied in part; return whether that came in time."""
        try:
            async with asyncio.timeout(longest_s):
                await self._idle.wait()
        except TimeoutError:
            return False
        return True

    @property
    def end_offset(self) -> Offset:
        """Return the offset behind everything."""
        return self._last or (0, INFINITE)

    def check(self) -> None:
        """Raise MustRefetch if the shape has ended."""
        if self.state is ShapeState.ENDED:
            raise MustRefetch

    async def read_log(self, offset: Offset) -> tuple[list[bytes], Offset, bool, int]:
        """Return messages behind an offset, the offset of the last, whether they are all, and the position they are complete to.

        Raises: MustRefetch.
        """
        async with self.lock:
            self.check()
            position = self.position
            if self._last is None or offset >= self._last:
                return [], offset, True, position
            bodies, last, is_end = await in_thread(partial(self.store.log_after, offset, self._chunk_size))
            return bodies, last, is_end, position

    # Changes

    def add(self, change: PendingChange) -> None:
        """Add what has to be applied."""
        if self.pending is None:
            self.pending = change
        else:
            self.pending.merge(change)
        self._has_work.set()

    async def work(self, database: ConnectionPool) -> None:
        """Apply what was added, in order, until the shape ends. Raises: as `apply`; what was not applied waits then."""
        await self.wait_until_built()
        await self._wait_for_quiet()
        async with self._work:
            await self._index()
        while self.state is ShapeState.LIVE:
            await self._has_work.wait()
            self._has_work.clear()
            change, self.pending = self.pending, None
            if change is None:
                continue
            self._is_busy = True
            self._idle.clear()
            try:
                async with self._working:
                    await self.apply(database, change)
            except BaseException:
                later, self.pending = self.pending, change
                if later is not None:
                    self.pending.merge(later)
                self._has_work.set()
                raise
            finally:
                self._is_busy = False
                self._idle.set()
            self._on_changed("")

    async def apply(self, database: ConnectionPool, change: PendingChange) -> None:
        """Append what a change means for this shape. Raises: DatabaseError, Disconnected, PoolTimeout, OSError; MustRefetch if it has ended."""
        async with self._work:
            await self._index()
            await self._apply_rows(database, change)
            if change.compares or change.reads_all:
                await self._compare(database, change.lsn, tuple(change.txids))

    async def compare(self, database: ConnectionPool) -> None:
        """Compare the keys that the caller sees now with those that the shape has. Raises: as `apply`."""
        await self.wait_until_built()
        async with self._work:
            await self._index()
            await self._compare(database, 0, ())

    async def _compare(self, database: ConnectionPool, lsn: int, txids: tuple[int, ...]) -> None:
        started_at = asyncio.get_running_loop().time()
        store, sql = self.store, self.resolved.sql
        await self._in_thread(store.begin_comparison)
        async with open_snapshot(database, self.resolved.session) as snapshot:
            async for page in snapshot.pages(sql.keys()):
                await self._in_thread(partial(store.add_present, page))
        await self._catch_up()
        waiting, self.pending = self.pending, None
        if (
            waiting is not None
        ):  # what these transactions changed is theirs; the comparison adds what nothing announces
            await self._apply_rows(database, waiting)
            if waiting.compares:
                self.add(PendingChange(waiting.lsn, waiting.txids, compares=True))
        await self._in_thread(store.end_comparison)
        after = 0
        while some := await self._in_thread(partial(store.differing, after, KEYS_AT_ONCE)):
            after = some[-1][0]
            keys = [key_values(key, self._relation) for _, key in some]
            point, rows = await read_by_keys(database, self.resolved.session, sql, keys)
            await self._append(rows, point, Batch(lsn, txids, is_move=True), {})
        now = asyncio.get_running_loop().time()
        self.compared_at, self.compare_s = now, now - started_at

    async def _apply_rows(self, database: ConnectionPool, change: PendingChange) -> None:
        keys = list(change.keys)
        for start in range(0, len(keys), KEYS_AT_ONCE):
            await self._apply_keys(database, change, keys[start : start + KEYS_AT_ONCE])
        if change.reads_all:
            await self._read_all(database, change)

    async def _read_all(self, database: ConnectionPool, change: PendingChange) -> None:
        """Read every row that the caller sees again, in pages of keys."""
        sql, session, store = self.resolved.sql, self.resolved.session, self.store
        await self._in_thread(store.begin_comparison)
        async with open_snapshot(database, session) as snapshot:
            async for page in snapshot.pages(sql.keys()):
                await self._in_thread(partial(store.add_present, page))
        after = b""
        while keys := await self._in_thread(partial(store.present_after, after, KEYS_AT_ONCE)):
            after = keys[-1]
            values = [key_values(key, self._relation) for key in keys]
            point, rows = await read_by_keys(database, session, sql, values)
            await self._append(rows, point, Batch(change.lsn, tuple(change.txids)), {})

    async def _apply_keys(
        self, database: ConnectionPool, change: PendingChange, keys: list[KeyValues]
    ) -> None:
        point, rows = await read_by_keys(database, self.resolved.session, self.resolved.sql, keys)
        texts = {key: row.key for key, row in zip(keys, rows, strict=True)}
        renamed = {
            texts[new]: texts[old] for new, old in change.renamed.items() if new in texts and old in texts
        }
        txids = {row.key: tuple(change.keys[key]) for key, row in zip(keys, rows, strict=True)}
        await self._append(rows, point, Batch(change.lsn, tuple(change.txids)), renamed, txids)

    async def _append(
        self,
        rows: Sequence[RowState],
        point: SnapshotPoint,
        batch: Batch,
        renamed: Mapping[bytes, bytes],
        txids: Mapping[bytes, tuple[int, ...]] | None = None,
    ) -> None:
        seen = TransactionSnapshot.parse(point.text)
        async with self.lock:
            self.check()
            had = await in_thread(partial(self.store.rows_of, [row.key for row in rows]))
            shown = {row.key for row in rows if row.value is not None}
            # A key that the caller does not see, or never saw, is not named.
            renamed = {new: old for new, old in renamed.items() if new in shown and old in had}
            drafts: list[Draft] = []
            states: dict[bytes, bytes | None] = {}
            for row in _deletes_first(rows):
                draft = self._draft(row, had.get(row.key), renamed, (txids or {}).get(row.key, ()))
                if draft is not None:
                    drafts.append(draft)
                    states[row.key] = row.value
            if not drafts:
                return
            lsn = max(batch.lsn, self._told + 1, (self._last or (0, 0))[0] + 1)
            placed = Batch(lsn, batch.txids, batch.is_move)
            messages = rendered(self.resolved.form, drafts, placed)
            await in_thread(partial(self.store.apply, lsn, messages, states))
            self._last = (lsn, messages[-1][0])
            self.is_retired |= batch.is_move and any(value is None for value in states.values())
            self._recent.note(states, seen, frozenset(batch.txids))
            self.members.note(states)
        self._on_changed(self.handle)

    def may_concern(self, key: KeyValues) -> bool:
        """Return whether the shape has a row of this key, or may have one."""
        return self.is_behind or self.members.may_have(key)

    def may_concern_any(self, keys: set[KeyValues]) -> bool:
        """Return whether the shape has, or may have, a row of one of some keys."""
        return self.is_behind or self.members.may_have_any(keys)

    def _draft(
        self, row: RowState, had: bytes | None, renamed: Mapping[bytes, bytes], txids: tuple[int, ...]
    ) -> Draft | None:
        """Return the message of a row, if there is one."""
        is_noted = (
            had is not None
            and row.value is not None
            and any(self._recent.includes(row.key, txid) for txid in txids)
        )
        link: tuple[str, bytes] | None = None
        if row.key in renamed and had is None:
            link = ("key_change_from", renamed[row.key])
        elif row.value is None and row.key in renamed.values():
            link = ("key_change_to", next(new for new, old in renamed.items() if old == row.key))
        return change_of(
            self.resolved.form, row.key, had, row.value, is_noted=is_noted, renamed=link, tag=row.tag
        )

    async def _in_thread(self, work: Callable[[], T]) -> T:
        """Run work on the store. Raises: MustRefetch if the shape has ended: its files are closed then."""
        async with self.lock:
            self.check()
            return await in_thread(work)


def _deletes_first(rows: Sequence[RowState]) -> list[RowState]:
    """Return the rows with those that are gone first: the old key of a row comes before its new one."""
    return sorted(rows, key=lambda row: row.value is not None)
