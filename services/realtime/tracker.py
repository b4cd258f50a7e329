"""Presence between the edges: each owns the entries of its sockets and tells the others.

    presence.<room>   Told: who came and went at an edge          Whole: all that an edge has in this room
    edges.realtime    Beat: an edge is there   Bye: it is not     Asking: who is in this room?
    the asker's inbox Whole: what an edge has in that room, empty if nothing

An edge listens to a room only while channels of its own take part in it. With the first of them it asks all others,
and shows the state once all that it knows to be there have answered, after 300 ms at the latest; what comes later is a
difference. From one edge everything arrives in the order it was sent, so a difference never overtakes a whole.
An edge that is silent is gone, and with it its entries. One that was only cut off, or stood still, tells all it has again.
"""

import asyncio
import contextlib
import time
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import count

import msgspec
from msgspec import Struct

from broker import subjects
from broker.codec import encode
from broker.nats.connection import Connection, Subscription
from broker.nats.protocol import Message as Arrived
from broker.observability.observe import observe
from schemas.errors import Unavailable
from services.realtime.gathering import MOMENT_S, Gathering, Participant
from services.realtime.limits import Rate
from services.realtime.observed import EdgeGone, MessageUnreadable
from services.realtime.presence import Diff, Entry

BEAT_S = 1.0
SILENT_S = 3.5
"""After how long without a sign of life an edge is gone: less than 5 s from its end to the news of it."""
_DELIVERIES_OVER_S = 10.0
PATIENCE_S = 0.3

_SLICE = 400 * 1024
_Key = tuple[str, bool]


class Told(Struct, frozen=True, array_like=True, tag="told"):
    """Who came and went at an edge."""

    edge: str
    topic: str
    is_private: bool
    joins: list[Entry]
    leaves: list[str]


class Whole(Struct, frozen=True, array_like=True, tag="whole"):
    """All that an edge has in a room; a long one comes in several pieces, in one go."""

    edge: str
    topic: str
    is_private: bool
    entries: list[Entry]
    is_last: bool = True


class Beat(Struct, frozen=True, array_like=True, tag="beat"):
    """An edge is there. `is_new`: it wants to know who else is."""

    edge: str
    is_new: bool = False


class Bye(Struct, frozen=True, array_like=True, tag="bye"):
    """An edge ends; it has taken its entries away."""

    edge: str


class Asking(Struct, frozen=True, array_like=True, tag="asking"):
    """An edge asks what all others have in a room."""

    edge: str
    topic: str
    is_private: bool


_read_room = msgspec.msgpack.Decoder(Told | Whole).decode
_read_edge = msgspec.msgpack.Decoder(Beat | Bye | Asking).decode


