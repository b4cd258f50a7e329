"""Listings of objects, both versions. The database folds keys at the delimiter and leaves folders by a seek.

A page asks for one entry more than it shows. Where it ended is the last name: a client gives it back as a token of ours
(version 2) or as a key (version 1). Source: reference page "storage", section 10.
"""

import base64
import binascii
from dataclasses import dataclass
from urllib.parse import quote

import msgspec
from msgspec import Struct

from schemas.http import Response
from workers.database.interactive import statement
from workers.sql.files import read_statements
from workers.storage import buckets
from workers.storage.context import Store
from workers.storage.s3 import xml
from workers.storage.s3.asking import Asking
from workers.storage.s3.errors import S3Error, invalid_argument

SQL = read_statements("workers.storage.s3", "listing.sql")
MOST = 1000


class _Entry(Struct, frozen=True):
    name: str
    is_folder: bool
    etag: str | None
    size: int | None
    modified: str | None


@dataclass(frozen=True, slots=True)
class _Page:
    entries: list[_Entry]
    is_truncated: bool

    @property
    def last(self) -> str:
        return self.entries[-1].name


@dataclass(frozen=True, slots=True)
class Spelling:
    """How keys stand in an answer: as they are, or escaped where the client asks for it."""

    is_escaped: bool

    def __call__(self, text: str) -> str:
        """Spell a key."""
        return quote(text, safe="/") if self.is_escaped else text

    @property
    def items(self) -> list[xml.Item]:
        """Give what an answer says of it."""
        return [("EncodingType", "url")] if self.is_escaped else []


def spelling_of(asking: Asking) -> Spelling:
    """Read `encoding-type`. Raises: S3Error."""
    kind = asking.parameter("encoding-type")
    if kind not in ("", "url"):
        raise invalid_argument("Invalid Encoding Method specified in Request")
    return Spelling(kind == "url")


async def first_version(store: Store, asking: Asking) -> Response:
    """ListObjects."""
    marker, spelled = asking.parameter("marker"), spelling_of(asking)
    most, delimiter = asking.number("max-keys", MOST, most=MOST), asking.parameter("delimiter")
    page = await _page(store, asking, most, marker, "")
    head: list[xml.Item] = [
        ("Name", asking.bucket),
        ("Prefix", spelled(asking.parameter("prefix"))),
        ("Marker", spelled(marker)),
        *([("NextMarker", spelled(page.last))] if page.is_truncated else []),
        *_common(delimiter, most, page, spelled),
    ]
    return xml.answer("ListBucketResult", [*head, *_entries(page, spelled)])


async def second_version(store: Store, asking: Asking) -> Response:
    """ListObjectsV2."""
    after, spelled = asking.parameter("start-after"), spelling_of(asking)
    most, delimiter = asking.number("max-keys", MOST, most=MOST), asking.parameter("delimiter")
    token = asking.parameter("continuation-token")
    if asking.has("continuation-token") and not token:
        raise invalid_argument("The continuation token provided is incorrect")
    page = await _page(store, asking, most, after, read_token(token) if token else "")
    head: list[xml.Item] = [
        ("Name", asking.bucket),
        ("Prefix", spelled(asking.parameter("prefix"))),
        *([("ContinuationToken", token)] if token else []),
        *([("NextContinuationToken", token_of(page.last))] if page.is_truncated else []),
        ("KeyCount", len(page.entries)),
        *([("StartAfter", spelled(after))] if after else []),
        *_common(delimiter, most, page, spelled),
    ]
    return xml.answer("ListBucketResult", [*head, *_entries(page, spelled)])


def token_of(name: str) -> str:
    """Give a continuation token for a page that ended with this name."""
    return base64.urlsafe_b64encode(b"l:" + name.encode()).decode()


def read_token(text: str) -> str:
    """Read a continuation token. Raises: S3Error."""
    try:
        told = base64.b64decode(text, altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        told = ""
    if not told.startswith("l:") or len(told) < 3 or "\0" in told:
        raise invalid_argument("The continuation token provided is incorrect")
    return told[2:]


async def _page(store: Store, asking: Asking, most: int, after: str, token: str) -> _Page:
    """Ask for a page as the caller. Raises: StorageError (404) if there is no such bucket."""
    prefix, delimiter = asking.parameter("prefix"), asking.parameter("delimiter")
    if any("\0" in text for text in (prefix, delimiter, after)):
        raise S3Error("InvalidArgument", "A parameter holds a character that cannot be kept")
    await buckets.rules_of(store, asking.asked, asking.bucket)
    if not most:
        return _Page([], False)
    values = (asking.bucket, prefix, delimiter, most + 1, after, token)
    rows = (await store.run(asking.asked.as_caller(), statement(SQL["objects"], *values)))[0]
    entries = [msgspec.json.decode(row[0] or b"{}", type=_Entry) for row in rows]
    return _Page(entries[:most], len(entries) > most)


def _common(delimiter: str, most: int, page: _Page, spelled: Spelling) -> list[xml.Item]:
    told: list[xml.Item] = [("Delimiter", spelled(delimiter))] if delimiter else []
    return [*told, ("MaxKeys", most), *spelled.items, ("IsTruncated", page.is_truncated)]


def _entries(page: _Page, spelled: Spelling) -> list[xml.Item]:
    objects: list[xml.Item] = [
        (
            "Contents",
            [
                ("Key", spelled(each.name)),
                ("LastModified", each.modified or ""),
                ("ETag", each.etag or ""),
                ("Size", each.size or 0),
                ("StorageClass", "STANDARD"),
            ],
        )
        for each in page.entries
        if not each.is_folder
    ]
    folders: list[xml.Item] = [
        ("CommonPrefixes", [("Prefix", spelled(each.name))]) for each in page.entries if each.is_folder
    ]
    return [*objects, *folders]
