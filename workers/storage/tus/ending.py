"""`HEAD` and `DELETE upload/resumable/{id}`: how far an upload came, and its end before its time.

Both make a writer let go first, so that what they tell holds. Whoever knows the id may look; only who began an upload, and
the service, may end it.
"""

from uuid import UUID

from broker.blobs.blob_names import blob
from schemas.http import Headers, Response
from workers.storage.asked import Asked
from workers.storage.context import Store
from workers.storage.errors import access_denied
from workers.storage.tus import rows
from workers.storage.tus.completing import recover
from workers.storage.tus.headers import expires, read_name
from workers.storage.tus.refusals import Refused
from workers.storage.tus.rows import Row
from workers.storage.tus.writers import is_signed, writer_of


async def show(store: Store, asked: Asked) -> Response:
    """Tell how far an upload came. Raises: StorageError, Refused, BlobStoreDown."""
    name = read_name(asked.parameters["id"])
    row = await rows.find(store, name)
    if row.is_complete:
        return _shown(row, row.upload_offset)
    await rows.wait_until_free(store, row.version)
    row = await rows.find(store, name)  # it may have been finished, or its length told
    if row.is_complete:
        return _shown(row, row.upload_offset)
    offset = await store.blobs.appended(row.version)
    if offset == row.upload_length:
        await recover(store, asked, row)
        row = await rows.find(store, name)
    return _shown(row, offset)


async def terminate(store: Store, asked: Asked) -> Response:
    """End an upload and drop its bytes. Raises: StorageError, Refused, BlobStoreDown."""
    row = await rows.find(store, read_name(asked.parameters["id"]))
    who = writer_of(store, asked, row.bucket_id, row.key)
    if who.owner_id != row.owner_id and (is_signed(asked) or not who.identity.is_service):
        raise access_denied()
    if row.is_complete:
        raise _finished()
    row, writer = await rows.hold(store, row.version)
    if writer is None:
        raise _finished()
    await store.errands.finish(_end(store, row, writer))
    return Response(204)


async def _end(store: Store, row: Row, writer: UUID) -> None:
    """Drop bytes first: whoever dies in between leaves a row that expires."""
    await store.blobs.forget(row.version)
    await store.blobs.delete([blob(row.bucket_id, row.version)])  # there after a completion that failed
    await rows.delete(store, row.version, writer)


def _shown(row: Row, offset: int) -> Response:
    headers: Headers = [("upload-offset", str(offset)), ("cache-control", "no-store")]
    if row.upload_length is None:
        headers.append(("upload-defer-length", "1"))
    else:
        headers.append(("upload-length", str(row.upload_length)))
    if row.upload_metadata:
        headers.append(("upload-metadata", row.upload_metadata))
    if not row.is_complete:
        headers.append(expires(row.expires_at))
    return Response(200, headers)


def _finished() -> Refused:
    return Refused(409, "The upload is complete")
