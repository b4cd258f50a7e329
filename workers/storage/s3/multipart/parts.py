"""UploadPart and UploadPartCopy: a part comes from a client, or from an object that exists.

Each attempt at a part has its own blob in the upload's folder, and the row names the valid one: a rejected retry does
not damage the part that was stored before. Source: docs/reference/storage.md, section 10.
"""

import base64
import re
from uuid import uuid4

import msgspec

from broker.blobs import blob_names
from broker.blobs.blob_names import BlobPath
from broker.blobs.checksums import CHECKSUM_KINDS, CHECKSUM_PREFIX, RunningChecksum
from broker.blobs.errors import BlobMissing
from broker.blobs.model import StagedBlob
from schemas.blobs import BlobReference, StoredBody, UploadGrant
from schemas.http import Response
from schemas.numbers import LARGEST_SIZE, clamp_whole_number
from workers.database.transactions.interactive import statement
from workers.storage.model.errors import invalid_signature, too_large
from workers.storage.model.upload_tickets import UploadTicket
from workers.storage.objects.rows import ObjectRow, blob_missing
from workers.storage.requests.context import StorageContext
from workers.storage.s3.body_checks import check_stored, grant_body
from workers.storage.s3.checksums import verified_checksums
from workers.storage.s3.copy_object import source_of
from workers.storage.s3.multipart.uploads import SQL, PendingUpload, checksum_elements, pending_upload
from workers.storage.s3.multipart.whole_checksum import check_kind
from workers.storage.s3.protocol import xml
from workers.storage.s3.protocol.errors import S3Error, no_such_upload
from workers.storage.s3.protocol.headers import check_content_md5, iso, length_of
from workers.storage.s3.protocol.request import S3Request, part_number
from workers.storage.uploads.move_and_copy import NOT_WRITTEN, is_surely_unwritten

LONGEST = 5 * 1024**3
"""Maximum bytes of a part."""
_RANGE = re.compile(r"bytes=([0-9]+)-([0-9]+)")


async def put(context: StorageContext, request: S3Request) -> Response:
    """UploadPart, called before and after the bytes are stored."""
    number, pending = part_number(request), await pending_upload(context, request)
    stored = request.storage_request.http.stored
    if stored is None:
        return await _grant(context, request, pending, number)
    check_stored(stored)
    check_content_md5(request, stored.md5)
    check_kind(pending.checksum_members, verified_checksums(stored))
    ticket = context.tickets.open(stored.ticket)
    if ticket != _ticket(request, pending, number, ticket.version) or not stored.is_complete:
        raise invalid_signature()
    await context.tasks.run(_keep(context, request, pending, number, ticket.version, stored))
    return Response(200, [("etag", f'"{stored.md5}"'), *verified_checksums(stored).items()])


async def _grant(
    context: StorageContext, request: S3Request, pending: PendingUpload, number: int
) -> Response:
    most = await _room(context, request, pending, number)
    length = length_of(request)
    if length is not None and length > most:
        raise pending.refusal if most < LONGEST else too_large()
    version = str(uuid4())
    ticket = context.tickets.seal(_ticket(request, pending, number, version))
    named = BlobReference(request.bucket, version, upload=pending.id, part=number)
    return grant_body(request, Response(200, grant=UploadGrant(named, most, ticket)))


def _ticket(request: S3Request, pending: PendingUpload, number: int, version: str) -> UploadTicket:
    who = request.storage_request.caller
    return UploadTicket(
        request.bucket, f"part {number} {pending.id}", version, True, who.role, who.subject or ""
    )


async def _room(context: StorageContext, request: S3Request, pending: PendingUpload, number: int) -> int:
    """Return how many bytes a part may have beside the others. Raises: StorageError."""
    others = (
        await context.run(request.storage_request.as_service(), statement(SQL["others"], pending.id, number))
    )[0]
    room = pending.most - int(others[0][0] or 0)
    if room < 0:
        raise pending.refusal
    return min(room, LONGEST)


