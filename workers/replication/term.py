"""One term of a leader: make slot and stream consistent, then publish what the log has until an error.

start     where the log continues after the end of the stream, and whether subscribers get a gap (term_start.py)
publish   frames -> messages -> drafts -> messages of the stream, in order; what the stream has already is skipped; the slot
          is confirmed when the stream has everything before
"""

import asyncio
from collections.abc import Callable

from broker.jetstream.ordered_publisher import OrderedPublisher
from broker.jetstream.stream_watch import EVERY_S, StreamWatch
from broker.nats.connection import NatsConnection
from broker.observability.observe import observe
from broker.subjects import CHANGES_STREAM
from schemas.settings.realtime import RealtimeSettings
from workers.database.sessions.replication import StreamLost, lsn_text
from workers.replication.causing_requests import CausingRequests
from workers.replication.commit_visibility import CommitVisibility
from workers.replication.messages import (
    StreamMessage,
    batch_of,
    broadcasts_of,
    is_broadcast_table,
    order,
    tick_of,
)
from workers.replication.observations import (
    BroadcastTooLong,
    ChangeCut,
    ReplicationStarted,
)
from workers.replication.pgoutput import BeginMessage, TypeMessage, decode
from workers.replication.slot import (
    PUBLICATIONS,
    STATEMENTS,
    SYNC_PUBLICATION,
    ServerState,
)
from workers.replication.stream import Keepalive, LogStream
from workers.replication.tables import Ask, TableCatalog
from workers.replication.term_start import ChangeStream, TermStart, start_term
from workers.replication.transactions import LoggedTransactionEnd, TableDraft, TransactionAssembler

_NO_PUBLICATION = "42704"
_COLUMN_LISTS = "cannot use different column lists"
_IN_USE = "55006"
_FENCE_S = 0.005
"""Seconds between ticks that are asked for: any session of the database may ask."""
_TICK_S = 60.0
"""Seconds between ticks at most; a quarter of the retention if that is shorter."""


