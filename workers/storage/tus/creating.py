"""`POST upload/resumable`: an upload is begun, its first bytes may ride along."""

from collections.abc import Mapping
from dataclasses import replace
from uuid import UUID, uuid4

from schemas.blobs import Wanted
from schemas.http import Headers, Response
from workers.storage.asked import Asked
from workers.storage.buckets import rules_for
from workers.storage.context import Store
from workers.storage.endpoints.upload import user_metadata
from workers.storage.errors import StorageError
from workers.storage.rules import refuse_unsendable
from workers.storage.tus import rows
from workers.storage.tus.headers import expires, has_body, read_length, read_metadata, spell
from workers.storage.tus.refusals import bad_request, too_long
from workers.storage.tus.rows import Row
from workers.storage.tus.tickets import seal
from workers.storage.tus.writers import SIGNED, is_signed, settings_of, writer_of
from workers.storage.uploads import About, Upload, most_of, name_of, probe_of, room_in

_USUAL_TYPE = "application/octet-stream"


async def begin(store: Store, asked: Asked) -> Response:
    """Begin an upload; one with bytes, or without any at all, goes on at once. Raises: StorageError, Refused."""
    sent, metadata = read_metadata(asked)
    upload = _upload(store, asked, metadata, read_length(asked))
    key = name_of(store, upload)
    rules = await rules_for(store, asked, upload.bucket, key if isinstance(key, str) else "")
    most = most_of(store, rules, upload)
    if upload.length is not None and upload.length > most:
        raise too_long()
    if isinstance(key, StorageError):
        raise key
    upload = replace(upload, key=key)
    await store.probe(settings_of(asked, upload), probe_of(upload, key))
    writer = uuid4() if has_body(asked) or upload.length == 0 else None
    row = await _row(store, upload, sent, writer)
    if writer is None:
        return begun(asked, row)
    ticket = seal(row.version, writer)
    if upload.length is None:
        return Response(200, wanted=Wanted(row.blob, int(room_in(rules, most)), ticket, 0))
    return Response(200, wanted=Wanted(row.blob, upload.length, ticket, 0, length=upload.length))


def begun(asked: Asked, row: Row, offset: int = 0) -> Response:
    """Say where an upload lies, below the storage's own path: the door knows what is before it.

    The offset is told also where no bytes came: a client that would send some, but does not know the length, asks for it.
    """
    path = SIGNED if is_signed(asked) else SIGNED.removesuffix("/sign")
    headers: Headers = [("location", f"{path}/{spell(row.name)}"), ("upload-offset", str(offset))]
    if not row.is_complete:
        headers.append(expires(row.expires_at))
    return Response(201, headers)


def _upload(store: Store, asked: Asked, metadata: Mapping[str, str], length: int | None) -> Upload:
    bucket, key = metadata.get("bucketName", ""), metadata.get("objectName", "")
    if not bucket or not key:
        raise bad_request("Upload-Metadata must have bucketName and objectName")
    who = writer_of(store, asked, bucket, key)
    seconds = metadata.get("cacheControl", "").strip()
    about = About(
        metadata.get("contentType", "").strip() or _USUAL_TYPE,
        f"max-age={seconds}" if seconds.isascii() and seconds.isdecimal() else "no-cache",
        "",
        user_metadata(metadata["metadata"].encode()) if metadata.get("metadata") else None,
    )
    refuse_unsendable(about.mime_type, about.cache_control)
    return Upload(bucket, key, who.identity, who.owner_id, who.is_upsert, about, length, is_standard=False)


async def _row(store: Store, upload: Upload, sent: str, writer: UUID | None) -> Row:
    about = upload.about
    return await rows.begin(
        store, writer, upload.bucket, upload.key, str(uuid4()), upload.length, sent, about.mime_type,
        about.cache_control, about.user_metadata, *upload.owner, upload.is_upsert,
    )  # fmt: skip
