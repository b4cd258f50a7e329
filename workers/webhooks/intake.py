"""Reads the stream of row changes and stores a delivery for each webhook that wants one.

Where the stream was read to is stored in the statement that stores the deliveries, and a delivery is stored once for an event: so
whatever dies, nothing is lost and nothing is stored twice. A webhook that is new is followed from the position at which it was made,
even if the reader is beyond it: then the reader goes back, and what it reads again changes nothing. When messages have left the stream
unread, the webhooks of rows say so.
"""

import asyncio
from collections.abc import Sequence

from broker import subjects
from broker.backoff import Backoff
from broker.codec import MessageDecoder
from broker.jetstream.errors import JetStreamError
from broker.jetstream.interruptible_reader import InterruptibleReader
from broker.jetstream.ordered_reader import MessagesLost, StoredMessage, StreamReader
from broker.jetstream.streams import StreamHead, last_up_to, stream_head
from broker.nats.connection import NatsConnection
from broker.observability.observe import observe
from schemas.changes import ChangeBatch, Gap, Tick, lsn_of_id
from schemas.errors import Unavailable
from workers.database.sessions.leadership import Leadership
from workers.webhooks.observations import WebhooksLost
from workers.webhooks.row_events import NewDelivery, deliveries_of
from workers.webhooks.statements import SQL
from workers.webhooks.webhook_list import WebhookList

_SUBJECTS = ("changes.>", subjects.GAPS.name)
_KEEP_S = 5.0
"""How often a place is stored when nothing else is."""
_MOST_AT_ONCE = 2000
_decode: MessageDecoder[ChangeBatch | Gap | Tick] = MessageDecoder(ChangeBatch | Gap | Tick)  # type: ignore[arg-type]  # msgspec accepts a union


