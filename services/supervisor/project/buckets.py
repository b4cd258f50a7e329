"""The buckets of config.toml: made or brought into line at every start, and filled from their folders.

    [storage.buckets.images]            asked over HTTP of the platform's own gateway, with the service key
    public = true                  -->  the bucket is made, or changed where it differs
    objects_path = "./images"      -->  files whose bytes are not there yet are uploaded; nothing is ever deleted

What is there is told by size and ETag, which is the MD5 of the bytes, so a second start uploads nothing. What goes wrong is a
warning: the platform runs without. Source: reference page "platform", config.toml.
"""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiohttp

from schemas.settings.storage import Bucket
from services.supervisor.ports import LOOPBACK
from services.supervisor.project.bucket_files import LocalFile, files_of
from services.supervisor.report import Reporter

_AT_ONCE = 4
_PAGE = 1000
_TRIES = 6
_PAUSE_S = 0.5
_SAY_EVERY_S = 5.0
_TIMEOUT = aiohttp.ClientTimeout(total=None, connect=10, sock_read=120)
_LATER = (429, 502, 503, 504)
_CACHED = "max-age=3600"
_ADDRESS_SAFE = "/"


class BucketRefused(Exception):
    """The storage did not do what was asked; the message says why."""


@dataclass(frozen=True, slots=True)
class _Door:
    """The storage of the platform's own gateway."""

    client: aiohttp.ClientSession
    url: str

    async def ask(self, method: str, path: str, json: object = None) -> tuple[int, Any]:
        """Ask, a few times where it is still waking up. Raises: BucketRefused if it does not answer."""
        for turn in range(_TRIES):
            try:
                async with self.client.request(method, f"{self.url}/{path}", json=json) as answer:
                    if answer.status not in _LATER or turn == _TRIES - 1:
                        return answer.status, await answer.json(content_type=None)
            except (aiohttp.ClientConnectionError, TimeoutError) as error:
                if turn == _TRIES - 1:
                    raise BucketRefused(f"the storage does not answer ({type(error).__name__})") from None
            await asyncio.sleep(_PAUSE_S * (turn + 1))
        raise AssertionError("the last turn returns or raises")

    async def must(self, method: str, path: str, json: object = None) -> Any:
        """Ask for what must succeed. Raises: BucketRefused."""
        status, told = await self.ask(method, path, json)
        if status != 200:
            raise BucketRefused(_reason(status, told))
        return told

    async def upload(self, bucket: str, file: LocalFile) -> None:
        """Put a file in place of what has its name. Raises: BucketRefused, OSError."""
        headers = {"content-type": file.content_type, "cache-control": _CACHED, "x-upsert": "true"}
        path = f"object/{quote(bucket, safe='')}/{quote(file.key, safe=_ADDRESS_SAFE)}"
        with await asyncio.to_thread(file.path.open, "rb") as data:
            try:
                async with self.client.post(f"{self.url}/{path}", data=data, headers=headers) as answer:
                    if answer.status != 200:
                        raise BucketRefused(_reason(answer.status, await answer.json(content_type=None)))
            except (aiohttp.ClientError, TimeoutError, ValueError) as error:
                raise BucketRefused(f"the upload broke off ({type(error).__name__})") from None


@dataclass(slots=True)
class _Tally:
    """What became of the files of a bucket."""

    total: int
    uploaded: int = 0
    kept: int = 0
    refused: int = 0
    said_at: float = field(default_factory=time.monotonic)

    @property
    def done(self) -> int:
        return self.uploaded + self.kept + self.refused


async def load_buckets(
    buckets: Mapping[str, Bucket], url: str, service_key: str, folder: Path, report: Reporter
) -> None:
    """Make, change and fill the buckets of a project, and tell what was done. Nothing that goes wrong is raised.

    `url` is that of the gateway; `folder` the one that `objects_path` begins at.
    """
    headers = {"apikey": service_key, "authorization": f"Bearer {service_key}"}
    # A gateway on this machine's own address: its certificate is for the name that the world knows it by.
    connector = aiohttp.TCPConnector(ssl=False) if url.startswith(f"https://{LOOPBACK}") else None
    async with aiohttp.ClientSession(headers=headers, timeout=_TIMEOUT, connector=connector) as client:
        door = _Door(client, f"{url}/storage/v1")
        for name, bucket in buckets.items():
            try:
                what = await _shape(door, name, bucket)
                filled = (
                    await _fill(door, name, folder / bucket.objects_path, report)
                    if bucket.objects_path
                    else ""
                )
                if told := ", ".join(part for part in (what, filled) if part):
                    report.say(f"Bucket {name}: {told}")
            except (BucketRefused, aiohttp.ClientError, ValueError) as error:
                report.warn(f"[storage.buckets.{name}]: {error}")
            except OSError as error:
                report.warn(
                    f"[storage.buckets.{name}]: {bucket.objects_path} cannot be read: {error.strerror}"
                )


