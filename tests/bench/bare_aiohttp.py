"""What an upload costs a bare aiohttp server: it writes the body to a file, takes its MD5 and waits for the disk; nothing else.

No routing, no rules, no database: one process on uvloop, as an edge.
"""

import asyncio
import hashlib
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

import uvloop
from aiohttp import web


@contextmanager
def bare_aiohttp(folder: Path) -> Iterator[tuple[tuple[str, int], int]]:
    """Run the server in a process of its own; give its address and process id."""
    ours, theirs = get_context("spawn").Pipe()
    process = get_context("spawn").Process(target=_serve, args=(folder, theirs), daemon=True)
    process.start()
    try:
        assert process.pid is not None
        yield ("127.0.0.1", ours.recv()), process.pid
    finally:
        process.kill()
        process.join()


def _serve(folder: Path, port_of: Connection) -> None:
    uvloop.run(_run(folder, port_of))


async def _run(folder: Path, port_of: Connection) -> None:
    async def store(request: web.BaseRequest) -> web.Response:
        hashed, path = hashlib.md5(usedforsecurity=False), folder / request.path.rpartition("/")[2]
        with path.open("wb", buffering=0) as file:
            async for piece in request.content.iter_any():
                hashed.update(piece)
                file.write(piece)
            await asyncio.to_thread(os.fsync, file.fileno())
        return web.Response(headers={"ETag": hashed.hexdigest()})

    runner = web.ServerRunner(web.Server(store), access_log=None)
    await runner.setup()
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    await web.SockSite(runner, listener).start()
    port_of.send(listener.getsockname()[1])
    await asyncio.Event().wait()
