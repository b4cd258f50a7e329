"""CompleteMultipartUpload: join the parts to one object. Memory stays flat; the MD5 of all bytes is the ETag.

    check the listed parts against the stored ones -> join them into a new blob -> one transaction that locks the upload's
    row: move the blob to its place, write the object's row, delete the upload's row

Two completions may race, and object stores write a blob directly to its final place. So each attempt has a version, and
a blob, of its own: the loser must not overwrite or delete the winner's blob. The loser finds that the upload's row is
gone, deletes its blob and returns the winner's object, which it recognizes because the first half of the version is the
first half of the upload's id. The work continues if the client disconnects.
Source: docs/reference/storage.md, sections 10 and 11.
"""

import contextlib
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from broker.blobs import blob_names
from broker.blobs.errors import BlobMissing, BlobStoreDown
from broker.blobs.model import StagedBlob
from schemas.http import Response
from schemas.numbers import LARGEST_SIZE, parse_whole_number
from workers.database.errors import DatabaseError
from workers.database.transactions.interactive import statement
from workers.storage.model.errors import StorageError
from workers.storage.model.names_and_sizes import existing_key
from workers.storage.requests.context import StorageContext, switch_role
from workers.storage.requests.identity import SERVICE
from workers.storage.s3.checksums import checksum_type
from workers.storage.s3.conditions import condition_of_write
from workers.storage.s3.multipart.uploads import (
    SQL,
    PendingUpload,
    UploadedPart,
    checksum_elements,
    parts_of,
    pending_upload,
    upload_id,
)
from workers.storage.s3.multipart.whole_checksum import listed_checksums, whole_checksums
from workers.storage.s3.part_sizes import PART_SIZES, part_sizes
from workers.storage.s3.protocol import xml
from workers.storage.s3.protocol.errors import S3Error, invalid_part, malformed_xml, no_such_upload
from workers.storage.s3.protocol.request import MOST_PARTS, S3Request
from workers.storage.uploads.commit import check_early
from workers.storage.uploads.model import metadata_of
from workers.storage.uploads.move_and_copy import is_surely_unwritten, visible_object
from workers.storage.uploads.rows import (
    existing_name_as_412,
    policy_probe,
    try_out,
    write_row,
)

SMALLEST_PART = 5 * 1024**2
"""Minimum bytes of a part that is not the last one."""
_MOST_NUMBER = 10**9


@dataclass(frozen=True, slots=True)
class ListedPart:
    """A part as a completion lists it. `etag` is bare; `checksums` are names of headers to base64."""

    number: int
    etag: str
    checksums: Mapping[str, str] = field(default_factory=dict)


async def complete(context: StorageContext, request: S3Request) -> Response:
    """CompleteMultipartUpload; an empty body means all stored parts."""
    listed = read_parts(request.storage_request.body)
    try:
        pending = await pending_upload(context, request)
    except S3Error as error:
        if error.code != "NoSuchUpload":
            raise
        return _completed(request, await _existing_object(context, request))
    upload = replace(pending.upload, condition=condition_of_write(request))
    pending = replace(pending, upload=upload)
    parts = chosen_parts(listed, await parts_of(context, request, pending.id))
    check_sizes(request, parts)
    if sum(part.size for part in parts) > pending.most:
        raise pending.refusal
    sums = [(part.checksums or {}, part.size) for part in parts]
    checksums = whole_checksums(request, pending.checksum_members, sums)
    upload = replace(upload, attributes=replace(upload.attributes, checksums=checksums))
    pending = replace(pending, upload=upload)
    await check_early(context, request.storage_request, upload, upload.key)
    with existing_name_as_412(upload):
        etag = await context.tasks.run(_complete(context, request, pending, parts))
    return _completed(request, etag, checksums)


def read_parts(body: bytes) -> list[ListedPart]:
    """Read the listed parts, in ascending order. Raises: S3Error."""
    if not body.strip():
        return []
    listed: list[ListedPart] = []
    for node in xml.read(body, "CompleteMultipartUpload").all("Part"):
        number = parse_whole_number((node.value("PartNumber") or "").strip(), most=_MOST_NUMBER)
        etag = node.value("ETag")
        if number is None or etag is None:
            raise malformed_xml()
        listed.append(ListedPart(number, etag.strip().strip('"').lower(), listed_checksums(node)))
    numbers = [part.number for part in listed]
    if numbers != sorted(set(numbers)):
        message = "The list of parts was not in ascending order. The parts list must be specified in order by part number."
        raise S3Error("InvalidPartOrder", message)
    if len(listed) > MOST_PARTS:
        raise malformed_xml()
    return listed


