"""The HTTP client of a process, against a server that answers before it has read the request."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from workers.functions.processes.relay import ProcessRequest, Relay


async def _broken_body() -> AsyncIterator[bytes]:
    yield b"half of"
    await asyncio.sleep(0.05)
    raise ConnectionResetError


async def test_a_connection_with_half_a_request_on_it_is_not_used_again(tmp_path: Path) -> None:
    connections: list[asyncio.StreamWriter] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(writer)
        while await reader.read(65536):
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
        writer.close()

    path = str(tmp_path / "s")
    server = await asyncio.start_unix_server(answer, path)
    relay = Relay(path, lambda: None)
    head = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n"
    first = await relay.send(
        ProcessRequest(head, _broken_body(), is_head=False, is_chunked=False, is_raw=False)
    )
    await asyncio.sleep(0.2)
    with contextlib.suppress(ConnectionResetError):
        await first.close()
    whole = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n"
    second = await relay.send(ProcessRequest(whole, b"", is_head=False, is_chunked=False, is_raw=False))
    await second.close()
    relay.close()
    server.close()
    await asyncio.sleep(0.05)

    assert len(connections) == 2
