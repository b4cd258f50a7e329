"""CompleteMultipartUpload: the parts become one object. Memory stays flat; the MD5 of the whole is its ETag.

    parts that were listed are held against those that came -> joined into a new blob -> in one transaction, behind the
    lock of the upload: the blob lies at its place, the object's row is written, the upload goes

Each try writes a blob of its own: on outside stores a blob is written straight to its place, and who comes second must
neither overwrite nor remove what the first one made. He finds no upload, drops his blob, and is told of the object that
is there: its version begins like the upload's id. A client that goes away does not end it.
Source: reference page "storage", sections 10 and 11.
"""

import contextlib
import secrets
from collections.abc import Sequence
from uuid import UUID

from broker.blobs import blob_names
from broker.blobs.errors import BlobMissing, BlobStoreDown
from broker.blobs.model import Staged
from schemas.http import Response
from schemas.numbers import parse_whole_number
from workers.database.errors import DatabaseError
from workers.database.interactive import statement
from workers.storage.callers import SERVICE
from workers.storage.context import Store, switch
from workers.storage.errors import StorageError
from workers.storage.moving import is_certain, visible_object
from workers.storage.rules import existing_key
from workers.storage.s3 import xml
from workers.storage.s3.asking import Asking
from workers.storage.s3.errors import S3Error, invalid_part, malformed_xml, no_such_upload
from workers.storage.s3.multipart import MOST_PARTS, SQL, Part, Pending, parts_of, pending, upload_id
from workers.storage.uploads import metadata_of, probe_of, try_out, write_row

_MOST_NUMBER = 10**9


async def complete(store: Store, asking: Asking) -> Response:
    """CompleteMultipartUpload; without a list, of all parts that came."""
    listed = read_parts(asking.asked.body)
    try:
        found = await pending(store, asking)
    except S3Error as error:
        if error.code != "NoSuchUpload":
            raise
        return _done(asking, await _made_before(store, asking))
    parts = chosen(listed, await parts_of(store, asking, found.id))
    if sum(part.size for part in parts) > found.most:
        raise found.refusal
    return _done(asking, await store.errands.finish(_complete(store, asking, found, parts)))


def read_parts(body: bytes) -> list[tuple[int, str]]:
    """Read numbers and ETags of the parts that make the object; they must ascend. Raises: S3Error."""
    if not body.strip():
        return []
    listed: list[tuple[int, str]] = []
    for node in xml.read(body, "CompleteMultipartUpload").all("Part"):
        number = parse_whole_number((node.value("PartNumber") or "").strip(), most=_MOST_NUMBER)
        etag = node.value("ETag")
        if number is None or etag is None:
            raise malformed_xml()
        listed.append((number, etag.strip().strip('"').lower()))
    numbers = [number for number, _ in listed]
    if numbers != sorted(set(numbers)):
        message = "The list of parts was not in ascending order. The parts list must be specified in order by part number."
        raise S3Error("InvalidPartOrder", message)
    if len(listed) > MOST_PARTS:
        raise malformed_xml()
    return listed


def chosen(listed: Sequence[tuple[int, str]], came: Sequence[Part]) -> list[Part]:
    """Give the parts that were listed, all of them for an empty list. Raises: S3Error (InvalidPart)."""
    if not came:
        raise invalid_part()
    by_number = {part.number: part for part in came}
    if not listed:
        return list(came)
    parts = [by_number.get(number) for number, _ in listed]
    for part, (_, etag) in zip(parts, listed, strict=True):
        if part is None or part.etag != etag:
            raise invalid_part()
    return [part for part in parts if part is not None]


async def _complete(store: Store, asking: Asking, found: Pending, parts: Sequence[Part]) -> str:
    """Make the object and give its ETag. Raises: S3Error, StorageError, BlobStoreDown, DatabaseError and its siblings."""
    version = version_of_try(found.id)
    place = blob_names.blob(found.upload.bucket, version)
    places = [blob_names.part(found.id, part.number, part.version) for part in parts]
    try:
        staged = await store.blobs.join(places, place)
    except BlobMissing:  # another request ended the upload, or sent the part anew
        return await _made_before(store, asking, invalid_part())
    try:
        is_written = await _written(store, asking, found, staged, version)
    except (DatabaseError, StorageError) as error:  # of other failures nobody knows
        if is_certain(error):
            await _discard(store, staged)
        raise
    if not is_written:
        await _discard(store, staged)
        return await _made_before(store, asking)
    with contextlib.suppress(BlobStoreDown):  # then the sweep finds the parts
        await store.blobs.forget(found.id)
    return f'"{staged.md5}"'


def version_of_try(id: str) -> str:
    """Give a version that nobody else has, and that begins like the id of the upload."""
    return str(UUID(int=UUID(id).int >> 64 << 64 | secrets.randbits(64), version=4))


def is_made_of(version: str | None, id: str) -> bool:
    """Tell whether an object with this version was made of the upload."""
    try:
        return UUID(version or "").int >> 64 == UUID(id).int >> 64
    except ValueError:
        return False


async def _discard(store: Store, staged: Staged) -> None:
    with contextlib.suppress(BlobStoreDown):  # then the sweep finds it
        await store.blobs.discard(staged)


async def _written(store: Store, asking: Asking, found: Pending, staged: Staged, version: str) -> bool:
    """Write the row of the object in place of that of the upload; False if the upload is there no more."""
    upload = found.upload
    metadata = metadata_of(upload.about, staged.md5, staged.size)
    async with store.database.transaction(asking.asked.as_caller()) as transaction:
        await try_out(transaction, probe_of(upload, upload.key))
        _, there = await transaction.run(switch(SERVICE), statement(SQL["lock"], found.id))
        if not there:
            return False
        await store.blobs.promote(staged)
        await write_row(transaction, upload, upload.key, version, metadata)
        await transaction.run(statement(SQL["end"], found.id))
    return True


async def _made_before(store: Store, asking: Asking, otherwise: S3Error | None = None) -> str:
    """Give the ETag of the object that this upload has become. Raises: S3Error if it has not."""
    try:
        row = await visible_object(store, asking.asked, asking.bucket, existing_key(asking.key))
    except StorageError:
        raise otherwise or no_such_upload() from None
    if not is_made_of(row.version, upload_id(asking)):
        raise otherwise or no_such_upload()
    return row.etag


def _done(asking: Asking, etag: str) -> Response:
    location = f"/{asking.bucket}/{asking.key}"
    told: list[xml.Item] = [
        ("Location", location),
        ("Bucket", asking.bucket),
        ("Key", asking.key),
        ("ETag", etag),
    ]
    return xml.answer("CompleteMultipartUploadResult", told)
