"""Operations on objects: list a folder, search, metadata, move, copy, delete several. Bytes of objects never pass through here."""

from typing import Annotated, Any

import msgspec
from msgspec import Struct, field

from workers.database.transactions.interactive import statement
from workers.management.interface import argument_limits as limits
from workers.management.interface.argument_limits import PageLimit
from workers.management.interface.backends.pool_answers import path_part
from workers.management.interface.errors import invalid_arguments, not_found
from workers.management.interface.identity.store import decode_rows
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.page_cursor import check_limit, check_text, cursor_of, read_cursor
from workers.management.interface.rights import Right
from workers.management.operations.account import Done
from workers.management.operations.storage_buckets import SQL, ask_storage

_LONGEST_KEY = 1024
_MOST_DELETED = 1000
_SORTS = ("name", "created_at", "updated_at")


class FolderQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """A folder of a bucket, such as `photos/2026/`, empty for the root. `sort` is name, created_at or updated_at."""

    bucket: str
    folder: Annotated[str, limits.text(_LONGEST_KEY, least=0)] = ""
    sort: Annotated[str, limits.choice(*_SORTS)] = "name"
    is_descending: bool = False
    after: str | None = None
    limit: PageLimit = 100


class StoredObject(Struct, frozen=True):
    """An object in a list."""

    id: str
    name: str
    bytes: int | None = None
    mime_type: str | None = None
    created_at: str | None = None
    updated_at: str | None = None


class FolderPage(Struct, frozen=True):
    """Folders and objects directly below a folder, with their whole names; `next` is `after` of the next page."""

    folders: list[str]
    objects: list[StoredObject]
    next: str | None


class ObjectSearch(Struct, frozen=True, forbid_unknown_fields=True):
    """Objects of a bucket whose name begins with `prefix` and contains `search`, in every folder."""

    bucket: str
    search: Annotated[str, limits.text(_LONGEST_KEY, least=0)] = ""
    prefix: Annotated[str, limits.text(_LONGEST_KEY, least=0)] = ""
    after: str | None = None
    limit: PageLimit = 100


class ObjectPage(Struct, frozen=True):
    """Objects by name; `next` is `after` of the next page, null at the end."""

    rows: list[StoredObject]
    next: str | None


class ObjectPath(Struct, frozen=True, forbid_unknown_fields=True):
    """An object by bucket and name."""

    bucket: str
    name: str


class ObjectDetails(Struct, frozen=True):
    """An object with all that is known of it. `metadata` is the platform's, `user_metadata` the client's."""

    id: str
    name: str
    metadata: Any
    bytes: int | None = None
    mime_type: str | None = None
    created_at: str | None = None
    updated_at: str | None = None
    last_accessed_at: str | None = None
    owner_id: str | None = None
    version: str | None = None
    user_metadata: Any = None


class ObjectRelocation(Struct, frozen=True, forbid_unknown_fields=True):
    """An object and its new place. A name that ends in `/` is a folder with all that is in it; only a move takes one."""

    bucket: str
    name: str
    to_name: str
    to_bucket: str | None = None


class ObjectNames(Struct, frozen=True, forbid_unknown_fields=True):
    """Objects of one bucket by their names, at most a thousand."""

    bucket: str
    names: Annotated[list[str], limits.entries(_MOST_DELETED)]


class DeletedObjects(Struct, frozen=True):
    """The names that were deleted; those that did not exist are not among them."""

    names: list[str]


class _ListedObject(Struct, frozen=True):
    id: str | None
    name: str
    created_at: str | None = None
    updated_at: str | None = None
    metadata: dict[str, Any] | None = None


class _ListedPage(Struct, frozen=True):
    next_cursor: str | None = field(default=None, name="nextCursor")
    folders: list[_ListedObject] = []
    objects: list[_ListedObject] = []


async def list_folder(context: OperationContext, arguments: FolderQuery) -> FolderPage:
    """Return a page of the folders and objects directly below a folder."""
    limit = check_limit(arguments.limit, context.settings.max_rows)
    if arguments.sort not in _SORTS:
        raise invalid_arguments(f"`sort` must be one of {', '.join(_SORTS)}")
    folder = check_text("folder", arguments.folder, longest=_LONGEST_KEY, least=0)
    await _check_bucket(context, arguments.bucket)
    if folder and not folder.endswith("/"):
        folder += "/"
    body: dict[str, object] = {
        "prefix": folder,
        "limit": limit,
        "with_delimiter": True,
        "sortBy": {"column": arguments.sort, "order": "desc" if arguments.is_descending else "asc"},
    }
    if arguments.after:
        body["cursor"] = arguments.after
    answer = await ask_storage(context, "POST", f"/object/list-v2/{path_part(arguments.bucket)}", body)
    page = msgspec.json.decode(answer.body, type=_ListedPage)
    return FolderPage(
        [entry.name for entry in page.folders],
        [_stored_object(entry) for entry in page.objects],
        page.next_cursor,
    )


