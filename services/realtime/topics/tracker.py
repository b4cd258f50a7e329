"""Presence across edges: each edge publishes the presences of its own sockets, and merges what the others publish.

Theory. An edge subscribes to the presence of a topic only while channels of its own take part in it. When the first of them
joins, the edge asks all others (`PresenceQuery`). It sends its channels the state when every edge that it knows has answered,
after 300 ms at the latest; answers that come later are sent as a difference. Messages of one edge arrive in the order in which
it sent them, so an update never overtakes a snapshot. The messages: presence_messages.py. When an edge counts as gone, and
when the state is exchanged again: edge_monitor.py.
"""

import asyncio
import contextlib
import time
from functools import partial
from itertools import count

import msgspec
from msgspec import Struct

from broker import subjects
from broker.codec import encode
from broker.nats.connection import NatsConnection
from broker.nats.protocol import NatsMessage as BrokerMessage
from broker.nats.subscription import NatsSubscription
from broker.observability.observe import observe
from services.realtime.limits import TokenBucket
from services.realtime.observations import MessageUnreadable
from services.realtime.topics.edge_monitor import EdgeMonitor
from services.realtime.topics.presence import Presence, PresenceDiff
from services.realtime.topics.presence_messages import (
    PresenceQuery,
    PresenceSnapshot,
    PresenceUpdate,
    decode_topic_message,
    slices,
    snapshots,
)
from services.realtime.topics.topic_presence import MOMENT_S, Participant, TopicPresence

_DELIVERIES_OVER_S = 10.0
SNAPSHOT_WAIT_S = 0.3

_TopicKey = tuple[str, bool]
"""Topic, and whether it is private."""