class ChangeIntake:
    """Reads changes during one term of leadership."""

    def __init__(self, connection: NatsConnection, leadership: Leadership, webhooks: WebhookList) -> None:
        self._connection, self._leadership, self._webhooks = connection, leadership, webhooks
        self._changed = asyncio.Event()
        self._stored = asyncio.Event()
        self._reader: InterruptibleReader | None = None
        self._stream = ""
        self._lsn = self._kept_seq = self._schema_lsn = 0
        self._kept_at = 0.0

    def change(self) -> None:
        """The webhooks were read again."""
        self._changed.set()

    async def stored(self) -> None:
        """Wait until deliveries were stored."""
        await self._stored.wait()
        self._stored.clear()

    async def run(self) -> None:
        """Read for as long as there are webhooks of rows, from the stored place. Raises: DatabaseError, LeadershipLost."""
        backoff = Backoff(0.05, 5.0, jitter=0.3)
        self._stream, self._kept_seq = "", 0
        try:
            while True:
                try:
                    await self._follow(backoff)
                except MessagesLost as lost:
                    if lost.is_another:
                        self._stream, self._kept_seq = (
                            "",
                            0,
                        )  # else the new numbers would be stored as those of the old stream
                    await self._note_gap("changes left the stream before they were read")
                except (Unavailable, JetStreamError) as error:
                    if self._connection.is_connected and backoff.is_longest:
                        observe(WebhooksLost(str(error)))
                    await backoff.wait()
                    await self._connection.connected()
        finally:
            await self._close_reader()

    async def _follow(self, backoff: Backoff) -> None:
        while True:
            self._changed.clear()
            if not self._webhooks.of_tables:
                await self._close_reader()  # a later webhook is followed from its own beginning
                await self._changed.wait()
                continue
            await self._take_in_new()
            assert self._reader is not None
            messages = await self._reader.next(self._changed)
            backoff.reset()
            if messages:
                await self._take(messages)
            await self._keep_place()

    async def _close_reader(self) -> None:
        if self._reader is not None:
            await self._reader.close()
            self._reader = None

    async def _take_in_new(self) -> None:
        """Begin where the last leader ended, or where the oldest webhook that is new was made."""
        followed = {webhook.id: webhook for named in self._webhooks.of_tables.values() for webhook in named}
        # While the list is read again, it may still have tables of a webhook whose row is gone.
        rows = {id: self._webhooks.stored.get(id) for id in followed}
        new = [followed[id] for id, row in rows.items() if row is not None and not row.is_followed]
        if self._reader is not None and self._stream and not new:
            return
        head = await stream_head(self._connection, subjects.CHANGES_STREAM)
        after = (
            self._reader.after
            if self._reader is not None
            else await self._kept_place(head, len(followed) > len(new))
        )
        if new:
            made = await self._up_to(head, min(webhook.created_lsn for webhook in new))
            after = made if after is None else min(after, made)
        if self._reader is None or after != self._reader.after:
            await self._close_reader()
            self._reader = InterruptibleReader(
                StreamReader(self._connection, subjects.CHANGES_STREAM, _SUBJECTS, after or 0)
            )
        self._stream = head.created
        if new:
            # Before they count as followed: a leader that finds no place would begin at the end of the stream.
            await self._leadership.ask(SQL["keep_place"], self._stream, after or 0, self._lsn)
            await self._leadership.ask(SQL["followed"], [webhook.id for webhook in new])
            await self._webhooks.read()

    async def _kept_place(self, head: StreamHead, is_needed: bool) -> int | None:
        """Return up to where the stream was read; None if no webhook was followed before."""
        rows = await self._leadership.ask(SQL["place"]) if is_needed else []
        if not rows:
            if is_needed:
                await self._note_gap("up to where the stream of changes was read is not known")
            return head.last_seq if is_needed else None
        stream, seq, self._lsn = rows[0]
        if stream == head.created:
            return int(seq)
        await self._note_gap("the stream of changes was created again")
        return head.first_seq - 1

    async def _up_to(self, head: StreamHead, lsn: int) -> int:
        """Return the number of the last message of a transaction that was committed before a position of the log."""
        return await last_up_to(self._connection, subjects.CHANGES_STREAM, head, lsn_of_id, lsn - 1)

    async def _take(self, messages: Sequence[StoredMessage]) -> None:
        """Store the deliveries of some messages, in order."""
        deliveries: list[NewDelivery] = []
        for stored in messages:
            message = _decode(stored.payload)
            if isinstance(message, Gap):
                await self._note_gap(message.reason)
            elif isinstance(message, ChangeBatch):
                if message.schema_lsn > self._schema_lsn:  # columns or tables may be others
                    self._schema_lsn = message.schema_lsn
                    await self._webhooks.read()
                for webhook in self._webhooks.of_tables.get((message.schema, message.table), ()):
                    deliveries += deliveries_of(message, webhook)
            self._lsn = max(self._lsn, message.lsn)
            if len(deliveries) >= _MOST_AT_ONCE:
                await self._store(deliveries, stored.seq)
                deliveries = []
        if deliveries:
            await self._store(deliveries, messages[-1].seq)

    async def _store(self, deliveries: Sequence[NewDelivery], seq: int) -> None:
        columns = zip(
            *(
                (each.webhook, each.event, each.type, each.row_key, each.body, each.at, each.request_id)
                for each in deliveries
            ),
            strict=True,
        )
        await self._leadership.ask(SQL["store"], self._stream, seq, self._lsn, *map(list, columns))
        self._kept_seq, self._kept_at = seq, asyncio.get_running_loop().time()
        self._stored.set()

    async def _keep_place(self) -> None:
        """Store the place from time to time, so that a quiet table does not leave it behind the stream."""
        assert self._reader is not None
        now, seq = asyncio.get_running_loop().time(), self._reader.after
        if seq > self._kept_seq and now >= self._kept_at + _KEEP_S:
            await self._leadership.ask(SQL["keep_place"], self._stream, seq, self._lsn)
            self._kept_seq, self._kept_at = seq, now

    async def _note_gap(self, reason: str) -> None:
        ids = {webhook.id for named in self._webhooks.of_tables.values() for webhook in named}
        await self._webhooks.note_gap(sorted(ids), reason)
