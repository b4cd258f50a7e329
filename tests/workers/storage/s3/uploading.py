"""Multipart uploads of a test, without a gateway and without signatures: operations are called as a verified request would."""

from dataclasses import dataclass, field
from uuid import uuid4
from xml.etree import ElementTree

from broker.blobs import blob_names
from broker.blobs.store import BlobStore
from schemas.blobs import StoredBody
from schemas.http import Request
from tests.workers.storage.storage_pool import SERVICE as CALLER
from workers.storage.requests.context import StorageContext
from workers.storage.requests.identity import SERVICE
from workers.storage.requests.storage_request import StorageRequest
from workers.storage.s3.multipart import completion, parts, uploads
from workers.storage.s3.protocol.request import S3Request, read_s3_request
from workers.storage.s3.protocol.sigv4 import UNSIGNED

SPACE = "{http://s3.amazonaws.com/doc/2006-03-01/}"


@dataclass
class Upload:
    """A multipart upload, with the ETags of its parts by number."""

    store: StorageContext
    bucket: str
    key: str
    id: str = ""
    etags: dict[int, str] = field(default_factory=dict)

    def s3_request(
        self, method: str, query: str, body: bytes = b"", stored: StoredBody | None = None
    ) -> S3Request:
        """Make a request about it."""
        path = f"/s3/{self.bucket}/{self.key}"
        request = Request("r", method, path, query, [], CALLER, body=body, stored=stored)
        s3_request = read_s3_request(StorageRequest(request, {}, "storage.s3.upload", SERVICE, body))
        return S3Request(
            s3_request.storage_request,
            s3_request.bucket,
            s3_request.key,
            s3_request.query,
            {},
            s3_request.parameters,
            payload=UNSIGNED,
        )

    async def begin(self) -> "Upload":
        answer = await uploads.create_upload(self.store, self.s3_request("POST", "uploads="))
        self.id = ElementTree.fromstring(answer.body).findtext(f"{SPACE}UploadId") or ""
        return self

    async def part(self, number: int, data: bytes) -> None:
        """Send a part, as the edge does."""
        query = f"partNumber={number}&uploadId={self.id}"
        wanted = (await parts.put(self.store, self.s3_request("PUT", query))).grant
        assert wanted is not None
        place = blob_names.part(wanted.blob.upload, number, wanted.blob.version)
        staged = await self.store.blobs.put_small(place, data)
        stored = StoredBody(wanted.ticket, staged.size, staged.md5)
        await parts.put(self.store, self.s3_request("PUT", query, stored=stored))
        self.etags[number] = staged.md5

    async def complete(self, *numbers: int, blobs: BlobStore | None = None) -> str:
        """Complete it of some parts; give the ETag that is told. Another store may do the work."""
        listed = "".join(
            f"<Part><PartNumber>{number}</PartNumber><ETag>{self.etags[number]}</ETag></Part>"
            for number in numbers
        )
        body = f"<CompleteMultipartUpload>{listed}</CompleteMultipartUpload>".encode()
        store = self.store if blobs is None else replaced(self.store, blobs)
        answer = await completion.complete(store, self.s3_request("POST", f"uploadId={self.id}", body))
        etag = ElementTree.fromstring(answer.body).findtext(f"{SPACE}ETag")
        return (etag or "").strip('"')

    async def abort(self) -> int:
        return (await uploads.abort(self.store, self.s3_request("DELETE", f"uploadId={self.id}"))).status


def replaced(context: StorageContext, blobs: BlobStore) -> StorageContext:
    """Give a store with its bytes elsewhere, or by another way."""
    return StorageContext(
        context.settings, context.database, blobs, context.signer, context.tickets, context.render, context.clock,
        context.tasks, context.keyring,
    )  # fmt: skip


def fresh_key() -> str:
    """Give a key that nobody else uses."""
    return f"key-{uuid4().hex[:8]}"
