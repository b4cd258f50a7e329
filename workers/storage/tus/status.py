"""`HEAD` and `DELETE upload/resumable/{id}`: return the offset of an upload, or terminate it.

Both wait until the writer has released its lease, so that the offset is final. Any client that knows the id may read
the offset; only the creator of the upload and the service role may terminate it.
"""

from uuid import UUID

from broker.blobs.blob_names import blob
from schemas.http import Headers, Response
from workers.storage.model.errors import access_denied
from workers.storage.requests.context import StorageContext
from workers.storage.requests.storage_request import StorageRequest
from workers.storage.tus import rows
from workers.storage.tus.completion import recover
from workers.storage.tus.errors import TusError
from workers.storage.tus.headers import expires_header, read_name
from workers.storage.tus.rows import ResumableUpload
from workers.storage.tus.writers import is_signed, writer_of


async def show(context: StorageContext, request: StorageRequest) -> Response:
    """Return the offset of an upload. Raises: StorageError, TusError, BlobStoreDown."""
    name = read_name(request.parameters["id"])
    row = await rows.find(context, name)
    if row.is_complete:
        return _offset_response(row, row.upload_offset)
    await rows.wait_until_free(context, row.version)
    row = await rows.find(context, name)  # it may be complete now, or have a length
    if row.is_complete:
        return _offset_response(row, row.upload_offset)
    offset = await context.blobs.appended(row.version)
    if offset == row.upload_length:
        await recover(context, request, row)
        row = await rows.find(context, name)
    return _offset_response(row, offset)


async def terminate(context: StorageContext, request: StorageRequest) -> Response:
    """Delete an upload and its bytes. Raises: StorageError, TusError, BlobStoreDown."""
    row = await rows.find(context, read_name(request.parameters["id"]))
    who = writer_of(context, request, row.bucket_id, row.key)
    if who.owner_id != row.owner_id and (is_signed(request) or not who.identity.is_service):
        raise access_denied()
    if row.is_complete:
        raise _complete_error()
    row, writer = await rows.acquire_lease(context, row.version)
    if writer is None:
        raise _complete_error()
    await context.tasks.run(_end(context, row, writer))
    return Response(204)


async def _end(context: StorageContext, row: ResumableUpload, writer: UUID) -> None:
    """Delete the bytes before the row: a worker that dies in between leaves a row that expires."""
    await context.blobs.forget(row.version)
    await context.blobs.delete([blob(row.bucket_id, row.version)])  # a failed completion leaves a blob there
    await rows.delete(context, row.version, writer)


def _offset_response(row: ResumableUpload, offset: int) -> Response:
    headers: Headers = [("upload-offset", str(offset)), ("cache-control", "no-store")]
    if row.upload_length is None:
        headers.append(("upload-defer-length", "1"))
    else:
        headers.append(("upload-length", str(row.upload_length)))
    if row.upload_metadata:
        headers.append(("upload-metadata", row.upload_metadata))
    if not row.is_complete:
        headers.append(expires_header(row.expires_at))
    return Response(200, headers)


def _complete_error() -> TusError:
    return TusError(409, "The upload is complete")