async def _shape(door: _Door, name: str, bucket: Bucket) -> str:
    """Make a bucket, or bring it into line; say what was done."""
    path = f"bucket/{quote(name, safe='')}"
    status, there = await door.ask("GET", path)
    if status != 200:
        if str(there.get("statusCode")) != "404":
            raise BucketRefused(_reason(status, there))
        await door.must("POST", "bucket", {"name": name, **wanted_of(bucket)})
        return "made"
    if bucket.quota is not None:
        there |= await door.must("GET", f"{path}/size")
    changes = {key: value for key, value in wanted_of(bucket).items() if there.get(key) != value}
    if not changes:
        return ""
    await door.must("PUT", path, changes)
    return f"changed ({', '.join(changes)})"


def wanted_of(bucket: Bucket) -> dict[str, object]:
    """Give what a bucket shall be; what the project does not name is left as it is. Pure."""
    wanted: dict[str, object] = {"public": bucket.public}
    if bucket.file_size_limit is not None:
        wanted["file_size_limit"] = int(bucket.file_size_limit)
    if bucket.allowed_mime_types:
        wanted["allowed_mime_types"] = list(bucket.allowed_mime_types)
    if bucket.quota is not None:
        wanted["quota"] = int(bucket.quota)
    return wanted


async def _fill(door: _Door, name: str, top: Path, report: Reporter) -> str:
    """Upload what is not there yet; say how much that was."""
    files = await asyncio.to_thread(files_of, top)
    there = await _objects(door, name)
    tally, rest = _Tally(len(files)), iter(files)

    async def work() -> None:
        for file in rest:
            await _bring(door, name, file, there.get(file.key), tally, report)

    async with asyncio.TaskGroup() as group:
        for _ in range(_AT_ONCE):
            group.create_task(work())
    counts = {"uploaded": tally.uploaded, "there already": tally.kept, "refused": tally.refused}
    told = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    return f"{_files(tally.total)}{f': {told}' if told else ''}"


async def _bring(
    door: _Door, name: str, file: LocalFile, there: tuple[int, str] | None, tally: _Tally, report: Reporter
) -> None:
    try:
        if there and there[0] == file.size and there[1] == await asyncio.to_thread(file.md5):
            tally.kept += 1
        else:
            await door.upload(name, file)
            tally.uploaded += 1
    except (BucketRefused, OSError, UnicodeError) as error:
        tally.refused += 1
        why = error.strerror if isinstance(error, OSError) else error
        report.warn(f"[storage.buckets.{name}]: {file.key} was not uploaded: {why}")
    now = time.monotonic()
    if now - tally.said_at >= _SAY_EVERY_S:
        tally.said_at = now
        report.say(f"Bucket {name}: {tally.done} of {_files(tally.total)}")


async def _objects(door: _Door, name: str) -> dict[str, tuple[int, str]]:
    """Give size and MD5 of every object of a bucket by its name."""
    found: dict[str, tuple[int, str]] = {}
    cursor = ""
    while True:
        page = {"limit": _PAGE, "with_delimiter": False} | ({"cursor": cursor} if cursor else {})
        told = await door.must("POST", f"object/list-v2/{quote(name, safe='')}", page)
        for each in told["objects"]:
            metadata = each.get("metadata") or {}
            found[each["name"]] = (metadata.get("size", -1), str(metadata.get("eTag", "")).strip('"'))
        cursor = told.get("nextCursor") or ""
        if not told.get("hasNext") or not cursor:
            return found


def _reason(status: int, told: object) -> str:
    message = told.get("message") if isinstance(told, dict) else None
    return str(message or f"the storage answered {status}")


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count} files"
