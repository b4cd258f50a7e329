"""What happened to an object or a bucket, as it is told on NATS (docs/storage-events.md). It travels as JSON, for everybody.

Source: reference page "storage", section 11.
"""

from datetime import datetime

from msgspec import Raw, Struct

NOTHING = Raw(b"null")


class StorageEvent(Struct, frozen=True, kw_only=True):
    """One event. Of a bucket only `id`, `sequence`, `type`, `bucket`, `name`, `time` and `request_id` are told."""

    id: str
    """The same in every repetition of the event, and of no other event."""
    sequence: int
    """Grows from one event of an object to the next. Between two objects it says nothing."""
    type: str
    """`ObjectCreated:Post|Put|Copy|Move`, `ObjectRemoved:Delete|Move`, `ObjectUpdated:Metadata`, `Bucket:Created|Deleted`."""
    bucket: str
    """Id of the bucket."""
    name: str
    """The object's key, or the name of the bucket."""
    version: str | None = None
    """Which bytes: each upload makes a new one. Of a removed object the one that it had."""
    size: int | None = None
    """Bytes."""
    mimetype: str | None = None
    etag: str | None = None
    """As the `ETag` header spells it, quotes included."""
    owner: str | None = None
    """Whose the object is; unknown once it is gone."""
    upload_type: str | None = None
    """`standard`, `resumable` or `s3`, of uploads."""
    metadata: Raw = NOTHING
    """The `metadata` of the row, null where there is none or where it is too long for a message."""
    time: datetime
    """Begin of the transaction that made the change."""
    request_id: str | None = None
    """Id of the request that made it; none for plain SQL."""
