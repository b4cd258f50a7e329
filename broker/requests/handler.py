"""What the handler of a pool receives and returns: the request's body, and a response that is whole or streamed."""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from broker.nats.connection import NatsConnection
from broker.requests.body import receive_body
from broker.requests.long_bodies import LONG, wait_for_turn
from schemas.errors import ApiError
from schemas.http import Headers, Request, Response


class BodyTooLarge(ApiError):
    """The body of a request is longer than its reader allows."""

    status = 413

    def __init__(self, limit: int) -> None:
        super().__init__(f"the body is longer than {limit} bytes")
        self.limit = limit


class RequestBody:
    """The body of a request: inside the message, or following as chunks, which can be read only once."""

    __slots__ = ("_connection", "_request")

    def __init__(self, connection: NatsConnection, request: Request) -> None:
        self._connection = connection
        self._request = request

    @property
    def size(self) -> int:
        """Bytes of the body; -1 when it is streamed and its length was not announced."""
        stream = self._request.stream
        return len(self._request.body) if stream is None else stream.size

    async def read(self, limit: int) -> bytes:
        """Return the whole body; a long one in its turn. Raises: BodyTooLarge beyond `limit` bytes; BodyBroken."""
        if self.size > limit:
            raise BodyTooLarge(limit)
        body = self._request.body if self._request.stream is None else await self._gathered(limit)
        if len(body) > LONG:
            await wait_for_turn()
        return body

    async def _gathered(self, limit: int) -> bytes:
        assert self._request.stream is not None  # checked by the caller
        pieces, size = [], 0
        async with contextlib.aclosing(receive_body(self._connection, self._request.stream)) as chunks:
            async for chunk in chunks:
                size += len(chunk)
                if size > limit:
                    raise BodyTooLarge(limit)
                pieces.append(chunk)
        return b"".join(pieces)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the body piece by piece. Raises: BodyBroken."""
        if self._request.stream is None:
            if self._request.body:
                yield self._request.body
            return
        async with contextlib.aclosing(receive_body(self._connection, self._request.stream)) as chunks:
            async for chunk in chunks:
                yield chunk


@dataclass(frozen=True, slots=True)
class StreamedResponse:
    """A response whose body is sent while it is produced. `size`: its bytes, or -1 where unknown.

    `is_stored`: the whole body is on this machine's disk, so that sending it takes no work, no memory and no connection of the
    database. Such an answer gives up its place among the running requests (`broker/requests/serve.py`).
    """

    status: int
    headers: Headers
    chunks: AsyncIterator[bytes]
    reason: str = ""
    size: int = -1
    is_stored: bool = False


Handler = Callable[[Request, RequestBody], Awaitable[Response | StreamedResponse]]


def streamed(response: Response) -> StreamedResponse:
    """Return a whole response as one whose body is sent as chunks, because it is too long for a message."""
    body = response.body
    return StreamedResponse(response.status, response.headers, _one_piece(body), response.reason, len(body))


async def _one_piece(data: bytes) -> AsyncIterator[bytes]:
    yield data
