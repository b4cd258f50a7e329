"""Events as values, for tests that need no database."""

from datetime import UTC, datetime

from msgspec import Raw

from schemas.storage_events import StorageEvent


def event_of(number: int, name: str = "a.txt", type: str = "ObjectCreated:Put") -> StorageEvent:
    """Make an event of an object."""
    return StorageEvent(
        id=f"{number}-0",
        sequence=number,
        type=type,
        bucket="avatars",
        name=name,
        version="v",
        size=5,
        owner="me",
        upload_type="standard",
        metadata=Raw(b'{"size":5}'),
        time=datetime(2026, 1, 2, 3, 4, 5, 600_000, tzinfo=UTC),
        request_id="req-1",
    )
