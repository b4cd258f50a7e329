"""Multipart uploads: begin, list, abort; and what all of their steps share: the row, and the policies tried for each step.

The versions of an object begin like the upload that it was made of (`completing.py`), so a client that asks to complete it
once more is told of what is there. Every step tries as its caller what the object's write will need; the rows themselves are the service's.
Source: reference page "storage", sections 10 and 12.
"""

import hmac
from dataclasses import dataclass
from uuid import UUID, uuid4

import msgspec
from msgspec import Struct

from schemas.http import Response
from workers.database.interactive import first, statement
from workers.sql.files import read_statements
from workers.storage.buckets import rules_for, rules_of
from workers.storage.context import Store
from workers.storage.errors import StorageError
from workers.storage.media_types import stored_media_type
from workers.storage.rules import parse_key
from workers.storage.s3 import xml
from workers.storage.s3.asking import Asking
from workers.storage.s3.errors import S3Error, no_such_upload
from workers.storage.s3.headers import about_of
from workers.storage.s3.listing import MOST, spelling_of
from workers.storage.s3.listing import SQL as LISTING
from workers.storage.tickets import Ticket
from workers.storage.uploads import About, Upload, beyond, most_of, probe_of, room_in

SQL = read_statements("workers.storage.s3", "multipart.sql")
MOST_PARTS = 10_000


class _Row(Struct, frozen=True):
    id: str
    signature: str
    owner_id: str | None
    user_metadata: msgspec.Raw
    metadata: dict[str, str] | None


class Part(Struct, frozen=True):
    """A part that has arrived. `etag` is its MD5 in hex, `version` names its blob within the upload."""

    number: int
    size: int
    etag: str
    version: str
    created_at: str


class _Listed(Struct, frozen=True):
    key: str
    id: str | None
    created_at: str | None


@dataclass(frozen=True, slots=True)
class Pending:
    """An upload that is under way: its id, the object that it shall become, how long that may be, what it says beyond."""

    id: str
    upload: Upload
    most: int
    refusal: StorageError


async def begin(store: Store, asking: Asking) -> Response:
    """CreateMultipartUpload."""
    who, about = asking.asked.caller, about_of(asking)
    key = parse_key(asking.key, is_unicode=store.settings.unicode_keys)
    upload = Upload(asking.bucket, key, who, who.subject, True, about, is_standard=False)
    most_of(store, await rules_of(store, asking.asked, asking.bucket), upload)
    await store.probe(asking.asked.as_caller(), probe_of(upload, key))
    id = str(uuid4())
    told = {"mimetype": about.mime_type, "cacheControl": about.cache_control, "xRobotsTag": about.robots}
    told["expiresIn"] = str(int(store.settings.s3_protocol.upload_expiry))
    signature = _signature(store, id, asking.bucket, key, who.subject)
    values = (
        id, signature, asking.bucket, key, who.subject, about.user_metadata, msgspec.json.encode(told)
    )  # fmt: skip
    await store.run(asking.asked.as_service(), statement(SQL["create"], *values))
    return xml.answer(
        "InitiateMultipartUploadResult", [("Bucket", asking.bucket), ("Key", asking.key), ("UploadId", id)]
    )


async def pending(store: Store, asking: Asking) -> Pending:
    """Give the upload that a request names, once its caller may write the object. Raises: S3Error, StorageError."""
    key, id = parse_key(asking.key, is_unicode=store.settings.unicode_keys), upload_id(asking)
    rows = (await store.run(asking.asked.as_service(), statement(SQL["find"], id, asking.bucket, key)))[0]
    row = first(rows, _Row)
    if row is None:
        raise no_such_upload()
    if not hmac.compare_digest(row.signature, _signature(store, id, asking.bucket, key, row.owner_id)):
        raise S3Error("InvalidUploadSignature", "The upload was changed by somebody else")
    upload = Upload(
        asking.bucket, key, asking.asked.caller, row.owner_id, True, _about(row), is_standard=False
    )
    rules = await rules_for(store, asking.asked, asking.bucket, key)
    most = most_of(store, rules, upload)
    await store.probe(asking.asked.as_caller(), probe_of(upload, key))
    return Pending(id, upload, room_in(rules, most), beyond(rules, most))


def upload_id(asking: Asking) -> str:
    """Give the id that a request names. Raises: S3Error for what is none."""
    try:
        return str(UUID(asking.parameter("uploadId")))
    except ValueError:
        raise no_such_upload() from None


