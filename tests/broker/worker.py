"""A worker of its own process for the tests: `python -m tests.broker.worker URL [CONCURRENCY]`."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator

import uvloop

from broker.nats.connection import NatsConnection
from broker.requests.handler import RequestBody, StreamedResponse
from broker.requests.serve import serve
from broker.subjects import REST
from schemas.http import Request, Response


async def answer(request: Request, body: RequestBody) -> Response | StreamedResponse:
    """Do what the path says: answer, never answer, block the event loop, or send without end."""
    match request.path:
        case "/hang":
            await asyncio.Event().wait()
        case "/block":
            time.sleep(float(request.query))
        case "/flow":
            return StreamedResponse(200, [], _flow())
        case "/read":
            return Response(200, [], str(len(await body.read(1 << 30))).encode())
    return Response(200, [], b"from another process")


async def _flow() -> AsyncIterator[bytes]:
    yield b"begun"
    await asyncio.Event().wait()


async def _main(url: str, concurrency: int) -> None:
    connection = await NatsConnection.open(url, name="test-worker")
    await serve(connection, REST, answer, concurrency=concurrency, queue=64)
    print("ready", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(_main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 8))
