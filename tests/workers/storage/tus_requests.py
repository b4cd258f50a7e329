"""Resumable uploads as an edge moves them: asked, appended, told."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from broker.blobs.blob_names import blob
from broker.blobs.errors import BlobTooLarge
from schemas.blobs import StoredBody, UploadGrant
from schemas.caller import Caller
from schemas.http import Request, Response
from tests.workers.storage.storage_pool import SERVICE, StoragePool, request_of, told

ROOT = "/upload/resumable"
BODY = "application/offset+octet-stream"


def metadata(bucket: str, key: str, **more: str) -> str:
    """Spell `Upload-Metadata`."""
    values = {"bucketName": bucket, "objectName": key, **more}
    return ",".join(f"{name} {base64.b64encode(text.encode()).decode()}" for name, text in values.items())


@dataclass
class Uploads:
    """One caller's resumable uploads in a pool storage."""

    storage_pool: StoragePool
    caller: Caller = SERVICE
    headers: Mapping[str, str] = field(default_factory=dict)
    root: str = ROOT
    is_known: bool = True

    def request(self, method: str, target: str, **headers: Any) -> Request:
        """Make a request; a header that is None is left out."""
        sent = {"tus_resumable": "1.0.0", **self.headers, **headers}
        kept = {name: value for name, value in sent.items() if value is not None}
        return request_of(method, target, None, self.caller, is_known=self.is_known, **kept)

    async def ask(self, method: str, target: str, **headers: Any) -> Response:
        return await self.storage_pool.ask(self.request(method, target, **headers))

    async def create(
        self,
        bucket: str,
        key: str,
        length: int | None,
        *,
        more: Mapping[str, str] | None = None,
        **headers: Any,
    ) -> Response:
        """Begin an upload without bytes."""
        size = {"upload_defer_length": "1"} if length is None else {"upload_length": str(length)}
        sent = {"upload_metadata": metadata(bucket, key, **(more or {})), **size, **headers}
        return await self.ask("POST", self.root, **sent)

    async def begun(self, bucket: str, key: str, length: int | None, **headers: Any) -> str:
        """Begin an upload that is taken, and give its path."""
        response = await self.create(bucket, key, length, **headers)
        assert response.status == 201, response
        return told(response, "location") or ""

    async def patch(self, path: str, offset: int, data: bytes, **headers: Any) -> Response:
        """Send a piece: ask, append, tell."""
        request = self.request(
            "PATCH", path,
            **{"upload_offset": str(offset), "content_type": BODY, "content_length": str(len(data)), **headers},
        )  # fmt: skip
        return await self.sent(request, data)

    async def sent(self, request: Request, data: bytes) -> Response:
        """Send a request with bytes, as an edge does."""
        first = await self.storage_pool.ask(request)
        if first.grant is None:
            return first
        stored = await self.appended(first.grant, data)
        return await self.storage_pool.ask(msgspec.structs.replace(request, stored=stored))

    async def appended(self, wanted: UploadGrant, data: bytes) -> StoredBody:
        """Append what is wanted, and make it a blob when it is whole."""
        blobs, version = self.storage_pool.blobs, wanted.blob.version
        appending = await blobs.append(version, wanted.offset, limit=wanted.most)
        is_too_long = False
        async with appending:
            try:
                await appending.write(data)
            except BlobTooLarge:
                is_too_long = True
        md5 = ""
        if appending.offset == wanted.length:
            staged = await blobs.complete(version, blob(wanted.blob.bucket, version))
            await blobs.promote(staged)
            md5 = staged.md5
        return StoredBody(wanted.ticket, appending.offset, md5, is_too_long=is_too_long)

    async def head(self, path: str, **headers: Any) -> Response:
        return await self.ask("HEAD", path, **headers)

    async def offset(self, path: str) -> int:
        """Give how far an upload came."""
        response = await self.head(path)
        assert response.status == 200, response
        return int(told(response, "upload-offset") or "-1")
