"""Stored messages: which are repeated, and which are of a history that was restored."""

from broker import subjects
from broker.codec import encode
from broker.nats.connection import NatsConnection
from schemas.changes import StoredBroadcast
from services.realtime.protocol.frames import Vsn
from services.realtime.topics.hub import TopicHub
from services.realtime.topics.messages import EDGE_SIZE, TopicMessage
from tests.broker.server import NatsServer


class Member:
    """A channel that notes what it receives."""

    def __init__(self) -> None:
        self.vsn: Vsn = 2
        self.ids: list[str] = []

    def receive(self, message: TopicMessage, frame: bytes) -> None:
        del frame
        self.ids.append(message.id)


async def test_messages_of_an_older_history_arrive_after_a_restore(nats: NatsServer) -> None:
    now, member = [1000.0], Member()
    connection = await NatsConnection.open(nats.url, name="an edge")
    try:
        hub = TopicHub(connection, "e" * EDGE_SIZE, 1000, lambda: now[0])
        await hub.join(member, "restored", is_private=False)
        subject = subjects.messages("restored", is_private=False).name
        for at, lsn, id in (
            (1000, 9, "a"),
            (1030, 8, "repeated"),
            (1061, 5, "b"),
            (1062, 5, "again"),
            (1063, 6, "c"),
        ):
            now[0] = at
            connection.publish(subject, encode(StoredBroadcast(lsn, 0, id, "restored", False, "e", b"{}")))
            await connection.flush()
    finally:
        await connection.close()

    assert member.ids == ["a", "b", "c"]
