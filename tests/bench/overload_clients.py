"""Clients of `overload.py` besides the readers: sockets that stay, bodies that come slowly, bodies that are too long."""

import asyncio
import contextlib
import json
import time

import aiohttp

from tests.bench.fairness import Answers
from tests.bench.load import http
from tests.platform import Platform

_BEAT_S, _PATIENCE_S = 5.0, 60.0
_TRICKLE = b" " * 1000
_SLOW_BODY = 10 * 1024 * 1024
_PIECE = b" " * 65536


async def hold_sockets(one: Platform, number: int, end: float, joins: Answers, beats: Answers) -> int:
    """Open sockets, each in a channel of broadcasts, and let each beat every five seconds; return how many are open in the end.

    200 in `joins` and `beats`: answered; 0: not.
    """
    url = f"ws://127.0.0.1:{one.port}/realtime/v1/websocket?vsn=2.0.0&apikey={one.values['ANON_KEY']}"
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout()) as session:
        held = await asyncio.gather(
            *(_hold(session, url, index, end, joins, beats) for index in range(number))
        )
    return sum(held)


async def _hold(
    session: aiohttp.ClientSession, url: str, index: int, end: float, joins: Answers, beats: Answers
) -> bool:
    topic, config = f"realtime:overload-{index % 100}", {"config": {"broadcast": {"self": False}}}
    began = time.monotonic()
    try:
        async with session.ws_connect(url, max_msg_size=0) as socket:
            joined = await _answered(socket, ["1", "1", topic, "phx_join", config])
            joins.add(200 if joined else 0, time.monotonic() - began)
            while joined and time.monotonic() < end:
                await asyncio.sleep(_BEAT_S)
                began = time.monotonic()
                joined = await _answered(socket, [None, "2", "phoenix", "heartbeat", {}])
                beats.add(200 if joined else 0, time.monotonic() - began)
            return joined
    except (aiohttp.ClientError, OSError):
        joins.add(0, time.monotonic() - began)
        return False


async def _answered(socket: aiohttp.ClientWebSocketResponse, message: list[object]) -> bool:
    await socket.send_str(json.dumps(message))
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_PATIENCE_S):
            async for answer in socket:
                if answer.type is not aiohttp.WSMsgType.TEXT:
                    break
                if json.loads(answer.data)[3] == "phx_reply":
                    return True
    return False


async def write_slowly(one: Platform, end: float) -> bool:
    """Send a body of 10 MB, a kilobyte a second; return whether the connection is open in the end."""
    headers = {"apikey": one.values["SERVICE_ROLE_KEY"], "Content-Type": "application/json"}
    head = (
        f"POST /rest/v1/shelf HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {_SLOW_BODY}\r\n"
        + "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        + "\r\n"
    )
    with contextlib.suppress(OSError):
        reader, writer = await asyncio.open_connection("127.0.0.1", one.port)
        writer.write(head.encode())
        while time.monotonic() < end and not reader.at_eof():
            writer.write(_TRICKLE)
            await writer.drain()
            await asyncio.sleep(1)
        is_open = not reader.at_eof()
        writer.transport.abort()
        return is_open
    return False


async def send_giants(one: Platform, end: float, megabytes: int, answers: Answers) -> None:
    """Send one body of blanks after the other, each as long as that."""
    request = http("POST", "/rest/v1/shelf", "127.0.0.1", {"apikey": one.values["SERVICE_ROLE_KEY"]}, b" ")
    head = request[:-1].replace(b"Content-Length: 1\r\n", b"Content-Length: %d\r\n" % (megabytes << 20))
    while time.monotonic() < end:
        began, status = time.monotonic(), 0
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, TimeoutError):
            reader, writer = await asyncio.open_connection("127.0.0.1", one.port)
            writer.write(head)
            sending = asyncio.ensure_future(_send(writer, megabytes << 20))
            async with asyncio.timeout(_PATIENCE_S):
                status = int((await reader.readuntil(b"\r\n"))[9:12])
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
            writer.transport.abort()
        answers.add(status, time.monotonic() - began)


async def _send(writer: asyncio.StreamWriter, size: int) -> None:
    for _ in range(size // len(_PIECE)):
        writer.write(_PIECE)
        await writer.drain()
