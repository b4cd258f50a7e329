"""`POST upload/resumable`: create an upload; the request may carry its first bytes."""

from collections.abc import Mapping
from dataclasses import replace
from uuid import UUID, uuid4

from schemas.blobs import UploadGrant
from schemas.http import Headers, Response
from workers.storage.buckets.rows import read_rules_with_room
from workers.storage.model.content_headers import content_headers_of_fields
from workers.storage.model.errors import StorageError
from workers.storage.model.names_and_sizes import check_header_values
from workers.storage.requests.context import StorageContext
from workers.storage.requests.storage_request import StorageRequest
from workers.storage.tus import rows
from workers.storage.tus.errors import bad_request, too_long
from workers.storage.tus.headers import (
    content_length,
    encode_name,
    expires_header,
    has_body,
    read_length,
    read_metadata,
)
from workers.storage.tus.rows import ResumableUpload, lease_ticket
from workers.storage.tus.writers import SIGNED, is_signed, settings_of, writer_of
from workers.storage.uploads.model import ObjectAttributes, Upload, limit_by_quota, name_of, size_limit_of
from workers.storage.uploads.rows import policy_probe
from workers.storage.uploads.upload_headers import user_metadata

_USUAL_TYPE = "application/octet-stream"


async def create(context: StorageContext, request: StorageRequest) -> Response:
    """Create an upload. With bytes in the request, or with length 0, it is written at once.

    Raises: StorageError, TusError.
    """
    sent, metadata = read_metadata(request)
    upload = _upload(context, request, metadata, read_length(request))
    key = name_of(context, upload)
    rules = await read_rules_with_room(context, request, upload.bucket, key if isinstance(key, str) else "")
    most = size_limit_of(context, rules, upload)
    if upload.length is not None and (upload.length > most or content_length(request) > upload.length):
        raise too_long()
    if isinstance(key, StorageError):
        raise key
    upload = replace(upload, key=key)
    await context.probe(settings_of(request, upload), policy_probe(upload, key))
    writer = uuid4() if has_body(request) or upload.length == 0 else None
    row = await _row(context, upload, sent, writer)
    if writer is None:
        return creation_response(request, row)
    ticket = lease_ticket(row.version, writer)
    if upload.length is None:
        return Response(200, grant=UploadGrant(row.blob, int(limit_by_quota(rules, most)), ticket, 0))
    return Response(200, grant=UploadGrant(row.blob, upload.length, ticket, 0, length=upload.length))


def creation_response(request: StorageRequest, row: ResumableUpload, offset: int = 0) -> Response:
    """Return the path of an upload below the storage path; the gateway adds the public prefix.

    `Upload-Offset` is sent even without bytes: a client with a deferred length reads it.
    """
    path = SIGNED if is_signed(request) else SIGNED.removesuffix("/sign")
    headers: Headers = [("location", f"{path}/{encode_name(row.name)}"), ("upload-offset", str(offset))]
    if not row.is_complete:
        headers.append(expires_header(row.expires_at))
    return Response(201, headers)


def _upload(
    context: StorageContext, request: StorageRequest, metadata: Mapping[str, str], length: int | None
) -> Upload:
    bucket, key = metadata.get("bucketName", ""), metadata.get("objectName", "")
    if not bucket or not key:
        raise bad_request("Upload-Metadata must have bucketName and objectName")
    who = writer_of(context, request, bucket, key)
    seconds = metadata.get("cacheControl", "").strip()
    about = ObjectAttributes(
        metadata.get("contentType", "").strip() or _USUAL_TYPE,
        f"max-age={seconds}" if seconds.isascii() and seconds.isdecimal() else "no-cache",
        "",
        user_metadata(metadata["metadata"].encode()) if metadata.get("metadata") else None,
        content_headers_of_fields(metadata),
    )
    check_header_values(about.mime_type, about.cache_control)
    return Upload(bucket, key, who.identity, who.owner_id, who.is_upsert, about, length, is_standard=False)


async def _row(context: StorageContext, upload: Upload, sent: str, writer: UUID | None) -> ResumableUpload:
    about = upload.attributes
    return await rows.create(
        context, writer, upload.bucket, upload.key, str(uuid4()), upload.length, sent, about.mime_type,
        about.cache_control, about.user_metadata, *upload.owner, upload.is_upsert,
    )  # fmt: skip