class Tracker:
    """The presence of all rooms with participants in this process."""

    def __init__(
        self,
        connection: Connection,
        edge: str,
        most_per_second: float = 0.0,
        *,
        most_members: int = 0,
        most_bytes: int = 2**63,
    ) -> None:
        self._connection = connection
        self._edge = edge
        self._most_members, self._most_bytes = most_members, most_bytes
        self._deliveries = Rate(most_per_second, _DELIVERIES_OVER_S)
        self._gatherings: dict[_Key, Gathering] = {}
        self._listening: dict[_Key, Subscription] = {}
        self._syncing: dict[_Key, asyncio.Task[None]] = {}
        self._outgoing: dict[_Key, Diff] = {}
        self._telling: dict[_Key, asyncio.TimerHandle] = {}
        self._pieces: dict[tuple[str, _Key], list[Entry]] = {}
        self._edges: dict[str, float] = {}
        self._refs = count(1)
        self._beating: asyncio.Task[None] | None = None
        self._hearing: Subscription | None = None

    # The edge

    async def start(self) -> None:
        """Make this edge known to the others."""
        self._hearing = self._connection.subscribe(subjects.EDGES.name, self._hear_edge)
        self._connection.on_back.append(self._come_back)
        self._publish(subjects.EDGES.name, Beat(self._edge, is_new=True))
        self._beating = asyncio.get_running_loop().create_task(self._beat())
        with contextlib.suppress(Unavailable):
            await self._connection.flush()

    async def close(self) -> None:
        """Tell the others that this edge ends."""
        for key in list(self._outgoing):
            self._tell_edges(key)
        self._publish(subjects.EDGES.name, Bye(self._edge))
        self._connection.on_back.remove(self._come_back)
        tasks = [task for task in (self._beating, *self._syncing.values()) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for timer in self._telling.values():
            timer.cancel()
        if self._hearing is not None:
            self._hearing.unsubscribe()

    @property
    def is_flooded(self) -> bool:
        """Whether as many differences were delivered here as may be."""
        return self._deliveries.is_spent(time.monotonic())

    @property
    def edges(self) -> frozenset[str]:
        """The other edges that give signs of life."""
        return frozenset(self._edges)

    # Channels

    def enter(self, participant: Participant, topic: str, *, is_private: bool, sees: bool) -> None:
        """Let a channel take part in the presence of its room, and see it if it may."""
        key = (topic, is_private)
        gathering = self._gatherings.get(key)
        if gathering is None:
            gathering = self._gatherings[key] = Gathering(topic, is_private=is_private)
            subject = subjects.presence(topic, is_private=is_private).name
            self._listening[key] = self._connection.subscribe(subject, self._hear_room)
            self._sync(key)
        gathering.participants.setdefault(participant, None)
        if not sees:
            gathering.blind(participant)
        elif (syncing := self._syncing.get(key)) is not None:
            syncing.add_done_callback(partial(_view_later, gathering, participant))
        else:
            gathering.view(participant)

    def has_room(
        self, participant: Participant, topic: str, key: str, meta: bytes, *, is_private: bool
    ) -> bool:
        """Tell whether a participant may show this in its room beside all that is shown there."""
        gathering = self._gatherings.get((topic, is_private))
        if gathering is None:
            return True
        before, presences = gathering.participants.get(participant), gathering.presences
        new = Entry(key, "", meta).size - (before.size if before else 0)
        is_full = before is None and 0 < self._most_members <= presences.count
        return not is_full and presences.size + new <= self._most_bytes

    def track(self, participant: Participant, topic: str, key: str, meta: bytes, *, is_private: bool) -> None:
        """Show this of a participant, in place of what was shown."""
        gathering = self._gatherings[topic, is_private]
        before = gathering.participants.get(participant)
        entry = Entry(key, f"{self._edge}{next(self._refs):x}", meta, before.ref if before else "")
        gathering.participants[participant] = entry
        self._change(gathering, [entry], [before.ref] if before else [])

    def untrack(self, participant: Participant, topic: str, *, is_private: bool) -> None:
        """Show nothing more of a participant."""
        gathering = self._gatherings.get((topic, is_private))
        if gathering is not None and (before := gathering.participants.get(participant)) is not None:
            gathering.participants[participant] = None
            self._change(gathering, [], [before.ref])

    def leave(self, participant: Participant, topic: str, *, is_private: bool) -> None:
        """Take a channel, and what it shows, out of the presence of its room."""
        key = (topic, is_private)
        gathering = self._gatherings.get(key)
        if gathering is None:
            return
        self.untrack(participant, topic, is_private=is_private)
        gathering.leave(participant)
        if not gathering.participants:
            self._tell_edges(key)
            del self._gatherings[key]
            self._listening.pop(key).unsubscribe()
            if (syncing := self._syncing.pop(key, None)) is not None:
                syncing.cancel()
            if (timer := self._telling.pop(key, None)) is not None:
                timer.cancel()

    # What is told

    def _change(self, gathering: Gathering, joins: list[Entry], leaves: list[str]) -> None:
        """Take in a change of our own."""
        key = (gathering.topic, gathering.is_private)
        diff = gathering.presences.change(self._edge, joins, leaves)
        self._outgoing.setdefault(key, Diff()).add(diff)
        self._note(key, gathering, diff)

    def _note(self, key: _Key, gathering: Gathering, diff: Diff) -> None:
        gathering.note(diff)
        if key not in self._telling:
            self._telling[key] = asyncio.get_running_loop().call_later(MOMENT_S, self._tell, key)

    def _tell(self, key: _Key) -> None:
        self._telling.pop(key, None)
        self._tell_edges(key)
        if (gathering := self._gatherings.get(key)) is not None:
            self._deliveries.spend(gathering.tell(), time.monotonic())

    def _tell_edges(self, key: _Key) -> None:
        diff = self._outgoing.pop(key, None)
        if not diff:
            return
        subject = subjects.presence(key[0], is_private=key[1]).name
        leaves = list(diff.leaves)
        for joins in _slices(diff.joins.values()):
            self._publish(subject, Told(self._edge, *key, joins, leaves))
            leaves = []

    def _publish(self, subject: str, told: Struct) -> None:
        self._connection.tell(subject, encode(told))

    def _wholes(self, key: _Key) -> Iterator[Whole]:
        gathering = self._gatherings.get(key)
        entries = gathering.presences.of_edge(self._edge) if gathering else []
        slices = list(_slices(entries))
        for number, each in enumerate(slices, 1):
            yield Whole(self._edge, *key, each, is_last=number == len(slices))

    # What is heard

    def _hear_room(self, arrived: Arrived) -> None:
        if arrived.status:
            return
        try:
            told = _read_room(arrived.payload)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            observe(MessageUnreadable(arrived.subject, str(error)))
            return
        key = (told.topic, told.is_private)
        gathering = self._gatherings.get(key)
        if told.edge == self._edge:
            return
        self._edges[told.edge] = time.monotonic()
        if gathering is None:
            return
        if isinstance(told, Told):
            self._note(key, gathering, gathering.presences.change(told.edge, told.joins, told.leaves))
            return
        pieces = self._pieces.setdefault((told.edge, key), [])
        pieces += told.entries
        if told.is_last:
            del self._pieces[told.edge, key]
            self._note(key, gathering, gathering.presences.replace(told.edge, pieces))

    def _hear_edge(self, arrived: Arrived) -> None:
        try:
            told = _read_edge(arrived.payload)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            observe(MessageUnreadable(arrived.subject, str(error)))
            return
        if told.edge == self._edge:
            return
        if isinstance(told, Bye):
            self._edges.pop(told.edge, None)
            self._drop(told.edge)
            return
        self._edges[told.edge] = time.monotonic()
        if isinstance(told, Beat):
            if told.is_new:
                self._publish(subjects.EDGES.name, Beat(self._edge))
        elif subjects.is_inbox(arrived.reply):
            for whole in self._wholes((told.topic, told.is_private)):
                self._publish(arrived.reply, whole)

    def _drop(self, edge: str) -> None:
        """Take the entries of an edge out of every room."""
        for key, gathering in self._gatherings.items():
            if edge in gathering.presences.edges:
                self._note(key, gathering, gathering.presences.replace(edge, []))
        for piece in [piece for piece in self._pieces if piece[0] == edge]:
            del self._pieces[piece]

    # Signs of life

    async def _beat(self) -> None:
        last = time.monotonic()
        while True:
            await asyncio.sleep(BEAT_S)
            now = time.monotonic()
            stood_still = now - last > SILENT_S - BEAT_S
            last = now
            self._publish(subjects.EDGES.name, Beat(self._edge))
            if stood_still:
                self._come_back()
            elif self._connection.is_connected:
                for edge in [edge for edge, heard in self._edges.items() if now - heard > SILENT_S]:
                    del self._edges[edge]
                    observe(EdgeGone(edge))
                    self._drop(edge)

    def _come_back(self) -> None:
        """After having been cut off: give the others time to be heard, tell them all again, and ask what they have."""
        now = time.monotonic()
        self._edges = dict.fromkeys(self._edges, now)
        asyncio.get_running_loop().call_soon(self._begin_again)  # once the subscriptions are made anew

    def _begin_again(self) -> None:
        self._publish(subjects.EDGES.name, Beat(self._edge, is_new=True))
        for key in list(self._gatherings):
            subject = subjects.presence(key[0], is_private=key[1]).name
            for whole in self._wholes(key):
                self._publish(subject, whole)
            if key not in self._syncing:
                self._sync(key)

    # The state of a room

    def _sync(self, key: _Key) -> None:
        """Ask the others what they have in a room."""
        if not self._edges or not self._connection.is_connected:
            return
        task = self._syncing[key] = asyncio.get_running_loop().create_task(self._ask(key, set(self._edges)))
        task.add_done_callback(lambda done: self._synced(key, done))

    def _synced(self, key: _Key, done: "asyncio.Task[None]") -> None:
        if self._syncing.get(key) is done:
            del self._syncing[key]

    async def _ask(self, key: _Key, awaited: set[str]) -> None:
        loop = asyncio.get_running_loop()
        all_here = asyncio.Event()

        def hear(arrived: Arrived) -> None:
            self._hear_room(arrived)
            with contextlib.suppress(msgspec.DecodeError, UnicodeError):
                told = _read_room(arrived.payload)
                if isinstance(told, Whole) and told.is_last:
                    awaited.discard(told.edge)
            if not awaited or arrived.status:
                all_here.set()

        inbox = self._connection.inbox.open(hear)
        loop.call_later(PATIENCE_S * 20, self._connection.inbox.close, inbox)  # late answers count too
        self._connection.tell(subjects.EDGES.name, encode(Asking(self._edge, *key)), inbox)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_S):
                await all_here.wait()


def _view_later(gathering: Gathering, participant: Participant, done: "asyncio.Task[None]") -> None:
    del done
    gathering.view(participant)


def _slices(entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    """Cut entries into pieces that fit into a message; at least one, which may be empty."""
    piece: list[Entry] = []
    size = 0
    for entry in entries:
        own = len(entry.meta) + len(entry.key.encode(errors="replace")) + 64
        if piece and size + own > _SLICE:
            yield piece
            piece, size = [], 0
        piece.append(entry)
        size += own
    yield piece
