"""One message to all processes that listen, and their replies: their number is unknown.

It waits until no further reply comes for `QUIET_S`. A process that is too busy to answer is missing.
"""

import asyncio

from broker.nats.connection import NatsConnection
from broker.nats.protocol import NatsMessage
from schemas.errors import Unavailable

QUIET_S = 0.15
_LONGEST_S = 1.0


async def gather_replies(connection: NatsConnection, subject: str, payload: bytes = b"") -> list[bytes]:
    """Publish a message and return the payloads of the replies; none while disconnected."""
    replies: list[bytes] = []
    arrived = asyncio.Event()

    def take(message: NatsMessage) -> None:
        if not message.status:
            replies.append(message.payload)
            arrived.set()

    inbox = connection.inbox.open(take)
    try:
        connection.publish(subject, payload, inbox)
        async with asyncio.timeout(_LONGEST_S):
            while True:
                arrived.clear()
                async with asyncio.timeout(QUIET_S):
                    await arrived.wait()
    except (TimeoutError, Unavailable):
        return replies
    finally:
        connection.inbox.close(inbox)
