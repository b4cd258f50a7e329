"""Create, list and abort multipart uploads; and the row and the policy check that all their steps share.

Every step checks, with the caller's rights, the policies that the write of the final object will need; the rows of
uploads are written as the service role. The version of the object begins like the upload's id (`completion.py`), so a
repeated completion finds the object that exists. Source: docs/reference/storage.md, sections 10 and 12.
"""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID, uuid4

import msgspec
from msgspec import Struct

from broker.blobs.checksums import CHECKSUM_PREFIX
from schemas.http import Response
from workers.database.transactions.interactive import decode_first, statement
from workers.sql.files import read_statements
from workers.storage.buckets.rows import read_rules, read_rules_with_room
from workers.storage.model.content_headers import stored_content_headers
from workers.storage.model.errors import StorageError
from workers.storage.model.media_types import stored_media_type
from workers.storage.model.names_and_sizes import parse_key
from workers.storage.model.upload_tickets import UploadTicket
from workers.storage.requests.context import StorageContext
from workers.storage.s3.listing import MOST, key_encoding_of
from workers.storage.s3.listing import SQL as LISTING
from workers.storage.s3.multipart.whole_checksum import declared_headers, declared_members
from workers.storage.s3.protocol import xml
from workers.storage.s3.protocol.errors import S3Error, no_such_upload
from workers.storage.s3.protocol.headers import attributes_of
from workers.storage.s3.protocol.request import MOST_PARTS, S3Request
from workers.storage.uploads.model import (
    ObjectAttributes,
    Upload,
    limit_by_quota,
    size_limit_of,
    too_long_error,
)
from workers.storage.uploads.rows import policy_probe

SQL = read_statements("workers.storage.s3.multipart", "uploads.sql")


class _Row(Struct, frozen=True):
    id: str
    signature: str
    owner_id: str | None
    user_metadata: msgspec.Raw
    metadata: dict[str, str] | None


class UploadedPart(Struct, frozen=True):
    """A stored part. `etag` is its MD5 in hex, `version` names its blob within the upload."""

    number: int
    size: int
    etag: str
    version: str
    created_at: str
    checksums: dict[str, str] | None = None
    """Checksums that the client declared and that were verified: names of headers to base64."""


class _Listed(Struct, frozen=True):
    key: str
    id: str | None
    created_at: str | None


@dataclass(frozen=True, slots=True)
class PendingUpload:
    """An upload that is not complete: its id, the final object, its maximum size, and the error beyond that."""

    id: str
    upload: Upload
    most: int
    refusal: StorageError
    checksum_members: Mapping[str, str]
    """Algorithm and type of the checksum of the whole, as the creation declared them (`whole_checksum.py`)."""


async def create_upload(context: StorageContext, request: S3Request) -> Response:
    """CreateMultipartUpload."""
    who, about = request.storage_request.caller, attributes_of(request)
    checksum_members = declared_members(request)
    key = parse_key(request.key, is_unicode=context.settings.unicode_keys)
    upload = Upload(request.bucket, key, who, who.subject, True, about, is_standard=False)
    size_limit_of(context, await read_rules(context, request.storage_request, request.bucket), upload)
    await context.probe(request.storage_request.as_caller(), policy_probe(upload, key))
    id = str(uuid4())
    metadata = {"mimetype": about.mime_type, "cacheControl": about.cache_control, "xRobotsTag": about.robots}
    metadata |= about.content.members() | checksum_members
    metadata["expiresIn"] = str(int(context.settings.s3_protocol.upload_expiry))
    signature = _signature(context, id, request.bucket, key, who.subject)
    values = (
        id, signature, request.bucket, key, who.subject, about.user_metadata, msgspec.json.encode(metadata)
    )  # fmt: skip
    await context.run(request.storage_request.as_service(), statement(SQL["create"], *values))
    response = xml.xml_response(
        "InitiateMultipartUploadResult", [("Bucket", request.bucket), ("Key", request.key), ("UploadId", id)]
    )
    headers = [*response.headers, *declared_headers(checksum_members)]
    return msgspec.structs.replace(response, headers=headers)


async def pending_upload(context: StorageContext, request: S3Request) -> PendingUpload:
    """Return the upload that a request names, if its caller may write the object. Raises: S3Error, StorageError."""
    key, id = parse_key(request.key, is_unicode=context.settings.unicode_keys), upload_id(request)
    rows = (
        await context.run(
            request.storage_request.as_service(), statement(SQL["find"], id, request.bucket, key)
        )
    )[0]
    row = decode_first(rows, _Row)
    if row is None:
        raise no_such_upload()
    if not hmac.compare_digest(row.signature, _signature(context, id, request.bucket, key, row.owner_id)):
        raise S3Error("InvalidUploadSignature", "The upload was changed by somebody else")
    upload = Upload(
        request.bucket,
        key,
        request.storage_request.caller,
        row.owner_id,
        True,
        _about(row),
        is_standard=False,
    )
    rules = await read_rules_with_room(context, request.storage_request, request.bucket, key)
    most = size_limit_of(context, rules, upload)
    await context.probe(request.storage_request.as_caller(), policy_probe(upload, key))
    members = {
        name: value
        for name, value in (row.metadata or {}).items()
        if name in ("checksumAlgorithm", "checksumType")
    }
    return PendingUpload(id, upload, limit_by_quota(rules, most), too_long_error(rules, most), members)