class ReplicationTerm:
    """Publishes changes as long as the process leads. `url` names a role that may replicate, `convert` converts values of a
    project's own types (conversions.py), `requests` verifies which request made a change."""

    def __init__(
        self,
        connection: NatsConnection,
        ask: Ask,
        convert: Ask,
        url: str,
        settings: RealtimeSettings,
        watch: StreamWatch,
        requests: CausingRequests,
    ) -> None:
        self._connection, self._ask, self._url, self._settings = connection, ask, url, settings
        self._changes = ChangeStream(connection, settings)
        self._stream: LogStream | None = None
        self._ordered: OrderedPublisher | None = None
        self._tables = TableCatalog(ask, convert)
        self._visible = CommitVisibility(
            lambda: ask(STATEMENTS["snapshot"]), lambda: ask(STATEMENTS["awaited"], settings.slot_name)
        )
        self._last = (0, 0)
        self._reached = 0
        self._tick_s = min(_TICK_S, float(settings.retention) / 4)
        self._tick_at = self._fence_at = 0.0
        self._watch = watch
        self._requests = requests
        self._is_idle = False

    @property
    def confirmed(self) -> int:
        """Return the position before which everything is in the stream."""
        return self._ordered.confirmed if self._ordered else 0

    @property
    def unconfirmed(self) -> int:
        """Return how many messages the stream has not confirmed yet."""
        return self._ordered.unconfirmed if self._ordered else 0

    async def run(self, on_streaming: Callable[[], None] = lambda: None) -> None:
        """Start the term, then publish until an error. Raises: ReplicationImpossible, StreamLost, Unavailable, DatabaseError, LeadershipLost."""
        started = await start_term(self._changes, self._ask, self._url)
        async with OrderedPublisher(
            self._connection,
            CHANGES_STREAM,
            order=order,
            last_seq=started.last_seq,
            last_id=started.last_id,
            confirmed=started.start,
            on_confirmed=lambda lsn: self._stream.confirm(lsn) if self._stream else None,
            on_stored=self._watch.stored,
            on_rejected=self._watch.rejected,
            on_unanswered=lambda: self._watch.unanswered(is_sticky=True),
        ) as ordered:
            self._ordered = ordered
            self._last = order(started.last_id)
            publishing = asyncio.ensure_future(self._publish_log(ordered, started, on_streaming))
            testing = asyncio.ensure_future(self._test_stream(ordered))
            try:
                await asyncio.wait([publishing, ordered.failed], return_when=asyncio.FIRST_COMPLETED)
                (ordered.failed if ordered.failed.done() else publishing).result()
            finally:
                publishing.cancel()
                testing.cancel()
                await asyncio.gather(publishing, testing, return_exceptions=True)

    async def _publish_log(
        self, ordered: OrderedPublisher, started: TermStart, on_streaming: Callable[[], None]
    ) -> None:
        if started.gap is not None:
            await self._publish_gap(ordered, started)
        publications: tuple[str, ...] = PUBLICATIONS
        start = started.start
        while True:
            publications, start = await self._publish_until_change(
                started.server, publications, start, on_streaming
            )

    async def _publish_gap(self, ordered: OrderedPublisher, started: TermStart) -> None:
        assert started.gap is not None
        await self._publish(ordered, started.gap)
        await ordered.settled()
        await self._changes.note(self._ask, started.server, started.stream)

    async def _publish_until_change(
        self, server: ServerState, publications: tuple[str, ...], start: int, on_streaming: Callable[[], None]
    ) -> tuple[tuple[str, ...], int]:
        """Publish until the set of publications must change; return the new set, and where to continue.

        Before version 18 the server fails if a publication is missing (a project dropped it and creates it again later), and
        any version does while a project's publication lists columns of a table that has a shape. Then it is left out until the
        schema changes again; the pool of shapes takes the table out of its publication and ends all shapes (workers/sync/rights.py).
        """
        self._reached = start
        try:
            self._stream = await self._open(publications, start)
            await self._choose_keepalives(self._stream)
            observe(ReplicationStarted(self._settings.slot_name, lsn_text(start)))
            on_streaming()
            await self._read(
                self._stream, TransactionAssembler(start), is_partial=publications != PUBLICATIONS
            )
            return PUBLICATIONS, self._reached
        except StreamLost as lost:
            if _COLUMN_LISTS in str(lost) and SYNC_PUBLICATION in publications:
                return tuple(name for name in publications if name != SYNC_PUBLICATION), self._reached
            missing = [name for name in publications if f'"{name}"' in str(lost)]
            if lost.sqlstate != _NO_PUBLICATION or server.skips_missing_publications or not missing:
                raise
            return tuple(name for name in publications if name not in missing), self._reached
        finally:
            if self._stream is not None:
                self._stream.close()
                self._stream = None

    async def _open(self, publications: tuple[str, ...], start: int) -> LogStream:
        try:
            return await LogStream.open(
                self._url, self._settings.slot_name, publications, start, self.confirmed
            )
        except StreamLost as lost:
            if lost.sqlstate == _IN_USE:  # by a former leader
                await self._ask(STATEMENTS["end_reader"], self._settings.slot_name)
            raise

    async def _choose_keepalives(self, stream: LogStream) -> None:
        """Do without keepalives, unless commits wait for this reader."""
        ((is_awaited,),) = await self._ask(STATEMENTS["awaited"], self._settings.slot_name)
        stream.set_keepalives(wanted=is_awaited)

    async def _read(self, stream: LogStream, rows: TransactionAssembler, *, is_partial: bool) -> None:
        """Publish what arrives. Return at a change of the schema if some publications are left out (`is_partial`)."""
        assert self._ordered is not None
        while True:
            self._is_idle = not rows.is_inside
            frames = await stream.take()
            self._is_idle = False
            for frame in frames:
                if isinstance(frame, Keepalive):
                    if not rows.is_inside:
                        self._ordered.advance(frame.lsn)
                        await self._tick(self._ordered, frame.lsn)
                    continue
                message = decode(frame.payload)
                if isinstance(message, BeginMessage):
                    await self._visible.wait_for(message.xid)
                elif isinstance(message, TypeMessage):
                    self._tables.add_type(message)
                for part in rows.take(message, len(frame.payload)):
                    if isinstance(part, TableDraft):
                        await self._publish_draft(self._ordered, part)
                        continue
                    self._end_transaction(part)
                    await self._tick(self._ordered, part.end, least_s=_FENCE_S if part.is_fence else None)
                    if part.is_marked and is_partial:
                        return

    def _end_transaction(self, transaction: LoggedTransactionEnd) -> None:
        assert self._ordered is not None
        self._reached = transaction.end
        self._ordered.advance(transaction.end)
        if transaction.is_marked:
            self._tables.forget()

    async def _tick(self, ordered: OrderedPublisher, reached: int, *, least_s: float | None = None) -> None:
        """Publish, every `_tick_s` seconds, that all commits before a position of the log are in the stream.

        With `least_s` one is published at once, unless that was done so few seconds ago: whoever asks for it asks again.
        """
        now = asyncio.get_running_loop().time()
        is_asked = least_s is not None and now >= self._fence_at
        if (now >= self._tick_at or is_asked) and (reached, 0) > self._last:
            if now >= self._tick_at and self._stream is not None:  # the setting may have changed
                await self._choose_keepalives(self._stream)
            self._tick_at = now + self._tick_s
            if least_s is not None:
                self._fence_at = now + least_s
            lsn, number = self._last
            await self._publish(ordered, tick_of(reached, number + 1 if lsn == reached - 1 else 0))

    async def _test_stream(self, ordered: OrderedPublisher) -> None:
        """Publish a tick every few seconds if nothing else was stored, to test the stream (broker/jetstream/stream_watch.py).

        Only between transactions, while the reader waits for the log and nothing is underway: then the tick takes the next
        place, no message of a transaction has the same, and `publish` does not wait.
        """
        while True:
            await asyncio.sleep(EVERY_S)
            if self._is_idle and not ordered.unconfirmed and self._watch.stored_s >= EVERY_S * 0.9:
                lsn, number = self._last
                reached = max(self._reached, lsn + 1)
                await self._publish(ordered, tick_of(reached, number + 1 if lsn == reached - 1 else 0))

    async def _publish_draft(self, ordered: OrderedPublisher, draft: TableDraft) -> None:
        """Publish a draft, unless the stream has it already."""
        limit = ordered.max_payload
        if is_broadcast_table(draft):
            broadcasts, too_long = broadcasts_of(draft, limit)
            if too_long:
                observe(BroadcastTooLong(too_long))
            for broadcast in broadcasts:
                await self._publish(ordered, broadcast)
            return
        requests = self._requests.of(draft)  # of what is in the stream already too: a nonce is believed once
        if (draft.lsn, draft.number) <= self._last:
            return
        table = await self._tables.find(draft.relation)
        news = await self._tables.convert(table, [change.new for change in draft.changes])
        olds = await self._tables.convert(table, [change.old for change in draft.changes])
        batch, is_cut = batch_of(draft, table, news, olds, limit, requests)
        if is_cut:
            observe(ChangeCut(f"{draft.relation.schema}.{draft.relation.name}"))
        await self._publish(ordered, batch)

    async def _publish(self, ordered: OrderedPublisher, message: StreamMessage) -> None:
        place = (message.lsn, message.number)
        if place > self._last:
            self._last = place
            await ordered.publish(
                message.subject.name, message.payload, id=message.id, mark=ordered.confirmed
            )
