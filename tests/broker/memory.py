"""A process that writes and reads one blob as a stream, and prints by how much that raised its peak memory.

    python -m tests.broker.memory < settings and folder, pickled

A process of its own, because the servers of these tests hold what they are sent in the memory of the tests' process.
"""

import asyncio
import hashlib
import json
import pickle
import resource
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

from broker.blobs.blob_names import BlobPath, blob
from broker.blobs.store import BlobStore
from schemas.settings.storage import Storage

MIB = 1024 * 1024
_CHUNK = 64 * 1024


def peaks(settings: Storage, folder: Path, size: int) -> dict[str, int]:
    """Return what writing and reading a blob of some bytes took in a new process: growth of its peak memory, in bytes."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.broker.memory"],
        input=pickle.dumps((settings, folder, size)),
        capture_output=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return dict(json.loads(done.stdout))


def _peak() -> int:
    """Return the most memory that this process had since it began: without what its parent had, which `getrusage` counts too."""
    status = Path("/proc/self/status")
    if not status.exists():
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024
    lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
    return int(lines["VmHWM"].split()[0]) * 1024


async def _write(store: BlobStore, place: BlobPath, size: int) -> str:
    hashed = hashlib.md5(usedforsecurity=False)
    async with store.stage(place, limit=size) as staging:
        for number in range(size // _CHUNK):
            chunk = number.to_bytes(8, "big") * (_CHUNK // 8)
            hashed.update(chunk)
            await staging.write(chunk)
        staged = await staging.finish()
    await store.promote(staged)
    return hashed.hexdigest()


async def _read(store: BlobStore, place: BlobPath) -> str:
    hashed = hashlib.md5(usedforsecurity=False)
    async with store.read(place) as reading:
        async for chunk in reading.chunks:
            hashed.update(chunk)
    return hashed.hexdigest()


async def _main() -> None:
    settings, folder, size = pickle.loads(sys.stdin.buffer.read())
    store = BlobStore.open(settings, folder)
    try:
        small = blob(
            "bucket", uuid4()
        )  # connections, threads and code that the first blob needs, however small it is
        await _write(store, small, MIB)
        await _read(store, small)
        before, place = _peak(), blob("bucket", uuid4())
        written = await _write(store, place, size)
        after = _peak()
        read = await _read(store, place)
        assert written == read
        print(json.dumps({"written": after - before, "read": _peak() - after}))
    finally:
        await store.close()


if __name__ == "__main__":
    asyncio.run(_main())
