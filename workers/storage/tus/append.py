"""`PATCH upload/resumable/{id}`: append bytes to an upload. The gateway asks the pool three times.

    start_append     check rules and policies, acquire the lease -> `UploadGrant`: where to append
    renew            every 2 s while bytes arrive; the response says whether another request waits for the lease
    record_stored    write the new offset, also if the client disconnected; the last byte creates the object's row

Source: docs/reference/storage.md, section 9.
"""

from dataclasses import dataclass

from schemas.blobs import StoredBody, UploadGrant
from schemas.http import Headers, Response
from workers.storage.buckets.rows import BucketRules, read_rules_with_room
from workers.storage.model.errors import StorageErrorCode
from workers.storage.requests.context import StorageContext
from workers.storage.requests.storage_request import StorageRequest
from workers.storage.tus import rows
from workers.storage.tus.completion import commit
from workers.storage.tus.errors import beyond_length, lease_lost, no_such_upload, offset_conflict, too_long
from workers.storage.tus.headers import (
    check_body_type,
    content_length,
    expires_header,
    read_declared_length,
    read_name,
    read_offset,
)
from workers.storage.tus.rows import ResumableUpload, lease_ticket, read_lease_ticket
from workers.storage.tus.writers import settings_of, upload_of, writer_of
from workers.storage.uploads.model import limit_by_quota, size_limit_of, too_long_error
from workers.storage.uploads.rows import policy_probe


async def start_append(context: StorageContext, request: StorageRequest) -> Response:
    """Return where to append. Raises: StorageError, TusError."""
    check_body_type(request)
    offset = read_offset(request)
    row = await rows.find(context, read_name(request.parameters["id"]))
    who = writer_of(context, request, row.bucket_id, row.key)
    if row.is_complete:
        return _repeated(request, row, offset)
    length = read_declared_length(request, row.upload_length)
    upload = upload_of(row, who.identity, length)
    rules = await read_rules_with_room(context, request, row.bucket_id, row.key)
    most = size_limit_of(context, rules, upload)
    if length is not None and length > most:
        raise too_long()
    await context.probe(settings_of(request, upload), policy_probe(upload, row.key))
    limit = int(limit_by_quota(rules, most)) if length is None else length
    is_beyond = offset + content_length(request) > limit
    error = _refusal(rules, most, length) if is_beyond else None
    return await _lease(context, request, row, _Piece(offset, length, limit, error))


@dataclass(frozen=True, slots=True)
class _Piece:
    """What a request wants to append: at `offset`, up to the byte `limit`; `length` is that of the upload if it is known.

    `beyond`: the error if the declared body goes beyond the limit. A wrong offset is reported before it.
    """

    offset: int
    length: int | None
    limit: int
    beyond: Exception | None


async def _lease(
    context: StorageContext, request: StorageRequest, row: ResumableUpload, piece: _Piece
) -> Response:
    """Acquire the lease if the upload ends at the offset. Another writer may have completed it, or set its length."""
    offset, length = piece.offset, piece.length
    row, writer = await rows.acquire_lease(context, row.version)
    if writer is None:
        return _repeated(request, row, offset)
    try:
        end = await context.blobs.appended(row.version)
        if end != offset or row.upload_length not in (None, length):
            raise offset_conflict()
        if piece.beyond is not None:
            raise piece.beyond
        if length is not None and row.upload_length is None:
            await rows.declare(context, row.version, writer, length)
    except BaseException:
        context.tasks.start(rows.release_lease(context, row.version, writer))
        raise
    declared = -1 if length is None else length
    return Response(
        200,
        grant=UploadGrant(row.blob, piece.limit, lease_ticket(row.version, writer), offset, length=declared),
    )


def _repeated(request: StorageRequest, row: ResumableUpload, offset: int) -> Response:
    """Answer a request for a complete upload: the client may have missed the response to its last bytes.

    Raises: TusError (409) for another offset, and for bytes behind the end.
    """
    if offset != row.upload_offset:
        raise offset_conflict()
    if content_length(request):
        raise beyond_length()
    return append_response(row, row.upload_offset)


async def record_stored(
    context: StorageContext, request: StorageRequest, stored: StoredBody
) -> tuple[ResumableUpload, int]:
    """Record how many bytes an upload has, and complete it if it has all. Raises: StorageError, TusError.

    It is idempotent: the gateway repeats it if the response was lost.
    """
    version, writer = read_lease_ticket(stored.ticket)
    row = await _existing_upload(context, version)
    if row.is_complete:
        return row, row.upload_offset
    if stored.md5 and stored.size == row.upload_length:
        who = writer_of(context, request, row.bucket_id, row.key)
        upload = upload_of(row, who.identity, row.upload_length)
        await commit(context, request, upload, version, writer, stored.md5)
        return await _existing_upload(context, version), stored.size
    if not await rows.advance(context, version, writer, stored.size):
        raise lease_lost()
    if stored.is_too_long:
        raise await _too_long(context, request, row)
    return row, stored.size


async def _too_long(context: StorageContext, request: StorageRequest, row: ResumableUpload) -> Exception:
    """Return the error for the limit that the bytes exceeded: the size limit, or a quota."""
    if row.upload_length is not None:
        return beyond_length()
    who = writer_of(context, request, row.bucket_id, row.key)
    rules = await read_rules_with_room(context, request, row.bucket_id, row.key)
    return _refusal(rules, size_limit_of(context, rules, upload_of(row, who.identity, None)), None)


def _refusal(rules: BucketRules, most: int, length: int | None) -> Exception:
    """Return the error for bytes beyond the limit: the declared length, a quota, or the size limit."""
    if length is not None:
        return beyond_length()
    error = too_long_error(rules, most)
    return error if error.code is StorageErrorCode.QUOTA_EXCEEDED else too_long()


async def renew(context: StorageContext, stored: StoredBody) -> Response:
    """Renew the lease. Raises: TusError (423) if another request has it or waits for it."""
    version, writer = read_lease_ticket(stored.ticket)
    if not await rows.renew_lease(context, version, writer):
        raise lease_lost()
    return Response(204)


def append_response(row: ResumableUpload, offset: int) -> Response:
    """Return the response with the new offset."""
    headers: Headers = [("upload-offset", str(offset))]
    headers.append(("tus-complete", "1") if row.is_complete else expires_header(row.expires_at))
    return Response(204, headers)


async def _existing_upload(context: StorageContext, version: str) -> ResumableUpload:
    upload = await rows.look_up(context, version)
    if upload is None:
        raise no_such_upload()
    return upload
