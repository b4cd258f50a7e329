"""Operations on buckets: list with sizes, create, change, empty, delete; the space that is used; unfinished uploads.

Lists are read from the database; changes are requests to the pool storage as the service role, which keeps its rules.
"""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from broker.subjects import STORAGE
from schemas.http import Headers, Response
from workers.database.transactions.interactive import statement
from workers.management.interface import argument_limits as limits
from workers.management.interface.argument_limits import PageLimit
from workers.management.interface.backends.platform_pools import check_is_on
from workers.management.interface.backends.pool_answers import check_answer, path_part
from workers.management.interface.errors import not_found
from workers.management.interface.identity.store import decode_rows
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.page_cursor import check_limit, check_text, cursor_of, read_cursor
from workers.management.interface.rights import Right
from workers.management.operations.account import Done, NoArguments
from workers.sql.files import read_statements

SQL = read_statements("workers.management.operations", "storage.sql")
_SERVICE: Headers = [("authorization", "Bearer service_role"), ("content-type", "application/json")]
"""The pool asks for a credential in this header; who asks is in the message, and is trusted there."""
_LONGEST_SEARCH = 1024


class BucketsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Buckets whose name contains a text, by pages."""

    search: Annotated[str, limits.text(_LONGEST_SEARCH, least=0)] = ""
    after: str | None = None
    limit: PageLimit = 100


class BucketSummary(Struct, frozen=True):
    """A bucket with the bytes and number of its objects; `quota` in bytes, null without one."""

    id: str
    name: str
    public: bool
    bytes: int
    objects: int
    created_at: str | None = None
    updated_at: str | None = None
    file_size_limit: int | None = None
    allowed_mime_types: list[str] | None = None
    quota: int | None = None


class BucketPage(Struct, frozen=True):
    """Buckets by id; `next` is `after` of the next page, null at the end."""

    rows: list[BucketSummary]
    next: str | None


class BucketCreation(Struct, frozen=True, forbid_unknown_fields=True):
    """A bucket to create. Limits in bytes, null: none."""

    bucket: str
    public: bool = False
    file_size_limit: int | None = None
    allowed_mime_types: list[str] | None = None
    quota: int | None = None


class BucketUpdate(Struct, frozen=True, forbid_unknown_fields=True):
    """Changes of a bucket: what is left out stays, null removes a limit."""

    bucket: str
    public: bool | UnsetType = UNSET
    file_size_limit: int | UnsetType | None = UNSET
    allowed_mime_types: list[str] | UnsetType | None = UNSET
    quota: int | UnsetType | None = UNSET


class BucketReference(Struct, frozen=True, forbid_unknown_fields=True):
    """A bucket by its id."""

    bucket: str


class StorageUsage(Struct, frozen=True):
    """Bytes and objects of all buckets together; `unfinished_bytes` are those of uploads that have not ended."""

    bytes: int
    objects: int
    unfinished_bytes: int
    quota: int | None = None


class UploadsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Unfinished uploads, of one bucket or of all, by pages."""

    bucket: str | None = None
    after: str | None = None
    limit: PageLimit = 100


class UploadInProgress(Struct, frozen=True):
    """An upload that has begun and not ended; `protocol` is `resumable` or `s3`."""

    protocol: str
    id: str
    bucket: str
    name: str
    bytes_stored: int
    created_at: str
    bytes_announced: int | None = None
    expires_at: str | None = None
    owner_id: str | None = None


class UploadPage(Struct, frozen=True):
    """Uploads, the oldest first; `next` is `after` of the next page, null at the end."""

    rows: list[UploadInProgress]
    next: str | None


async def ask_storage(
    context: OperationContext, method: str, path: str, body: object = UNSET, headers: Headers | None = None
) -> Response:
    """Send a request to the pool storage as the service role. Raises: ManagementError for its errors."""
    check_is_on(STORAGE.pool, context.configuration)
    data = b"" if body is UNSET else msgspec.json.encode(body)
    response = await context.pools.request(
        STORAGE,
        method,
        path,
        request_id=context.request_id,
        headers=[*_SERVICE, *(headers or [])],
        body=data,
    )
    check_answer(response)
    return response


