"""The buckets of config.toml: created or changed at every start, and filled from their folders.

    [storage.buckets.images]            over HTTP from the platform's own gateway, with the service key
    public = true                  -->  the bucket is created, or changed where it differs
    objects_path = "./images"      -->  files whose bytes are missing there are uploaded; nothing is deleted

Size and ETag, which is the MD5 of the bytes, identify what is already stored, so a second start uploads nothing. Errors become
warnings: the platform runs without. Runs as a process of its own (`bucket_process.py`). Source: docs/reference/platform.md, config.toml.
"""

import asyncio
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiohttp
import msgspec

from schemas.settings.forms import decode_value
from schemas.settings.storage import Bucket
from services.supervisor.ports import LOOPBACK
from services.supervisor.processes.detach import PipeReporter
from services.supervisor.project.bucket_files import LocalFile, files_of
from services.supervisor.project.bucket_process import BucketJob
from services.supervisor.report import Reporter

_AT_ONCE = 4
_PAGE = 1000
_TRIES = 6
_PAUSE_S = 0.5
_REPORT_EVERY_S = 5.0
_TIMEOUT = aiohttp.ClientTimeout(total=None, connect=10, sock_read=120)
_RETRIED = (429, 502, 503, 504)
_CACHED = "max-age=3600"
_ADDRESS_SAFE = "/"


class BucketError(Exception):
    """The storage rejected a request or did not answer; the message is the reason."""


@dataclass(frozen=True, slots=True)
class _StorageClient:
    """The storage of the platform's own gateway."""

    client: aiohttp.ClientSession
    url: str

    async def send(self, method: str, path: str, json: object = None) -> tuple[int, Any]:
        """Send a request, up to six times while the storage starts. Raises: BucketError if it does not answer."""
        for attempt in range(_TRIES):
            try:
                async with self.client.request(method, f"{self.url}/{path}", json=json) as response:
                    if response.status not in _RETRIED or attempt == _TRIES - 1:
                        return response.status, await response.json(content_type=None)
            except (aiohttp.ClientConnectionError, TimeoutError) as error:
                if attempt == _TRIES - 1:
                    raise BucketError(f"the storage does not answer ({type(error).__name__})") from None
            await asyncio.sleep(_PAUSE_S * (attempt + 1))
        raise AssertionError("the last attempt returns or raises")

    async def send_checked(self, method: str, path: str, json: object = None) -> Any:
        """Send a request that has to succeed; return its JSON. Raises: BucketError."""
        status, body = await self.send(method, path, json)
        if status != 200:
            raise BucketError(_reason(status, body))
        return body

    async def upload(self, bucket: str, file: LocalFile) -> None:
        """Upload a file, replacing the object of its name. Raises: BucketError, OSError."""
        headers = {"content-type": file.content_type, "cache-control": _CACHED, "x-upsert": "true"}
        path = f"object/{quote(bucket, safe='')}/{quote(file.key, safe=_ADDRESS_SAFE)}"
        with await asyncio.to_thread(file.path.open, "rb") as data:
            try:
                async with self.client.post(f"{self.url}/{path}", data=data, headers=headers) as response:
                    if response.status != 200:
                        raise BucketError(_reason(response.status, await response.json(content_type=None)))
            except (aiohttp.ClientError, TimeoutError, ValueError) as error:
                raise BucketError(f"the upload broke off ({type(error).__name__})") from None


@dataclass(slots=True)
class _UploadCounts:
    """Counts of the files of a bucket."""

    total: int
    uploaded: int = 0
    unchanged: int = 0
    failed: int = 0
    reported_at: float = field(default_factory=time.monotonic)

    @property
    def done(self) -> int:
        return self.uploaded + self.unchanged + self.failed


async def load_buckets(
    buckets: Mapping[str, Bucket], url: str, service_key: str, folder: Path, report: Reporter
) -> None:
    """Create, change and fill the buckets of a project, and report what was done. Errors are reported, not raised.

    `url` is the gateway's address; relative `objects_path` begin at `folder`.
    """
    headers = {"apikey": service_key, "authorization": f"Bearer {service_key}"}
    # The certificate of a gateway on the loopback address is for its public name, so it is not checked.
    connector = aiohttp.TCPConnector(ssl=False) if url.startswith(f"https://{LOOPBACK}") else None
    async with aiohttp.ClientSession(headers=headers, timeout=_TIMEOUT, connector=connector) as client:
        storage = _StorageClient(client, f"{url}/storage/v1")
        for name, bucket in buckets.items():
            try:
                change = await _create_or_change(storage, name, bucket)
                filled = (
                    await _fill(storage, name, folder / bucket.objects_path, report)
                    if bucket.objects_path
                    else ""
                )
                if summary := ", ".join(part for part in (change, filled) if part):
                    report.info(f"Bucket {name}: {summary}")
            except (BucketError, aiohttp.ClientError, ValueError) as error:
                report.warn(f"[storage.buckets.{name}]: {error}")
            except OSError as error:
                report.warn(
                    f"[storage.buckets.{name}]: {bucket.objects_path} cannot be read: {error.strerror}"
                )