def part_number(asking: Asking) -> int:
    """Give the number of a part. Raises: S3Error (InvalidArgument)."""
    number = asking.number("partNumber", 0, least=1)
    if not 1 <= number <= MOST_PARTS:
        raise S3Error(
            "InvalidArgument", f"Part number must be an integer between 1 and {MOST_PARTS}, inclusive"
        )
    return number


async def abort(store: Store, asking: Asking) -> Response:
    """AbortMultipartUpload: its parts go."""
    found = await pending(store, asking)
    [ended] = await store.run(asking.asked.as_service(), statement(SQL["end"], found.id))
    if not ended:
        raise no_such_upload()
    await store.errands.finish(store.blobs.forget(found.id))
    return Response(204)


async def parts_of(
    store: Store, asking: Asking, id: str, after: int = 0, most: int = MOST_PARTS
) -> list[Part]:
    """Give the parts of an upload that have arrived, by number."""
    rows = (await store.run(asking.asked.as_service(), statement(SQL["parts"], id, after, most)))[0]
    return [msgspec.json.decode(row[0] or b"{}", type=Part) for row in rows]


async def list_parts(store: Store, asking: Asking) -> Response:
    """ListParts."""
    found = await pending(store, asking)
    after, most = asking.number("part-number-marker", 0), asking.number("max-parts", MOST, most=MOST)
    spelled = spelling_of(asking)
    parts = await parts_of(store, asking, found.id, min(after, MOST_PARTS), most + 1)
    shown, is_truncated = parts[:most], len(parts) > most and most > 0
    head: list[xml.Item] = [
        ("Bucket", asking.bucket),
        ("Key", spelled(asking.key)),
        ("UploadId", found.id),
        ("PartNumberMarker", after),
        *([("NextPartNumberMarker", shown[-1].number)] if shown else []),
        ("MaxParts", most),
        *spelled.items,
        ("IsTruncated", is_truncated),
        ("StorageClass", "STANDARD"),
    ]
    listed: list[xml.Item] = [
        (
            "Part",
            [
                ("PartNumber", each.number),
                ("LastModified", each.created_at),
                ("ETag", f'"{each.etag}"'),
                ("Size", each.size),
            ],
        )
        for each in shown
    ]
    return xml.answer("ListPartsResult", [*head, *listed])


async def list_uploads(store: Store, asking: Asking) -> Response:
    """ListMultipartUploads: those that the caller's policies show."""
    prefix, delimiter = asking.parameter("prefix"), asking.parameter("delimiter")
    key_marker, id_marker = asking.parameter("key-marker"), asking.parameter("upload-id-marker")
    most, spelled = asking.number("max-uploads", MOST, most=MOST), spelling_of(asking)
    await rules_of(store, asking.asked, asking.bucket)
    values = (asking.bucket, prefix, delimiter, most + 1, key_marker, id_marker)
    rows = (await store.run(asking.asked.as_caller(), statement(LISTING["uploads"], *values)))[0]
    found = [msgspec.json.decode(row[0] or b"{}", type=_Listed) for row in rows]
    shown, is_truncated = found[:most], len(found) > most and most > 0
    last: list[xml.Item] = []
    if is_truncated:
        last = [("NextKeyMarker", spelled(shown[-1].key)), ("NextUploadIdMarker", shown[-1].id or "")]
    head: list[xml.Item] = [
        ("Bucket", asking.bucket),
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
        ("Upload", [("Key", spelled(each.key)), ("UploadId", each.id), ("Initiated", each.created_at or "")])
        for each in shown
        if each.id is not None
    ]
    folders: list[xml.Item] = [
        ("CommonPrefixes", [("Prefix", spelled(each.key))]) for each in shown if each.id is None
    ]
    return xml.answer("ListMultipartUploadsResult", [*head, *uploads, *folders])


def _signature(store: Store, id: str, bucket: str, key: str, owner_id: str | None) -> str:
    """Give what only we can write beside an upload: its row is the database's, its object the client's."""
    return store.tickets.seal(Ticket(bucket, key, id, True, "s3 multipart", owner_id or ""))[:32].hex()


def _about(row: _Row) -> About:
    told, own = row.metadata or {}, bytes(row.user_metadata)
    return About(
        stored_media_type(told.get("mimetype", "")),
        told.get("cacheControl", ""),
        told.get("xRobotsTag", ""),
        None if own == b"null" else own,
    )
