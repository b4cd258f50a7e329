"""The row changes of one channel: its subscription to the feed, from the first try over new tokens to the end.

While the database or the broker is away the subscription is tried again every 5 to 10 seconds; a subscription that is
rejected for good is not. With the join option `resume` (a position, as in `data.position` of each change) everything after it
is sent first. Where that is impossible the client gets a `system` message, extension `postgres_changes`, status `error`, whose
text begins with `gap: `: it must read its tables again. The `system` message of success names the position from which on every
change is sent, and the replies to heartbeats name later ones (`sockets/socket.py`), so that a client that receives no change
for hours has a recent position.
Source: docs/reference/realtime.md, sections 5 and 9; schemas/changes.py.
"""

import asyncio
import random
from collections.abc import Callable
from typing import Protocol

import msgspec

from broker.observability.observe import observe
from schemas.changes import Position
from schemas.errors import ApiError
from schemas.realtime import ChangeSubscription, CheckedSubscription
from services.realtime.changes.interface import Delivery, Feed, FeedSubscription
from services.realtime.observations import ChangeSubscriptionFailed
from services.realtime.protocol import frames
from services.realtime.protocol.frames import Vsn
from services.realtime.protocol.join import JoinSubscription
from services.realtime.tokens import RealtimeIdentity

RETRY_S = (5.0, 10.0)
SUBSCRIBED = "Subscribed to PostgreSQL"


class ChangesChannel(Protocol):
    """The channel that receives the changes."""

    vsn: Vsn
    topic: str

    def write(self, frame: bytes) -> None:
        """Send a frame."""
        ...

    def send_system(self, status: str, message: str, **more: str) -> None:
        """Send a `system` message about row changes."""
        ...

    @property
    def is_behind(self) -> bool:
        """Whether the client is so far behind that missed changes should wait in the stream."""
        ...

    async def caught_up(self) -> None:
        """Wait until few bytes wait for the client, or the client is gone."""
        ...


class PositionMemory(Protocol):
    """Remembers up to where the client acknowledged changes (`client_positions.py`)."""

    async def recall(self) -> Position | None:
        """Return the position from which the client goes on, if one is remembered."""
        ...

    def start(self, position: Position) -> None:
        """Remember that everything up to a position is acknowledged."""
        ...

    async def reported(self) -> None:
        """Wait until the position would outlive a kill of this process."""
        ...