class PresenceTracker:
    """The presence of all topics with participants in this process."""

    def __init__(
        self,
        connection: NatsConnection,
        edge: str,
        most_per_second: float = 0.0,
        *,
        most_members: int = 0,
        most_bytes: int = 2**63,
    ) -> None:
        self._connection = connection
        self._edge = edge
        self._most_members, self._most_bytes = most_members, most_bytes
        self._deliveries = TokenBucket(most_per_second, _DELIVERIES_OVER_S)
        self._topics: dict[_TopicKey, TopicPresence] = {}
        self._subscriptions: dict[_TopicKey, NatsSubscription] = {}
        self._syncing: dict[_TopicKey, asyncio.Task[None]] = {}
        self._outgoing: dict[_TopicKey, PresenceDiff] = {}
        self._timers: dict[_TopicKey, asyncio.TimerHandle] = {}
        self._pieces: dict[tuple[str, _TopicKey], list[Presence]] = {}
        self._refs = count(1)
        self._monitor = EdgeMonitor(
            connection,
            edge,
            on_gone=self._drop_edge,
            on_query=self._answer_query,
            on_reconnected=self._exchange_all,
        )

    # The edge

    async def start(self) -> None:
        """Announce this edge to the others."""
        await self._monitor.start()

    async def close(self) -> None:
        """Publish the last updates, and announce that this edge stops."""
        for key in list(self._outgoing):
            self._publish_update(key)
        tasks = list(self._syncing.values())
        for task in tasks:
            task.cancel()
        await self._monitor.close()
        await asyncio.gather(*tasks, return_exceptions=True)
        for timer in self._timers.values():
            timer.cancel()

    @property
    def is_flooded(self) -> bool:
        """Whether the limit of deliveries of differences is reached."""
        return self._deliveries.is_spent(time.monotonic())

    @property
    def edges(self) -> frozenset[str]:
        """Return the other edges that are alive."""
        return self._monitor.edges

    # Channels

    def join(self, participant: Participant, topic: str, *, is_private: bool, is_viewer: bool) -> None:
        """Add a channel to the presence of its topic. A viewer receives the state and every difference."""
        key = (topic, is_private)
        presence = self._topics.get(key)
        if presence is None:
            presence = self._topics[key] = TopicPresence(topic, is_private=is_private)
            subject = subjects.presence(topic, is_private=is_private).name
            self._subscriptions[key] = self._connection.subscribe(subject, self._receive)
            self._sync(key)
        presence.participants.setdefault(participant, None)
        if not is_viewer:
            presence.remove_viewer(participant)
        elif (syncing := self._syncing.get(key)) is not None:
            syncing.add_done_callback(partial(_add_viewer, presence, participant))
        else:
            presence.add_viewer(participant)

    def fits(self, participant: Participant, topic: str, key: str, meta: bytes, *, is_private: bool) -> bool:
        """Return whether a participant may track this within the limits of its topic (members, bytes)."""
        presence = self._topics.get((topic, is_private))
        if presence is None:
            return True
        before, present = presence.participants.get(participant), presence.presences
        more = Presence(key, "", meta).size - (before.size if before else 0)
        is_full = before is None and 0 < self._most_members <= present.count
        return not is_full and present.size + more <= self._most_bytes

    def track(self, participant: Participant, topic: str, key: str, meta: bytes, *, is_private: bool) -> None:
        """Set the presence of a participant; an earlier one is replaced."""
        topic_presence = self._topics[topic, is_private]
        before = topic_presence.participants.get(participant)
        presence = Presence(key, f"{self._edge}{next(self._refs):x}", meta, before.ref if before else "")
        topic_presence.participants[participant] = presence
        self._change(topic_presence, [presence], [before.ref] if before else [])

    def untrack(self, participant: Participant, topic: str, *, is_private: bool) -> None:
        """Remove the presence of a participant."""
        presence = self._topics.get((topic, is_private))
        if presence is not None and (before := presence.participants.get(participant)) is not None:
            presence.participants[participant] = None
            self._change(presence, [], [before.ref])

    def leave(self, participant: Participant, topic: str, *, is_private: bool) -> None:
        """Remove a channel, and its presence, from its topic."""
        key = (topic, is_private)
        presence = self._topics.get(key)
        if presence is None:
            return
        self.untrack(participant, topic, is_private=is_private)
        presence.leave(participant)
        if not presence.participants:
            self._publish_update(key)
            del self._topics[key]
            self._subscriptions.pop(key).unsubscribe()
            if (syncing := self._syncing.pop(key, None)) is not None:
                syncing.cancel()
            if (timer := self._timers.pop(key, None)) is not None:
                timer.cancel()

    # What is sent

    def _change(self, presence: TopicPresence, joins: list[Presence], leaves: list[str]) -> None:
        """Apply a change of this edge."""
        key = (presence.topic, presence.is_private)
        diff = presence.presences.change(self._edge, joins, leaves)
        self._outgoing.setdefault(key, PresenceDiff()).add(diff)
        self._add(key, presence, diff)

    def _add(self, key: _TopicKey, presence: TopicPresence, diff: PresenceDiff) -> None:
        """Collect a difference; it is sent to edges and channels within `MOMENT_S`."""
        presence.add(diff)
        if key not in self._timers:
            self._timers[key] = asyncio.get_running_loop().call_later(MOMENT_S, self._send, key)

    def _send(self, key: _TopicKey) -> None:
        self._timers.pop(key, None)
        self._publish_update(key)
        if (presence := self._topics.get(key)) is not None:
            self._deliveries.spend(presence.send_diff(), time.monotonic())

    def _publish_update(self, key: _TopicKey) -> None:
        diff = self._outgoing.pop(key, None)
        if not diff:
            return
        subject = subjects.presence(key[0], is_private=key[1]).name
        leaves = list(diff.leaves)
        for joins in slices(diff.joins.values()):
            self._publish(subject, PresenceUpdate(self._edge, *key, joins, leaves))
            leaves = []

    def _publish(self, subject: str, message: Struct) -> None:
        self._connection.try_publish(subject, encode(message))

    def _publish_snapshot(self, key: _TopicKey, subject: str) -> None:
        """Publish all presences of this edge in a topic."""
        presence = self._topics.get(key)
        present = presence.presences.of_edge(self._edge) if presence else []
        for snapshot in snapshots(self._edge, key[0], present, is_private=key[1]):
            self._publish(subject, snapshot)

    # What is received

    def _receive(self, received: BrokerMessage) -> None:
        if received.status:
            return
        try:
            message = decode_topic_message(received.payload)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            observe(MessageUnreadable(received.subject, str(error)))
            return
        key = (message.topic, message.is_private)
        presence = self._topics.get(key)
        if message.edge == self._edge:
            return
        self._monitor.heard(message.edge)
        if presence is None:
            return
        if isinstance(message, PresenceUpdate):
            diff = presence.presences.change(message.edge, message.joins, message.leaves)
            self._add(key, presence, diff)
            return
        pieces = self._pieces.setdefault((message.edge, key), [])
        pieces += message.presences
        if message.is_last:
            del self._pieces[message.edge, key]
            self._add(key, presence, presence.presences.replace(message.edge, pieces))

    def _answer_query(self, query: PresenceQuery, reply_to: str) -> None:
        self._publish_snapshot((query.topic, query.is_private), reply_to)

    def _drop_edge(self, edge: str) -> None:
        """Remove the presences of an edge from every topic."""
        for key, presence in self._topics.items():
            if edge in presence.presences.edges:
                self._add(key, presence, presence.presences.replace(edge, []))
        for piece in [piece for piece in self._pieces if piece[0] == edge]:
            del self._pieces[piece]

    # The state of a topic

    def _exchange_all(self) -> None:
        """Publish the presences of this edge in all topics, and ask the others for theirs."""
        for key in list(self._topics):
            self._publish_snapshot(key, subjects.presence(key[0], is_private=key[1]).name)
            if key not in self._syncing:
                self._sync(key)

    def _sync(self, key: _TopicKey) -> None:
        """Ask the other edges for their presences in a topic."""
        if not self._monitor.edges or not self._connection.is_connected:
            return
        task = asyncio.get_running_loop().create_task(self._query(key, set(self._monitor.edges)))
        self._syncing[key] = task
        task.add_done_callback(lambda done: self._synced(key, done))

    def _synced(self, key: _TopicKey, done: "asyncio.Task[None]") -> None:
        if self._syncing.get(key) is done:
            del self._syncing[key]

    async def _query(self, key: _TopicKey, awaited: set[str]) -> None:
        """Wait for the snapshots of the awaited edges, `SNAPSHOT_WAIT_S` at most."""
        loop = asyncio.get_running_loop()
        all_answered = asyncio.Event()

        def receive(received: BrokerMessage) -> None:
            self._receive(received)
            with contextlib.suppress(msgspec.DecodeError, UnicodeError):
                message = decode_topic_message(received.payload)
                if isinstance(message, PresenceSnapshot) and message.is_last:
                    awaited.discard(message.edge)
            if not awaited or received.status:
                all_answered.set()

        inbox = self._connection.inbox.open(receive)
        loop.call_later(SNAPSHOT_WAIT_S * 20, self._connection.inbox.close, inbox)  # accept late answers, too
        self._connection.try_publish(subjects.EDGES.name, encode(PresenceQuery(self._edge, *key)), inbox)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(SNAPSHOT_WAIT_S):
                await all_answered.wait()


def _add_viewer(presence: TopicPresence, participant: Participant, done: "asyncio.Task[None]") -> None:
    del done
    presence.add_viewer(participant)
