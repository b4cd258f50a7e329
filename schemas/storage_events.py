"""A change of an object or a bucket, as published on NATS in JSON (docs/storage-events.md).

Source: docs/reference/storage.md, section 11.
"""

from datetime import datetime

from msgspec import Raw, Struct

NOTHING = Raw(b"null")


class StorageEvent(Struct, frozen=True, kw_only=True):
    """One event. An event of a bucket sets only `id`, `sequence`, `type`, `bucket`, `name`, `time` and `request_id`."""

    id: str
    """Equal in every redelivery of the event, and different from every other event."""
    sequence: int
    """Grows from one event of an object to the next; between two objects it is meaningless."""
    type: str
    """`ObjectCreated:Post|Put|Copy|Move`, `ObjectRemoved:Delete|Move`, `ObjectUpdated:Metadata`, `Bucket:Created|Deleted`."""
    bucket: str
    """Id of the bucket."""
    name: str
    """The object's key, or the name of the bucket."""
    version: str | None = None
    """The version of the bytes; each upload creates a new one. Of a removed object its last one."""
    size: int | None = None
    """Bytes."""
    mimetype: str | None = None
    etag: str | None = None
    """As in the `ETag` header, with quotes."""
    owner: str | None = None
    """The owner of the object; unknown after it was removed."""
    upload_type: str | None = None
    """`standard`, `resumable` or `s3`, of uploads."""
    metadata: Raw = NOTHING
    """The column `metadata` of the row; null if it is empty or too long for a message."""
    time: datetime
    """Start of the transaction that made the change."""
    request_id: str | None = None
    """Id of the request that made the change; null for plain SQL."""


class ObjectsChanged(Struct, frozen=True, tag="objects-changed"):
    """Objects were replaced, moved or deleted, or a bucket was changed: edges forget what they reuse of them.

    Published with MessagePack after the change is committed. A new object changes nothing that an edge knows.
    """

    bucket: str = ""
    """Id of the bucket; empty: any bucket."""
    name: str = ""
    """Name of the object; empty: any object of the bucket."""
