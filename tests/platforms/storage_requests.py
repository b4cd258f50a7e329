"""A platform whose storage is to be harmed: uploads that stop where a test wants, and what lies on the disk afterwards."""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import aiohttp
import asyncpg
import psutil

from tests.platform import Platform
from tests.platforms.conftest import pid_of

PATIENCE_S = 60.0
LIMIT = 100_000
"""Bytes that an object of the bucket `small` may have."""

PATIENT = {"HEADWATER_STORAGE_FILE_SIZE_LIMIT": "256MiB"}
"""Settings under which uploads may stand still, as those of a test do while something is killed."""
SETTINGS = {**PATIENT, "HEADWATER_GATEWAY_BODY_TIMEOUT": "2", "HEADWATER_GATEWAY_BODY_RATE_WINDOW": "3"}


@dataclass(frozen=True, slots=True)
class Storehouse:
    """A platform, a connection to its database, and a client with the key of the service."""

    platform: Platform
    database: asyncpg.Connection
    client: aiohttp.ClientSession
    headers: dict[str, str] = field(repr=False)
    begun: list["SlowUpload"] = field(default_factory=list)

    def url(self, path: str) -> str:
        """Give the address of something in the storage."""
        return f"{self.platform.url}/storage/v1/{path}"

    def process(self, name: str) -> psutil.Process:
        """Give a part of the platform that runs now."""
        return psutil.Process(pid_of(self.platform, name))

    @property
    def folder(self) -> Path:
        """Give the folder of the blobs."""
        return self.platform.data / "storage"

    def blobs(self) -> set[str]:
        """Give the versions whose bytes lie on the disk."""
        return {path.name for path in (self.folder / "objects").rglob("*") if path.is_file()}

    def staged(self) -> list[Path]:
        """Give what is being written."""
        return [path for path in (self.folder / "staging").rglob("*") if path.is_file()]

    async def rows(self) -> set[str]:
        """Give the versions that rows speak of."""
        return {row["version"] for row in await self.database.fetch("select version from storage.objects")}

    async def has_row(self, key: str) -> bool:
        """Tell whether there is a row of a key in any bucket."""
        return bool(
            await self.database.fetchval("select exists (select from storage.objects where name = $1)", key)
        )

    async def get(self, path: str, **headers: str) -> "Answer":
        """Read something."""
        async with self.client.get(self.url(path), headers=headers) as answer:
            return Answer(answer.status, answer.headers, await answer.read())

    async def upload(self, key: str, data: Any, **headers: str) -> tuple[int, dict[str, Any]]:
        """Upload an object and give the answer. `key` has the bucket before it."""
        async with self.client.post(self.url(f"object/{key}"), data=data, headers=headers) as answer:
            return answer.status, await answer.json()

    async def begin(self, key: str, length: int, **headers: str) -> "SlowUpload":
        """Begin an upload whose body the test sends by hand."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.platform.port)
        told = {
            "Host": "x",
            "Content-Length": str(length),
            "Content-Type": "text/plain",
            **self.headers,
            **headers,
        }
        lines = "".join(f"{name}: {value}\r\n" for name, value in told.items())
        writer.write(f"POST /storage/v1/object/{key} HTTP/1.1\r\n{lines}\r\n".encode())
        await writer.drain()
        self.begun.append(SlowUpload(reader, writer))
        return self.begun[-1]

    async def quiet(self) -> None:
        """Wait until nothing is being written."""
        await until(lambda: not self.staged(), "something stays in the staging folder")

    async def heal(self) -> None:
        """Wait until uploads work again."""
        deadline = time.monotonic() + PATIENCE_S
        while (await self.upload(f"open/heal/{uuid4()}", b"x"))[0] != 200:
            assert time.monotonic() < deadline, "the storage did not heal"
            await asyncio.sleep(0.1)


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer that has been read to its end."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class SlowUpload:
    """A connection with an upload on it."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, data: bytes) -> None:
        """Send more of the body."""
        self.writer.write(data)
        await self.writer.drain()

    async def drip(self, until: "asyncio.Future[Any]") -> None:
        """Send a byte now and then until something is done."""
        while not (await asyncio.wait({until}, timeout=0.1))[0]:
            with contextlib.suppress(ConnectionError):
                await self.send(b"x")

    async def answer(self) -> tuple[int, dict[str, Any]]:
        """Read the answer."""
        async with asyncio.timeout(PATIENCE_S):
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
            length = int(head.partition("content-length: ")[2].partition("\r\n")[0])
            return int(head.split()[1]), json.loads(await self.reader.readexactly(length))

    def leave(self) -> None:
        """Go away without a word."""
        self.writer.transport.abort()


async def until(holds: Callable[[], bool], complaint: str) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, complaint
        await asyncio.sleep(0.02)


async def open_storehouse(platform: Platform) -> AsyncIterator[Storehouse]:
    """Make the buckets `open` (public) and `small` (private, with a limit)."""
    headers = {
        "apikey": platform.values["SERVICE_ROLE_KEY"],
        "Authorization": f"Bearer {platform.values['SERVICE_ROLE_KEY']}",
    }
    database = await asyncpg.connect(platform.values["DB_URL"])
    async with aiohttp.ClientSession(headers=headers, timeout=aiohttp.ClientTimeout(total=90)) as client:
        one = Storehouse(platform, database, client, headers)
        for bucket in ({"name": "open", "public": True}, {"name": "small", "file_size_limit": LIMIT}):
            async with client.post(one.url("bucket"), json=bucket) as answer:
                assert answer.status == 200, await answer.text()
        yield one
    for each in one.begun:
        each.leave()
    await database.close()
