"""Buckets as rows: what their policies let the caller see and change, and the rules that objects in them keep to.

Raises, all of them: DatabaseError, Disconnected, PoolTimeout.
"""

import msgspec
from msgspec import Struct

from workers.database.interactive import first, statement
from workers.database.session import Rows
from workers.sql.files import read_statements
from workers.storage import quotas
from workers.storage.asked import Asked
from workers.storage.context import Store, switch
from workers.storage.emptying import BATCH, begin, empty_batch, finish
from workers.storage.errors import no_such_bucket, not_empty, too_many_objects
from workers.storage.rules import RuleKey

SQL = read_statements("workers.storage", "buckets.sql")

MOST_EMPTIED = 200_000
"""Objects of the fullest bucket that one request empties."""
EMPTIED_AT_ONCE = 5_000
"""Objects that are gone when the answer leaves; the rest goes in the background."""


class BucketRules(Struct, frozen=True):
    """What objects of a bucket keep to."""

    id: str
    public: bool
    file_size_limit: int | None
    allowed_mime_types: list[str] | None
    has_quota: bool = False
    """Whether a quota holds, its own or that of all buckets."""
    room: int | None = None
    """Bytes that the object that was asked for may have by the quotas (`rules_for`)."""

    @property
    def key(self) -> RuleKey:
        """Give what an upload is held against."""
        return RuleKey(self.file_size_limit, self.allowed_mime_types)


class NewBucket(Struct, frozen=True):
    """A bucket to be made."""

    id: str
    name: str
    public: bool = False
    file_size_limit: int | None = None
    allowed_mime_types: list[str] | None = None
    quota: int | None = None
    """Bytes that all its objects may have together."""


class BucketChange(Struct, frozen=True):
    """What changes of a bucket; UNSET keeps what is there, None lifts a limit."""

    public: bool | msgspec.UnsetType = msgspec.UNSET
    file_size_limit: int | msgspec.UnsetType | None = msgspec.UNSET
    allowed_mime_types: list[str] | msgspec.UnsetType | None = msgspec.UNSET
    quota: int | msgspec.UnsetType | None = msgspec.UNSET


async def rules_of(store: Store, asked: Asked, bucket: str) -> BucketRules:
    """Give the rules of a bucket, whoever asks. Raises: StorageError (404)."""
    return rules_in((await store.run(asked.as_service(), statement(SQL["rules"], bucket)))[0])


async def rules_for(store: Store, asked: Asked, bucket: str, key: str) -> BucketRules:
    """Give the rules of a bucket with the room that quotas leave for an object, whoever asks. Raises: StorageError (404)."""
    return rules_in((await store.run(asked.as_service(), statement(SQL["rules_for"], bucket, key)))[0])


def rules_in(rows: Rows) -> BucketRules:
    """Read the rules of a bucket. Raises: StorageError (404) if there is no row."""
    found = first(rows, BucketRules)
    if found is None:
        raise no_such_bucket()
    return found


async def listed(
    store: Store, asked: Asked, *, most: int, skipped: int, column: str, is_descending: bool, search: str
) -> bytes:
    """Give the buckets that the caller sees, as the JSON of a list."""
    asked_for = statement(SQL["list"], most, skipped, column, is_descending, search)
    return (await store.run(asked.as_caller(), asked_for))[0][0][0] or b"[]"


async def shown(store: Store, asked: Asked, bucket: str) -> bytes:
    """Give a bucket that the caller sees, as JSON. Raises: StorageError (404)."""
    rows = (await store.run(asked.as_caller(), statement(SQL["show"], bucket)))[0]
    if not rows or rows[0][0] is None:
        raise no_such_bucket()
    return rows[0][0]


async def create(store: Store, asked: Asked, new: NewBucket) -> None:
    """Make a bucket that belongs to the caller."""
    who = asked.caller
    values = (
        new.id, new.name, who.owner, who.subject, new.public, new.file_size_limit,
        msgspec.json.encode(new.allowed_mime_types),
    )  # fmt: skip
    quota = [quotas.setting(new.id, new.quota)] if new.quota is not None else []
    await store.run(asked.as_caller(), statement(SQL["create"], *values), *quota)


async def change(store: Store, asked: Asked, bucket: str, wanted: BucketChange) -> None:
    """Change a bucket. Raises: StorageError (404) if the caller may not, or there is none."""
    size, types = wanted.file_size_limit, wanted.allowed_mime_types
    values = (
        bucket,
        None if wanted.public is msgspec.UNSET else bool(wanted.public),
        size is not msgspec.UNSET,
        None if size is msgspec.UNSET else size,
        types is not msgspec.UNSET,
        msgspec.json.encode(None if types is msgspec.UNSET else types),
    )
    async with store.database.transaction(asked.as_caller()) as transaction:
        if not await transaction.rows(SQL["update"], *values):
            raise no_such_bucket()
        if wanted.quota is not msgspec.UNSET:
            await transaction.run(quotas.setting(bucket, wanted.quota))


async def delete(store: Store, asked: Asked, bucket: str) -> None:
    """Delete a bucket in which nothing is. Raises: StorageError: not there, not empty, or not the caller's to delete."""
    async with store.database.transaction(asked.as_service()) as transaction:
        locked, filled = await transaction.run(
            statement(SQL["lock"], bucket), statement(SQL["is_filled"], bucket)
        )
        if not locked:
            raise no_such_bucket()
        if filled:
            raise not_empty()
        _, gone = await transaction.run(switch(asked.caller), statement(SQL["delete"], bucket))
        if not gone:
            raise no_such_bucket()


async def empty(store: Store, asked: Asked, bucket: str) -> None:
    """Delete what is in a bucket now: so much at once, the rest in the background. Raises: StorageError."""
    await rules_of(store, asked, bucket)
    counted = statement(SQL["is_counted"], bucket, MOST_EMPTIED)
    [(is_too_full,)] = (await store.run(asked.as_service(), counted))[0]
    if is_too_full == b"t":
        raise too_many_objects()
    emptying = await begin(store.database, bucket, asked.request.id)
    for _ in range(EMPTIED_AT_ONCE // BATCH):
        if await empty_batch(store.database, emptying):
            return
    store.errands.begin(finish(store.database, emptying))


async def size(store: Store, asked: Asked, bucket: str) -> bytes:
    """Give bytes and number of the objects that the caller sees in a bucket that he sees. Raises: StorageError (404).

    Who sees all is told of the quota, too.
    """
    if asked.caller.is_service:
        await rules_of(store, asked, bucket)
        return await quotas.usage(store, asked, bucket)
    there, counted = await store.run(
        asked.as_caller(), statement(SQL["show"], bucket), statement(SQL["size"], bucket)
    )
    if not there:
        raise no_such_bucket()
    return counted[0][0] or b"{}"
