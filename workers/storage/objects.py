"""Objects as rows: which one a caller may read, and what of it goes into an answer.

Raises, all that ask the database: DatabaseError, Disconnected, PoolTimeout.
"""

from datetime import UTC, datetime
from uuid import UUID

import msgspec
from msgspec import Struct

from schemas.blobs import Blob
from schemas.http import Headers
from workers.database.interactive import first, statement
from workers.sql.files import read_statements
from workers.storage.asked import Asked
from workers.storage.context import Store, switch
from workers.storage.errors import Code, StorageError, no_such_bucket, no_such_key
from workers.storage.media_types import protective_headers, served_type, stored_media_type
from workers.storage.rules import existing_key, refuse_unsendable

SQL = read_statements("workers.storage", "objects.sql")

NOT_KEPT = ("cache-control", "no-store")


class ObjectRow(Struct, frozen=True):
    """An object that may be read. Rows that were written by hand may lack a version, and so a blob."""

    id: str
    name: str
    bucket_id: str
    version: str | None
    metadata: dict[str, object] | None
    user_metadata: msgspec.Raw
    created_at: str | None
    updated_at: str | None

    @property
    def blob(self) -> Blob:
        """Give where its bytes lie. Raises: StorageError (404) if it has none."""
        try:
            return Blob(self.bucket_id, str(UUID(self.version or "")))
        except ValueError:
            raise blob_missing() from None

    @property
    def size(self) -> int:
        """Give its bytes."""
        size = self._told.get("size")
        return size if isinstance(size, int) and not isinstance(size, bool) and size >= 0 else 0

    @property
    def mime_type(self) -> str:
        """Give its media type, which is well formed whatever the row holds."""
        return stored_media_type(self._text("mimetype"))

    @property
    def cache_control(self) -> str:
        """Give what caches may do with it."""
        return self._text("cacheControl") or "no-cache"

    @property
    def etag(self) -> str:
        """Give its ETag, quotes included; of a row that was written by hand, one made of its version."""
        told = self._text("eTag")
        return told if _is_etag(told) else f'"{self.version or self.id}"'

    @property
    def robots(self) -> str:
        """Give what crawlers may do with it."""
        return self._text("xRobotsTag") or "none"

    @property
    def modified(self) -> datetime:
        """Give when its bytes were written."""
        for text in (self._text("lastModified"), self.updated_at or ""):
            try:
                return datetime.fromisoformat(text).astimezone(UTC)
            except (ValueError, OverflowError):
                continue
        return datetime.fromtimestamp(0, UTC)

    @property
    def _told(self) -> dict[str, object]:
        return self.metadata or {}

    def _text(self, name: str) -> str:
        value = self._told.get(name)
        return value if isinstance(value, str) else ""


class _Openly(Struct, frozen=True):
    is_public: bool
    object: ObjectRow | None


async def public_object(store: Store, asked: Asked, bucket: str, key: str) -> ObjectRow:
    """Give an object of a public bucket. Raises: StorageError: Bucket not found for a private one, whatever it holds."""
    values = statement(SQL["openly"], bucket, existing_key(key))
    found = first((await store.run(asked.as_service(), values))[0], _Openly)
    if found is None or not found.is_public:
        raise no_such_bucket()
    return _there(found.object)


async def readable_object(store: Store, asked: Asked, bucket: str, key: str) -> ObjectRow:
    """Give an object that the caller may read: of a public bucket any, else what his policies show.

    Nobody in particular sees no private bucket. Raises: StorageError.
    """
    if asked.identity is None:
        return await public_object(store, asked, bucket, key)
    name = existing_key(key)
    results = await store.run(
        asked.as_service(),
        statement(SQL["openly"], bucket, name),
        switch(asked.caller),
        statement(SQL["visible"], bucket, name),
    )
    found = first(results[0], _Openly)
    if found is None:
        raise no_such_bucket()
    return _there(found.object if found.is_public else first(results[2], ObjectRow))


async def any_object(store: Store, asked: Asked, bucket: str, key: str) -> ObjectRow:
    """Give an object, for somebody whom a token lets in. Raises: StorageError."""
    found = await store.run(asked.as_service(), statement(SQL["visible"], bucket, existing_key(key)))
    return _there(first(found[0], ObjectRow))


def blob_missing() -> StorageError:
    """The row is there and its bytes are not."""
    return StorageError(
        Code.NO_SUCH_KEY, "The resource was not found", 404, error="Not found", headers=[NOT_KEPT]
    )


def reading_headers(row: ObjectRow, mime_type: str = "") -> Headers:
    """Give the headers of an answer that holds an object, but those of its size and age. Raises: StorageError."""
    media_type = served_type(mime_type or row.mime_type)
    refuse_unsendable(media_type, row.robots)
    return [
        ("content-type", media_type),
        ("x-robots-tag", row.robots),
        *protective_headers(media_type),
    ]


def kept(row: ObjectRow, if_none_match: str | None) -> str:
    """Give the `Cache-Control` of an object; whoever holds an old version may show it while he fetches the new one."""
    refuse_unsendable(row.cache_control)
    is_stale = if_none_match is not None and not matches(if_none_match, row.etag)
    return f"{row.cache_control}, stale-while-revalidate=30" if is_stale else row.cache_control


def matches(if_none_match: str, etag: str) -> bool:
    """Tell whether a list of ETags names this one, by the weak comparison (RFC 9110, 8.8.3.2)."""
    listed = [each.strip().removeprefix("W/") for each in if_none_match.split(",")]
    return "*" in listed or etag.removeprefix("W/") in listed


def _is_etag(text: str) -> bool:
    quoted = text.removeprefix("W/")
    is_quoted = len(quoted) >= 2 and quoted[0] == quoted[-1] == '"' and '"' not in quoted[1:-1]
    return is_quoted and quoted.isascii() and quoted.isprintable()


def _there(row: ObjectRow | None) -> ObjectRow:
    if row is None:
        raise no_such_key()
    return row
