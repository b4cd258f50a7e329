"""Run the handler of a request and send what it returns.

- `ApiError` is turned into its response here and nowhere else. Any other exception becomes a 500 that shows the
  request id.
- A body longer than `INLINE_LIMIT` is sent as chunks (`broker/requests/body.py`).
- A 503 of a handler that found the member's own servers out of reach from its beginning to its end (`outage`) lets the edge send
  the request to another member (`Response.rejected_by`): nothing can have been done, and another machine may reach them.
"""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import msgspec

from broker.codec import encode
from broker.nats.connection import NatsConnection
from broker.nats.protocol import MessageTooLong
from broker.observability.observations import HandlerFailed
from broker.observability.observe import observe, traceback_of
from broker.observability.spans import Tracing
from broker.observability.tracing import STATE
from broker.requests import body as bodies
from broker.requests.failure_reasons import failure_reason
from broker.requests.handler import Handler, RequestBody, StreamedResponse, streamed
from broker.requests.held_request import HeldRequest
from broker.subjects import FUNCTIONS
from schemas.errors import ApiError
from schemas.http import INLINE_LIMIT, BodyStream, Headers, Response

Outage = Callable[[], object]

_JSON = [("content-type", "application/json; charset=utf-8")]
_FOREIGN_ANSWERS = frozenset({FUNCTIONS.pool})
"""Pools whose handlers return what the project's own code answered: its words may hold anything, and are not logged."""


@dataclass(frozen=True, slots=True)
class Answers:
    """What one member of a pool answers with."""

    connection: NatsConnection
    pool: str
    member: str
    handler: Handler
    outage: Outage | None
    """Names the outage of what the handler needs, by a number that no other outage has; None while there is none."""
    held: dict[str, HeldRequest]
    """The requests of the member, by reply subject: the answer to the only one is sent at once."""
    on_stored: Callable[[HeldRequest], None]
    """Called when the handler of a request is done and only its stored answer has to be sent."""

    def answer(self, held: HeldRequest) -> Coroutine[Any, Any, int]:
        """Run the handler, send its response, and return the status. Raises, where it is awaited: asyncio.CancelledError."""
        if STATE.tracing is None or not held.request.trace:
            return self._answer(held)
        return self._traced(STATE.tracing, held, held.request.trace)

    def reply(self, subject: str, response: Response) -> None:
        """Send a response to a reply subject, or a 500 where it cannot be encoded."""
        try:
            self.connection.try_publish(subject, encode(response), at_once=len(self.held) <= 1)
        except (MessageTooLong, TypeError, ValueError) as error:
            observe(HandlerFailed(self.pool, "", repr(error), ""))
            self.connection.try_publish(subject, encode(internal_error("")))

    async def _traced(self, tracing: Tracing, held: HeldRequest, trace: Headers) -> int:
        request = held.request
        attributes = {"http.request.method": request.method, "headwater.request_id": request.id}
        with tracing.server_span(f"answer {self.pool}", trace, attributes) as span:
            status = await self._answer(held)
            span.answered(status)
            return status

    async def _answer(self, held: HeldRequest) -> int:
        request = held.request
        is_ours = self.pool not in _FOREIGN_ANSWERS
        outage = None if self.outage is None else self.outage()
        try:
            response = await self.handler(request, RequestBody(self.connection, request))
        except ApiError as error:
            response = error.response()
            is_ours = True
        except Exception as error:  # last resort: an error of one handler must not stop the member
            observe(HandlerFailed(self.pool, request.id, repr(error), traceback_of(error)))
            response = internal_error(request.id)
        if isinstance(response, Response):
            if response.status >= 500 and is_ours:
                held.failure = failure_reason(response.status, response.body)
            if (
                response.status == 503
                and outage is not None
                and self.outage is not None
                and self.outage() == outage
            ):
                response = msgspec.structs.replace(response, rejected_by=self.member)
            if len(response.body) <= INLINE_LIMIT:
                self.reply(held.reply, response)
                return response.status
            response = streamed(response)
        await self._send(held, response)
        return response.status

    async def _send(self, held: HeldRequest, answer: StreamedResponse) -> None:
        if answer.is_stored:
            self.on_stored(held)
        sender = bodies.BodySender(self.connection)
        stream = BodyStream(sender.subject, answer.size)
        self.reply(held.reply, Response(answer.status, answer.headers, b"", answer.reason, stream))
        try:
            await sender.send(answer.chunks)
        except bodies.BodyBroken:
            pass  # observed where it broke; the edge knows it as well
        except Exception as error:  # last resort: the source of the body is the handler's code
            observe(HandlerFailed(self.pool, held.request.id, repr(error), traceback_of(error)))


def internal_error(id: str) -> Response:
    """Return the response to a request that failed for a reason that the log alone shows."""
    body = {"message": "An internal error occurred.", "request_id": id}
    return Response(500, list(_JSON), msgspec.json.encode(body))
