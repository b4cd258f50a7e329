"""Parts of multipart uploads: sent by a client in two steps around the bytes, or copied from an object that is there.

Each try at a part has a blob of its own in the upload's folder; the row says which one counts, so a retry that is refused
takes nothing away. Source: reference page "storage", section 10.
"""

import re
from uuid import uuid4

from broker.blobs import blob_names
from broker.blobs.blob_names import Place
from broker.blobs.errors import BlobMissing
from broker.blobs.model import Staged
from schemas.blobs import Blob, Stored, Wanted
from schemas.http import Response
from schemas.numbers import LARGEST_SIZE, clamp_whole_number
from workers.database.interactive import statement
from workers.storage.context import Store
from workers.storage.errors import invalid_signature, too_large
from workers.storage.moving import NOT_WRITTEN, is_certain
from workers.storage.objects import ObjectRow, blob_missing
from workers.storage.s3 import xml
from workers.storage.s3.asking import Asking
from workers.storage.s3.copying import source_of
from workers.storage.s3.errors import S3Error, no_such_upload
from workers.storage.s3.headers import iso, length_of, refuse_other_digest
from workers.storage.s3.multipart import SQL, Pending, part_number, pending
from workers.storage.s3.receiving import received, wanting
from workers.storage.tickets import Ticket

LONGEST = 5 * 1024**3
"""Bytes of a part."""
_RANGE = re.compile(r"bytes=([0-9]+)-([0-9]+)")


async def put(store: Store, asking: Asking) -> Response:
    """UploadPart."""
    number, found = part_number(asking), await pending(store, asking)
    stored = asking.asked.request.stored
    if stored is None:
        return await _grant(store, asking, found, number)
    received(stored)
    refuse_other_digest(asking, stored)
    ticket = store.tickets.open(stored.ticket)
    if ticket != _ticket(asking, found, number, ticket.version) or not stored.is_complete:
        raise invalid_signature()
    await store.errands.finish(_keep(store, asking, found, number, ticket.version, stored))
    return Response(200, [("etag", f'"{stored.md5}"')])


async def _grant(store: Store, asking: Asking, found: Pending, number: int) -> Response:
    most = await _room(store, asking, found, number)
    length = length_of(asking)
    if length is not None and length > most:
        raise found.refusal if most < LONGEST else too_large()
    version = str(uuid4())
    ticket = store.tickets.seal(_ticket(asking, found, number, version))
    named = Blob(asking.bucket, version, upload=found.id, part=number)
    return wanting(asking, Response(200, wanted=Wanted(named, most, ticket)))


def _ticket(asking: Asking, found: Pending, number: int, version: str) -> Ticket:
    who = asking.asked.caller
    return Ticket(asking.bucket, f"part {number} {found.id}", version, True, who.role, who.subject or "")


async def _room(store: Store, asking: Asking, found: Pending, number: int) -> int:
    """Give how many bytes a part may have beside the others. Raises: StorageError."""
    others = (await store.run(asking.asked.as_service(), statement(SQL["others"], found.id, number)))[0]
    room = found.most - int(others[0][0] or 0)
    if room < 0:
        raise found.refusal
    return min(room, LONGEST)


async def _keep(
    store: Store, asking: Asking, found: Pending, number: int, version: str, stored: Stored
) -> None:
    """Write a part's row in place of an older one, whose blob goes. Raises: S3Error, StorageError."""
    who, upload = asking.asked.caller, found.upload
    values = (
        found.id, number, upload.bucket, upload.key, stored.size, stored.md5, version, who.subject
    )  # fmt: skip
    async with store.database.transaction(asking.asked.as_service()) as transaction:
        [there] = await transaction.run(statement(SQL["lock"], found.id))
        if not there:
            raise no_such_upload()
        dropped, _, advanced = await transaction.run(
            statement(SQL["drop_part"], found.id, number),
            statement(SQL["put_part"], *values),
            statement(SQL["advance"], found.id),
        )
        if int(advanced[0][0] or 0) > found.most:
            raise found.refusal
    old = [row[0].decode() for row in dropped if row[0]]
    await store.blobs.delete(blob_names.part(found.id, number, each) for each in old)


async def copy(store: Store, asking: Asking) -> Response:
    """UploadPartCopy: an object, or a range of it, becomes a part."""
    number, found = part_number(asking), await pending(store, asking)
    row = await source_of(store, asking)
    start, stop = _span(asking, row)
    most = await _room(store, asking, found, number)
    if stop - start > most:
        raise found.refusal if most < LONGEST else too_large()
    staged = await store.errands.finish(_copied(store, asking, found, number, row, start, stop))
    told: list[xml.Item] = [("LastModified", iso(row.modified)), ("ETag", f'"{staged.md5}"')]
    return xml.answer("CopyPartResult", told)


def _span(asking: Asking, row: ObjectRow) -> tuple[int, int]:
    text = asking.header("x-amz-copy-source-range")
    if not text:
        return 0, row.size
    found = _RANGE.fullmatch(text.strip())
    first, last = (
        (clamp_whole_number(part, most=LARGEST_SIZE) for part in found.groups()) if found else (1, 0)
    )
    if first is None or last is None or first > last:
        raise S3Error(
            "InvalidArgument", "The x-amz-copy-source-range value must be of the form bytes=first-last"
        )
    if last >= row.size:
        raise S3Error("InvalidRange", "Range specified is not valid for source object", 416)
    return first, last + 1


async def _copied(
    store: Store, asking: Asking, found: Pending, number: int, row: ObjectRow, start: int, stop: int
) -> Staged:
    version = str(uuid4())
    place = blob_names.part(found.id, number, version)
    source = blob_names.blob(row.blob.bucket, row.blob.version)
    try:
        staged = await _streamed(store, source, place, start, stop)
    except BlobMissing:
        raise blob_missing() from None
    try:
        await _keep(store, asking, found, number, version, Stored(b"", staged.size, staged.md5))
    except (*NOT_WRITTEN, S3Error) as error:
        if is_certain(error):
            await store.blobs.delete([place])
        raise
    return staged


async def _streamed(store: Store, source: Place, place: Place, start: int, stop: int) -> Staged:
    async with store.blobs.stage(place, limit=stop - start) as staging:
        async with store.blobs.read(source, start, stop) as reading:
            async for chunk in reading.chunks:
                await staging.write(chunk)
        staged = await staging.finish()
    await store.blobs.promote(staged)
    return staged
