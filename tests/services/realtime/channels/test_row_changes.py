"""Row changes of a channel: what the client is told, with a small feed of the test behind the edge's own protocol."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import msgspec

from schemas.changes import Position
from schemas.errors import Unavailable
from schemas.realtime import ChangeSubscription, CheckedSubscription
from services.realtime.changes.interface import Delivery, Subscriber
from services.realtime.channels import row_changes
from services.realtime.channels.row_changes import ChannelChanges
from services.realtime.protocol.join import parse_join
from services.realtime.tokens import RealtimeIdentity
from tests.services.realtime.edges import read_frame

ADA, BOB = RealtimeIdentity("r", b'{"sub":"ada"}'), RealtimeIdentity("r", b'{"sub":"bob"}')


@dataclass
class FakeChannel:
    """The channel of the test."""

    vsn: Any = 2
    topic: str = "realtime:room"
    told: list[tuple[str, str]] = field(default_factory=list)
    frames: list[bytes] = field(default_factory=list)
    more: dict[str, str] = field(default_factory=dict)
    something: asyncio.Event = field(default_factory=asyncio.Event)

    def write(self, frame: bytes) -> None:
        self.frames.append(frame)

    def send_system(self, status: str, message: str, **more: str) -> None:
        self.told.append((status, message))
        self.more = more
        self.something.set()

    @property
    def is_behind(self) -> bool:
        return False

    async def caught_up(self) -> None:
        return

    async def hears(self, count: int) -> list[tuple[str, str]]:
        async with asyncio.timeout(60):
            while len(self.told) < count:
                self.something.clear()
                await self.something.wait()
        return self.told


@dataclass
class Feed:
    """A feed that answers as the test says; a subscription of its own."""

    answers: list[list[CheckedSubscription] | Exception]
    asked: list[tuple[bytes, list[ChangeSubscription], list[int], Position | None]] = field(
        default_factory=list
    )
    renewed: list[bytes] = field(default_factory=list)
    is_closed: bool = False
    position: Position = field(default_factory=lambda: Position(0))
    subscriber: Subscriber | None = None

    async def subscribe(
        self,
        subscriber: Subscriber,
        entries: list[ChangeSubscription],
        ids: list[int],
        since: Position | None,
    ) -> tuple["Feed", list[CheckedSubscription]]:
        self.subscriber = subscriber
        self.asked.append((subscriber.claims, entries, ids, since))
        return self, self._next()

    async def renew(self) -> list[CheckedSubscription]:
        assert self.subscriber is not None
        self.renewed.append(self.subscriber.claims)
        return self._next()

    def close(self) -> None:
        self.is_closed = True

    def _next(self) -> list[CheckedSubscription]:
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def followed(seat: FakeChannel, feed: Feed | None, **config: object) -> ChannelChanges:
    join = parse_join(
        msgspec.json.encode({"config": {"postgres_changes": [{"table": "a"}, {"table": "b"}], **config}})
    )
    return ChannelChanges(seat, lambda: feed, ADA, join.changes, join.resume, join.resume_error)


async def test_entries_that_are_refused_are_told_and_the_others_live() -> None:
    seat, feed = FakeChannel(), Feed([[CheckedSubscription("no such table"), CheckedSubscription()]])
    one = followed(seat, feed, resume="5-0-1")

    assert await seat.hears(2) == [("error", "no such table"), ("ok", "Subscribed to PostgreSQL")]
    assert feed.asked[0][3] == Position(5, 0, 1)
    one.close()
    assert feed.is_closed


async def test_everything_refused_is_no_subscription() -> None:
    seat = FakeChannel()
    one = followed(seat, Feed([[CheckedSubscription("x"), CheckedSubscription("y")]]))

    assert await seat.hears(2) == [("error", "x"), ("error", "y")]
    one.close()


async def test_feed_that_is_away_is_tried_again(monkeypatch: Any) -> None:
    monkeypatch.setattr(row_changes, "RETRY_S", (0.0, 0.01))
    seat, feed = (
        FakeChannel(),
        Feed(
            [
                Unavailable("away"),
                [CheckedSubscription("late", is_final=False), CheckedSubscription()],
                [CheckedSubscription()] * 2,
            ]
        ),
    )
    one = followed(seat, feed)

    told = await seat.hears(3)
    assert told[0][1].startswith("Unable to subscribe to changes with given parameters.")
    assert told[0][1].endswith("Exception: away")
    assert told[1:] == [("error", "late"), ("ok", "Subscribed to PostgreSQL")]
    async with asyncio.timeout(60):
        while not feed.renewed:
            await asyncio.sleep(0)
    one.close()


async def test_new_claims_renew_the_subscription() -> None:
    seat, feed = FakeChannel(), Feed([[CheckedSubscription()] * 2, [CheckedSubscription()] * 2])
    one = followed(seat, feed)
    await seat.hears(1)
    one.renew(ADA)
    one.renew(BOB)
    async with asyncio.timeout(60):
        while not feed.renewed:
            await asyncio.sleep(0)

    assert feed.renewed == [BOB.claims]
    one.close()


async def test_change_is_one_frame_for_all_on_a_topic() -> None:
    feeds = [Feed([[CheckedSubscription()] * 2]) for _ in range(3)]
    seats = [FakeChannel(), FakeChannel(), FakeChannel(vsn=1)]
    all_of_them = [followed(seat, feed) for seat, feed in zip(seats, feeds, strict=True)]
    delivery = Delivery((3, 9), b'{"type":"INSERT"}', Position(1), "public", "a")
    for seat, one in zip(seats, all_of_them, strict=True):
        await seat.hears(1)
        one.deliver(delivery)

    assert seats[0].frames[0] is seats[1].frames[0]
    assert len(delivery.frames) == 2
    for seat in seats:
        frame = read_frame(seat.frames[0][2:].decode())
        assert (frame.event, frame.payload) == (
            "postgres_changes",
            {"ids": [3, 9], "data": {"type": "INSERT"}},
        )
    for one in all_of_them:
        one.close()
    all_of_them[0].deliver(delivery)
    assert len(seats[0].frames) == 1


async def test_gaps_are_told() -> None:
    seat = FakeChannel()
    one = followed(seat, Feed([[CheckedSubscription()] * 2]), resume="nonsense")
    told = await seat.hears(2)
    one.gap(Position(10))
    one.gap(None)
    one.close()

    assert told[0] == (
        "error",
        "gap: `resume` cannot be used: a position has the form lsn-number-index, in hexadecimal digits",
    )
    assert seat.told[-2:] == [
        ("error", "gap: changes after a-0-0 are lost; read the tables anew"),
        ("error", "gap: changes are lost; read the tables anew"),
    ]


async def test_clients_of_the_first_generation_get_changes_under_their_names() -> None:
    seat, feed = FakeChannel(), Feed([[CheckedSubscription()]])
    join = parse_join(b"{}", topic="realtime:public:a")
    one = ChannelChanges(seat, lambda: feed, ADA, join.changes, None, "", is_old=join.is_old)
    await seat.hears(1)
    one.deliver(Delivery((3,), b'{"type":"DELETE","table":"a"}', Position(1), "public", "a"))

    frame = read_frame(seat.frames[0][2:].decode())
    assert (frame.event, frame.payload) == ("DELETE", {"type": "DELETE", "table": "a"})
    one.close()


async def test_the_position_is_told_at_the_beginning_and_grows() -> None:
    seat, feed = FakeChannel(), Feed([[CheckedSubscription()] * 2], position=Position(7))
    one = followed(seat, feed)
    assert one.position is None
    await seat.hears(1)

    assert seat.more == {"position": "7-0-0"}
    one.deliver(Delivery((3,), b'{"type":"DELETE"}', Position(8, 1), "public", "a"))
    assert one.position == Position(8, 1)
    feed.position = Position(9)
    assert one.position == Position(9)
    one.close()
