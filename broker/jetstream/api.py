"""Requests to the JetStream API (`$JS.API...`) and acknowledgements of stored messages, over the hot-path connection.

A cluster that elects a leader loses requests or answers 10008 (system temporarily unavailable). An election after a
crash takes about five seconds; the hand-over from a server that shuts down cleanly takes some milliseconds. Waiting
for one reply until a time limit would add that limit to the pause. So a request is sent again every `_AGAIN_S` and
the first reply counts. Therefore every request made here may arrive twice: it must only query, or name what it
creates. Source: NATS documentation, "JetStream wire API".
"""

import asyncio
from typing import Protocol, TypeVar

import msgspec

from broker.jetstream.errors import JetStreamError
from broker.nats.connection import NatsConnection
from schemas.errors import Unavailable

REQUEST_S = 5.0
_AGAIN_S = 0.25
_NO_LEADER = (10008, 10009)


class JetStreamFault(msgspec.Struct, frozen=True):
    """The member `error` of a response: why JetStream did not do what was requested."""

    err_code: int = 0
    description: str = ""


class PublishAck(msgspec.Struct, frozen=True):
    """The reply of a stream to a published message: its sequence number, or why it was not stored."""

    seq: int = 0
    error: JetStreamFault | None = None


decode_ack = msgspec.json.Decoder(PublishAck)


class _ApiResponse(Protocol):
    @property
    def error(self) -> JetStreamFault | None: ...


R = TypeVar("R", bound=_ApiResponse)


async def jetstream_request(
    connection: NatsConnection,
    operation: str,
    parameters: dict[str, object],
    decoder: msgspec.json.Decoder[R],
) -> R:
    """Send a request (`STREAM.INFO.NAME`) and return the response. Raises: Unavailable; JetStreamError."""
    subject, payload = f"$JS.API.{operation}", msgspec.json.encode(parameters) if parameters else b""
    loop = asyncio.get_running_loop()
    until = loop.time() + REQUEST_S
    while True:
        try:
            reply = await connection.request(
                subject, payload, max(_AGAIN_S, until - loop.time()), again_s=_AGAIN_S
            )
            response = decoder.decode(reply.payload)
        except msgspec.MsgspecError:
            raise Unavailable(
                f"the answer for {operation.partition('.')[0]} is not one of JetStream"
            ) from None
        if response.error is None:
            return response
        if response.error.err_code not in _NO_LEADER or loop.time() > until:
            raise JetStreamError(response.error.err_code, response.error.description)
        await asyncio.sleep(_AGAIN_S)
