"""A small pool behind the gateway: it serves the REST subject over a real broker, each path in its own way.

/echo, any other path   a JSON object that says what arrived
/say                    what the JSON body says: status, headers, body, reason
/hang                   nothing, until it is cancelled or let go
/large                  5 MB, longer than a message
/stream, /sized         5 MB as they are made, without and with their size
/text, /text-sized      10 MB of text as they are made; /long-text 5 KB at once
/drip, /drip-text       one piece, then nothing until it is let go
/cut, /cut-sized        one piece, then a failure
/refuse, /crash         a refusal of its own; an exception
"""

import asyncio
import hashlib
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from broker import subjects
from broker.nats.connection import NatsConnection
from broker.requests.handler import RequestBody, StreamedResponse
from broker.requests.serve import serve
from schemas.edge_settings import EdgeSettings
from schemas.errors import ApiError
from schemas.http import Headers, Request, Response

JSON = [("content-type", "application/json")]
TEXT = [("content-type", "text/plain; charset=utf-8")]
OCTETS = [("content-type", "application/octet-stream")]
LARGE = b"".join(hashlib.sha256(bytes([number % 256, number >> 8])).digest() * 512 for number in range(320))
MOST = 100 << 20


class SayRequest(msgspec.Struct):
    """What `/say` answers."""

    status: int = 200
    headers: Headers = []
    body: str = ""
    reason: str = ""


class Teapot(ApiError):
    """A refusal of the pool."""

    status = 418


class Pool:
    """The pool of a test, and the moments in the life of its requests, by request id."""

    def __init__(self) -> None:
        self.arrived: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self.cancelled: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self.let_go: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self.closed: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self.health = Response(200, body=b'{"message":"ok"}')
        self.stored = EdgeSettings(0, {})

    async def answer(self, request: Request, body: RequestBody) -> Response | StreamedResponse:
        self.arrived[request.id].set()
        match request.path:
            case "/say":
                said = msgspec.json.decode(await body.read(MOST), type=SayRequest)
                return Response(said.status, said.headers, said.body.encode(), said.reason)
            case "/hang":
                return await self._hang(request.id)
            case "/large":
                return Response(200, OCTETS, LARGE)
            case "/stream":
                return StreamedResponse(200, OCTETS, self._pieces(request.id))
            case "/sized":
                return StreamedResponse(200, OCTETS, self._pieces(request.id), size=len(LARGE))
            case "/text":
                return StreamedResponse(200, TEXT, self._text())
            case "/text-sized":
                return StreamedResponse(200, TEXT, self._text(), size=2 * len(LARGE))
            case "/long-text":
                return Response(200, TEXT, b"word " * 1000)
            case "/drip":
                return StreamedResponse(200, OCTETS, self._drip(request.id))
            case "/drip-text":
                return StreamedResponse(200, TEXT, self._drip(request.id))
            case "/cut":
                return StreamedResponse(200, OCTETS, self._cut())
            case "/cut-sized":
                return StreamedResponse(200, OCTETS, self._cut(), size=1000)
            case "/refuse":
                raise Teapot("short and stout")
            case "/crash":
                raise RuntimeError("the inside of the worker")
        return await echo(request, body)

    async def answer_health(self, request: Request, body: RequestBody) -> Response:
        del request, body
        return self.health

    async def answer_settings(self, request: Request, body: RequestBody) -> Response:
        del request, body
        return Response(200, body=msgspec.json.encode(self.stored))

    async def _hang(self, id: str) -> Response:
        try:
            await self.let_go[id].wait()
        except asyncio.CancelledError:
            self.cancelled[id].set()
            raise
        return Response(200, JSON, b'"let go"')

    async def _pieces(self, id: str) -> AsyncIterator[bytes]:
        try:
            for start in range(0, len(LARGE), 100_000):
                yield LARGE[start : start + 100_000]
        finally:
            self.closed[id].set()

    async def _text(self) -> AsyncIterator[bytes]:
        for start in range(0, len(LARGE), 100_000):
            yield LARGE[start : start + 100_000].hex().encode()

    async def _drip(self, id: str) -> AsyncIterator[bytes]:
        try:
            yield b"first"
            await self.let_go[id].wait()
            yield b"last"
        finally:
            self.closed[id].set()

    async def _cut(self) -> AsyncIterator[bytes]:
        yield b"x" * 100
        raise RuntimeError("the source of the body is gone")


async def echo(request: Request, body: RequestBody) -> Response:
    """Say what arrived."""
    data = await body.read(MOST)
    shown = {
        "id": request.id,
        "method": request.method,
        "path": request.path,
        "query": request.query,
        "headers": request.headers,
        "caller": msgspec.to_builtins(request.caller),
        "client": request.client,
        "caller_key": request.caller_key,
        "budget_ms": request.budget_ms,
        "is_streamed": request.stream is not None,
        "size": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
    }
    return Response(200, JSON, msgspec.json.encode(shown))


@asynccontextmanager
async def running_pool(nats_url: str, *, concurrency: int = 64, queue: int = 256) -> AsyncIterator[Pool]:
    """Serve the REST subject and its health until the end of the block."""
    pool = Pool()
    connection = await NatsConnection.open(nats_url, name="test pool")
    serving = await serve(connection, subjects.REST, pool.answer, concurrency=concurrency, queue=queue)
    health = await serve(connection, subjects.health("rest"), pool.answer_health, concurrency=4, queue=64)
    stored = await serve(connection, subjects.EDGE_SETTINGS, pool.answer_settings, concurrency=4, queue=64)
    try:
        yield pool
    finally:
        await serving.stop()
        await health.stop()
        await stored.stop()
        await connection.close()
