"""The row changes of one channel: its place in the feed, from the first subscription over new tokens to its end.

A database or broker that is away is tried again every few seconds; an entry that is refused for good is not. With the
join option `resume` (a position, as in `data.position` of each change) everything after it comes first. Where that is
impossible the client gets a `system` message, extension `postgres_changes`, status `error`, whose text begins with
`gap: `: it must read its tables anew. Where the subscription begins stands in the message that tells of it, and later ones
in the answers to heartbeats (`socket.py`): who hears of no change for hours has a fresh position all the same.
Source: reference page "realtime", sections 5 and 9; schemas/changes.py.
"""

import asyncio
import random
from collections.abc import Callable
from typing import Protocol

import msgspec

from broker.observability.observe import observe
from schemas.changes import Position
from schemas.errors import ApiError
from schemas.realtime import CheckedEntry, Entry
from services.realtime import frames
from services.realtime.frames import Vsn
from services.realtime.join import Wanted
from services.realtime.model import Delivery, Feed, Subscription
from services.realtime.observed import ChangesRefused
from services.realtime.tokens import Identity

AGAIN_S = (5.0, 10.0)
SUBSCRIBED = "Subscribed to PostgreSQL"


class Seat(Protocol):
    """What is needed of the channel."""

    vsn: Vsn
    topic: str

    def write(self, frame: bytes) -> None:
        """Send a frame."""
        ...

    def system(self, status: str, message: str, **more: str) -> None:
        """Send a `system` message about row changes."""
        ...

    @property
    def is_behind(self) -> bool:
        """Whether so much waits for the client that more should wait in the stream."""
        ...

    async def caught_up(self) -> None:
        """Come back when little waits for the client, or it is gone."""
        ...


class Memory(Protocol):
    """Where the client of this channel left off before, and where it begins now (`client_positions.py`)."""

    async def recall(self) -> Position | None:
        """Return the position from which the client goes on, if one is remembered."""
        ...

    def begin(self, position: Position) -> None:
        """Remember that everything up to a position is acknowledged."""
        ...