def chosen_parts(listed: Sequence[ListedPart], came: Sequence[UploadedPart]) -> list[UploadedPart]:
    """Return the listed parts, or all parts for an empty list. Raises: S3Error (InvalidPart, MalformedXML)."""
    if not came:
        raise invalid_part() if listed else malformed_xml()
    by_number = {part.number: part for part in came}
    if not listed:
        return list(came)
    parts = [by_number.get(entry.number) for entry in listed]
    for part, entry in zip(parts, listed, strict=True):
        if part is None or part.etag != entry.etag:
            raise invalid_part()
        stored = part.checksums or {}
        if any(value != stored.get(name, value) for name, value in entry.checksums.items()):
            raise invalid_part()
    return [part for part in parts if part is not None]


def check_sizes(request: S3Request, parts: Sequence[UploadedPart]) -> None:
    """Check the minimum size of all parts but the last, and the size of the object if the client declares it.

    Raises: S3Error.
    """
    for part in parts[:-1]:
        if part.size < SMALLEST_PART:
            raise S3Error(
                "EntityTooSmall",
                "Your proposed upload is smaller than the minimum allowed size",
                ProposedSize=str(part.size),
                MinSizeAllowed=str(SMALLEST_PART),
                PartNumber=str(part.number),
                ETag=part.etag,
            )
    text = request.header("x-amz-mp-object-size")
    if text is None:
        return
    size = sum(part.size for part in parts)
    if parse_whole_number(text.strip(), most=LARGEST_SIZE) != size:
        raise S3Error("InvalidRequest", f"x-amz-mp-object-size is {text}, but the parts have {size} bytes")


async def _complete(
    context: StorageContext, request: S3Request, pending: PendingUpload, parts: Sequence[UploadedPart]
) -> str:
    """Create the object and return its ETag.

    Raises: S3Error, StorageError, BlobStoreDown, DatabaseError and its siblings.
    """
    version = attempt_version(pending.id)
    place = blob_names.blob(pending.upload.bucket, version)
    places = [blob_names.part(pending.id, part.number, part.version) for part in parts]
    try:
        staged = await context.blobs.join(places, place)
    except BlobMissing:  # another request completed or aborted the upload, or replaced a part
        return await _existing_object(context, request, invalid_part())
    try:
        is_written = await _write(context, request, pending, parts, staged, version)
    except (DatabaseError, StorageError) as error:  # after other failures the row may have been written
        if is_surely_unwritten(error):
            await _discard(context, staged)
        raise
    if not is_written:
        await _discard(context, staged)
        return await _existing_object(context, request)
    with contextlib.suppress(BlobStoreDown):  # then the sweep removes the parts
        await context.blobs.forget(pending.id)
    return f'"{staged.md5}"'


def attempt_version(id: str) -> str:
    """Return a unique version: the first 64 bits of the upload's id, and 64 random bits."""
    return str(UUID(int=UUID(id).int >> 64 << 64 | secrets.randbits(64), version=4))


def is_version_of(version: str | None, id: str) -> bool:
    """Return whether an object with this version was made from the upload."""
    try:
        return UUID(version or "").int >> 64 == UUID(id).int >> 64
    except ValueError:
        return False


async def _discard(context: StorageContext, staged: StagedBlob) -> None:
    with contextlib.suppress(BlobStoreDown):  # then the sweep removes it
        await context.blobs.discard(staged)


async def _write(
    context: StorageContext,
    request: S3Request,
    pending: PendingUpload,
    parts: Sequence[UploadedPart],
    staged: StagedBlob,
    version: str,
) -> bool:
    """Write the object's row and delete the upload's row; return False if the upload is gone."""
    upload = pending.upload
    metadata = metadata_of(upload.attributes, staged.md5, staged.size)
    metadata[PART_SIZES] = part_sizes([part.size for part in parts])
    async with context.database.transaction(request.storage_request.as_caller()) as transaction:
        await try_out(transaction, policy_probe(upload, upload.key))
        _, there = await transaction.run(switch_role(SERVICE), statement(SQL["lock"], pending.id))
        if not there:
            return False
        await context.blobs.promote(staged)
        await write_row(transaction, upload, upload.key, version, metadata)
        await transaction.run(statement(SQL["end"], pending.id))
    return True


async def _existing_object(
    context: StorageContext, request: S3Request, otherwise: S3Error | None = None
) -> str:
    """Return the ETag of the object that this upload has become. Raises: S3Error if that object does not exist."""
    try:
        row = await visible_object(
            context, request.storage_request, request.bucket, existing_key(request.key)
        )
    except StorageError:
        raise otherwise or no_such_upload() from None
    if not is_version_of(row.version, upload_id(request)):
        raise otherwise or no_such_upload()
    return row.etag


def _completed(request: S3Request, etag: str, checksums: Mapping[str, str] | None = None) -> Response:
    items: list[xml.Item] = [
        ("Location", request.location),
        ("Bucket", request.bucket),
        ("Key", request.key),
        ("ETag", etag),
        *checksum_elements(checksums or {}),
        *([("ChecksumType", checksum_type(checksums))] if checksums else []),
    ]
    return xml.xml_response("CompleteMultipartUploadResult", items)
