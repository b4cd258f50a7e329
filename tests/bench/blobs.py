"""Throughput of the blob store on a local disk: `python -m tests.bench.blobs [--folder DIR] [--sizes 10000,1000000]`.

Writes hash (MD5), stage, fsync and promote; reads go chunk by chunk through the event loop, as for TLS, and by sendfile
into a socket, as for plain HTTP. `raw` is the same disk and hash without the store: what can be had at most.
"""

import argparse
import asyncio
import hashlib
import os
import resource
import socket
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from uuid import uuid4

import uvloop

from broker.blobs.blob_names import BlobPath, blob
from broker.blobs.store import BlobStore
from schemas.settings.storage import Storage

MB = 1_000_000
_CHUNK = 128 * 1024
_LEAST_BYTES, _MOST_BLOBS = 200 * MB, 1000


async def write(store: BlobStore, place: BlobPath, chunks: list[bytes]) -> None:
    """Write one blob as an edge does."""
    async with store.stage(place, limit=1 << 40) as staging:
        for chunk in chunks:
            await staging.write(chunk)
        staged = await staging.finish()
    await store.promote(staged)


async def read(store: BlobStore, place: BlobPath) -> None:
    """Read one blob chunk by chunk."""
    async with store.read(place) as reading:
        async for _ in reading.chunks:
            pass


async def send(store: BlobStore, place: BlobPath) -> None:
    """Send one blob into a socket from the kernel."""
    loop = asyncio.get_running_loop()
    one, other = socket.socketpair()
    one.setblocking(False)
    other.setblocking(False)
    buffer = bytearray(1 << 20)
    async with store.read(place) as reading:
        assert reading.file is not None
        file = reading.file.fileno()

        async def drain() -> None:
            left = reading.size
            while left:
                left -= await loop.sock_recv_into(other, buffer)

        draining = asyncio.create_task(drain())
        sent = 0
        while sent < reading.size:
            try:
                sent += os.sendfile(one.fileno(), file, sent, reading.size - sent)
            except BlockingIOError:
                await asyncio.sleep(0)
        await draining
    one.close()
    other.close()


def raw(path: Path, chunks: list[bytes]) -> None:
    """Hash and write one file with nothing around it."""
    hashed = hashlib.md5(usedforsecurity=False)
    file = os.open(path, os.O_WRONLY | os.O_CREAT)
    for chunk in chunks:
        hashed.update(chunk)
        os.write(file, chunk)
    os.fsync(file)
    os.close(file)


async def timed(size: int, count: int, at_once: int, one: Callable[[int], Awaitable[None]]) -> str:
    """Run a step for each blob, so many at once; give MB/s, blobs/s and CPU."""
    turns = iter(range(count))

    async def lane() -> None:
        for number in turns:
            await one(number)

    began, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(lane() for _ in range(at_once)))
    took, used = time.perf_counter() - began, time.process_time() - cpu
    return f"{size * count / MB / took:9.1f} MB/s {count / took:9.1f}/s {used / count * 1000:9.3f} ms CPU"


async def bench(folder: Path, size: int, at_once: int) -> None:
    """Print the lines of one size."""
    store = BlobStore.open(Storage(path="blobs"), folder)
    data = os.urandom(size)
    chunks = [data[at : at + _CHUNK] for at in range(0, size, _CHUNK)]
    count = max(at_once, min(_MOST_BLOBS, _LEAST_BYTES // size))
    places = [blob("bench", uuid4()) for _ in range(count)]
    name = f"{size / MB:7.2f} MB x{count:5} by {at_once:2}"

    async def written(number: int) -> None:
        await write(store, places[number], chunks)

    async def was_read(number: int) -> None:
        await read(store, places[number])

    async def was_sent(number: int) -> None:
        await send(store, places[number])

    async def was_raw(number: int) -> None:
        raw(folder / f"raw-{number}", chunks)

    for step, one in (("write", written), ("read", was_read), ("sendfile", was_sent)):
        print(f"{name} {step:9}{await timed(size, count, at_once, one)}", flush=True)
    if at_once == 1:
        print(f"{name} {'raw':9}{await timed(size, count, 1, was_raw)}", flush=True)
    for path in folder.glob("raw-*"):
        path.unlink()
    await store.delete(places)
    await store.close()


def main() -> None:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--sizes", default="10000,1000000,100000000")
    parser.add_argument("--at-once", default="1,16")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
        for size in map(int, chosen.sizes.split(",")):
            for at_once in map(int, chosen.at_once.split(",")):
                before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
                uvloop.run(bench(Path(folder), size, at_once))
                after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
                print(f"{'':21} peak memory {after / 1024:.0f} MiB ({(after - before) / 1024:+.0f})")


if __name__ == "__main__":
    main()
