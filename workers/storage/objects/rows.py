"""Rows of objects: find one that the caller may read, and build the headers that describe it.

Functions that query raise DatabaseError, Disconnected, PoolTimeout.
"""

from datetime import UTC, datetime
from uuid import UUID

import msgspec
from msgspec import Struct

from schemas.blobs import BlobReference
from schemas.http import Headers
from workers.database.transactions.interactive import decode_first, statement
from workers.sql.files import read_statements
from workers.storage.model.content_headers import ContentHeaders, stored_content_headers
from workers.storage.model.errors import StorageError, StorageErrorCode, no_such_bucket, no_such_key
from workers.storage.model.media_types import protective_headers, served_type, stored_media_type
from workers.storage.model.names_and_sizes import check_header_values, existing_key
from workers.storage.requests.context import StorageContext, switch_role
from workers.storage.requests.storage_request import StorageRequest

SQL = read_statements("workers.storage.objects", "rows.sql")

NO_STORE = ("cache-control", "no-store")


class ObjectRow(Struct, frozen=True):
    """The row of an object. Rows that were written by hand may lack a version, and so a blob."""

    id: str
    name: str
    bucket_id: str
    version: str | None
    metadata: dict[str, object] | None
    user_metadata: msgspec.Raw
    created_at: str | None
    updated_at: str | None

    @property
    def blob(self) -> BlobReference:
        """The blob of its bytes. Raises: StorageError (404) if it has none."""
        try:
            return BlobReference(self.bucket_id, str(UUID(self.version or "")))
        except ValueError:
            raise blob_missing() from None

    @property
    def size(self) -> int:
        """Its number of bytes."""
        size = self._metadata.get("size")
        return size if isinstance(size, int) and not isinstance(size, bool) and size >= 0 else 0

    @property
    def mime_type(self) -> str:
        """Its media type; a malformed one in the row becomes `application/octet-stream`."""
        return stored_media_type(self._text("mimetype"))

    @property
    def cache_control(self) -> str:
        """Its `Cache-Control`."""
        return self._text("cacheControl") or "no-cache"

    @property
    def etag(self) -> str:
        """Its ETag with quotes; the version if the row holds no valid one."""
        etag = self._text("eTag")
        return etag if _is_etag(etag) else f'"{self.version or self.id}"'

    @property
    def robots(self) -> str:
        """Its `X-Robots-Tag`."""
        return self._text("xRobotsTag") or "none"

    @property
    def content(self) -> ContentHeaders:
        """Its stored `Content-Encoding`, `-Disposition`, `-Language` and `Expires`."""
        return stored_content_headers(self.metadata)

    @property
    def modified(self) -> datetime:
        """When its bytes were written."""
        for text in (self._text("lastModified"), self.updated_at or ""):
            try:
                return datetime.fromisoformat(text).astimezone(UTC)
            except (ValueError, OverflowError):
                continue
        return datetime.fromtimestamp(0, UTC)

    @property
    def _metadata(self) -> dict[str, object]:
        return self.metadata or {}

    def _text(self, name: str) -> str:
        value = self._metadata.get(name)
        return value if isinstance(value, str) else ""


class _PublicLookup(Struct, frozen=True):
    is_public: bool
    object: ObjectRow | None


async def public_object(context: StorageContext, request: StorageRequest, bucket: str, key: str) -> ObjectRow:
    """Return an object of a public bucket.

    Raises: StorageError; a private bucket is `Bucket not found`, as if it were missing.
    """
    values = statement(SQL["openly"], bucket, existing_key(key))
    lookup = decode_first((await context.read(request.as_service(), values))[0], _PublicLookup)
    if lookup is None or not lookup.is_public:
        raise no_such_bucket()
    return _existing(lookup.object)


async def readable_object(
    context: StorageContext, request: StorageRequest, bucket: str, key: str
) -> ObjectRow:
    """Return an object that the caller may read: any in a public bucket, else one that the caller's policies allow.

    Without an identity only public buckets are visible. A row that a policy shows is the answer whatever its bucket is, so
    most lookups are one statement; the bucket is read where no policy showed the row. Raises: StorageError.
    """
    if request.identity is None:
        return await public_object(context, request, bucket, key)
    name = existing_key(key)
    visible = statement(SQL["visible"], bucket, name)
    if bucket not in context.open_buckets:
        row = decode_first((await context.read(request.as_caller(), visible))[0], ObjectRow)
        if row is not None:
            return row
    openly = statement(SQL["openly"], bucket, name)
    results = await context.read(request.as_service(), openly, switch_role(request.caller), visible)
    lookup = decode_first(results[0], _PublicLookup)
    if lookup is None:
        raise no_such_bucket()
    if not lookup.is_public:
        context.open_buckets.pop(bucket)
        return _existing(decode_first(results[2], ObjectRow))
    row = _existing(lookup.object)
    context.open_buckets.put(bucket, True)
    return row


async def any_object(context: StorageContext, request: StorageRequest, bucket: str, key: str) -> ObjectRow:
    """Return an object to a client that a signed URL has authorized. Raises: StorageError."""
    results = await context.read(request.as_service(), statement(SQL["visible"], bucket, existing_key(key)))
    return _existing(decode_first(results[0], ObjectRow))


def blob_missing() -> StorageError:
    """The row exists, its blob does not."""
    return StorageError(
        StorageErrorCode.NO_SUCH_KEY, "The resource was not found", 404, error="Not found", headers=[NO_STORE]
    )


def object_headers(row: ObjectRow, mime_type: str = "") -> Headers:
    """Return the headers of a response with an object, except those of size and age. Raises: StorageError."""
    media_type = served_type(mime_type or row.mime_type)
    check_header_values(media_type, row.robots)
    return [
        ("content-type", media_type),
        ("x-robots-tag", row.robots),
        *protective_headers(media_type),
    ]


def cache_control_for(row: ObjectRow, if_none_match: str | None) -> str:
    """Return the `Cache-Control` of an object. A client with an old version may use it while it fetches the new one."""
    check_header_values(row.cache_control)
    is_stale = if_none_match is not None and not etag_matches(if_none_match, row.etag)
    return f"{row.cache_control}, stale-while-revalidate=30" if is_stale else row.cache_control


def etag_matches(if_none_match: str, etag: str) -> bool:
    """Return whether a list of ETags contains this one, by weak comparison (RFC 9110, 8.8.3.2)."""
    listed = [item.strip().removeprefix("W/") for item in if_none_match.split(",")]
    return "*" in listed or etag.removeprefix("W/") in listed


def _is_etag(text: str) -> bool:
    quoted = text.removeprefix("W/")
    is_quoted = len(quoted) >= 2 and quoted[0] == quoted[-1] == '"' and '"' not in quoted[1:-1]
    return is_quoted and quoted.isascii() and quoted.isprintable()


def _existing(row: ObjectRow | None) -> ObjectRow:
    if row is None:
        raise no_such_key()
    return row
