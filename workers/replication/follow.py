"""One term of a leader: bring slot and stream together, then publish what the log says until something breaks.

beginning   where the log goes on from what the stream has, and whether subscribers are told of a gap (beginning.py)
following   frames -> messages -> drafts -> messages of the stream, in order; what the stream has already is
            skipped; the slot is confirmed when the stream has everything before
"""

import asyncio
from collections.abc import Callable

from broker.jetstream.ordered_publisher import Ordered
from broker.jetstream.stream_watch import EVERY_S, StreamWatch
from broker.nats.connection import Connection
from broker.observability.observe import observe
from broker.subjects import CHANGES_STREAM
from schemas.settings.realtime import Realtime
from workers.replication.beginning import Beginning, Changes, begin
from workers.replication.observations import (
    ChangeCut,
    ReplicationStarted,
    RoomMessageDropped,
)
from workers.replication.outgoing import (
    Outgoing,
    batch_of,
    is_for_rooms,
    order,
    sent_of,
    tick_of,
)
from workers.replication.pgoutput import Begin, Type, decode
from workers.replication.rows import Draft, Ended, Rows
from workers.replication.session import StreamLost, lsn_text
from workers.replication.slot import (
    PUBLICATIONS,
    STATEMENTS,
    Server,
)
from workers.replication.stream import Alive, Stream
from workers.replication.tables import Ask, Tables
from workers.replication.visible import Visible

_NO_PUBLICATION = "42704"
_IN_USE = "55006"
_TICK_S = 60.0
"""How often a place is told at least, where nothing else is; less, where changes are kept for a short time only."""


