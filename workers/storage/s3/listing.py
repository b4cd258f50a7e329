"""ListObjects, ListObjectsV2 and ListObjectVersions. The database groups keys at the delimiter and skips each group with one index seek.

A page queries one entry more than it returns, to know whether it is truncated. The last key is the position: it is
returned as an opaque token (version 2) or as a key (version 1). Source: docs/reference/storage.md, section 10.
"""

import base64
import binascii
from dataclasses import dataclass
from urllib.parse import quote

import msgspec
from msgspec import Struct

from schemas.http import Response
from workers.database.transactions.interactive import statement
from workers.sql.files import read_statements
from workers.storage.buckets.rows import read_rules
from workers.storage.requests.context import StorageContext
from workers.storage.s3.protocol import xml
from workers.storage.s3.protocol.errors import S3Error, invalid_argument
from workers.storage.s3.protocol.request import S3Request

SQL = read_statements("workers.storage.s3", "listing.sql")
MOST = 1000


class _Entry(Struct, frozen=True):
    name: str
    is_folder: bool
    etag: str | None
    size: int | None
    modified: str | None
    owner: str | None


@dataclass(frozen=True, slots=True)
class _Page:
    entries: list[_Entry]
    is_truncated: bool
    has_owners: bool

    @property
    def last(self) -> str:
        return self.entries[-1].name


@dataclass(frozen=True, slots=True)
class KeyEncoding:
    """How a response writes keys: as they are, or percent-encoded if the client requests it."""

    is_escaped: bool

    def __call__(self, text: str) -> str:
        """Encode a key."""
        return quote(text, safe="/") if self.is_escaped else text

    @property
    def items(self) -> list[xml.Item]:
        """Return the element that names the encoding."""
        return [("EncodingType", "url")] if self.is_escaped else []


def key_encoding_of(request: S3Request) -> KeyEncoding:
    """Read `encoding-type`. Raises: S3Error."""
    kind = request.parameter("encoding-type")
    if kind not in ("", "url"):
        raise invalid_argument("Invalid Encoding Method specified in Request")
    return KeyEncoding(kind == "url")


async def first_version(context: StorageContext, request: S3Request) -> Response:
    """ListObjects."""
    marker, spelled = request.parameter("marker"), key_encoding_of(request)
    most, delimiter = request.number("max-keys", MOST, most=MOST), request.parameter("delimiter")
    page = await _page(context, request, most, marker, "", has_owners=True)
    prefix = request.parameter("prefix")
    head: list[xml.Item] = [
        ("Name", request.bucket),
        # boto decodes the other names of the first version, not this one: it is as it was sent, unless XML has no such character.
        ("Prefix", prefix if _is_readable(prefix) else spelled(prefix)),
        ("Marker", spelled(marker)),
        *([("NextMarker", spelled(page.last))] if page.is_truncated else []),
        *_common(delimiter, most, page, spelled),
    ]
    return xml.xml_response("ListBucketResult", [*head, *_entries(page, spelled)])


async def second_version(context: StorageContext, request: S3Request) -> Response:
    """ListObjectsV2."""
    after, spelled = request.parameter("start-after"), key_encoding_of(request)
    most, delimiter = request.number("max-keys", MOST, most=MOST), request.parameter("delimiter")
    token = request.parameter("continuation-token")
    has_owners = request.parameter("fetch-owner").lower() == "true"
    over = read_token(token) if token else ""
    page = await _page(context, request, most, after, over, has_owners=has_owners)
    head: list[xml.Item] = [
        ("Name", request.bucket),
        ("Prefix", spelled(request.parameter("prefix"))),
        *([("ContinuationToken", token)] if request.has("continuation-token") else []),
        *([("NextContinuationToken", token_of(page.last))] if page.is_truncated else []),
        ("KeyCount", len(page.entries)),
        *([("StartAfter", spelled(after))] if after else []),
        *_common(delimiter, most, page, spelled),
    ]
    return xml.xml_response("ListBucketResult", [*head, *_entries(page, spelled)])


