"""Compare `workers/functions/processes/relay.py` with aiohttp's client on the unix socket of a process: CPU of the client.

    python -m tests.bench.function_client [--requests 4000] [--rounds 5]

The server is a process that answers every request with the same bytes, so that the figures are those of the clients. Both take
turns in one run; printed are the medians of the rounds: CPU of the client in microseconds a request, 16 requests at a time.
"""

import argparse
import asyncio
import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import aiohttp

from workers.functions.processes import http_wire
from workers.functions.processes.relay import ProcessRequest, Relay

_AT_ONCE = 16
_WORKLOADS = {"get, 100 B": (0, 100), "post 1 KB, 1 KB": (1000, 1000), "get, 1 MB": (0, 1_000_000)}
"""Name -> bytes of the request's body, bytes of the response's body."""
_HEADERS = [
    ("content-type", "application/json"),
    ("authorization", "Bearer " + "a" * 200),
    ("x-request-id", "1"),
]
_Send = Callable[[bytes], Awaitable[int]]


async def _serve(path: str, sent: int, answered: int) -> None:
    """Answer each request, whose body has `sent` bytes."""
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {answered}\r\n\r\n"
    answer = head.encode() + b"x" * answered

    async def answer_all(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                await reader.readuntil(b"\r\n\r\n")
                await reader.readexactly(sent)
                writer.write(answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async with await asyncio.start_unix_server(answer_all, path) as server:
        await server.serve_forever()


def _run_server(path: str, sent: int, answered: int) -> None:
    asyncio.run(_serve(path, sent, answered))


def _by_relay(relay: Relay) -> _Send:
    async def send(body: bytes) -> int:
        size = len(body) if body else None
        head = http_wire.request_head("POST" if body else "GET", "/hello?a=1", "localhost", _HEADERS, size)
        request = await relay.send(ProcessRequest(head, body, is_head=False, is_chunked=False, is_raw=False))
        try:
            whole = request.whole()
            if whole is not None:
                return len(whole)
            return sum([len(piece) async for piece in request.pieces()])
        finally:
            await request.close()

    return send


def _by_aiohttp(session: aiohttp.ClientSession) -> _Send:
    async def send(body: bytes) -> int:
        method = "POST" if body else "GET"
        async with session.request(
            method, "http://localhost/hello?a=1", headers=_HEADERS, data=body or None
        ) as response:
            return sum([len(piece) async for piece in response.content.iter_any()])

    return send


async def _cpu_us(send: _Send, body: bytes, answered: int, requests: int) -> float:
    """Return the CPU time of this process in microseconds a request."""

    async def repeat() -> None:
        for _ in range(requests // _AT_ONCE):
            if await send(body) != answered:
                raise RuntimeError("the answer is not whole")

    started = time.process_time()
    await asyncio.gather(*(repeat() for _ in range(_AT_ONCE)))
    return (time.process_time() - started) / requests * 1e6


async def _compare(path: str, sent: int, answered: int, requests: int, rounds: int) -> tuple[float, float]:
    """Return the medians of `Relay` and of aiohttp."""
    body = b"x" * sent
    relay = Relay(path, lambda: None)
    connector = aiohttp.UnixConnector(path, limit=_AT_ONCE)
    figures: tuple[list[float], list[float]] = ([], [])
    async with aiohttp.ClientSession(connector=connector, auto_decompress=False) as session:
        for _ in range(rounds):
            for column, send in zip(figures, (_by_relay(relay), _by_aiohttp(session)), strict=True):
                column.append(await _cpu_us(send, body, answered, requests))
    relay.close()
    return statistics.median(figures[0]), statistics.median(figures[1])


async def _wait_for(path: str) -> None:
    while not Path(path).exists():
        await asyncio.sleep(0.01)


def main() -> None:
    """Print a line for each workload."""
    parser = argparse.ArgumentParser(description="Compare two clients of a function's process.")
    parser.add_argument("--requests", type=int, default=4000, help="requests a round (default 4000)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each client (default 5)")
    options = parser.parse_args()
    for name, (sent, answered) in _WORKLOADS.items():
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/socket"
            server = multiprocessing.Process(target=_run_server, args=(path, sent, answered), daemon=True)
            server.start()
            requests = options.requests if answered < 100_000 else options.requests // 20
            asyncio.run(_wait_for(path))
            ours, theirs = asyncio.run(_compare(path, sent, answered, requests, options.rounds))
            server.kill()
            server.join()
        print(f"{name:16} relay {ours:7.0f} us   aiohttp {theirs:7.0f} us   ratio {theirs / ours:.2f}")


if __name__ == "__main__":
    main()