async def search(context: OperationContext, arguments: ObjectSearch) -> ObjectPage:
    """Return a page of the objects of a bucket by prefix and part of the name."""
    limit = check_limit(arguments.limit, context.settings.max_rows)
    texts = {"prefix": arguments.prefix, "search": arguments.search}
    prefix, part = (check_text(name, text, longest=_LONGEST_KEY, least=0) for name, text in texts.items())
    await _check_bucket(context, arguments.bucket)
    after = check_text("after", read_cursor(arguments.after, str)) if arguments.after else ""
    [rows] = await context.database.read(
        statement(SQL["search"], arguments.bucket, prefix, part, after, limit),
        timeout_s=context.settings.statement_timeout_s,
    )
    objects = decode_rows(rows, StoredObject)
    return ObjectPage(objects, cursor_of(objects[-1].name) if len(objects) == limit else None)


async def show(context: OperationContext, arguments: ObjectPath) -> ObjectDetails:
    """Return an object with its metadata."""
    check_text("bucket", arguments.bucket)
    check_text("name", arguments.name, longest=_LONGEST_KEY)
    [rows] = await context.database.read(
        statement(SQL["object"], arguments.bucket, arguments.name),
        timeout_s=context.settings.statement_timeout_s,
    )
    objects = decode_rows(rows, ObjectDetails)
    if not objects:
        raise not_found(f"object {arguments.name} in the bucket {arguments.bucket}")
    return objects[0]


async def move(context: OperationContext, arguments: ObjectRelocation) -> Done:
    """Move or rename an object, or a folder with everything in it."""
    if arguments.name.endswith("/"):
        if arguments.to_bucket not in (None, arguments.bucket):
            raise invalid_arguments("A folder can be moved inside of its bucket only")
        body = {
            "bucketId": arguments.bucket,
            "sourcePrefix": arguments.name,
            "destinationPrefix": arguments.to_name,
        }
    else:
        body = _relocation(arguments)
    await ask_storage(context, "POST", "/object/move", body)
    return Done()


async def copy(context: OperationContext, arguments: ObjectRelocation) -> Done:
    """Copy an object with its metadata."""
    await ask_storage(context, "POST", "/object/copy", _relocation(arguments))
    return Done()


async def delete(context: OperationContext, arguments: ObjectNames) -> DeletedObjects:
    """Delete objects by their names."""
    if not 1 <= len(arguments.names) <= _MOST_DELETED:
        raise invalid_arguments(f"`names` must have 1 to {_MOST_DELETED} entries")
    answer = await ask_storage(
        context, "DELETE", f"/object/{path_part(arguments.bucket)}", {"prefixes": arguments.names}
    )
    deleted = msgspec.json.decode(answer.body, type=list[_ListedObject])
    names = sorted(entry.name for entry in deleted)
    context.before = {"names": names}
    return DeletedObjects(names)


async def _check_bucket(context: OperationContext, bucket: str) -> None:
    """Raise ManagementError (404) if a bucket does not exist: the lists of the pool would be empty."""
    check_text("bucket", bucket)
    await ask_storage(context, "GET", f"/bucket/{path_part(bucket)}")


def _relocation(arguments: ObjectRelocation) -> dict[str, str]:
    return {
        "bucketId": arguments.bucket,
        "sourceKey": arguments.name,
        "destinationKey": arguments.to_name,
        "destinationBucket": arguments.to_bucket or arguments.bucket,
    }


def _stored_object(entry: _ListedObject) -> StoredObject:
    metadata = entry.metadata or {}
    size, mime_type = metadata.get("size"), metadata.get("mimetype")
    return StoredObject(
        entry.id or "",
        entry.name,
        size if isinstance(size, int) else None,
        mime_type if isinstance(mime_type, str) else None,
        entry.created_at,
        entry.updated_at,
    )


def operations() -> list[Operation]:
    """Return the operations of this module."""
    reader, developer = Right.READER, Right.DEVELOPER
    return [
        Operation("storage.objects", "List a folder of a bucket", FolderQuery, FolderPage, reader, list_folder),
        Operation("storage.search", "Search objects of a bucket", ObjectSearch, ObjectPage, reader, search),
        Operation("storage.object", "Read the metadata of an object", ObjectPath, ObjectDetails, reader, show),
        Operation("storage.move", "Move an object or a folder", ObjectRelocation, Done, developer, move, changes=True),
        Operation("storage.copy", "Copy an object", ObjectRelocation, Done, developer, copy, changes=True),
        Operation(
            "storage.delete_objects",
            "Delete objects by their names",
            ObjectNames,
            DeletedObjects,
            developer,
            delete,
            changes=True,
            is_confirmed=True,
        ),
    ]  # fmt: skip
