"""Changes as messages in a stream of NATS, one for each table, with an id each that grows: after a failure only what is not stored is sent.

Ids are `<epoch>-<lsn>-<number>-<index>`. The epoch is the time of the snapshot; its rows have the position 0 and a running number.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence

from broker import subjects
from broker.jetstream.errors import JetStreamError
from broker.jetstream.ordered_publisher import OrderedPublisher
from broker.jetstream.streams import ensure_stream, stream_state
from broker.nats.connection import NatsConnection
from schemas.changes import Values
from schemas.errors import Unavailable
from schemas.keys.secret import Secret
from schemas.settings.streams import StreamSettings
from workers.streams.change_messages import SNAPSHOT, SNAPSHOT_END, MessageForm
from workers.streams.model import CopyPlace, SnapshotNeeded, SourceTable, StreamChange, TargetAway

_STORED_S = 15.0
_LONGEST_ROW = 4 * 1024 * 1024
"""Bytes of the longest row that is sent; a server that takes shorter messages gets shorter ones."""
_FOREIGN = (0, 0, 0, 0)
_Id = tuple[int, ...]


class NatsTarget:
    """One table of a NATS target at `url`."""

    keeps_place = False

    def __init__(self, name: str, settings: StreamSettings, source: SourceTable, url: Secret) -> None:
        self._settings, self._url = settings, url
        schema, table = subjects.token(source.schema), subjects.token(source.name)
        self._stream = f"{name}-{schema}-{table}"
        self._subject = f"headwater.{name}.{schema}.{table}"
        self._form = MessageForm(source)
        self._connection: NatsConnection | None = None
        self._last_seq, self._last_id = 0, ""
        self._number = 0

    async def open(self) -> CopyPlace | None:
        """Connect, and make the stream. Raises: TargetAway."""
        try:
            self._connection = await NatsConnection.open(self._url.reveal(), name="streams")
            await ensure_stream(
                self._connection,
                self._stream,
                [self._subject],
                max_age_s=self._settings.keep,
                max_bytes=int(self._settings.keep_size),
            )
        except (Unavailable, JetStreamError) as error:
            raise TargetAway(str(error)) from None
        await self._look()
        return None

    @property
    def newest_epoch(self) -> int:
        """Return the epoch of the last message of the stream."""
        return order(self._last_id)[0] if self._last_id else 0

    async def fit(self, source: SourceTable, renamed: Sequence[tuple[str, str]]) -> None:
        """Send the columns as they are now. Raises: SnapshotNeeded if the stream is not as this target left it."""
        self._form = MessageForm(source)
        if not self._last_seq:
            raise SnapshotNeeded("the stream of the target is empty")
        if self._last_id and order(self._last_id) == _FOREIGN:
            raise SnapshotNeeded("another client has written into the stream of the target")

    async def snapshot(self, pages: AsyncIterator[list[Values]], place: CopyPlace) -> int:
        """Send all rows between two messages that say so. Raises: TargetAway."""
        at_us, count = time.time_ns() // 1000, 0
        await self._send(
            [(_id(place.epoch, 0, 0, 0), self._form.mark(SNAPSHOT, _id(place.epoch, 0, 0, 0), at_us))]
        )
        async for page in pages:
            messages = []
            for values in page:
                count += 1
                id = _id(place.epoch, 0, count, 0)
                messages.append((id, self._form.read(values, id, at_us, self._longest_row)))
            await self._send(messages)
        id = _id(place.epoch, 0, count + 1, 0)
        await self._send([(id, self._form.mark(SNAPSHOT_END, id, at_us))])
        return count

    async def write(self, changes: Sequence[StreamChange], place: CopyPlace) -> None:
        """Send the changes that are not stored yet. Raises: TargetAway."""
        ids = [_id(place.epoch, change.lsn, change.number, change.index) for change in changes]
        stored = order(self._last_id) if self._last_id else _FOREIGN
        await self._send(
            (id, self._form.message(change, id, self._longest_row))
            for id, change in zip(ids, changes, strict=True)
            if order(id) > stored
        )

    async def tidy(self) -> None:
        """Nothing: the stream removes its oldest messages itself."""

    def figures(self) -> Mapping[str, float]:
        """Nothing is counted."""
        return {}

    async def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            await self._connection.close()
            self._connection = None

    @property
    def _longest_row(self) -> int:
        assert self._connection is not None  # opened before
        return min(_LONGEST_ROW, self._connection.max_payload * 7 // 8)  # keys and names take the rest

    async def _look(self) -> None:
        """Read what the stream ends with. Raises: TargetAway."""
        assert self._connection is not None  # opened before
        try:
            state = await stream_state(self._connection, self._stream)
        except (Unavailable, JetStreamError) as error:
            raise TargetAway(str(error)) from None
        if state is None:
            raise TargetAway("the stream of the target is gone")
        self._last_seq, self._last_id = state.last_seq, state.last_id

    async def _send(self, messages: Iterable[tuple[str, bytes]]) -> None:
        """Store messages, in order. Raises: TargetAway."""
        assert self._connection is not None  # opened before
        try:
            async with (
                asyncio.timeout(_STORED_S),
                OrderedPublisher(
                    self._connection,
                    self._stream,
                    order=order,
                    last_seq=self._last_seq,
                    last_id=self._last_id,
                    confirmed=self._number,
                ) as publisher,
            ):
                for id, message in messages:
                    self._number += 1
                    await publisher.publish(self._subject, message, id=id, mark=self._number)
                await publisher.settled()
        except TimeoutError:
            raise TargetAway(f"messages were not stored within {_STORED_S:g} s") from None
        except (Unavailable, JetStreamError) as error:
            raise TargetAway(str(error)) from None
        await self._look()


def order(id: str) -> _Id:
    """Return the place of a message by its id; one that is not ours is before all others."""
    parts = id.split("-")
    try:
        numbers = tuple(int(part, 16) for part in parts)
    except ValueError:
        return _FOREIGN
    return numbers if len(numbers) == len(_FOREIGN) else _FOREIGN


def _id(epoch: int, lsn: int, number: int, index: int) -> str:
    return f"{epoch:x}-{lsn:x}-{number:x}-{index:x}"