async def versions(context: StorageContext, request: S3Request) -> Response:
    """ListObjectVersions: every object has one version, which is named `null` where versioning is off."""
    marker, spelled = request.parameter("key-marker"), key_encoding_of(request)
    most, delimiter = request.number("max-keys", MOST, most=MOST), request.parameter("delimiter")
    page = await _page(context, request, most, marker, "", has_owners=True)
    head: list[xml.Item] = [
        ("Name", request.bucket),
        ("Prefix", spelled(request.parameter("prefix"))),
        ("KeyMarker", spelled(marker)),
        ("VersionIdMarker", request.parameter("version-id-marker")),
        *([("NextKeyMarker", spelled(page.last))] if page.is_truncated else []),
        *([("NextVersionIdMarker", "null")] if page.is_truncated else []),
        *_common(delimiter, most, page, spelled),
    ]
    return xml.xml_response("ListVersionsResult", [*head, *_entries(page, spelled, is_versioned=True)])


def _is_readable(text: str) -> bool:
    """Return whether XML 1.0 keeps each character of a text as it is."""
    return all(
        character in "\t\n" or " " <= character < "\ufffe" or character > "\uffff" for character in text
    )


def token_of(name: str) -> str:
    """Return the continuation token of a page that ended with this key."""
    return base64.urlsafe_b64encode(b"l:" + name.encode()).decode()


def read_token(text: str) -> str:
    """Decode a continuation token. Raises: S3Error."""
    try:
        decoded = base64.b64decode(text, altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        decoded = ""
    if not decoded.startswith("l:") or len(decoded) < 3 or "\0" in decoded:
        raise invalid_argument("The continuation token provided is incorrect")
    return decoded[2:]


async def _page(
    context: StorageContext, request: S3Request, most: int, after: str, token: str, *, has_owners: bool
) -> _Page:
    """Query one page with the caller's rights. Raises: StorageError (404) if the bucket does not exist."""
    prefix, delimiter = request.parameter("prefix"), request.parameter("delimiter")
    if any("\0" in text for text in (prefix, delimiter, after)):
        raise S3Error("InvalidArgument", "A parameter holds a character that cannot be kept")
    await read_rules(context, request.storage_request, request.bucket)
    if not most:
        return _Page([], False, has_owners)
    values = (request.bucket, prefix, delimiter, most + 1, after, token, has_owners)
    rows = (await context.run(request.storage_request.as_caller(), statement(SQL["objects"], *values)))[0]
    entries = [msgspec.json.decode(row[0] or b"{}", type=_Entry) for row in rows]
    return _Page(entries[:most], len(entries) > most, has_owners)


def _common(delimiter: str, most: int, page: _Page, spelled: KeyEncoding) -> list[xml.Item]:
    items: list[xml.Item] = [("Delimiter", spelled(delimiter))] if delimiter else []
    return [*items, ("MaxKeys", most), *spelled.items, ("IsTruncated", page.is_truncated)]


def _entries(page: _Page, spelled: KeyEncoding, *, is_versioned: bool = False) -> list[xml.Item]:
    version: list[xml.Item] = [("VersionId", "null"), ("IsLatest", True)] if is_versioned else []
    objects: list[xml.Item] = [
        (
            "Version" if is_versioned else "Contents",
            [
                ("Key", spelled(entry.name)),
                *version,
                ("LastModified", entry.modified or ""),
                ("ETag", entry.etag or ""),
                ("Size", entry.size or 0),
                ("StorageClass", "STANDARD"),
                *([_owner(entry)] if page.has_owners else []),
            ],
        )
        for entry in page.entries
        if not entry.is_folder
    ]
    folders: list[xml.Item] = [
        ("CommonPrefixes", [("Prefix", spelled(entry.name))]) for entry in page.entries if entry.is_folder
    ]
    return [*objects, *folders]


def _owner(entry: _Entry) -> xml.Item:
    owner = entry.owner or ""
    return ("Owner", [("ID", owner), ("DisplayName", owner)])