class Term:
    """Publishes changes as long as the process leads. `url` is that of a role that may replicate, `convert` is asked for values
    of a project's own types (conversions.py)."""

    def __init__(
        self, connection: Connection, ask: Ask, convert: Ask, url: str, settings: Realtime, watch: StreamWatch
    ) -> None:
        self._connection, self._ask, self._url, self._settings = connection, ask, url, settings
        self._changes = Changes(connection, settings)
        self._stream: Stream | None = None
        self._ordered: Ordered | None = None
        self._tables = Tables(ask, convert)
        self._visible = Visible(
            lambda: ask(STATEMENTS["snapshot"]), lambda: ask(STATEMENTS["awaited"], settings.slot_name)
        )
        self._last = (0, 0)
        self._reached = 0
        self._tick_s = min(_TICK_S, float(settings.retention) / 4)
        self._tick_at = 0.0
        self._watch = watch
        self._rests = False

    @property
    def confirmed(self) -> int:
        """The position before which everything is in the stream."""
        return self._ordered.confirmed if self._ordered else 0

    @property
    def unconfirmed(self) -> int:
        """Messages that are on their way into the stream."""
        return self._ordered.unconfirmed if self._ordered else 0

    async def run(self, on_streaming: Callable[[], None] = lambda: None) -> None:
        """Begin, then follow. Raises: Unfit, StreamLost, Unavailable, DatabaseError, LeadershipLost."""
        begun = await begin(self._changes, self._ask, self._url)
        async with Ordered(
            self._connection,
            CHANGES_STREAM,
            order=order,
            last_seq=begun.last_seq,
            last_id=begun.last_id,
            confirmed=begun.start,
            on_confirmed=lambda lsn: self._stream.confirm(lsn) if self._stream else None,
            on_stored=self._watch.stored,
            on_refused=self._watch.refused,
            on_unanswered=lambda: self._watch.unanswered(is_sticky=True),
        ) as ordered:
            self._ordered = ordered
            self._last = order(begun.last_id)
            following = asyncio.ensure_future(self._go_on(ordered, begun, on_streaming))
            trying = asyncio.ensure_future(self._try_store(ordered))
            try:
                await asyncio.wait([following, ordered.failed], return_when=asyncio.FIRST_COMPLETED)
                (ordered.failed if ordered.failed.done() else following).result()
            finally:
                following.cancel()
                trying.cancel()
                await asyncio.gather(following, trying, return_exceptions=True)

    async def _go_on(self, ordered: Ordered, begun: Beginning, on_streaming: Callable[[], None]) -> None:
        if begun.gap is not None:
            await self._tell_gap(ordered, begun)
        publications: tuple[str, ...] = PUBLICATIONS
        start = begun.start
        while True:
            publications, start = await self._follow(begun.server, publications, start, on_streaming)

    async def _tell_gap(self, ordered: Ordered, begun: Beginning) -> None:
        assert begun.gap is not None
        await self._publish(ordered, begun.gap)
        await ordered.settled()
        await self._changes.note(self._ask, begun.server, begun.stream)

    async def _follow(
        self, server: Server, publications: tuple[str, ...], start: int, on_streaming: Callable[[], None]
    ) -> tuple[tuple[str, ...], int]:
        """Stream until the set of publications must be another; give it, and where to go on.

        Before version 18 the server fails where a publication is not there (a project dropped it and makes it anew).
        Then it is left out until the schema changes again.
        """
        self._reached = start
        try:
            self._stream = await self._open(publications, start)
            observe(ReplicationStarted(self._settings.slot_name, lsn_text(start)))
            on_streaming()
            await self._read(self._stream, Rows(start), is_partial=publications != PUBLICATIONS)
            return PUBLICATIONS, self._reached
        except StreamLost as lost:
            missing = [name for name in publications if f'"{name}"' in str(lost)]
            if lost.sqlstate != _NO_PUBLICATION or server.skips_missing_publications or not missing:
                raise
            return tuple(name for name in publications if name not in missing), self._reached
        finally:
            if self._stream is not None:
                self._stream.close()
                self._stream = None

    async def _open(self, publications: tuple[str, ...], start: int) -> Stream:
        try:
            return await Stream.open(self._url, self._settings.slot_name, publications, start, self.confirmed)
        except StreamLost as lost:
            if lost.sqlstate == _IN_USE:  # by one who leads no more
                await self._ask(STATEMENTS["end_reader"], self._settings.slot_name)
            raise

    async def _read(self, stream: Stream, rows: Rows, *, is_partial: bool) -> None:
        """Publish what comes. It ends where the schema changed, if some of the publications are left out."""
        assert self._ordered is not None
        while True:
            self._rests = not rows.is_inside
            frames = await stream.take()
            self._rests = False
            for frame in frames:
                if isinstance(frame, Alive):
                    if not rows.is_inside:
                        self._ordered.advance(frame.lsn)
                        await self._tick(self._ordered, frame.lsn)
                    continue
                message = decode(frame.payload)
                if isinstance(message, Begin):
                    await self._visible.wait_for(message.xid)
                elif isinstance(message, Type):
                    self._tables.hear(message)
                for made in rows.take(message, len(frame.payload)):
                    if isinstance(made, Draft):
                        await self._publish_draft(self._ordered, made)
                        continue
                    self._ended(made)
                    await self._tick(self._ordered, made.end)
                    if made.is_marked and is_partial:
                        return

    def _ended(self, transaction: Ended) -> None:
        assert self._ordered is not None
        self._reached = transaction.end
        self._ordered.advance(transaction.end)
        if transaction.is_marked:
            self._tables.forget()

    async def _tick(self, ordered: Ordered, reached: int) -> None:
        """Now and then tell that all commits before a position of the log are in the stream."""
        now = asyncio.get_running_loop().time()
        if now >= self._tick_at and (reached, 0) > self._last:
            self._tick_at = now + self._tick_s
            lsn, number = self._last
            await self._publish(ordered, tick_of(reached, number + 1 if lsn == reached - 1 else 0))

    async def _try_store(self, ordered: Ordered) -> None:
        """Write a tick every few seconds where nothing else was stored: the canary of this stream (broker/jetstream/stream_watch.py).

        Only between transactions, while the reader waits for the log and nothing is underway: then the tick takes the next
        place, no message of a transaction can claim the same, and `publish` does not wait.
        """
        while True:
            await asyncio.sleep(EVERY_S)
            if self._rests and not ordered.unconfirmed and self._watch.stored_s >= EVERY_S * 0.9:
                lsn, number = self._last
                reached = max(self._reached, lsn + 1)
                await self._publish(ordered, tick_of(reached, number + 1 if lsn == reached - 1 else 0))

    async def _publish_draft(self, ordered: Ordered, draft: Draft) -> None:
        """Publish a draft, unless the stream has it."""
        limit = ordered.max_payload
        if is_for_rooms(draft):
            made, too_long = sent_of(draft, limit)
            if too_long:
                observe(RoomMessageDropped(too_long))
            for each in made:
                await self._publish(ordered, each)
            return
        if (draft.lsn, draft.number) <= self._last:
            return
        table = await self._tables.find(draft.relation)
        news = await self._tables.convert(table, [change.new for change in draft.changes])
        olds = await self._tables.convert(table, [change.old for change in draft.changes])
        batch, is_cut = batch_of(draft, table, news, olds, limit)
        if is_cut:
            observe(ChangeCut(f"{draft.relation.schema}.{draft.relation.name}"))
        await self._publish(ordered, batch)

    async def _publish(self, ordered: Ordered, message: Outgoing) -> None:
        place = (message.lsn, message.number)
        if place > self._last:
            self._last = place
            await ordered.publish(
                message.subject.name, message.payload, id=message.id, mark=ordered.confirmed
            )