async def list_buckets(context: OperationContext, arguments: BucketsQuery) -> BucketPage:
    """Return a page of buckets."""
    limit = check_limit(arguments.limit, context.settings.max_rows)
    search = check_text("search", arguments.search, longest=_LONGEST_SEARCH, least=0)
    after = check_text("after", read_cursor(arguments.after, str)) if arguments.after else ""
    [rows] = await context.database.read(
        statement(SQL["buckets"], search, after, limit), timeout_s=context.settings.statement_timeout_s
    )
    buckets = decode_rows(rows, BucketSummary)
    return BucketPage(buckets, cursor_of(buckets[-1].id) if len(buckets) == limit else None)


async def create(context: OperationContext, arguments: BucketCreation) -> Done:
    """Create a bucket."""
    members = msgspec.structs.asdict(arguments)
    body: dict[str, Any] = {"name": members.pop("bucket"), **members}
    if body["quota"] is None:
        del body["quota"]
    await ask_storage(context, "POST", "/bucket", body)
    context.after = arguments
    return Done()


async def change(context: OperationContext, arguments: BucketUpdate) -> Done:
    """Change a bucket: whether it can be read without a key, its limits, its quota."""
    members = msgspec.structs.asdict(arguments)
    bucket = members.pop("bucket")
    context.before = await _summary(context, bucket)
    changes = {name: value for name, value in members.items() if value is not UNSET}
    await ask_storage(context, "PUT", f"/bucket/{path_part(bucket)}", changes)
    context.after = await _summary(context, bucket)
    return Done()


async def empty(context: OperationContext, arguments: BucketReference) -> Done:
    """Delete all objects of a bucket: the first thousands at once, the rest in the background."""
    context.before = await _summary(context, arguments.bucket)
    await ask_storage(context, "POST", f"/bucket/{path_part(arguments.bucket)}/empty")
    return Done()


async def delete(context: OperationContext, arguments: BucketReference) -> Done:
    """Delete an empty bucket."""
    context.before = await _summary(context, arguments.bucket)
    await ask_storage(context, "DELETE", f"/bucket/{path_part(arguments.bucket)}")
    return Done()


async def read_usage(context: OperationContext, arguments: NoArguments) -> StorageUsage:
    """Return what all buckets hold together."""
    del arguments
    [rows] = await context.database.read(
        statement(SQL["usage"]), timeout_s=context.settings.statement_timeout_s
    )
    return decode_rows(rows, StorageUsage)[0]


async def list_uploads(context: OperationContext, arguments: UploadsQuery) -> UploadPage:
    """Return a page of unfinished uploads."""
    limit = check_limit(arguments.limit, context.settings.max_rows)
    at, last = read_cursor(arguments.after, tuple[str, str]) if arguments.after else (None, None)
    for text in (arguments.bucket, at, last):
        if text is not None:
            check_text("bucket", text)
    [rows] = await context.database.read(
        statement(SQL["uploads"], arguments.bucket, limit, at, last),
        timeout_s=context.settings.statement_timeout_s,
    )
    uploads = decode_rows(rows, UploadInProgress)
    is_full = len(uploads) == limit
    return UploadPage(uploads, cursor_of((uploads[-1].created_at, uploads[-1].id)) if is_full else None)


async def _summary(context: OperationContext, bucket: str) -> object:
    """Return a bucket as the pool shows it. Raises: ManagementError (404) without it."""
    if not bucket:
        raise not_found("bucket without a name")
    response = await ask_storage(context, "GET", f"/bucket/{path_part(bucket)}")
    return msgspec.json.decode(response.body)


def operations() -> list[Operation]:
    """Return the operations of this module."""
    reader, developer = Right.READER, Right.DEVELOPER
    return [
        Operation("storage.buckets", "List buckets with size and count", BucketsQuery, BucketPage, reader, list_buckets),
        Operation("storage.usage", "What all buckets hold together", NoArguments, StorageUsage, reader, read_usage),
        Operation("storage.uploads", "List unfinished uploads", UploadsQuery, UploadPage, reader, list_uploads),
        Operation("storage.create_bucket", "Create a bucket", BucketCreation, Done, developer, create, changes=True),
        Operation("storage.change_bucket", "Change a bucket", BucketUpdate, Done, developer, change, changes=True),
        Operation(
            "storage.empty_bucket",
            "Delete all objects of a bucket",
            BucketReference,
            Done,
            developer,
            empty,
            changes=True,
            is_confirmed=True,
        ),
        Operation(
            "storage.delete_bucket",
            "Delete an empty bucket",
            BucketReference,
            Done,
            developer,
            delete,
            changes=True,
            is_confirmed=True,
        ),
    ]  # fmt: skip
