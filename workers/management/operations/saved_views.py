"""Operations on saved views of the table editor: filters, sorts and columns under a name, an administrator's own or shared."""

from typing import Annotated, Any

import msgspec
from msgspec import Struct

from workers.database.transactions.model import TransactionSpec
from workers.management.interface import argument_limits as limits
from workers.management.interface.errors import ManagementError, invalid_arguments, not_found
from workers.management.interface.identity.store import decode_rows, own_statement
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.rights import Right
from workers.management.operations.account import Done
from workers.sql.files import read_statements

_SQL = read_statements("workers.management.operations", "saved_views.sql")
_LONGEST_NAME = 100
_LONGEST_IDENTIFIER = 63
_MOST_CONTENT_BYTES = 64 * 1024
_MOST_VIEWS = 100
"""Views of one table and one owner."""
_MOST_OF_OWNER = 1000
"""Views of one owner: readers store them too, and the names of tables are not checked, for a view may outlive its table."""


class ViewedTable(Struct, frozen=True, forbid_unknown_fields=True):
    """The table whose views are listed."""

    schema: str
    table: str


class SavedView(Struct, frozen=True):
    """A view by its name. `content` is what the table editor stored: filters, sorts, caller, columns."""

    name: str
    is_shared: bool
    content: dict[str, Any]


class ViewToSave(Struct, frozen=True, forbid_unknown_fields=True):
    """A view to store; one of the same name, table and owner is replaced. `is_shared`: for all administrators (needs a developer)."""

    schema: str
    table: str
    name: Annotated[str, limits.text(_LONGEST_NAME)]
    content: dict[str, Any]
    is_shared: bool = False


class ViewReference(Struct, frozen=True, forbid_unknown_fields=True):
    """A stored view: one's own, or a shared one."""

    schema: str
    table: str
    name: str
    is_shared: bool = False


class _StoredView(Struct, frozen=True):
    name: str
    is_shared: bool
    content: str


async def list_views(context: OperationContext, arguments: ViewedTable) -> list[SavedView]:
    """Return one's own views of a table, then the shared ones, each by name."""
    _check_table(arguments.schema, arguments.table)
    owner = context.actor.administrator_id
    rows = await _run(context, "list", owner, arguments.schema, arguments.table)
    return [SavedView(row.name, row.is_shared, msgspec.json.decode(row.content)) for row in rows]


async def save(context: OperationContext, arguments: ViewToSave) -> Done:
    """Store a view of a table under a name."""
    _check_table(arguments.schema, arguments.table)
    if not 1 <= len(arguments.name) <= _LONGEST_NAME or "\0" in arguments.name:
        raise invalid_arguments(f"`name` must have 1 to {_LONGEST_NAME} characters")
    content = msgspec.json.encode(arguments.content)
    if len(content) > _MOST_CONTENT_BYTES:
        raise invalid_arguments(f"`content` may have {_MOST_CONTENT_BYTES} bytes as JSON")
    owner = _owner(context, arguments.is_shared)
    place = (owner, arguments.schema, arguments.table, arguments.name)
    if not await _run(context, "save", *place, content.decode(), _MOST_VIEWS, _MOST_OF_OWNER, locks=True):
        raise ManagementError(
            409, "too_many_views", f"A table has at most {_MOST_VIEWS} views of one owner, all tables {_MOST_OF_OWNER}",
            hint="Remove one.",
        )  # fmt: skip
    return Done()


async def remove(context: OperationContext, arguments: ViewReference) -> Done:
    """Remove a view."""
    _check_table(arguments.schema, arguments.table)
    owner = _owner(context, arguments.is_shared)
    name = arguments.name.replace("\0", "")
    rows = await _run(context, "remove", owner, arguments.schema, arguments.table, name)
    if not rows:
        raise not_found("view of this name; saved_views.list shows them")
    context.before = {"content": rows[0].content}
    return Done()


def _owner(context: OperationContext, is_shared: bool) -> str | None:
    """Return whose view it is: the administrator's, or None for one that all share. Raises: ManagementError (403)."""
    if not is_shared:
        if context.actor.administrator_id is None:
            raise ManagementError(
                403, "no_administrator", "A token without an administrator has no views of its own",
                hint="Store a shared view (`is_shared`).",
            )  # fmt: skip
        return context.actor.administrator_id
    if not context.actor.rights.includes(Right.DEVELOPER):
        raise ManagementError(
            403, "no_right", f"Shared views need the rights of a developer; yours are {context.actor.rights}"
        )
    return None


def _check_table(schema: str, table: str) -> None:
    for name in (schema, table):
        if not 1 <= len(name.encode(errors="replace")) <= _LONGEST_IDENTIFIER or "\0" in name:
            raise invalid_arguments(f"`schema` and `table` must have 1 to {_LONGEST_IDENTIFIER} bytes")


async def _run(
    context: OperationContext, name: str, owner: str | None, *values: str | int, locks: bool = False
) -> list[_StoredView]:
    pool = await context.database.own()
    statements = [own_statement(pool, _SQL[name], owner, *values)]
    if locks:
        statements.insert(0, own_statement(pool, _SQL["lock"], owner))
    *_, rows = await pool.run(TransactionSpec((), statements))
    return decode_rows(rows, _StoredView)


def operations() -> list[Operation]:
    """Return the operations of this module."""
    reader = Right.READER
    return [
        Operation("saved_views.list", "List the saved views of a table", ViewedTable, list[SavedView], reader, list_views),
        Operation("saved_views.save", "Save a view of a table", ViewToSave, Done, reader, save, changes=True),
        Operation("saved_views.remove", "Remove a saved view", ViewReference, Done, reader, remove, changes=True),
    ]  # fmt: skip