async def _create_or_change(storage: _StorageClient, name: str, bucket: Bucket) -> str:
    """Create a bucket, or change what differs; return what was done."""
    path = f"bucket/{quote(name, safe='')}"
    status, present = await storage.send("GET", path)
    if status != 200:
        if str(present.get("statusCode")) != "404":
            raise BucketError(_reason(status, present))
        await storage.send_checked("POST", "bucket", {"name": name, **requested_attributes(bucket)})
        return "made"
    if bucket.quota is not None:
        present |= await storage.send_checked("GET", f"{path}/size")
    changes = {key: value for key, value in requested_attributes(bucket).items() if present.get(key) != value}
    if not changes:
        return ""
    await storage.send_checked("PUT", path, changes)
    return f"changed ({', '.join(changes)})"


def requested_attributes(bucket: Bucket) -> dict[str, object]:
    """Return the attributes that the project sets; others stay as they are (pure)."""
    attributes: dict[str, object] = {"public": bucket.public}
    if bucket.file_size_limit is not None:
        attributes["file_size_limit"] = int(bucket.file_size_limit)
    if bucket.allowed_mime_types:
        attributes["allowed_mime_types"] = list(bucket.allowed_mime_types)
    if bucket.quota is not None:
        attributes["quota"] = int(bucket.quota)
    return attributes


async def _fill(storage: _StorageClient, name: str, top: Path, report: Reporter) -> str:
    """Upload the files that are missing; return a summary."""
    files = await asyncio.to_thread(files_of, top)
    stored = await _objects(storage, name)
    progress, rest = _UploadCounts(len(files)), iter(files)

    async def work() -> None:
        for file in rest:
            await _upload_if_changed(storage, name, file, stored.get(file.key), progress, report)

    async with asyncio.TaskGroup() as group:
        for _ in range(_AT_ONCE):
            group.create_task(work())
    counts = {"uploaded": progress.uploaded, "there already": progress.unchanged, "refused": progress.failed}
    parts = ", ".join(f"{count} {outcome}" for outcome, count in counts.items() if count)
    return f"{_files(progress.total)}{f': {parts}' if parts else ''}"


async def _upload_if_changed(
    storage: _StorageClient,
    name: str,
    file: LocalFile,
    stored: tuple[int, str] | None,
    counts: _UploadCounts,
    report: Reporter,
) -> None:
    try:
        if stored and stored[0] == file.size and stored[1] == await asyncio.to_thread(file.md5):
            counts.unchanged += 1
        else:
            await storage.upload(name, file)
            counts.uploaded += 1
    except (BucketError, OSError, UnicodeError) as error:
        counts.failed += 1
        why = error.strerror if isinstance(error, OSError) else error
        report.warn(f"[storage.buckets.{name}]: {file.key} was not uploaded: {why}")
    now = time.monotonic()
    if now - counts.reported_at >= _REPORT_EVERY_S:
        counts.reported_at = now
        report.info(f"Bucket {name}: {counts.done} of {_files(counts.total)}")


async def _objects(storage: _StorageClient, name: str) -> dict[str, tuple[int, str]]:
    """Return size and MD5 of every object of a bucket by its name."""
    stored: dict[str, tuple[int, str]] = {}
    cursor = ""
    while True:
        page = {"limit": _PAGE, "with_delimiter": False} | ({"cursor": cursor} if cursor else {})
        body = await storage.send_checked("POST", f"object/list-v2/{quote(name, safe='')}", page)
        for row in body["objects"]:
            metadata = row.get("metadata") or {}
            stored[row["name"]] = (metadata.get("size", -1), str(metadata.get("eTag", "")).strip('"'))
        cursor = body.get("nextCursor") or ""
        if not body.get("hasNext") or not cursor:
            return stored


def _reason(status: int, body: object) -> str:
    message = body.get("message") if isinstance(body, dict) else None
    return str(message or f"the storage answered {status}")


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count} files"


def main() -> None:
    """Load the buckets of the job on standard input, and write each report to standard output."""
    job = msgspec.json.decode(sys.stdin.buffer.read(), type=BucketJob, dec_hook=decode_value)
    report = PipeReporter(os.dup(sys.stdout.fileno()))
    asyncio.run(load_buckets(job.buckets, job.url, job.service_key, Path(job.folder), report))


if __name__ == "__main__":
    main()
