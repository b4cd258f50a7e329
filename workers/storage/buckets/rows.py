"""Rows of buckets: read and change them under the caller's policies, and read the rules for their objects.

All functions raise DatabaseError, Disconnected, PoolTimeout.
"""

import msgspec
from msgspec import Struct

from workers.database.protocol.rows import Rows
from workers.database.transactions.interactive import decode_first, statement
from workers.sql.files import read_statements
from workers.storage.buckets import quotas
from workers.storage.buckets.emptying import BATCH, empty_batch, finish_emptying, start_emptying
from workers.storage.model.errors import no_such_bucket, not_empty, too_many_objects
from workers.storage.model.names_and_sizes import UploadRules
from workers.storage.requests.context import StorageContext, switch_role
from workers.storage.requests.storage_request import StorageRequest

SQL = read_statements("workers.storage.buckets", "rows.sql")

MOST_EMPTIED = 200_000
"""Maximum number of objects in a bucket that one request may empty."""
EMPTIED_AT_ONCE = 5_000
"""Objects deleted before the response; the rest is deleted in the background."""


class BucketRules(Struct, frozen=True):
    """The rules for objects of a bucket."""

    id: str
    public: bool
    file_size_limit: int | None
    allowed_mime_types: list[str] | None
    has_quota: bool = False
    """Whether a quota applies, of this bucket or of all."""
    owner_id: str | None = None
    """Owner of the bucket (set by `read_rules`)."""
    room: int | None = None
    """Bytes that the quotas leave for the object (set by `read_rules_with_room`)."""

    @property
    def key(self) -> UploadRules:
        """Return the rules that apply to an upload."""
        return UploadRules(self.file_size_limit, self.allowed_mime_types)


class NewBucket(Struct, frozen=True):
    """A bucket to create."""

    id: str
    name: str
    public: bool = False
    file_size_limit: int | None = None
    allowed_mime_types: list[str] | None = None
    quota: int | None = None
    """Bytes that all its objects may have together."""


class BucketChange(Struct, frozen=True):
    """Changes of a bucket; UNSET leaves a value, None removes a limit."""

    public: bool | msgspec.UnsetType = msgspec.UNSET
    file_size_limit: int | msgspec.UnsetType | None = msgspec.UNSET
    allowed_mime_types: list[str] | msgspec.UnsetType | None = msgspec.UNSET
    quota: int | msgspec.UnsetType | None = msgspec.UNSET


async def read_rules(context: StorageContext, request: StorageRequest, bucket: str) -> BucketRules:
    """Return the rules of a bucket, for any caller. Raises: StorageError (404)."""
    return decode_rules((await context.read(request.as_service(), statement(SQL["rules"], bucket)))[0])


async def find_rules(context: StorageContext, request: StorageRequest, bucket: str) -> BucketRules | None:
    """Return the rules of a bucket, for any caller, or None without the bucket."""
    rows = await context.run(request.as_service(), statement(SQL["rules"], bucket))
    return decode_first(rows[0], BucketRules)


async def read_rules_with_room(
    context: StorageContext, request: StorageRequest, bucket: str, key: str
) -> BucketRules:
    """Return the rules of a bucket with the bytes that quotas leave for an object, for any caller.

    Raises: StorageError (404).
    """
    return decode_rules(
        (await context.read(request.as_service(), statement(SQL["rules_for"], bucket, key)))[0]
    )


def decode_rules(rows: Rows) -> BucketRules:
    """Decode the rules of a bucket. Raises: StorageError (404) without a row."""
    rules = decode_first(rows, BucketRules)
    if rules is None:
        raise no_such_bucket()
    return rules


async def list_buckets(
    context: StorageContext,
    request: StorageRequest,
    *,
    most: int,
    skipped: int,
    column: str,
    is_descending: bool,
    search: str,
) -> bytes:
    """Return the buckets that the caller may see, as a JSON list."""
    asked_for = statement(SQL["list"], most, skipped, column, is_descending, search)
    return (await context.read(request.as_caller(), asked_for))[0][0][0] or b"[]"


async def read_bucket(context: StorageContext, request: StorageRequest, bucket: str) -> bytes:
    """Return a bucket that the caller may see, as JSON. Raises: StorageError (404)."""
    rows = (await context.read(request.as_caller(), statement(SQL["show"], bucket)))[0]
    if not rows or rows[0][0] is None:
        raise no_such_bucket()
    return rows[0][0]


async def create(context: StorageContext, request: StorageRequest, new: NewBucket) -> None:
    """Create a bucket that belongs to the caller."""
    who = request.caller
    values = (
        new.id, new.name, who.owner, who.subject, new.public, new.file_size_limit,
        msgspec.json.encode(new.allowed_mime_types),
    )  # fmt: skip
    quota = [quotas.set_quota_statement(new.id, new.quota)] if new.quota is not None else []
    await context.run(request.as_caller(), statement(SQL["create"], *values), *quota)


async def change(context: StorageContext, request: StorageRequest, bucket: str, change: BucketChange) -> None:
    """Change a bucket. Raises: StorageError (404) if it does not exist, or policies forbid it."""
    size, types = change.file_size_limit, change.allowed_mime_types
    values = (
        bucket,
        None if change.public is msgspec.UNSET else bool(change.public),
        size is not msgspec.UNSET,
        None if size is msgspec.UNSET else size,
        types is not msgspec.UNSET,
        msgspec.json.encode(None if types is msgspec.UNSET else types),
    )
    async with context.database.transaction(request.as_caller()) as transaction:
        if not await transaction.rows(SQL["update"], *values):
            raise no_such_bucket()
        if change.quota is not msgspec.UNSET:
            await transaction.run(quotas.set_quota_statement(bucket, change.quota))


async def delete(context: StorageContext, request: StorageRequest, bucket: str) -> None:
    """Delete an empty bucket. Raises: StorageError if it does not exist, is not empty, or policies forbid it."""
    async with context.database.transaction(request.as_service()) as transaction:
        locked, filled = await transaction.run(
            statement(SQL["lock"], bucket), statement(SQL["is_filled"], bucket)
        )
        if not locked:
            raise no_such_bucket()
        if filled:
            raise not_empty()
        _, gone = await transaction.run(switch_role(request.caller), statement(SQL["delete"], bucket))
        if not gone:
            raise no_such_bucket()


async def empty(context: StorageContext, request: StorageRequest, bucket: str) -> None:
    """Delete the present objects of a bucket: a part at once, the rest in the background. Raises: StorageError."""
    await read_rules(context, request, bucket)
    counted = statement(SQL["is_counted"], bucket, MOST_EMPTIED)
    [(is_too_full,)] = (await context.run(request.as_service(), counted))[0]
    if is_too_full == b"t":
        raise too_many_objects()
    emptying = await start_emptying(context.database, bucket, request.http.id)
    if emptying is None:
        return
    for _ in range(EMPTIED_AT_ONCE // BATCH - 1):
        if await empty_batch(context.database, emptying):
            return
    context.tasks.start(finish_emptying(context.database, emptying))


async def size(context: StorageContext, request: StorageRequest, bucket: str) -> bytes:
    """Return bytes and number of the objects that the caller may see. Raises: StorageError (404).

    The service role also gets the quota.
    """
    if request.caller.is_service:
        await read_rules(context, request, bucket)
        return await quotas.read_usage(context, request, bucket)
    there, counted = await context.run(
        request.as_caller(), statement(SQL["show"], bucket), statement(SQL["size"], bucket)
    )
    if not there:
        raise no_such_bucket()
    return counted[0][0] or b"{}"