class ChannelChanges:
    """The row changes of a channel; a `Subscriber` of the feed."""

    def __init__(
        self,
        channel: ChangesChannel,
        feed: Callable[[], Feed | None],
        identity: RealtimeIdentity,
        requested: tuple[JoinSubscription, ...],
        since: Position | None,
        resume_error: str,
        *,
        is_old: bool = False,
        memory: PositionMemory | None = None,
    ) -> None:
        self.role = identity.role
        self.claims = identity.claims
        self._channel = channel
        self._feed = feed
        self._requested = requested
        self._since = since
        self._resume_error = resume_error
        self._memory = memory
        self._frame = _old_frame if is_old else _frame
        self._subscription: FeedSubscription | None = None
        self._is_closed = False
        self._is_announced = False
        self._delivered: Position | None = None
        self._task = asyncio.get_running_loop().create_task(self._start())

    def renew(self, identity: RealtimeIdentity) -> None:
        """Continue with another role and other claims."""
        if (identity.role, identity.claims) == (self.role, self.claims):
            return
        self.role, self.claims = identity.role, identity.claims
        if self._subscription is not None:
            self._task.cancel()
            self._task = asyncio.get_running_loop().create_task(self._renew(self._subscription))

    def close(self) -> None:
        """Stop receiving changes."""
        self._is_closed = True
        self._task.cancel()
        if self._subscription is not None:
            self._subscription.close()

    # As a subscriber of the feed

    def deliver(self, delivery: Delivery) -> None:
        """Send a change. Hot path: channels with the same topic and version share one frame."""
        if self._is_closed:
            return
        key = (self._channel.topic, self._channel.vsn, self._frame)
        frame = delivery.frames.get(key)
        if frame is None:
            frame = delivery.frames[key] = self._frame(self._channel.vsn, self._channel.topic, delivery)
        self._channel.write(frame)
        self._delivered = delivery.position

    def gap(self, since: Position | None) -> None:
        """Notify the client that changes are lost."""
        if not self._is_closed:
            after = f" after {since}" if since is not None else ""
            self._channel.send_system("error", f"gap: changes{after} are lost; read the tables anew")

    @property
    def is_behind(self) -> bool:
        """Whether the client is so far behind that missed changes should wait in the stream."""
        return not self._is_closed and self._channel.is_behind

    async def caught_up(self) -> None:
        """Wait until few bytes wait for the client, or the client is gone."""
        await self._channel.caught_up()

    @property
    def position(self) -> Position | None:
        """Return up to where all changes are sent; None while that is unknown."""
        if self._subscription is None:
            return None
        return max(self._subscription.position, self._delivered or Position(0))

    @property
    def sent(self) -> Position | None:
        """Return up to where all changes are sent, also while missed changes are being sent; None before."""
        return self.position if self._subscription is not None else self._delivered or self._since

    @property
    def delivered(self) -> Position | None:
        """Return the position of the last change that was sent."""
        return self._delivered

    # From the first try to the end

    async def _start(self) -> None:
        subscriptions = [one.subscription for one in self._requested if one.subscription is not None]
        ids = [one.id for one in self._requested if one.subscription is not None]
        for requested in self._requested:
            if requested.error:
                self._channel.send_system("error", requested.error)
        if self._resume_error:
            self._channel.send_system("error", f"gap: `resume` cannot be used: {self._resume_error}")
        if self._memory is not None and subscriptions:
            self._since = await self._memory.recall()
        while subscriptions:
            feed = self._feed()
            try:
                if feed is not None:
                    self._subscription, checked = await feed.subscribe(self, subscriptions, ids, self._since)
                    break
                reason = "row changes are not delivered here"
            except ApiError as error:
                reason = str(error)
            self._report_failure(subscriptions, reason)
            await asyncio.sleep(random.uniform(*RETRY_S))
        else:
            return
        if self._memory is not None and (position := self.position) is not None:
            self._memory.start(position)
            await self._memory.reported()
        await self._report(self._subscription, checked)

    async def _renew(self, subscription: FeedSubscription) -> None:
        while True:
            try:
                checked = await subscription.renew()
            except ApiError as error:
                observe(ChangeSubscriptionFailed(str(error)))
                await asyncio.sleep(random.uniform(*RETRY_S))
            else:
                break
        await self._report(subscription, checked)

    async def _report(self, subscription: FeedSubscription, checked: list[CheckedSubscription]) -> None:
        """Send the client the outcome of each subscription; those that may still succeed are tried again."""
        reported: set[str] = set()
        while True:
            for outcome in checked:
                if outcome.error and outcome.error not in reported:
                    reported.add(outcome.error)
                    self._channel.send_system("error", outcome.error)
            if not self._is_announced and any(not outcome.error for outcome in checked):
                self._is_announced = True
                self._channel.send_system("ok", SUBSCRIBED, position=str(self.position))
            if all(outcome.is_final or not outcome.error for outcome in checked):
                return
            await asyncio.sleep(random.uniform(*RETRY_S))
            try:
                checked = await subscription.renew()
            except ApiError as error:
                observe(ChangeSubscriptionFailed(str(error)))

    def _report_failure(self, subscriptions: list[ChangeSubscription], reason: str) -> None:
        observe(ChangeSubscriptionFailed(reason))
        parameters = ", ".join(_parameters(subscription) for subscription in subscriptions)
        self._channel.send_system(
            "error",
            "Unable to subscribe to changes with given parameters. An exception happened so please check your connect "
            f"parameters: {parameters}. Exception: {reason}",
        )


class _Typed(msgspec.Struct):
    type: str


def _frame(vsn: Vsn, topic: str, delivery: Delivery) -> bytes:
    payload = b'{"ids":%b,"data":%b}' % (frames.json_text(delivery.ids), delivery.data)
    return frames.fanout(vsn, topic, "postgres_changes", payload)


def _old_frame(vsn: Vsn, topic: str, delivery: Delivery) -> bytes:
    """Return the frame for clients of the first generation: the event is the name of the frame."""
    return frames.fanout(vsn, topic, msgspec.json.decode(delivery.data, type=_Typed).type, delivery.data)


def _parameters(subscription: ChangeSubscription) -> str:
    return (
        f"[event: {subscription.event}, schema: {subscription.schema}, table: {subscription.table}, "
        f"filters: {subscription.filter or '[]'}]"
    )