def upload_id(request: S3Request) -> str:
    """Return the upload id of a request. Raises: S3Error if it is not a UUID."""
    try:
        return str(UUID(request.parameter("uploadId")))
    except ValueError:
        raise no_such_upload() from None


async def abort(context: StorageContext, request: S3Request) -> Response:
    """AbortMultipartUpload: delete its parts."""
    pending = await pending_upload(context, request)
    [ended] = await context.run(request.storage_request.as_service(), statement(SQL["end"], pending.id))
    if not ended:
        raise no_such_upload()
    await context.tasks.run(context.blobs.forget(pending.id))
    return Response(204)


async def parts_of(
    context: StorageContext, request: S3Request, id: str, after: int = 0, most: int = MOST_PARTS
) -> list[UploadedPart]:
    """Return the stored parts of an upload, by number."""
    rows = (
        await context.run(request.storage_request.as_service(), statement(SQL["parts"], id, after, most))
    )[0]
    return [msgspec.json.decode(row[0] or b"{}", type=UploadedPart) for row in rows]


async def list_parts(context: StorageContext, request: S3Request) -> Response:
    """ListParts."""
    pending = await pending_upload(context, request)
    after, most = request.number("part-number-marker", 0), request.number("max-parts", MOST, most=MOST)
    spelled = key_encoding_of(request)
    parts = await parts_of(context, request, pending.id, min(after, MOST_PARTS), most + 1)
    page, is_truncated = parts[:most], len(parts) > most and most > 0
    head: list[xml.Item] = [
        ("Bucket", request.bucket),
        ("Key", spelled(request.key)),
        ("UploadId", pending.id),
        ("PartNumberMarker", after),
        *([("NextPartNumberMarker", page[-1].number)] if page else []),
        ("MaxParts", most),
        *spelled.items,
        ("IsTruncated", is_truncated),
        ("StorageClass", "STANDARD"),
        *_checksum_items(pending.checksum_members),
    ]
    listed: list[xml.Item] = [
        (
            "Part",
            [
                ("PartNumber", part.number),
                ("LastModified", part.created_at),
                ("ETag", f'"{part.etag}"'),
                ("Size", part.size),
                *checksum_elements(part.checksums or {}),
            ],
        )
        for part in page
    ]
    return xml.xml_response("ListPartsResult", [*head, *listed])


async def list_uploads(context: StorageContext, request: S3Request) -> Response:
    """ListMultipartUploads: the uploads that the caller's policies show."""
    prefix, delimiter = request.parameter("prefix"), request.parameter("delimiter")
    key_marker, id_marker = request.parameter("key-marker"), request.parameter("upload-id-marker")
    most, spelled = request.number("max-uploads", MOST, most=MOST), key_encoding_of(request)
    await read_rules(context, request.storage_request, request.bucket)
    values = (request.bucket, prefix, delimiter, most + 1, key_marker, id_marker)
    rows = (await context.run(request.storage_request.as_caller(), statement(LISTING["uploads"], *values)))[0]
    listed = [msgspec.json.decode(row[0] or b"{}", type=_Listed) for row in rows]
    page, is_truncated = listed[:most], len(listed) > most and most > 0
    last: list[xml.Item] = []
    if is_truncated:
        last = [("NextKeyMarker", spelled(page[-1].key)), ("NextUploadIdMarker", page[-1].id or "")]
    head: list[xml.Item] = [
        ("Bucket", request.bucket),
        ("KeyMarker", spelled(key_marker)),
        ("UploadIdMarker", id_marker),
        *last,
        ("Prefix", spelled(prefix)),
        *([("Delimiter", spelled(delimiter))] if delimiter else []),
        ("MaxUploads", most),
        *spelled.items,
        ("IsTruncated", is_truncated),
    ]
    uploads: list[xml.Item] = [
        (
            "Upload",
            [("Key", spelled(upload.key)), ("UploadId", upload.id), ("Initiated", upload.created_at or "")],
        )
        for upload in page
        if upload.id is not None
    ]
    folders: list[xml.Item] = [
        ("CommonPrefixes", [("Prefix", spelled(upload.key))]) for upload in page if upload.id is None
    ]
    return xml.xml_response("ListMultipartUploadsResult", [*head, *uploads, *folders])


def checksum_elements(checksums: Mapping[str, str]) -> list[xml.Item]:
    """Return checksums, names of headers to values, as elements of an answer."""
    return [
        (f"Checksum{name.removeprefix(CHECKSUM_PREFIX).upper()}", value) for name, value in checksums.items()
    ]


def _checksum_items(members: Mapping[str, str]) -> list[xml.Item]:
    if "checksumAlgorithm" not in members:
        return []
    algorithm = members["checksumAlgorithm"].upper()
    return [("ChecksumAlgorithm", algorithm), ("ChecksumType", members["checksumType"])]


def _signature(context: StorageContext, id: str, bucket: str, key: str, owner_id: str | None) -> str:
    """Return a MAC over the upload, stored in its row. It proves that storage wrote the row, not a client with SQL."""
    return context.tickets.seal(UploadTicket(bucket, key, id, True, "s3 multipart", owner_id or ""))[
        :32
    ].hex()


def _about(row: _Row) -> ObjectAttributes:
    metadata, user_metadata = row.metadata or {}, bytes(row.user_metadata)
    return ObjectAttributes(
        stored_media_type(metadata.get("mimetype", "")),
        metadata.get("cacheControl", ""),
        metadata.get("xRobotsTag", ""),
        None if user_metadata == b"null" else user_metadata,
        stored_content_headers(metadata),
    )