async def _keep(
    context: StorageContext,
    request: S3Request,
    pending: PendingUpload,
    number: int,
    version: str,
    stored: StoredBody,
) -> None:
    """Write a part's row over an older one and delete the older blob. Raises: S3Error, StorageError."""
    who, upload = request.storage_request.caller, pending.upload
    values = (
        pending.id, number, upload.bucket, upload.key, stored.size, stored.md5, version, who.subject,
        msgspec.json.encode(verified_checksums(stored)),
    )  # fmt: skip
    async with context.database.transaction(request.storage_request.as_service()) as transaction:
        [there] = await transaction.run(statement(SQL["lock"], pending.id))
        if not there:
            raise no_such_upload()
        dropped, _, advanced = await transaction.run(
            statement(SQL["drop_part"], pending.id, number),
            statement(SQL["put_part"], *values),
            statement(SQL["advance"], pending.id),
        )
        if int(advanced[0][0] or 0) > pending.most:
            raise pending.refusal
    old = [row[0].decode() for row in dropped if row[0]]
    await context.blobs.delete(blob_names.part(pending.id, number, old_version) for old_version in old)


async def copy(context: StorageContext, request: S3Request) -> Response:
    """UploadPartCopy: copy an object, or a range of it, to a part."""
    number, pending = part_number(request), await pending_upload(context, request)
    row = await source_of(context, request)
    start, stop = _span(request, row)
    most = await _room(context, request, pending, number)
    if stop - start > most:
        raise pending.refusal if most < LONGEST else too_large()
    staged, checksums = await context.tasks.run(_copied(context, request, pending, number, row, start, stop))
    items: list[xml.Item] = [("LastModified", iso(row.modified)), ("ETag", f'"{staged.md5}"')]
    items += checksum_elements(checksums)
    return xml.xml_response("CopyPartResult", items)


def _span(request: S3Request, row: ObjectRow) -> tuple[int, int]:
    text = request.header("x-amz-copy-source-range")
    if not text:
        return 0, row.size
    match = _RANGE.fullmatch(text.strip())
    first, last = (
        (clamp_whole_number(part, most=LARGEST_SIZE) for part in match.groups()) if match else (1, 0)
    )
    if first is None or last is None or first > last:
        raise S3Error(
            "InvalidArgument", "The x-amz-copy-source-range value must be of the form bytes=first-last"
        )
    if last >= row.size:
        raise S3Error("InvalidRange", "Range specified is not valid for source object", 416)
    return first, last + 1


async def _copied(
    context: StorageContext,
    request: S3Request,
    pending: PendingUpload,
    number: int,
    row: ObjectRow,
    start: int,
    stop: int,
) -> tuple[StagedBlob, dict[str, str]]:
    """Copy the bytes and write the part's row; also return its checksum of the algorithm that the upload declared."""
    version = str(uuid4())
    kind = pending.checksum_members.get("checksumAlgorithm", "")
    running = CHECKSUM_KINDS[kind]() if kind else None
    place = blob_names.part(pending.id, number, version)
    source = blob_names.blob(row.blob.bucket, row.blob.version)
    try:
        staged = await _streamed(context, source, place, start, stop, running)
    except BlobMissing:
        raise blob_missing() from None
    checksums = {CHECKSUM_PREFIX + kind: base64.b64encode(running.digest()).decode()} if running else {}
    stored = StoredBody(b"", staged.size, staged.md5, fields=checksums)
    try:
        await _keep(context, request, pending, number, version, stored)
    except (*NOT_WRITTEN, S3Error) as error:
        if is_surely_unwritten(error):
            await context.blobs.delete([place])
        raise
    return staged, checksums


async def _streamed(
    context: StorageContext,
    source: BlobPath,
    place: BlobPath,
    start: int,
    stop: int,
    running: RunningChecksum | None,
) -> StagedBlob:
    async with context.blobs.stage(place, limit=stop - start) as staging:
        async with context.blobs.read(source, start, stop) as reading:
            async for chunk in reading.chunks:
                if running is not None:
                    running.update(chunk)
                await staging.write(chunk)
        staged = await staging.finish()
    await context.blobs.promote(staged)
    return staged
