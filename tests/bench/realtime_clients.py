"""Sockets of the realtime benchmark, in a process of their own: they join, hear row changes, and tell when each came.

    python -m tests.bench.realtime_clients   (a JSON object on standard input; lines on standard output)

The frames are taken apart by hand: a client that decoded JSON would cost more than the edge that is measured.
"""

import asyncio
import json
import sys
import time
from array import array
from typing import Any

import uvloop

_HEAD = (
    "GET /realtime/v1/websocket?vsn=2.0.0&apikey={key} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
    "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
_CHANGE = b'"postgres_changes",{"ids"'
_ID = b'"record":{"id":'
_AT_ONCE = 50


class ReceivedChanges:
    """What all sockets of this process heard: how many changes, and of each its row and the moment."""

    def __init__(self, wanted: int) -> None:
        self.rows, self.times = array("q"), array("d")
        self._wanted = wanted
        self.done = asyncio.Event()

    def add(self, row: int) -> None:
        self.rows.append(row)
        self.times.append(time.perf_counter())
        if len(self.rows) == self._wanted:
            self.done.set()


class Listener(asyncio.Protocol):
    """One socket in one channel."""

    def __init__(self, job: dict[str, Any], token: str, heard: ReceivedChanges) -> None:
        self._job, self._token, self._heard = job, token, heard
        self._rest = b""
        self._is_open = False
        self.is_live: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: asyncio.Transport = transport  # type: ignore[assignment]  # of TCP
        self._transport.write(_HEAD.format(key=self._job["key"]).encode())

    def data_received(self, data: bytes) -> None:
        data = self._rest + data
        if not self._is_open:
            head, end, data = data.partition(b"\r\n\r\n")
            if not end:
                self._rest = head
                return
            self._is_open = True
            self._join()
        at, size = 0, len(data)
        while (frame := _frame(data, at, size)) is not None:
            start, at = frame
            self._take(data, start, at)
        self._rest = data[at:]

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.is_live.done():
            self.is_live.set_exception(exc or ConnectionError("closed by the edge"))

    def _join(self) -> None:
        payload = {"config": {"postgres_changes": [self._job["entry"]]}, "access_token": self._token}
        text = json.dumps(["1", "1", f"realtime:{self._job['topic']}", "phx_join", payload]).encode()
        size = bytes((128 | len(text),)) if len(text) < 126 else b"\xfe" + len(text).to_bytes(2, "big")
        self._transport.write(b"\x81" + size + bytes(4) + text)

    def _take(self, data: bytes, start: int, end: int) -> None:
        if data.find(_CHANGE, start, start + 100) >= 0:
            place = data.index(_ID, start, end) + len(_ID)
            self._heard.add(int(data[place : data.index(b",", place)]))
        elif not self.is_live.done() and data.find(b"Subscribed to PostgreSQL", start, end) >= 0:
            self.is_live.set_result(None)
        elif data.find(b'"status":"error"', start, end) >= 0:
            raise SystemExit(data[start:end].decode())


def _frame(data: bytes, at: int, size: int) -> tuple[int, int] | None:
    """Give where the payload of a frame begins and ends, if it is there whole."""
    if size - at < 2:
        return None
    length, start = data[at + 1], at + 2
    if length == 126:
        length, start = int.from_bytes(data[at + 2 : at + 4], "big"), at + 4
    elif length == 127:
        length, start = int.from_bytes(data[at + 2 : at + 10], "big"), at + 10
    return (start, start + length) if start + length <= size else None


async def _main() -> None:
    job = json.loads(sys.stdin.readline())
    heard = ReceivedChanges(job["wanted"])
    loop, tokens = asyncio.get_running_loop(), job["tokens"]
    live: list[Listener] = []
    began = time.perf_counter()
    for start in range(0, len(tokens), _AT_ONCE):
        some = [
            loop.create_connection(lambda token=token: Listener(job, token, heard), "127.0.0.1", job["port"])  # type: ignore[misc]  # bound now
            for token in tokens[start : start + _AT_ONCE]
        ]
        made = [protocol for _, protocol in await asyncio.gather(*some)]
        await asyncio.gather(*(each.is_live for each in made))
        live += made
    print(json.dumps({"opened_s": time.perf_counter() - began}), flush=True)
    try:
        async with asyncio.timeout(job["patience_s"]):
            await heard.done.wait()
    except TimeoutError:
        print(f"only {len(heard.rows)} of {job['wanted']} came", file=sys.stderr)
    cpu = time.process_time()
    print(json.dumps({"cpu_s": cpu, "rows": heard.rows.tolist(), "times": heard.times.tolist()}), flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    uvloop.run(_main())
