"""Multipart uploads of a test, without a door and without signatures: operations are called as a verified request would."""

from dataclasses import dataclass, field
from uuid import uuid4
from xml.etree import ElementTree

from broker.blobs import blob_names
from broker.blobs.store import BlobStore
from schemas.blobs import Stored
from schemas.http import Request
from tests.workers.storage.house import SERVICE as CALLER
from workers.storage.asked import Asked
from workers.storage.callers import SERVICE
from workers.storage.context import Store
from workers.storage.s3 import completing, multipart, parts
from workers.storage.s3.asking import Asking, read_asking
from workers.storage.s3.sigv4 import UNSIGNED

SPACE = "{http://s3.amazonaws.com/doc/2006-03-01/}"


@dataclass
class Upload:
    """A multipart upload, with the ETags of its parts by number."""

    store: Store
    bucket: str
    key: str
    id: str = ""
    etags: dict[int, str] = field(default_factory=dict)

    def asking(self, method: str, query: str, body: bytes = b"", stored: Stored | None = None) -> Asking:
        """Make a request about it."""
        path = f"/s3/{self.bucket}/{self.key}"
        request = Request("r", method, path, query, [], CALLER, body=body, stored=stored)
        asking = read_asking(Asked(request, {}, "storage.s3.upload", SERVICE, body))
        return Asking(
            asking.asked, asking.bucket, asking.key, asking.query, {}, asking.parameters, payload=UNSIGNED
        )

    async def begin(self) -> "Upload":
        answer = await multipart.begin(self.store, self.asking("POST", "uploads="))
        self.id = ElementTree.fromstring(answer.body).findtext(f"{SPACE}UploadId") or ""
        return self

    async def part(self, number: int, data: bytes) -> None:
        """Send a part, as the edge does."""
        query = f"partNumber={number}&uploadId={self.id}"
        wanted = (await parts.put(self.store, self.asking("PUT", query))).wanted
        assert wanted is not None
        place = blob_names.part(wanted.blob.upload, number, wanted.blob.version)
        staged = await self.store.blobs.put_small(place, data)
        stored = Stored(wanted.ticket, staged.size, staged.md5)
        await parts.put(self.store, self.asking("PUT", query, stored=stored))
        self.etags[number] = staged.md5

    async def complete(self, *numbers: int, blobs: BlobStore | None = None) -> str:
        """Complete it of some parts; give the ETag that is told. Another store may do the work."""
        listed = "".join(
            f"<Part><PartNumber>{number}</PartNumber><ETag>{self.etags[number]}</ETag></Part>"
            for number in numbers
        )
        body = f"<CompleteMultipartUpload>{listed}</CompleteMultipartUpload>".encode()
        store = self.store if blobs is None else replaced(self.store, blobs)
        answer = await completing.complete(store, self.asking("POST", f"uploadId={self.id}", body))
        etag = ElementTree.fromstring(answer.body).findtext(f"{SPACE}ETag")
        return (etag or "").strip('"')

    async def abort(self) -> int:
        return (await multipart.abort(self.store, self.asking("DELETE", f"uploadId={self.id}"))).status


def replaced(store: Store, blobs: BlobStore) -> Store:
    """Give a store with its bytes elsewhere, or by another way."""
    return Store(
        store.settings, store.database, blobs, store.signer, store.tickets, store.render, store.clock,
        store.errands, store.keyring,
    )  # fmt: skip


def fresh_key() -> str:
    """Give a key that nobody else uses."""
    return f"key-{uuid4().hex[:8]}"
