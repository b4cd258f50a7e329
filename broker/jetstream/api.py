"""Orders to JetStream over our own connection: `$JS.API...`, sent again while a cluster has nobody to answer them.

A cluster that elects a leader loses requests or answers 10008 (system temporarily unavailable). An election after a crash
takes about five seconds, a hand-over of a server that leaves in peace some milliseconds; waiting for one answer until a time
limit would add that limit to the pause. So an order is sent again every `_AGAIN_S`, and the first answer counts. Every order
given here may arrive twice: it asks, or it names what it makes.
Source: NATS documentation, "JetStream wire API".
"""

import asyncio
from typing import Protocol, TypeVar

import msgspec

from broker.jetstream.errors import JetStreamRefused
from broker.nats.connection import Connection
from schemas.errors import Unavailable

ORDER_S = 5.0
_AGAIN_S = 0.25
_NO_LEADER = (10008, 10009)


class OrderError(msgspec.Struct, frozen=True):
    """Why JetStream did not do what it was asked for."""

    err_code: int = 0
    description: str = ""


class _Answer(Protocol):
    @property
    def error(self) -> OrderError | None: ...


A = TypeVar("A", bound=_Answer)


async def give_order(
    connection: Connection, what: str, asked: dict[str, object], decoder: msgspec.json.Decoder[A]
) -> A:
    """Give an order (`STREAM.INFO.NAME`) and return the answer. Raises: Unavailable; JetStreamRefused."""
    subject, payload = f"$JS.API.{what}", msgspec.json.encode(asked) if asked else b""
    loop = asyncio.get_running_loop()
    until = loop.time() + ORDER_S
    while True:
        try:
            reply = await connection.ask(
                subject, payload, max(_AGAIN_S, until - loop.time()), again_s=_AGAIN_S
            )
            answer = decoder.decode(reply.payload)
        except msgspec.MsgspecError:
            raise Unavailable(f"the answer for {what.partition('.')[0]} is not one of JetStream") from None
        if answer.error is None:
            return answer
        if answer.error.err_code not in _NO_LEADER or loop.time() > until:
            raise JetStreamRefused(answer.error.err_code, answer.error.description)
        await asyncio.sleep(_AGAIN_S)