class Following:
    """The subscription of a channel to row changes; a `Subscriber` of the feed."""

    def __init__(
        self,
        seat: Seat,
        feed: Callable[[], Feed | None],
        identity: Identity,
        wanted: tuple[Wanted, ...],
        since: Position | None,
        resume_error: str,
        *,
        is_old: bool = False,
        memory: Memory | None = None,
    ) -> None:
        self.role = identity.role
        self.claims = identity.claims
        self._seat = seat
        self._feed = feed
        self._wanted = wanted
        self._since = since
        self._resume_error = resume_error
        self._memory = memory
        self._frame = _old_frame if is_old else _frame
        self._subscription: Subscription | None = None
        self._is_closed = False
        self._is_told = False
        self._delivered: Position | None = None
        self._task = asyncio.get_running_loop().create_task(self._begin())

    def renew(self, identity: Identity) -> None:
        """Go on with another role and other claims."""
        if (identity.role, identity.claims) == (self.role, self.claims):
            return
        self.role, self.claims = identity.role, identity.claims
        if self._subscription is not None:
            self._task.cancel()
            self._task = asyncio.get_running_loop().create_task(self._renew(self._subscription))

    def close(self) -> None:
        """Get nothing more."""
        self._is_closed = True
        self._task.cancel()
        if self._subscription is not None:
            self._subscription.close()

    # As a subscriber of the feed

    def deliver(self, delivery: Delivery) -> None:
        """Send a change: one frame for all on the same topic."""
        if self._is_closed:
            return
        key = (self._seat.topic, self._seat.vsn, self._frame)
        frame = delivery.frames.get(key)
        if frame is None:
            frame = delivery.frames[key] = self._frame(self._seat.vsn, self._seat.topic, delivery)
        self._seat.write(frame)
        self._delivered = delivery.position

    def gap(self, since: Position | None) -> None:
        """Tell the client that changes are lost."""
        if not self._is_closed:
            after = f" after {since}" if since is not None else ""
            self._seat.system("error", f"gap: changes{after} are lost; read the tables anew")

    @property
    def is_behind(self) -> bool:
        """Whether so much waits for the client that more should wait in the stream."""
        return not self._is_closed and self._seat.is_behind

    async def caught_up(self) -> None:
        """Come back when little waits for the client, or it is gone."""
        await self._seat.caught_up()

    @property
    def position(self) -> Position | None:
        """Up to where all changes are sent; None while that is not known."""
        if self._subscription is None:
            return None
        return max(self._subscription.position, self._delivered or Position(0))

    @property
    def sent(self) -> Position | None:
        """Return up to where all changes are sent, also while those that were missed are sent; None before."""
        return self.position if self._subscription is not None else self._delivered or self._since

    @property
    def delivered(self) -> Position | None:
        """Return the position of the last change that was sent."""
        return self._delivered

    # Its life

    async def _begin(self) -> None:
        entries = [wanted.entry for wanted in self._wanted if wanted.entry is not None]
        ids = [wanted.id for wanted in self._wanted if wanted.entry is not None]
        for wanted in self._wanted:
            if wanted.error:
                self._seat.system("error", wanted.error)
        if self._resume_error:
            self._seat.system("error", f"gap: `resume` cannot be used: {self._resume_error}")
        if self._memory is not None and entries:
            self._since = await self._memory.recall()
        while entries:
            feed = self._feed()
            try:
                if feed is not None:
                    self._subscription, checked = await feed.subscribe(self, entries, ids, self._since)
                    break
                reason = "row changes are not delivered here"
            except ApiError as error:
                reason = str(error)
            self._refused(entries, reason)
            await asyncio.sleep(random.uniform(*AGAIN_S))
        else:
            return
        if self._memory is not None and (position := self.position) is not None:
            self._memory.begin(position)
        await self._settle(self._subscription, checked)

    async def _renew(self, subscription: Subscription) -> None:
        while True:
            try:
                checked = await subscription.renew()
            except ApiError as error:
                observe(ChangesRefused(str(error)))
                await asyncio.sleep(random.uniform(*AGAIN_S))
            else:
                break
        await self._settle(subscription, checked)

    async def _settle(self, subscription: Subscription, checked: list[CheckedEntry]) -> None:
        """Tell what became of the entries; those that may still succeed are tried again."""
        told: set[str] = set()
        while True:
            for each in checked:
                if each.error and each.error not in told:
                    told.add(each.error)
                    self._seat.system("error", each.error)
            if not self._is_told and any(not each.error for each in checked):
                self._is_told = True
                self._seat.system("ok", SUBSCRIBED, position=str(self.position))
            if all(each.is_final or not each.error for each in checked):
                return
            await asyncio.sleep(random.uniform(*AGAIN_S))
            try:
                checked = await subscription.renew()
            except ApiError as error:
                observe(ChangesRefused(str(error)))

    def _refused(self, entries: list[Entry], reason: str) -> None:
        observe(ChangesRefused(reason))
        shown = ", ".join(_shown(entry) for entry in entries)
        self._seat.system(
            "error",
            "Unable to subscribe to changes with given parameters. An exception happened so please check your connect "
            f"parameters: {shown}. Exception: {reason}",
        )


class _Typed(msgspec.Struct):
    type: str


def _frame(vsn: Vsn, topic: str, delivery: Delivery) -> bytes:
    payload = b'{"ids":%b,"data":%b}' % (frames.json_text(delivery.ids), delivery.data)
    return frames.fanout(vsn, topic, "postgres_changes", payload)


def _old_frame(vsn: Vsn, topic: str, delivery: Delivery) -> bytes:
    """Give a change as clients of the first generation take it."""
    return frames.fanout(vsn, topic, msgspec.json.decode(delivery.data, type=_Typed).type, delivery.data)


def _shown(entry: Entry) -> str:
    return f"[event: {entry.event}, schema: {entry.schema}, table: {entry.table}, filters: {entry.filter or '[]'}]"
